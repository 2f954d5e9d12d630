// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's CLKDIVF with DIV = "2.0". Described in Lattice's FPGA-TN-02200 (ECP5 sysCLOCK), which was not at hand.
// Ports as in Yosys' outline of the cell, first edge as Lattice's simulation library for Diamond behaves, of which nothing is copied
// here.
// Count the rising edges of CLKI after RST fell from 0: CDIVX rises at the odd ones and falls at the even ones. RST holds it low,
// asynchronously. Not modelled: other divisors (checked), ALIGNWD, which must stay 0 (checked), delay.
module CLKDIVF #(
    parameter DIV = "2.0"
) (
    input  logic CLKI,
    input  logic RST,
    input  logic ALIGNWD,
    output logic CDIVX
);
  logic run;

  initial {run, CDIVX} = '0;
  initial if (DIV != "2.0") $fatal(1, "CLKDIVF: only DIV = 2.0 is modelled");

  always @(posedge CLKI or posedge RST) begin
    if (RST) {run, CDIVX} <= '0;
    else {run, CDIVX} <= {1'b1, run && !CDIVX};
  end

  always @(posedge CLKI) if (ALIGNWD !== 1'b0) $fatal(1, "CLKDIVF: ALIGNWD is not modelled");
endmodule
