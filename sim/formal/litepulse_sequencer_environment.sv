// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_sequencer takes for granted of litepulse_train: a word is held until it is done, and another one comes later.
`include "litepulse_environment.svh"
module litepulse_sequencer_environment #(
    parameter bit ASSUMED = `ASSUMED
) (
    input logic        clk,
    input logic        rst,
    input logic        host_we,
    input logic        host_done,
    input logic [3:0]  host_addr,
    input logic [31:0] host_data
);
  logic        past = 1'b0, requested, done_was;
  logic [35:0] word;
  always_ff @(posedge clk) begin
    past      <= 1'b1;
    requested <= host_we && !host_done && !rst;
    done_was  <= host_done && !rst;
    word      <= {host_addr, host_data};
  end
  `ENVIRONMENT begin
    if (past && requested) `ASSUME(host_we && {host_addr, host_data} == word);
    if (past && done_was) `ASSUME(!host_we);
  end
endmodule
