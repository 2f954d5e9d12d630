// SPDX-License-Identifier: BSD-2-Clause
// Start of the ECP5's geared pins: all IDDRX2F, ODDRX2F and the CLKDIVF must see the same edge of the edge clock as their first, or some
// pads are two ticks off the others, another choice at each start. So: stop the edge clock, hold the gearing in reset, release the reset,
// start the edge clock: the order of Lattice's soft module GDDR_SYNC (FPGA-TN-02035, ECP5 high-speed I/O) and of LiteDRAM's ECP5DDRPHYInit,
// which gives each step 8 cycles. Each step lasts WAIT cycles of clk; it must be longer than ECLKSYNCB takes to stop or start (4 edge
// clocks) and than the skew of `gear_rst` over the chip.
// From configuration: stop and gear_rst high until the lock has held for WAIT cycles; then gear_rst falls, stop falls, ready rises, WAIT
// cycles apart. A lost lock at any time: ready falls and stop rises, WAIT cycles later gear_rst, and all again.
// Latency: a change of `locked` shows after 3 cycles. Outputs are flip-flops, so without glitches.
//   WAIT  cycles per step
module litepulse_phy_ecp5_start #(
    parameter int WAIT = 8
) (
    input  wire  clk,       // runs always: the crystal, not the PLL
    input  wire  locked,    // of the PLL, asynchronous
    output logic stop,      // ECLKSYNCB.STOP
    output logic gear_rst,  // CLKDIVF.RST, IDDRX2F.RST, ODDRX2F.RST: `rst` of litepulse_phy_ecp5_serdes
    output logic ready      // the clock of CLKDIVF may be used
);
  localparam int CW = $clog2(WAIT);

  // Flip-flops start at 0, so the two that must be high first are kept upside down.
  // verilator lint_off PROCASSINIT
  (* async_reg = "true" *) logic [1:0] lock_sync = 2'd0;
  logic          released = 1'b0, going = 1'b0, anew = 1'b0;
  logic [CW-1:0] count = '0;
  // verilator lint_on PROCASSINIT
  wire           lock = lock_sync[1];
  wire           last = count == CW'(WAIT - 1);

  initial ready = 1'b0;
  assign stop     = !going;
  assign gear_rst = !released;

  always_ff @(posedge clk) begin
    lock_sync <= {lock_sync[0], locked};
    count     <= last ? '0 : count + CW'(1);
    if (going) begin
      if (last) ready <= 1'b1;
      if (!lock) begin
        ready <= 1'b0;
        going <= 1'b0;
        anew  <= 1'b1;
        count <= '0;
      end
    end else if (released) begin
      if (!lock) anew <= 1'b1;
      if (last) begin
        if (anew || !lock) released <= 1'b0;
        else going <= 1'b1;
      end
    end else begin
      anew <= 1'b0;
      if (!lock) count <= '0;
      else if (last) released <= 1'b1;
    end
  end
endmodule
