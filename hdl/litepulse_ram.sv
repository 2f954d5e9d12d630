// SPDX-License-Identifier: BSD-2-Clause
// Block RAM with one write port and one read port, each with a clock of its own. A write entry may be wider than a read
// word: synthesis then uses the block RAM's own width conversion, so that no multiplexer is needed to pick a word.
// Reading takes one cycle; rd_data holds its value while rd_en is low. A word must not be read in the cycle it is written.
//   AW   log2 of the number of write entries
//   W    bits of a read word
//   SUB  log2 of the read words per write entry (word 0 in the low bits)
module litepulse_ram #(
    parameter int AW  = 8,
    parameter int W   = 32,
    parameter int SUB = 0
) (
    input  logic                wr_clk,
    input  logic                wr_en,
    input  logic [AW-1:0]       wr_addr,
    input  logic [(W<<SUB)-1:0] wr_data,
    input  logic                rd_clk,
    input  logic                rd_en,
    input  logic [AW+SUB-1:0]   rd_addr,
    output logic [W-1:0]        rd_data
`ifdef FORMAL
    ,
    input  logic [AW+SUB-1:0]   f_addr,  // a look inside for the proofs of the users
    output logic [W-1:0]        f_word
`endif
);
  localparam int WORDS = 1 << (AW + SUB);

  (* no_rw_check, ram_style = "block" *) logic [W-1:0] mem[0:WORDS-1];

  // Of a large one Yosys would take minutes to run this loop; what a word holds before it is written is of no use to anyone.
  if (WORDS <= 4096) begin : g_zeros
    initial for (int i = 0; i < WORDS; i++) mem[i] = '0;
  end

  if (SUB == 0) begin : g_plain
    always_ff @(posedge wr_clk) if (wr_en) mem[wr_addr] <= wr_data;
  end else begin : g_wide
    always_ff @(posedge wr_clk)
      if (wr_en) for (int i = 0; i < (1 << SUB); i++) mem[{wr_addr, i[SUB-1:0]}] <= wr_data[i*W+:W];
  end

  always_ff @(posedge rd_clk) if (rd_en) rd_data <= mem[rd_addr];

`ifdef FORMAL
  assign f_word = mem[f_addr];
`endif
endmodule
