// SPDX-License-Identifier: BSD-2-Clause
// What the launch queue and the train have in common beside litepulse_sequencer, which prepares their launches: the slot that counts down,
// what is to be launched, what became of it.
//   KE        cycles from `now` to the pin, with S > 1 one more: the arbiter takes one
//   SEQUENCE  an entry of kind `wait` is valid if there is its channel; with each width the sum is shown as the tick of the result
`include "litepulse_types.svh"
module litepulse_timed_source #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter bit SEQUENCE = 1'b0,
    parameter int INPUTS = 4
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [7:0]   now,        // low byte
    input  logic         near_wrap,  // see litepulse_sequencer
    input  logic [3:0]   prof_valid,
    input  logic [15:0]  de_lead,    // ticks
    input  logic [31:0]  nslack,     // complement of a best-effort frame's length, ticks
    // sequencer: action and argument while `act` is high
    input  logic         act,
    input  operation_t   operation,
    input  logic         eventful,   // something besides the slot
    input  logic         width_set,  // strobe, of the train: its next width was written ...
    input  logic         width_none, // ... and is 0
    output logic [9:5]   cond,
    // owner
    input  logic         disarm,
    input  logic         forget,
    output logic         act_do,     // the owner's own action `argument`
    output logic         width_we,   // `sum` is the width of the launch that comes next
    output logic         armed,
    output logic         slack_ok,
    output logic         fired,
    output logic         is_far,
    output logic         wrapped,
    // arbiter
    output logic         due,
    output logic         due_soon,   // see litepulse_slot
    output launch_t      launch,
    input  logic         grant,
    output logic [S-1:0] lead,
    // report
    input  logic         ev_ack,
    output logic         told,       // it was taken
    output launch_result_t result
);
  logic [1:0]  kind, profile;
  logic [2:0]  off, outcome, ev_off;
  logic [7:0]  data, ev_lo;
  logic        granted;
  assign launch.kind    = kind;
  assign launch.profile = profile;
  assign launch.data    = data;
  assign launch.off     = off;
  assign result.lo      = ev_lo;
  assign result.off     = ev_off;
  assign result.outcome = outcome;
  assign result.granted = granted;

  logic load, load_far, load_any, latch, width_was, bad, word_bad, wait_bad, answered;   // with S > 1 a cycle behind `due`

  assign load_far = operation.action == litepulse_program_pkg::ACT_LOAD_FAR;
  assign load_any = operation.action == litepulse_program_pkg::ACT_LOAD_ANY;
  assign load     = act && (load_far || load_any || operation.action == litepulse_program_pkg::ACT_LOAD);
  assign latch    = act && operation.action == litepulse_program_pkg::ACT_LATCH;
  assign act_do   = act && operation.action == litepulse_program_pkg::ACT_DO;
  assign width_we = act && operation.action == litepulse_program_pkg::ACT_WIDTH;
  assign cond     = {bad, near_wrap, fired || wrapped || eventful, fired, told};
  assign word_bad = (operation.result[11:10] == litepulse_map_pkg::LAUNCH_WAIT) ? wait_bad : !prof_valid[operation.result[9:8]]
      || (operation.result[11:10] == litepulse_map_pkg::LAUNCH_BREAK && operation.result[7:0] == 8'd0);
  assign wait_bad = !SEQUENCE || operation.result[3:0] > 4'(INPUTS);

  litepulse_slot #(.S(S)) slot (
      .clk, .rst, .load, .value(operation.result), .arm(operation.taken || load_far || load_any),
      .beyond(load_far || (load_any && !operation.taken)), .take_back(disarm), .forget,
      .de_lead, .nslack, .due, .due_soon, .off, .lead, .armed, .slack_ok, .fired, .is_far, .wrapped
  );

  always_ff @(posedge clk) begin
    if (latch) {kind, profile, data} <= operation.result[11:0];
    if (latch) bad <= word_bad;
    else if (width_set) bad <= width_none && kind == litepulse_map_pkg::LAUNCH_PULSE;  // what runs is good otherwise
    else if (width_was && operation.zero && kind == litepulse_map_pkg::LAUNCH_PULSE) bad <= 1'b1;
    width_was <= width_we;
    if (act_do && operation.argument[4]) outcome <= operation.argument[2:0];
    if (ev_ack) told <= 1'b1;
    else if (act && operation.action != litepulse_program_pkg::ACT_EMIT) told <= 1'b0;
    answered <= due;
    if ((S == 1) ? due : answered) granted <= grant;
    if (due) begin
      ev_lo   <= now + 8'(KE + 1);
      ev_off  <= off;
    end else if (SEQUENCE && width_we) begin
      ev_lo   <= operation.result[$clog2(S) +: 8];
      ev_off  <= 3'(operation.result[2:0] & 3'(S - 1));
      granted <= 1'b1;
    end
    if (rst) outcome <= litepulse_program_pkg::OUT_PULSE;
  end
endmodule
