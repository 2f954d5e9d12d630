// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_echo takes for granted: litepulse_config says when it has written a word, and the filter's delay follows within LAG
// cycles. For the proof also changed_was: `changed` in the cycles before.
`include "litepulse_environment.svh"
module litepulse_echo_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int LAG = 2
) (
    input  logic       clk,
    input  logic       rst,
    input  logic [9:0] tail,
    input  logic [5:0] line_delay,
    input  logic       changed,
    output logic [3:0] changed_was
);
  logic       past = 1'b0, rst_was;
  logic [9:0] tail_was;
  logic [5:0] delay_was;
  always_ff @(posedge clk) begin
    past        <= 1'b1;
    rst_was     <= rst;
    changed_was <= rst ? 4'd0 : {changed_was[2:0], changed};
    tail_was    <= tail;
    delay_was   <= line_delay;
  end
  `ENVIRONMENT begin
    if (past && !rst && !rst_was) begin
      if (tail != tail_was) `ASSUME(changed);
      if (line_delay != delay_was) `ASSUME(changed || changed_was[LAG-1:0] != '0);
    end
    if (past && rst_was) `ASSUME(!changed);
  end
endmodule
