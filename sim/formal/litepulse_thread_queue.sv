// SPDX-License-Identifier: BSD-2-Clause
// The launch queue's program with the modules beside it, an instruction in each step of the clock. See queue.sby.
`include "litepulse_types.svh"
module litepulse_thread_queue #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter int START = 0     // where the run begins, 0: anywhere
) (
    input logic clk
);
  localparam int THREAD = 0;
  localparam int LMIN_CYCLES = KE + 58;       // docs/core.md
  localparam int LQ_AW = 3;
`include "litepulse_thread.svh"

  (* anyconst *) logic [127:0] g_head;
  (* anyconst *) logic [63:0]  g_before;
  (* anyconst *) logic [3:0]   g_prof_valid;
  (* anyseq *)   logic [127:0] g_other;
  (* anyseq *)   logic         g_ack, g_flush, g_grant, g_push;
  logic         disarm, forget, act_do, width_we, armed, slack_ok, fired, is_far, wrapped, due, told, eventful, lq_free1, be_ok;
  logic         idle, flushed, emit, ev_req, ev_ack;
  logic [1:0]   r_ack;
  logic [31:0]  width;
  logic [S-1:0] lead;
  logic [15:0]  flush_count;
  logic [LQ_AW:0] lq_avail;
  logic         g_popped = 1'b0;
  logic [127:0] head;

  assign host_we = 1'b0;
  assign head    = g_popped ? g_other : g_head;
  assign lq_data = head[32 * b[1:0] +: 32];
  assign emit    = action == litepulse_program_pkg::ACT_EMIT;
  assign ev_ack  = ev_req && g_ack;

  litepulse_timed_source #(.S(S), .KE(KE)) source (
      .clk, .rst(1'b0), .now(now[7:0]), .near_wrap(near), .prof_valid(g_prof_valid), .de_lead(g_lead), .nslack(32'd0),
      .act(run), .operation, .eventful, .width_set(1'b0), .width_none(1'b0), .cond(cond[9:5]),
      .disarm, .forget, .act_do, .width_we, .armed, .slack_ok, .fired, .is_far, .wrapped, .due, .launch,
      .grant(g_grant), .lead, .ev_ack(r_ack[0]), .told, .result(launch_result)
  );
  litepulse_launch_queue #(.LQ_AW(LQ_AW)) queue (
      .clk, .rst(1'b0), .act(run), .operation, .cond(cond[15:10]), .eventful, .act_do, .armed, .slack_ok, .disarm, .forget,
      .lq_avail, .lq_free1, .be_ok, .idle, .flush(g_flush), .flushed, .flush_count
  );
  // as litepulse_launch_memory would have it
  always_ff @(posedge clk) if (width_we) width <= result[31:0];

  litepulse_report report (
      .emit, .thread(1'b0), .sum(result[31:0]), .now(now[7:0]), .told({1'b0, told}), .outcome, .granted,
      .queue_result(launch_result), .train_result('0),
      .ack(r_ack), .ev_req, .ev_ack, .ev(r_event)
  );

  // what the slot is given, and the cycles that it has left
  (* hierconn *) wire               \source.slot.load , \source.slot.arm , \source.slot.beyond ;
  (* hierconn *) wire        [31:0] \source.slot.value ;
  (* hierconn *) wire signed [34:0] \source.slot.rest ;
  logic               g_load, g_arm, g_far;
  logic        [31:0] g_value;
  logic signed [34:0] g_rest;
  logic signed [67:0] g_rest_ticks;
  assign g_load  = \source.slot.load ;
  assign g_arm   = \source.slot.arm ;
  assign g_far   = \source.slot.beyond ;
  assign g_value = \source.slot.value ;
  assign g_rest  = \source.slot.rest ;
  assign g_rest_ticks = $signed({{33{g_rest[34]}}, g_rest}) <<< SL;

  // About the entry's own tick. A run begins at one of the labels below, in any state that `holds`
  // there, and ends at the next of them, where it has to hold again.
  logic [63:0] g_t;
  logic signed [67:0] g_left, g_ahead, g_soonest;
  logic        g_invalid, g_order, g_past, g_holds, g_at_label, g_reported = 1'b0;
  (* anyconst *) logic [63:0] g_seen;         // when the entry was at the head of the idle queue
  (* anyconst *) logic [4:0]  g_start;         // idle, place, wait, over, disarm
  logic [4:0]  start;
  logic [7:0]  at;
  logic [LQ_AW:0] g_dropped;                  // by a flush
  logic        g_flush_seen = 1'b0;
  localparam logic [31:0] HEAD_START = 32'(-(KE + 24) * S);
  assign g_t       = g_head[63:0];
  assign g_left    = $signed({4'd0, g_t}) - $signed({4'd0, 64'(now + 64'(KE + 8))} << SL);      // the count that is to be loaded
  assign g_ahead   = $signed({4'd0, g_t}) - $signed({4'd0, g_seen} << SL);
  assign g_soonest = $signed({52'd0, g_lead} + 68'(LMIN_CYCLES * S));
  assign g_past    = $signed({4'd0, g_t}) < $signed({4'd0, now} << SL);
  assign g_invalid = g_head[107:106] == 2'd3 || !g_prof_valid[g_head[105:104]]
      || (g_head[107:106] == litepulse_map_pkg::LAUNCH_PULSE && g_head[95:64] == 32'd0)
      || (g_head[107:106] == litepulse_map_pkg::LAUNCH_BREAK && g_head[103:96] == 8'd0);
  assign g_order   = g_t < g_before;

  logic first = 1'b0, ends, stopped = 1'b0, near_again = 1'b0, g_flushed = 1'b0;
  logic [5:0] f_step = 6'd0;
  logic is_idle, is_place, is_wait, is_over, is_disarm;
  logic [63:0] w_tick, w_before;
  assign w_tick   = {mem[litepulse_program_pkg::Q_WORD_TICK_HI], mem[litepulse_program_pkg::Q_WORD_TICK_LO]};
  assign w_before = {mem[litepulse_program_pkg::Q_WORD_BEFORE_HI], mem[litepulse_program_pkg::Q_WORD_BEFORE_LO]};
  assign start = START == 0 ? g_start : 5'(START);
  assign halt  = ends || stopped;
  assign entry = start[0] ? litepulse_program_pkg::Q_AT_IDLE : start[1] ? litepulse_program_pkg::Q_AT_PLACE
      : start[2] ? litepulse_program_pkg::Q_AT_WAIT : start[3] ? litepulse_program_pkg::Q_AT_OVER : litepulse_program_pkg::Q_AT_DISARM;
  assign at = begins ? entry : pc;
  assign is_idle   = at == litepulse_program_pkg::Q_AT_IDLE;
  assign is_place  = at == litepulse_program_pkg::Q_AT_PLACE || at == litepulse_program_pkg::Q_AT_PLACE_1 || at == litepulse_program_pkg::Q_AT_PLACE_2;
  assign is_wait   = at == litepulse_program_pkg::Q_AT_WAIT || at == litepulse_program_pkg::Q_AT_WAIT_1;
  assign is_over   = at == litepulse_program_pkg::Q_AT_OVER || at == litepulse_program_pkg::Q_AT_OVER_1;
  assign is_disarm = at == litepulse_program_pkg::Q_AT_DISARM || at == litepulse_program_pkg::Q_AT_DISARM_1;
  assign g_at_label = is_idle || (is_place && !near_again) || is_wait || is_over || is_disarm;

  // armed again and again: g_waits, g_before and the entry are what the runs have in common
  always_comb begin
    g_holds = mem[litepulse_program_pkg::Q_WORD_ZERO] == 32'd0 && mem[litepulse_program_pkg::Q_WORD_HEAD_START] == HEAD_START && !lq_free1;
    if (is_idle) g_holds = g_holds && !armed && !fired && !wrapped && outcome == litepulse_program_pkg::OUT_PULSE;
    else if (!is_disarm || !start[0]) begin
      // worked on: the entry as it is, and its tick, valid and not before the one before it
      g_holds = g_holds && lq_avail != '0 && mem[litepulse_program_pkg::Q_WORD_LAUNCH] == g_head[127:96]
          && {kind, profile, data} == g_head[107:96] && width == g_head[95:64];
      if (is_disarm && (armed || fired)) g_holds = g_holds && !g_invalid;
      if (!is_disarm || armed || fired) g_holds = g_holds && w_tick == g_t;
      if (is_place || is_wait) begin
        g_holds = g_holds && !g_invalid && outcome == litepulse_program_pkg::OUT_PULSE
            && mem[litepulse_program_pkg::Q_WORD_LEAST] == HEAD_START - {16'd0, g_lead};
      end
    end
    // a first look, soon after it was seen, or its far count has ended, well before it is due
    if (is_place) begin
      if (!armed) g_holds = g_holds && !fired && w_before == g_before && !g_order
          && now <= g_seen + 64'd30 && now >= g_seen;
      else g_holds = g_holds && is_far && !fired && !g_past && g_t - now_tick >= 64'h80000000;
    end
    if (is_wait) begin
      g_holds = g_holds && (armed || fired) && !(armed && fired);
      // a far count ends with most of 2^32 left, or more
      if (armed && is_far) g_holds = g_holds && $signed({4'd0, g_t}) - $signed({4'd0, now} << SL) - g_rest_ticks >= $signed(68'h80001000)
          && (wrapped ? g_rest >= -35'sd4 : g_rest > 35'sd0);
      if (wrapped) g_holds = g_holds && is_far;
    end
    if (is_over) begin
      g_holds = g_holds && !armed && (outcome == litepulse_program_pkg::OUT_PULSE ? fired && !g_invalid
          : outcome == (g_invalid ? litepulse_program_pkg::OUT_INVALID : g_order ? litepulse_program_pkg::OUT_ORDER
          : litepulse_program_pkg::OUT_LATE));
      if (outcome == litepulse_program_pkg::OUT_LATE) g_holds = g_holds && g_ahead < g_soonest;
    end
    if (is_disarm) g_holds = g_holds && eventful && outcome == litepulse_program_pkg::OUT_PULSE && !(armed && fired);
  end

  logic [2:0] f_emits = 3'd0;
  assign ends = !begins && !first && g_at_label;
  always_comb begin
    assume (start == 5'd1 || start == 5'd2 || start == 5'd4 || start == 5'd8 || start == 5'd16);
    assume (g_t[63:62] == 2'd0 && g_seen[63:58] == 6'd0);
    if (begins) begin
      assume (g_holds && !told && !g_flush && lq_avail <= 4'd2 && g_dropped == '0);
      if (start[0]) assume (lq_avail != '0 && !eventful && w_before == g_before && now == g_seen + 64'd2);
    end
  end
  always_ff @(posedge clk) begin
    first <= begins;
    near_again <= (first || near_again) && is_place && near;
    lq_avail <= lq_avail - {3'd0, lq_free1} + {3'd0, g_push && !lq_avail[LQ_AW] && !start[4]};
    if (lq_free1) g_popped <= 1'b1;
    f_emits <= emit ? f_emits + 3'd1 : 3'd0;
    if (f_emits >= 3'd3 && emit && !told) assume (g_ack);    // to wait longer changes nothing
    if (g_flush) g_flush_seen <= 1'b1;
    if (ends) stopped <= 1'b1;
    if (ends && !stopped) begin
      assert (g_holds);
      assert (!start[0] || !is_wait);
      if (start[3]) assert (is_idle && g_popped && g_reported && w_before == g_t);
      else if (!start[4]) assert (!is_idle && !g_popped);
      // a flush leaves nothing armed, drops what was there and forgets the tick; what had gone just
      // then is reported like any other
      if (start[4] && is_idle) assert (g_flushed && w_before == 64'd0);
      if (start[4]) assert (is_idle || (is_over && !g_popped));
    end
    if (flushed && run) begin
      g_flushed <= 1'b1;
      assert (start[4] && lq_avail == '0 && flush_count == 16'(g_dropped));
    end
    if (forget && argument == litepulse_program_pkg::Q_DO_DROP) g_dropped <= g_dropped + 1'b1;
    if (run) begin
      // loaded: for its own tick; far only when it can be loaded once more in time
      if (g_load) begin
        assert (start[1] && (g_arm || !armed));
        if (g_arm && !g_far) assert (g_value == g_left[31:0] && !g_left[67] && g_left[66:32] == '0 && g_left >= $signed({52'd0, g_lead}));
        if (g_far) assert (!g_left[67] && g_left - $signed({36'd0, g_value}) >= $signed(68'h80002000));
      end
      if (argument == litepulse_program_pkg::Q_DO_POP && action == litepulse_program_pkg::ACT_DO) assert (start[3] && !g_popped);
      // reported once, as what it was
      if (ev_ack) begin
        assert (start[3] && !g_reported && r_source == litepulse_map_pkg::SRC_QUEUE && r_data == {g_head[127:112], 4'd0, g_head[107:96]});
        if (outcome == litepulse_program_pkg::OUT_PULSE) begin
          assert (r_kind == (granted ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_REFUSED));
          assert (r_flags == (granted ? 8'd0 : litepulse_map_pkg::REASON_BUSY) && r_lo == ev_lo && r_off == ev_off);
        end else begin
          assert (r_kind == litepulse_map_pkg::KIND_REFUSED && r_off == 3'd0);
          assert (r_flags == (g_invalid ? litepulse_map_pkg::REASON_INVALID : g_order ? litepulse_map_pkg::REASON_ORDER
              : litepulse_map_pkg::REASON_LATE));
        end
        g_reported <= 1'b1;
      end
      // best effort is held off while an entry is worked on
      if (!g_popped && !armed && lq_avail != '0) assert (!be_ok);
    end
    assert (f_step < 6'd14 || ends || stopped);
    if (run) f_step <= f_step + 6'd1;
  end

  always_ff @(posedge clk) if (!begins && !stopped) begin
    cover (g_load && g_arm && !g_far && g_ahead == g_soonest && g_before == g_t);
    cover (g_load && g_far && !armed);
    cover (g_load && !g_far && armed);
    cover (g_load && !g_far && g_arm && g_t[32] && !now[32-SL]);
    cover (ends && is_over && outcome == litepulse_program_pkg::OUT_LATE && g_ahead == g_soonest - $signed(68'(S)));
    cover (ends && is_over && outcome == litepulse_program_pkg::OUT_ORDER && g_t + 64'd1 == g_before && g_before[31:0] == 32'd0);
    cover (ends && start[2] && is_place);
    cover (ends && g_flushed && g_dropped == 4'd2);
    cover (ends && start[3] && granted && outcome == litepulse_program_pkg::OUT_PULSE && is_idle);
  end
endmodule
