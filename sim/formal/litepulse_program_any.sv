// SPDX-License-Identifier: BSD-2-Clause
// Stands in for the programs: any word at any time. Only what a reset begins with does nothing but jump, as address 0 and 1 do.
// verilog_lint: waive module-filename
module litepulse_program (
    input  logic        clk,
    input  logic        en,
    input  logic [7:0]  address,
    output logic [31:0] instruction
);
  (* anyseq *) logic [31:0] any;
  always_comb if (address <= 8'd1) assume (any[31:8] == 24'd0);
  always_ff @(posedge clk) if (en) instruction <= any;
endmodule
