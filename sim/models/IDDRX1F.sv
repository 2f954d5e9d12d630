// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's IDDRX1F, input with two samples per SCLK. Described in Lattice's FPGA-TN-02035 (ECP5 high-speed I/O),
// which was not at hand. Ports as in Yosys' outline of the cell, number of registers as Lattice's simulation library for Diamond
// behaves, of which nothing is copied here.
// Edge k of SCLK samples D, so does the falling edge after it; Q0 and Q1 show the two after edge k + 1. RST clears all, asynchronously.
// Not modelled: set-up and hold, metastability, GSR (nextpnr-ecp5 disables it).
module IDDRX1F (
    input  logic D,
    input  logic SCLK,
    input  logic RST,
    output logic Q0,  // rising edge, the earlier
    output logic Q1   // falling edge after it
);
  logic rise, fall;

  initial {Q0, Q1, rise, fall} = '0;

  always @(posedge SCLK or posedge RST) begin
    if (RST) {Q0, Q1, rise} <= '0;
    else {Q0, Q1, rise} <= {rise, fall, D};
  end
  always @(negedge SCLK or posedge RST) begin
    if (RST) fall <= 1'b0;
    else fall <= D;
  end
endmodule
