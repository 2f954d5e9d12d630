// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_best_effort takes for granted: profile 0 stands still unless litepulse_config
// reports a change; the transmit FIFO keeps its head until it is popped; time passes;
// litepulse_events takes a report within 11 cycles; a frame is 7 bits of 4 cycles at least, a
// mark is not on the line. For the proof also changed: the profile has changed since reset; age: cycles since a byte began, which
// stays at the top; unread: cycles that a report has waited.
`include "litepulse_environment.svh"
module litepulse_best_effort_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [63-$clog2(S):0] now,
    input  logic                  prof0_valid,
    input  logic                  prof0_changed,
    input  logic [35:0]           period,
    input  logic [1:0]            data_bits,
    input  logic                  parity,
    input  logic [1:0]            stop,
    input  logic                  to_port,
    input  logic                  is_mark,       // what began last was one
    input  logic                  txb_valid,
    input  logic [7:0]            txb_data,
    input  logic                  txb_pop,
    input  logic                  started,
    input  logic                  line_active,
    input  logic                  start_timed,
    input  logic                  ev_req,
    input  logic                  ev_ack,
    output logic                 changed,
    output logic [4:0]           age,
    output logic [3:0]           unread
);
  logic                  past = 1'b0, rst_was, kept;
  logic [41:0]           profile, profile_was;
  logic [7:0]            head;
  logic [63-$clog2(S):0] now_was;
  initial age = '1;
  assign profile = {to_port, stop, parity, data_bits, period};
  always_ff @(posedge clk) begin
    past        <= 1'b1;
    rst_was     <= rst;
    changed     <= (changed || prof0_changed) && !rst;
    profile_was <= profile;
    kept        <= txb_valid && !txb_pop && !rst;
    head        <= txb_data;
    now_was     <= now;
    age         <= rst ? '1 : started ? 5'd0 : age == '1 ? age : age + 5'd1;
    unread      <= (rst || !ev_req || ev_ack) ? 4'd0 : unread + 4'd1;
  end
  `ENVIRONMENT begin
    if (past && !prof0_changed && !rst_was) `ASSUME(profile == profile_was);
    if (past || ASSUMED) `ASSUME(stop != 2'd3 && (!prof0_valid || changed || prof0_changed));
    if (past && rst_was) `ASSUME(!prof0_changed && !prof0_valid);
    if (past && kept && !rst) `ASSUME(txb_valid && txb_data == head);
    if (past && !rst_was) `ASSUME(now == now_was + 1'b1);
    if (past && age < 5'd27 && !is_mark) `ASSUME(!start_timed && line_active);
    if (past && unread == 4'd10) `ASSUME(ev_ack);
  end
endmodule
