// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_launch_memory takes for granted: of the sequencer, that it writes a width at most every other cycle; of
// litepulse_config, that a word has stood still for three cycles, is no width but the responder's, and no period that is too short.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_launch_memory_environment #(
    parameter bit ASSUMED = `ASSUMED
) (
    input logic        clk,
    input logic        width_we,
    input logic        cfg_ready,
    input profile_write_t cfg_write,
    input logic [31:0] cfg_data,
    input logic        cfg_long
);
  logic        past = 1'b0;
  logic        wrote = 1'b0;            // a width of queue or train, in the cycle before
  logic [2:0]  still;           // the word did not change from the cycle before, in the cycles before
  logic [42:0] word;
  always_ff @(posedge clk) begin
    past  <= 1'b1;
    wrote <= width_we;
    still <= {still[1:0], past && {cfg_write.format, cfg_write.period_high, cfg_data} == word};
    word  <= {cfg_write.format, cfg_write.period_high, cfg_data};
  end
  `ENVIRONMENT begin
    if (past && wrote) `ASSUME(!width_we);
    if (past && cfg_write.we) begin
      `ASSUME(cfg_write.is_profile || cfg_write.entry == 2'd0);
      `ASSUME(still == 3'b111 && {cfg_write.format, cfg_write.period_high, cfg_data} == word);
      if (cfg_write.is_profile && cfg_ready) `ASSUME(cfg_long);
    end
  end
endmodule
