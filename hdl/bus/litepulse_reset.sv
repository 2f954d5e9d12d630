// SPDX-License-Identifier: BSD-2-Clause
// The two resets of a core. Both begin as soon as `rst` does, with or without clocks, and end in step with their own clock, after at
// least four cycles of the slower one, however short `rst` was: else the crossings between the two sides would lose step.
// Cores that take both resets from one litepulse_reset have equal ticks.
//   rst   asynchronous; at least as long as a flip-flop needs to see it. May be a constant 0 where registers begin with their initial
//         value: then the core begins with the configuration of the FPGA. Assert it while a PLL that makes sys_clk is not locked.
//   WAIT  cycles of sys_clk that the resets last at least, from 0 on. Block RAM of an iCE40 reads 0 for some microseconds after
//         configuration; a core that starts earlier runs a wrong program until its next reset. The default lasts 15 us with a sys_clk
//         of 273 MHz and longer with a slower one. 0 is right where block RAM can be read at once.
module litepulse_reset #(
    parameter int WAIT = 4095
) (
    input  logic rst,
    input  logic sys_clk,
    input  logic pulse_clk,
    output logic sys_rst,
    output logic pulse_rst
);
  // Ones shift in from the right: two flip-flops against metastability, four that hold. The last one of sys_on also waits.
  localparam int HELD = 6;
  localparam int WAIT_BITS = $clog2(WAIT + 2);
  logic [HELD-1:0] sys_on, pulse_on;
  logic [WAIT_BITS-1:0] waited;
  logic readable;
  assign readable = waited == WAIT_BITS'(WAIT);
  always_ff @(posedge sys_clk or posedge rst) begin
    if (rst) begin
      sys_on <= '0;
      waited <= '0;
    end else begin
      sys_on <= {sys_on[HELD-2] && readable, sys_on[HELD-3:0], 1'b1};
      if (sys_on[1] && !readable) waited <= waited + 1'b1;
    end
  end
  always_ff @(posedge pulse_clk or posedge rst) begin
    if (rst) pulse_on <= '0;
    else pulse_on <= {pulse_on[HELD-2:0], 1'b1};
  end

  // Each of the two ends once, so their sum has no glitch on its way to 0.
  logic held;
  assign held = !sys_on[HELD-1] || !pulse_on[HELD-1];

  (* async_reg = "true" *) logic [1:0] sys_off;
  (* async_reg = "true" *) logic [1:0] pulse_off;
  always_ff @(posedge sys_clk or posedge held) begin
    if (held) sys_off <= '0;
    else sys_off <= {sys_off[0], 1'b1};
  end
  always_ff @(posedge pulse_clk or posedge held) begin
    if (held) pulse_off <= '0;
    else pulse_off <= {pulse_off[0], 1'b1};
  end

  initial begin
    sys_on    = '0;
    pulse_on  = '0;
    waited    = '0;
    sys_off   = '0;
    pulse_off = '0;
  end

  assign sys_rst   = !sys_off[1];
  assign pulse_rst = !pulse_off[1];
endmodule
