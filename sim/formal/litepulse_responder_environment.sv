// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_responder takes for granted: time passes; a lead that changes is announced; a word is held until it is answered; with one
// sample per cycle the arbiter answers at once; litepulse_lin leaves the byte of a launch alone
// until it is reported.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_responder_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1
) (
    input logic                  clk,
    input logic                  rst,
    input logic [63-$clog2(S):0] now,
    input logic [15:0]           nde_lead,
    input logic                  lead_changes,
    input logic                  cfg_req,
    input logic [2:0]            cfg_addr,
    input logic [31:0]           cfg_data,
    input logic                  cfg_done,
    input chosen_edge_t          chosen_edge,
    input line_events_t          line_events,
    input logic                  byte_stb,
    input logic                  due,
    input logic                  grant,
    input logic                  refuse,
    input logic                  lin_data_set,
    input logic                  lin_enable,
    // the module's own: a launch is decided, and not yet reported
    input logic                  count,
    input logic                  in_flight,
    input logic                  report
);
  logic                  past = 1'b0, rst_was, changes_was, requested;
  logic [63-$clog2(S):0] now_was;
  logic [15:0]           lead_was;
  logic [34:0]           word;
  always_ff @(posedge clk) begin
    past <= 1'b1;
    {rst_was, now_was, lead_was, changes_was, word} <= {rst, now, nde_lead, lead_changes, cfg_addr, cfg_data};
    requested <= cfg_req && !cfg_done && !rst;
  end
  `ENVIRONMENT begin
    if (past || ASSUMED) `ASSUME(chosen_edge.off <= 3'(S - 1) && line_events.byte_end_off <= 3'(S - 1) && line_events.break_off <= 3'(S - 1));
    if (past) begin
      if (!rst_was) `ASSUME(now == now_was + 1'b1);
      if (nde_lead != lead_was) `ASSUME(changes_was || rst_was);
      if (requested) `ASSUME(cfg_req && {cfg_addr, cfg_data} == word);
      if (S == 1 && !rst) `ASSUME(grant == (due && !refuse) && (due || !refuse));
      if (rst_was) `ASSUME(!byte_stb);
      if (lin_data_set && lin_enable && !rst) `ASSUME(!count && !in_flight && !report);
    end
  end
endmodule
