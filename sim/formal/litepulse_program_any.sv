// SPDX-License-Identifier: BSD-2-Clause
// Stand in for the programs: any word at any time. Only what a reset begins with does nothing but jump, as the first addresses do.
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

// with sequences, where thread 0 begins at 256
// verilog_lint: waive module-filename
module litepulse_program_sequence (
    input  logic        clk,
    input  logic        en,
    input  logic [8:0]  address,
    output logic [31:0] instruction
);
  (* anyseq *) logic [31:0] any;
  always_comb if (address == 9'd1 || address == 9'd256) assume (any[31:8] == 24'd0);
  always_ff @(posedge clk) if (en) instruction <= any;
endmodule
