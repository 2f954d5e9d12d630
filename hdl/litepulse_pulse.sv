// SPDX-License-Identifier: BSD-2-Clause
// All of LitePulse that is clocked by `pulse`: time, settings, what goes out and what comes in. Wiring only. It is synthesised by
// itself (keep_hierarchy): mapped together with a slow bus it would be allowed that one's depth of logic.
// Parameters as in litepulse.sv.
`include "litepulse_types.svh"
(* keep_hierarchy *)
module litepulse_pulse #(
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int EV_AW = 8,
    parameter int RING_AW = 6,
    parameter int LQ_AW = 6,
    parameter int LATENCY_IN = 1,
    parameter int LATENCY_OUT = 1,
    parameter int LIN_ENTRIES = 0,
    parameter bit PORT = 1'b0,
    parameter bit SEQUENCE = 1'b0,
    parameter LARGE_RAM = "auto",
    parameter logic [63:0] START_CYCLE = 64'd0
) (
    input  logic                clk,
    input  logic                rst,
    // PHY; sample 0 is the earliest, aux channel c sample s at bit c*S + s
    output logic [S-1:0]        tx_o,
    output logic                tx_oe,
    output logic [S-1:0]        de_o,
    output logic [7:0]          port_o,
    input  logic [S-1:0]        rx_i,
    input  logic [INPUTS*S-1:0] aux_i,
    // litepulse_cdc: streams, bytes to send, launches, configuration words
    output ev_write_t           ev_write,
    input  logic [EV_AW:0]      ev_free,      // 2^EV_AW: so many or more
    output rx_write_t           rx_write,
    input  logic [RING_AW-1:0]  rx_free,
    input  tx_head_t            tx_head,
    output logic                tx_pop,
    // verilator lint_off UNUSEDSIGNAL
    input  lq_head_t            lq_head,
    // verilator lint_on UNUSEDSIGNAL
    output lq_read_t            lq_read,
    input  cfg_request_t        cfg,
    output cfg_answer_t         cfg_answer,
    output pulse_state_t        state
);
  localparam int SL = $clog2(S);
  localparam int C = INPUTS + 1;
  localparam int LOOP = LATENCY_IN + LATENCY_OUT;     // cycles from tx_o to rx_i over a wire
  localparam int KE = LOOP + ((S > 1) ? 2 : 0);       // cycles from `now`, the time of what litepulse_capture shows, to the pin
  localparam int KT = KE + ((S > 1) ? 1 : 0);         // the same for what is timed, which waits a cycle for the arbiter

  // time
  logic [63-SL:0]   now;
  logic [2:0]       young;
  logic             near_wrap;

  // settings
  logic             train_req, train_done, train_err, train_untold, resp_req, resp_done, resp_err;
  logic             lin_req, lin_done, lin_err;
  logic             prof0_changed;
  frame_format_t    prof0_format;
  logic [35:0]      prof0_period;
  logic [3:0]       prof_valid, prof_invert, prof_port;
  logic             nloopback, hold_tty, rest_level, break_hold, break_stays, break_holds, rx_enable;
  logic [15:0]      nde_lead, de_lag;
  capture_settings_t capture_settings;
  logic [9:0]       echo_tail;
  logic             echo_changed, lead_changes, loop_changes, port_we;
  logic [10:0]      event_mask;
  logic             flush_queue, queue_flushed, flush_tty, tty_flushed;
  logic [15:0]      flush_count;

  // sources: 0 responder, 1 queue, 2 train
  logic [2:0]       due, grant, be_ok;
  logic [2:0]       mark, mark_grant, mark_refuse, line_grant, line_refuse;   // launches that go to the port, the others
  logic [2:1]       due_soon;
  // verilator lint_off UNUSEDSIGNAL
  logic [2:0]       refuse;
  // verilator lint_on UNUSEDSIGNAL
  launch_t          resp_launch, queue_launch, train_launch;
  pulse_width_t     resp_width, queue_width, train_width;
  logic [S-1:0]     resp_lead, queue_lead, train_lead, tty_lead, timed_lead, timed_lead_was;
  logic             tty_asks, tty_due, tty_started, tty_drained, tty_mark, tty_marked;
  logic [7:0]       tty_data;
  logic [31:0]      nslack;
  logic             queue_idle, train_running, train_pending, resp_armed;

  // LIN
  logic             lin_hit, lin_overtaken, lin_data_set, lin_enable, lin_counting, lin_launched;
  logic [7:0]       lin_data_next, lin_data;

  // sequencer
  logic             host_we, host_done, wrap_near, emit, thread, told_granted, is_far, wrapped, width_set, width_none;
  logic [1:0]       width_we, act, act_do, eventful, disarm, forget, armed, slack_ok, told, told_ack;
  logic [2:0]       told_outcome;
  logic [21:0]      cond;
  logic [7:0]       age;
  logic [2:0]       age_off;
  operation_t       operation;
  launch_result_t   queue_result, train_result;

  // line
  logic             start, start_timed, hold_start;
  start_t           launch;
  line_state_t      line;
  // what it counts
  logic             mem_ren, mem_ready, mem_long, read_soon, may_read, few;
  logic [2:0]       mem_raddr;
  profile_write_t   mem_write;
  frame_format_t    format;
  logic [35:0]      interval;
  logic [S-1:0]     sub_mask, sub_level, start_from, free_from, line_busy, cond_line, cond_next;

  // event requests: 0 responder, 1 sequencer, 2 tty, 3 control
  logic [3:0]       req, ack;
  event_request_t   resp_event, sequencer_event, tty_event, control_event;

  // inputs
  logic [C*S-1:0]   samples;
  edges_t           edges;
  edge_choice_t     edge_choice, wait_choice;
  chosen_edge_t     chosen_edge, wait_edge;
  logic [6:0]       line_delay;
  logic             rec_valid, rx_busy, rx_confirmed, rx_on, rec_busy, rx_fault, ev_fault, line_own;
  received_t        received;
  line_events_t     line_events;

  // a cycle later with S > 1: more of what decides about the line is a register's output
  logic break_held;
  always_ff @(posedge clk) break_held <= break_hold;
  assign break_holds = (S > 1) ? break_held : break_hold;

  // The line as the receiver sees it: a level that changes at T is first sampled at T + 1, on a wire as in the loopback. Busy likewise.
  logic [S*(LOOP-1)-1:0] tx_past;   // samples before tx_o, latest on top
  logic [S-1:0]  tx_then, rx_loop;
  logic          tx_then_last;
  logic [KE-1:0] busy_past;      // in terms of `now` the oldest is the cycle shown, the one before it the next cycle
  logic          rest_was, space_was, switched, switched_was;

  assign tx_then = (LOOP > 1) ? tx_past[S-1:0] : tx_o;
  always @* begin
    rx_loop[0] = tx_then_last;
    for (int s = 1; s < S; s++) rx_loop[s] = tx_then[s-1];
    for (int i = 0; i < INPUTS * S; i++) samples[i] = aux_i[i];
    for (int s = 0; s < S; s++) samples[INPUTS*S+s] = nloopback ? rx_i[s] : rx_loop[s];
  end

  always_ff @(posedge clk) begin
    tx_past      <= (S * (LOOP - 1))'({tx_o, tx_past} >> S);
    tx_then_last <= tx_then[S-1];
    // A rest level or, in a hold, a space level that changes moves the line without a launch.
    busy_past    <= {busy_past[KE-2:0], line_busy != '0 || rest_was != rest_level || space_was != prof_invert[0]};
    rest_was     <= rest_level;
    space_was    <= prof_invert[0];
    switched     <= loop_changes;
    switched_was <= switched;
    tx_oe        <= 1'b1;
    if (rst) begin
      tx_past      <= '1;
      tx_then_last <= 1'b1;
      busy_past    <= '0;
      rest_was     <= 1'b1;
      space_was    <= 1'b0;
      switched     <= 1'b0;
      switched_was <= 1'b0;
      tx_oe        <= 1'b0;
    end
  end

  // With several samples a cycle an edge may be seen in the very cycle in which our launch begins, and a new filter waits until the
  // old one's samples have been shown.
  litepulse_echo #(.LAG((S > 1) ? 4 : 2)) echo (
      .clk, .rst, .sent(busy_past[(S > 1) ? KE - 2 : KE - 1] || ((S > 1) ? switched_was : loop_changes)),
      .tail(echo_tail), .line_delay(line_delay[5:0]),
      .changed(echo_changed), .own(line_own)
  );

  assign state.tick          = 64'(now) << SL;
  assign state.rx_busy       = rx_busy || rec_busy;
  assign state.line_busy     = line.active;
  assign state.queue_idle    = queue_idle;
  assign state.resp_armed    = resp_armed;
  assign state.train_pending = train_pending;
  assign state.train_running = train_running;
  assign state.tx_idle       = tty_drained;
  assign state.fault         = ev_fault || rx_fault;

  // Time and settings ----------------------------------------------------------------------------------------------------

  litepulse_timebase #(.S(S), .START_CYCLE(START_CYCLE)) timebase (.clk, .rst, .now, .young, .near_wrap);

  litepulse_config #(.S(S), .INPUTS(INPUTS), .LIN(LIN_ENTRIES != 0), .PORT(PORT)) configuration (
      .clk, .rst, .now, .cfg_req(cfg.valid), .cfg_addr(cfg.addr), .cfg_data(cfg.data), .cfg_stop(cfg.stop),
      .cfg_done(cfg_answer.done), .cfg_err(cfg_answer.refused),
      .train_req, .train_done, .train_err, .train_untold, .train_running, .resp_req, .resp_done, .resp_err,
      .lin_req, .lin_done, .lin_err,
      .mem_ready, .mem_write, .mem_long, .prof_valid, .prof_invert, .prof_port, .prof0_period, .prof0_format, .prof0_changed,
      .nloopback, .loop_changes, .hold_tty, .rest_level, .break_hold, .break_stays, .rx_enable, .nde_lead, .lead_changes, .de_lag,
      .capture(capture_settings), .echo_tail, .echo_changed, .port_we, .event_mask,
      .flush_queue, .queue_flushed, .flush_count, .flush_tty, .tty_flushed,
      .ev_req(req[3]), .ev_ack(ack[3]), .ev(control_event)
  );

  // What goes out --------------------------------------------------------------------------------------------------------

  litepulse_responder #(.S(S), .KE(KT), .LIN(LIN_ENTRIES != 0), .LARGE_RAM(LARGE_RAM)) responder (
      .clk, .rst, .now, .prof_valid, .nde_lead, .lead_changes,
      .cfg_req(resp_req), .cfg_addr(cfg.addr[2:0]), .cfg_data(cfg.data), .cfg_done(resp_done), .cfg_err(resp_err),
      .edge_choice, .chosen_edge, .line_own, .byte_stb(rec_valid), .byte_data(received.data[7:0]), .line_events,
      .lin_hit, .lin_overtaken, .lin_data_set, .lin_data_next, .lin_data, .lin_enable, .lin_counting, .lin_launched,
      .due(due[0]), .launch(resp_launch), .width_zero(resp_width.zero),
      .grant(grant[0]), .refuse(refuse[0]), .lead(resp_lead), .be_ok(be_ok[0]), .armed(resp_armed),
      .ev_req(req[0]), .ev_ack(ack[0]), .ev(resp_event)
  );

  generate
    if (LIN_ENTRIES != 0) begin : gen_lin
      localparam int BIT_WIDTH = 18;   // of the whole cycles in a bit; with longer ones no break is seen
      logic lin_break, too_long;
      always_ff @(posedge clk) too_long <= prof0_period[35:BIT_WIDTH+8+SL] != '0;
      litepulse_lin_break #(.S(S), .BITS(BIT_WIDTH)) header_break (
          .clk, .rst, .enable(rx_on && !too_long), .cond_line, .invert(prof_invert[0]),
          .bit_cycles(prof0_period[8+SL +: BIT_WIDTH]), .seen(lin_break)
      );
      litepulse_lin #(.ENTRIES(LIN_ENTRIES), .LARGE_RAM(LARGE_RAM)) lin (
          .clk, .rst, .cfg_req(lin_req), .cfg_addr(cfg.addr[1:0]), .cfg_data(cfg.data), .cfg_done(lin_done), .cfg_err(lin_err),
          .byte_stb(rec_valid), .byte_data(received.data[7:0]), .line_events, .receiving(rx_confirmed), .break_stb(lin_break),
          .enable(lin_enable), .counting(lin_counting), .launched(lin_launched),
          .hit(lin_hit), .overtaken(lin_overtaken), .data_set(lin_data_set), .data_next(lin_data_next), .data(lin_data)
      );
    end else begin : gen_no_lin
      logic unused;
      assign unused = &{1'b0, lin_req, lin_data, lin_enable, lin_counting, lin_launched, rx_confirmed};
      assign {lin_done, lin_err, lin_hit, lin_overtaken, lin_data_set, lin_data_next} = '0;
    end
  endgenerate

  // prepares the launches of the queue (thread 0) and of the train (thread 1)
  litepulse_sequencer #(.S(S), .KE(KT), .SEQUENCE(SEQUENCE)) sequencer (
      .clk, .rst, .now, .near_wrap, .wrap_near, .nde_lead, .host_we, .host_addr(cfg.addr[3:0]), .host_data(cfg.data),
      .host_done, .lq_word(lq_read.word), .lq_ren(lq_read.en), .lq_rdata(lq_head.data), .age, .age_off,
      .queue_cond(cond[10:0]), .train_cond(cond[21:11]),
      .act, .operation, .emit, .thread, .queue_result, .train_result, .told_outcome, .told_granted
  );

  litepulse_timed_source #(.S(S), .KE(KT), .SEQUENCE(SEQUENCE), .INPUTS(INPUTS)) queue_source (
      .clk, .rst, .now(now[7:0]), .near_wrap(wrap_near), .prof_valid, .de_lead(~nde_lead), .nslack,
      .act(act[0]), .operation, .eventful(eventful[0]), .width_set(1'b0), .width_none(1'b0), .cond(cond[4:0]),
      .disarm(disarm[0]), .forget(forget[0]), .act_do(act_do[0]), .width_we(width_we[0]), .armed(armed[0]), .slack_ok(slack_ok[0]),
      // verilator lint_off PINCONNECTEMPTY
      .fired(), .is_far(), .wrapped(),
      // verilator lint_on PINCONNECTEMPTY
      .due(due[1]), .due_soon(due_soon[1]), .launch(queue_launch), .grant(grant[1]), .lead(queue_lead),
      .ev_ack(told_ack[0]), .told(told[0]), .result(queue_result)
  );
  litepulse_launch_queue #(.LQ_AW(LQ_AW), .SEQUENCE(SEQUENCE)) launch_queue (
      .clk, .rst, .act(act[0]), .operation, .cond(cond[10:5]), .age, .age_off, .eventful(eventful[0]),
      .wait_choice, .wait_edge, .launch(queue_launch),
      .act_do(act_do[0]), .armed(armed[0]), .slack_ok(slack_ok[0]), .disarm(disarm[0]), .forget(forget[0]),
      .lq_avail(lq_head.avail[LQ_AW:0]), .lq_free1(lq_read.free), .be_ok(be_ok[1]), .idle(queue_idle),
      .flush(flush_queue), .flushed(queue_flushed), .flush_count
  );

  litepulse_timed_source #(.S(S), .KE(KT)) train_source (
      .clk, .rst, .now(now[7:0]), .near_wrap(wrap_near), .prof_valid, .de_lead(~nde_lead), .nslack,
      .act(act[1]), .operation, .eventful(eventful[1]), .width_set, .width_none, .cond(cond[15:11]),
      .disarm(disarm[1]), .forget(forget[1]), .act_do(act_do[1]), .width_we(width_we[1]), .armed(armed[1]), .slack_ok(slack_ok[1]),
      // verilator lint_off PINCONNECTEMPTY
      .fired(),
      // verilator lint_on PINCONNECTEMPTY
      .is_far, .wrapped,
      .due(due[2]), .due_soon(due_soon[2]), .launch(train_launch), .grant(grant[2]), .lead(train_lead),
      .ev_ack(told_ack[1]), .told(told[1]), .result(train_result)
  );
  litepulse_train train (
      .clk, .rst, .cfg_req(train_req), .cfg_addr(cfg.addr[3:0]), .cfg_data(cfg.data), .cfg_done(train_done),
      .cfg_err(train_err), .cfg_untold(train_untold), .host_we, .host_done, .operation, .cond(cond[21:16]), .eventful(eventful[1]),
      .width_set, .width_none,
      .act_do(act_do[1]), .armed(armed[1]), .slack_ok(slack_ok[1]), .is_far, .wrapped, .disarm(disarm[1]), .forget(forget[1]),
      .be_ok(be_ok[2]), .running(train_running), .pending(train_pending)
  );

  litepulse_report #(.SEQUENCE(SEQUENCE)) report (
      .emit, .thread, .sum(operation.result), .now(now[7:0]), .told, .outcome(told_outcome), .granted(told_granted),
      .queue_result, .train_result, .ack(told_ack), .ev_req(req[1]), .ev_ack(ack[1]), .ev(sequencer_event)
  );
  litepulse_best_effort #(.S(S), .KE(KE), .PORT(PORT)) best_effort (
      .clk, .rst, .now, .hold(hold_tty), .prof0_valid(prof_valid[0]), .prof0_changed,
      .period(tty_mark ? 36'(4 * S * 256) : prof0_period), .format(prof0_format), .to_port(tty_mark), .nde_lead(nde_lead | {16{tty_mark}}),
      .txb_valid(tx_head.valid), .txb_none(tx_head.none), .txb_data(tx_head.data), .txb_pop(tx_pop),
      .flush(flush_tty), .flushed(tty_flushed), .sources_ok(&be_ok), .nslack,
      .asks(tty_asks), .due(tty_due), .data(tty_data), .started(tty_started || tty_marked),
      .line_active(line.active), .start_timed, .lead(tty_lead),
      .drained(tty_drained),
      .ev_req(req[2]), .ev_ack(ack[2]), .ev(tty_event)
  );

  // A mark goes to the port in place of the line, whatever that does; the arbiter never sees it.
  assign tty_mark = prof_port[0];
  assign grant    = line_grant | mark_grant;
  assign refuse   = line_refuse | mark_refuse;
  generate
    if (PORT) begin : gen_port
      litepulse_port #(.S(S), .LATENCY_OUT(LATENCY_OUT)) marker_port (
          .clk, .rst, .width_we(port_we), .width_data(cfg.data), .prof_port, .responder_launch(resp_launch), .queue_launch, .train_launch,
          .due, .mark, .grant(mark_grant), .refuse(mark_refuse),
          .tty_due(tty_due && tty_mark), .tty_data, .tty_started(tty_marked), .port(port_o)
      );
    end else begin : gen_no_port
      logic unused;
      assign unused = &{1'b0, port_we, prof_port[3:1]};
      assign {mark, mark_grant, mark_refuse, tty_marked, port_o} = '0;
    end
  endgenerate

  litepulse_arbiter #(.S(S)) arbiter (
      .clk, .rst, .due(due & ~mark), .due_soon, .responder_launch(resp_launch), .queue_launch, .train_launch,
      .responder_width(resp_width), .queue_width, .train_width, .grant(line_grant), .refuse(line_refuse),
      .be_due(tty_due && !tty_mark), .be_asks(tty_asks && !tty_mark), .be_data(tty_data), .be_started(tty_started),
      .break_hold, .break_stays, .prof_invert,
      .ren(mem_ren), .raddr(mem_raddr), .read_soon, .may_read, .line, .free_from, .start, .launch, .start_from,
      .sub_mask, .sub_level, .start_timed, .hold_start
  );

  litepulse_launch_memory #(.S(S)) launch_memory (
      .clk, .rst, .ren(mem_ren), .raddr(mem_raddr), .read_soon, .may_read, .interval, .few, .format,
      .width_we(width_we != 2'd0), .width_train(width_we[1]), .width_data(operation.result),
      .cfg_ready(mem_ready), .cfg_write(mem_write), .cfg_data(cfg.data), .cfg_long(mem_long),
      .responder_width(resp_width), .queue_width, .train_width
  );

  litepulse_line_tx #(.S(S)) line_tx (
      .clk, .rst, .prepare(mem_ren), .start, .launch, .start_from, .interval, .few, .format,
      .sub_mask, .sub_level, .rest_level, .space_level(prof_invert[0]), .hold_start, .hold(break_holds),
      .hold_next((S > 1) ? break_hold : break_stays), .line, .free_from, .busy(line_busy), .tx(tx_o)
  );

  assign timed_lead = (resp_lead & {S{!mark[0]}}) | (queue_lead & {S{!mark[1]}}) | (train_lead & {S{!mark[2]}});   // a mark opens no `de`
  always_ff @(posedge clk) timed_lead_was <= timed_lead & {S{!rst}};

  litepulse_driver_enable #(.S(S)) driver_enable (
      .clk, .rst, .lag(de_lag), .lead(((S > 1) ? timed_lead_was : timed_lead) | tty_lead), .busy(line_busy), .de(de_o)
  );

  // What comes in --------------------------------------------------------------------------------------------------------

  litepulse_capture #(.S(S), .INPUTS(INPUTS), .SEQUENCE(SEQUENCE)) capture (
      .clk, .rst, .samples, .settings(capture_settings), .cond_line, .cond_next, .line_delay, .edges, .edge_choice, .chosen_edge,
      .wait_choice, .wait_edge
  );

  assign rx_on = rx_enable && prof_valid[0] && !prof0_changed;
  litepulse_line_rx #(.S(S)) line_rx (
      .clk, .rst, .now, .young, .enable(rx_on), .cond_line, .cond_next, .line_delay,
      .period(prof0_period), .format(prof0_format), .invert(prof_invert[0]), .line_own,
      .rec_valid, .received, .busy(rx_busy), .confirmed(rx_confirmed), .events(line_events)
  );

  litepulse_receive #(.RING_AW(RING_AW)) receive (
      .clk, .rst, .rec_valid, .received, .rx_wr(rx_write.valid), .rx_wword(rx_write.word), .rx_wdata(rx_write.data), .rx_free,
      .rx_gap(state.rx_gap), .rx_nlost(state.rx_nlost),
      .busy(rec_busy), .fault(rx_fault)
  );

  litepulse_events #(.S(S), .EV_AW(EV_AW), .C(INPUTS + 1)) events (
      .clk, .rst, .now, .young, .req, .ack, .responder(resp_event), .sequencer(sequencer_event), .tty(tty_event),
      .control(control_event), .edges, .event_mask, .ev_wr(ev_write.valid), .ev_wdata(ev_write.data), .ev_free,
      .ev_gap(state.ev_gap), .ev_lost(state.ev_lost), .ev_lost_carries(state.ev_lost_carries), .fault(ev_fault)
  );
endmodule
