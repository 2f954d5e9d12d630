// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's OFS1P3BX, a flip-flop in the pad with enable SP and asynchronous set PD, which starts set: as Yosys
// maps it (ecp5/cells_ff.vh: REGSET = SET, SRMODE = ASYNC).
module OFS1P3BX (
    input  logic D,
    input  logic SP,
    input  logic SCLK,
    input  logic PD,
    output logic Q
);
  initial Q = 1'b1;

  always @(posedge SCLK or posedge PD) begin
    if (PD) Q <= 1'b1;
    else if (SP) Q <= D;
  end
endmodule
