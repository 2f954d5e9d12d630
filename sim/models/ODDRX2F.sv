// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's ODDRX2F, output with four samples per SCLK. Described in Lattice's FPGA-TN-02035 (ECP5 high-speed I/O),
// which was not at hand. Ports as in Yosys' outline of the cell, grouping and number of registers as Lattice's simulation library for
// Diamond behaves, of which nothing is copied here.
// D0 to D3 are taken at a rising edge of SCLK. Count the rising edges of ECLK after RST fell from 0: what was taken before an odd one,
// u, leaves from edge u + 3 on, one sample at each edge of ECLK. With CLKDIVF out of the same reset SCLK rises at the odd edges: D0 as
// it is at an edge of SCLK leaves 2 1/2 cycles later, at a falling edge of SCLK.
// Uncertain: an edge of SCLK together with ECLK's u (the rule, see CLKDIVF) is taken to come a little later, as SCLK's tree is the
// longer; were the silicon's a little earlier, all four would leave one cycle of SCLK earlier.
// RST clears all, asynchronously. Not modelled: clock to output, GSR (nextpnr-ecp5 disables it).
module ODDRX2F (
    input  logic D0,   // first out
    input  logic D1,
    input  logic D2,
    input  logic D3,
    input  logic SCLK,
    input  logic ECLK,
    input  logic RST,
    output logic Q
);
  logic       run, odd;           // the edge before was edge 0 or later; was an odd one
  logic [3:0] taken, waiting, loaded, sent;
  logic [1:0] rest;
  logic       rise, fall;

  // one of the two changes at each edge, so Q changes once and without a glitch
  assign Q = rise ^ fall;

  initial {run, odd, taken, waiting, loaded, sent, rest, rise, fall} = '0;

  always @(posedge SCLK or posedge RST) begin
    if (RST) taken <= '0;
    else taken <= {D3, D2, D1, D0};
  end

  always @(posedge ECLK or posedge RST) begin
    if (RST) {run, odd, loaded, sent, rest, rise} <= '0;
    else begin
      run <= 1'b1;
      odd <= run && !odd;
      if (run && !odd) begin
        loaded <= waiting;
        sent   <= loaded;
        rise   <= rest[0] ^ fall;
      end else begin
        rest <= sent[3:2];
        rise <= sent[0] ^ fall;
      end
    end
  end

  always @(negedge ECLK or posedge RST) begin
    if (RST) {waiting, fall} <= '0;
    else begin
      waiting <= taken;
      fall   <= (odd ? rest[1] : sent[1]) ^ rise;
    end
  end
endmodule
