// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_config takes for granted: of the crossing, that a word is held until it is answered, and that another one comes later; of
// litepulse_launch_memory, that it reports whether a period is long.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_config_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1
) (
    input logic        clk,
    input logic        rst,
    input logic        cfg_req,
    input logic [5:0]  cfg_addr,
    input logic [31:0] cfg_data,
    input logic        cfg_done,
    input logic        mem_ready,
    input logic        mem_long,
    input profile_write_t mem_write,
    input logic        decided          // the module's own: it waits for mem_ready
);
  logic        past = 1'b0, requested, done_was, long1, long2;
  logic [37:0] word;
  always_ff @(posedge clk) begin
    past      <= 1'b1;
    requested <= cfg_req && !cfg_done && !rst;
    done_was  <= cfg_done && !rst;
    word      <= {cfg_addr, cfg_data};
    {long1, long2} <= {mem_long, long1};
  end
  `ENVIRONMENT begin
    // (the bus side may have forgotten the word in the first cycle of a reset, when it no longer counts)
    if (past && requested && (ASSUMED || !rst)) `ASSUME(cfg_req && {cfg_addr, cfg_data} == word);
    if (past && done_was) `ASSUME(!cfg_req);
    if (past && mem_ready && decided) `ASSUME(long2 == ({mem_write.period_high, cfg_data} >= 36'(4 * S * 256)));
  end
endmodule
