// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's ODDRX1F, output with two samples per SCLK. Described in Lattice's FPGA-TN-02035 (ECP5 high-speed I/O),
// which was not at hand. Ports as in Yosys' outline of the cell, number of registers as Lattice's simulation library for Diamond
// behaves, of which nothing is copied here. Others saw the same on an LFE5U-25F (amaranth-lang/amaranth, issue 1667: two registers more
// than a plain output flip-flop has).
// D0 and D1 as they are at edge k of SCLK leave at edge k + 2 and at the falling edge after it. RST clears all, asynchronously.
// Not modelled: clock to output, GSR (nextpnr-ecp5 disables it).
module ODDRX1F (
    input  logic D0,   // first out
    input  logic D1,
    input  logic SCLK,
    input  logic RST,
    output logic Q
);
  logic [1:0] taken, next;
  logic       then, rise, fall;

  // one of the two changes at each edge, so Q changes once and without a glitch
  assign Q = rise ^ fall;

  initial {taken, next, then, rise, fall} = '0;

  always @(posedge SCLK or posedge RST) begin
    if (RST) {taken, next, then, rise} <= '0;
    else begin
      taken <= {D1, D0};
      next  <= taken;
      then  <= next[1];
      rise  <= next[0] ^ fall;
    end
  end
  always @(negedge SCLK or posedge RST) begin
    if (RST) fall <= 1'b0;
    else fall <= then ^ rise;
  end
endmodule
