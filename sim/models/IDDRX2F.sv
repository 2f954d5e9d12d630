// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's IDDRX2F, input with four samples per SCLK. Described in Lattice's FPGA-TN-02035 (ECP5 high-speed I/O),
// which was not at hand. Ports as in Yosys' outline of the cell, grouping and number of registers as Lattice's simulation library for
// Diamond behaves, of which nothing is copied here.
// D is sampled at both edges of ECLK. Count the rising edges of ECLK after RST fell from 0: four samples that begin at an even one, e,
// are complete at e + 3, and Q0 (the earliest) to Q3 show them after the first edge of SCLK at or after e + 3. With CLKDIVF out of the
// same reset SCLK rises at the odd edges: sample 0 is at a falling edge of SCLK, and shows 1 1/2 cycles later.
// Uncertain: an edge of SCLK together with ECLK's e + 3 (the rule, see CLKDIVF) is taken to come a little later, as SCLK's tree is the
// longer; were the silicon's a little earlier, all four would show one cycle of SCLK later.
// Not modelled: ALIGNWD, which must stay 0 (checked); set-up and hold, metastability, GSR (nextpnr-ecp5 disables it).
module IDDRX2F (
    input  logic D,
    input  logic SCLK,
    input  logic ECLK,
    input  logic RST,
    input  logic ALIGNWD,
    output logic Q0,
    output logic Q1,
    output logic Q2,
    output logic Q3
);
  logic       run, odd;           // the edge before was edge 0 or later; was an odd one
  logic [1:0] rise;               // samples at rising edges, [0] the newest
  logic       fall;
  logic       rise_before, fall_before;
  logic [3:0] group;

  initial {run, odd, rise, fall, rise_before, fall_before, group, Q0, Q1, Q2, Q3} = '0;

  always @(posedge ECLK or posedge RST) begin
    if (RST) {run, odd, rise} <= '0;
    else begin
      run  <= 1'b1;
      odd  <= run && !odd;
      rise <= {rise[0], D};
    end
  end

  // Between e + 2 and e + 3 all four are known, and SCLK has no edge.
  always @(negedge ECLK or posedge RST) begin
    if (RST) {fall, fall_before, rise_before, group} <= '0;
    else begin
      fall        <= D;
      fall_before <= fall;
      rise_before <= rise[1];
      if (run && !odd) group <= {fall, rise[1], fall_before, rise_before};
    end
  end

  always @(posedge SCLK or posedge RST) begin
    if (RST) {Q3, Q2, Q1, Q0} <= '0;
    else {Q3, Q2, Q1, Q0} <= group;
  end

  always @(posedge ECLK) if (ALIGNWD !== 1'b0) $fatal(1, "IDDRX2F: ALIGNWD is not modelled");
endmodule
