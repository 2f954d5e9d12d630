// SPDX-License-Identifier: BSD-2-Clause
// What the sequencer's programs have to tell, as a request to litepulse_events: offered in two cycles of four until it was taken.
`include "litepulse_types.svh"
module litepulse_report #(
    parameter bit SEQUENCE = 1'b0   // thread 0 reports that a wait has timed out as OUT_STOP
) (
    input  logic        emit,      // the program shows the record's data
    input  logic        thread,    // 0 launch queue, 1 train
    input  logic [31:0] sum,
    input  logic [7:0]  now,       // low byte
    // bit or part 0: queue, 1: train
    input  logic [1:0]  told,
    input  logic [2:0]  outcome,   // of `thread`, likewise granted
    input  logic        granted,
    // verilator lint_off UNUSEDSIGNAL
    input  launch_result_t queue_result,
    input  launch_result_t train_result,
    // verilator lint_on UNUSEDSIGNAL
    output logic [1:0]  ack,
    // request
    output logic        ev_req,
    input  logic        ev_ack,
    output event_request_t ev
);
  logic [15:0] lo;
  logic [5:0]  off;
  assign lo  = {train_result.lo, queue_result.lo};
  assign off = {train_result.off, queue_result.off};

  logic [31:0] ev_data;
  logic [3:0]  ev_kind, ev_source;
  logic [7:0]  ev_flags, ev_lo;
  logic [2:0]  ev_off;
  assign ev.data   = ev_data;
  assign ev.kind   = ev_kind;
  assign ev.source = ev_source;
  assign ev.flags  = ev_flags;
  assign ev.lo     = ev_lo;
  assign ev.off    = ev_off;

  logic       pulse, timeout;

  assign timeout = SEQUENCE && !thread && outcome == litepulse_program_pkg::OUT_STOP;
  assign pulse  = outcome == litepulse_program_pkg::OUT_PULSE || timeout;
  assign ev_req = emit && !told[thread];
  assign ack    = {ev_ack && thread, ev_ack && !thread};
  assign ev_lo  = !pulse ? now : thread ? lo[15:8] : lo[7:0];
  assign ev_off = !pulse ? 3'd0 : thread ? off[5:3] : off[2:0];
  // of a launch word the unused bits are left out
  assign ev_data = {sum[31:16], sum[15:12] & {4{thread}}, sum[11:0]};

  always @* begin
    ev_source = !thread ? litepulse_map_pkg::SRC_QUEUE : litepulse_map_pkg::SRC_TRAIN_CHANGE;
    ev_kind   = litepulse_map_pkg::KIND_REFUSED;
    ev_flags  = {5'd0, outcome};  // OUT_LATE to OUT_INVALID are REASON_*
    case (outcome)
      litepulse_program_pkg::OUT_PULSE: begin
        if (thread) ev_source = litepulse_map_pkg::SRC_TRAIN;
        ev_kind  = granted ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_REFUSED;
        ev_flags = granted ? 8'd0 : litepulse_map_pkg::REASON_BUSY;
      end
      litepulse_program_pkg::OUT_APPLIED: begin
        ev_kind  = litepulse_map_pkg::KIND_APPLIED;
        ev_flags = 8'd0;
      end
      litepulse_program_pkg::OUT_STOP: begin
        ev_kind  = timeout ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_APPLIED;
        ev_flags = litepulse_map_pkg::EVENT_FLAG_STOP;
      end
      litepulse_program_pkg::OUT_TRAIN_DONE: begin
        if (thread) ev_source = litepulse_map_pkg::SRC_TRAIN;
        ev_kind  = litepulse_map_pkg::KIND_TRAIN_DONE;
        ev_flags = 8'd0;
      end
      default: ;
    endcase
  end
endmodule
