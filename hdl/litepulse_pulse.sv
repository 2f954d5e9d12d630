// SPDX-License-Identifier: BSD-2-Clause
// All of LitePulse that is clocked by `pulse`: time, settings, what goes out and what comes in. Wiring only. It is synthesised by
// itself (keep_hierarchy): mapped together with a slow bus it would be allowed that one's depth of logic.
// Parameters as in litepulse.sv.
(* keep_hierarchy *)
module litepulse_pulse #(
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int EV_AW = 8,
    parameter int RING_AW = 6,
    parameter int LQ_AW = 6,
    parameter int LATENCY_IN = 1,
    parameter int LATENCY_OUT = 1,
    parameter logic [63:0] START_CYCLE = 64'd0
) (
    input  logic                clk,
    input  logic                rst,
    // PHY; sample 0 is the earliest, aux channel c sample s at bit c*S + s
    output logic [S-1:0]        tx_o,
    output logic                tx_oe,
    output logic [S-1:0]        de_o,
    input  logic [S-1:0]        rx_i,
    input  logic [INPUTS*S-1:0] aux_i,
    // litepulse_cdc: streams
    output logic                ev_wr,
    output logic [127:0]        ev_wdata,
    input  logic [EV_AW:0]      ev_free,
    output logic                ev_gap,
    output logic [31:0]         ev_lost,
    output logic                rx_wr,
    output logic [1:0]          rx_wword,
    output logic [15:0]         rx_wdata,
    input  logic [RING_AW-1:0]  rx_free,
    output logic                rx_gap,
    output logic [31:0]         rx_nlost,
    output logic [63:0]         now_tick,
    // bytes to send, launches
    input  logic                txb_valid,
    input  logic                txb_none,
    input  logic [7:0]          txb_data,
    output logic                txb_pop,
    input  logic [LQ_AW:0]      lq_avail,
    input  logic [LQ_AW-1:0]    lq_rptr,
    output logic [LQ_AW+1:0]    lq_raddr,
    output logic                lq_ren,
    input  logic [31:0]         lq_rdata,
    output logic                lq_free1,
    // configuration words
    input  logic                cfg_req,
    input  logic [5:0]          cfg_addr,
    input  logic [31:0]         cfg_data,
    output logic                cfg_done,
    output logic                cfg_err,
    // levels and strobes
    output logic [7:0]          status_p,
    output logic                fault_p
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
  logic             train_req, train_done, train_err, resp_req, resp_done, resp_err;
  logic             prof0_changed;
  logic [1:0]       prof0_data_bits, prof0_stop;
  logic [2:0]       prof0_parity;
  logic [35:0]      prof0_period;
  logic [3:0]       prof_valid, prof_invert;
  logic             loopback, hold_tty, break_hold, break_holds, rx_enable;
  logic [15:0]      nde_lead, de_lag, rise_en, fall_en, filt_en;
  logic [5:0]       filt_len;
  logic [9:0]       echo_tail;
  logic             echo_changed, lead_changes;
  logic             filt_new, filt_len_new;
  logic [10:0]      event_mask;
  logic             flush_queue, queue_flushed, flush_tty, tty_flushed;
  logic [15:0]      flush_count;

  // sources: 0 responder, 1 queue, 2 train
  logic [2:0]       due, may_be_due, grant, be_ok;
  // verilator lint_off UNUSEDSIGNAL
  logic [2:0]       refuse;
  // verilator lint_on UNUSEDSIGNAL
  logic [8:0]       off;
  logic [5:0]       kind, profile;
  logic [23:0]      data;
  // verilator lint_off UNUSEDSIGNAL
  logic [2:0]       width_zero;
  // verilator lint_on UNUSEDSIGNAL
  logic [2:0]       width_short;
  logic [3*(SL+2)-1:0] width_low;
  logic [S-1:0]     resp_lead, queue_lead, train_lead, tty_lead, timed_lead, timed_lead_was;
  logic             tty_asks, tty_due, tty_started, tty_drained;
  logic [7:0]       tty_data;
  logic [31:0]      nslack;
  logic             queue_idle, train_running, train_pending, resp_armed;

  // sequencer
  logic             host_we, host_done, taken, zero, wrap_near, emit, thread, told_granted, is_far, wrapped, width_we;
  logic [1:0]       lq_rword, act, act_do, eventful, disarm, forget, armed, slack_ok, told, told_ack, granted;
  logic [2:0]       action, told_outcome;
  logic [4:0]       argument;
  logic [5:0]       outcome, tx_off;
  logic [15:0]      tx_lo;
  logic [21:0]      cond;
  logic [31:0]      sum;

  // line
  logic             start, start_timed, start_ends1, start_ends2, hold_start, free_next, free_rest, line_settled;
  logic             line_active;
  logic [2:0]       start_off, start_ends_off, free_off;
  logic [1:0]       start_kind;
  logic [7:0]       start_data;
  logic             start_invert;
  // what it counts
  logic             mem_ren, mem_ready, mem_we, mem_profile, mem_long, may_read, few;
  logic [2:0]       mem_raddr, parity;
  logic [1:0]       mem_entry, data_bits, stop;
  logic [10:0]      mem_format;
  logic [35:0]      interval;
  logic [S-1:0]     sub_mask, sub_level, start_from, free_from, line_busy, cond_line, cond_next;

  // event requests: 0 responder, 1 sequencer, 2 tty, 3 control
  logic [3:0]       req, ack;
  logic [15:0]      req_kind, req_source;
  logic [31:0]      req_flags, req_lo;
  logic [11:0]      req_off;
  logic [127:0]     req_data;

  // inputs
  logic [C*S-1:0]   samples;
  logic             edge_a, edge_f;
  logic [15:0]      edge_changed, edge_level, edge_group;
  logic [6:0]       edge_delay, filt_delay, line_delay;
  logic [3:0]       sel_channel;
  logic             sel_rise, sel_fall, sel_enable, sel_edge, sel_is_line;
  logic [2:0]       sel_off;
  logic             sel_filtered, line_filtered;
  logic             rec_valid, byte_ok, byte_own, byte_end, brk_stb, brk_own, rx_busy, rec_busy, rx_fault, ev_fault;
  logic [47:0]      rec_tick;
  logic [6:0]       rec_flags;
  logic [8:0]       rec_data;
  logic [2:0]       byte_end_off, brk_off;
  logic             line_own;

  // a cycle later with S > 1: more of what decides about the line is a register's output
  logic break_held;
  always_ff @(posedge clk) break_held <= break_hold;
  assign break_holds = (S > 1) ? break_held : break_hold;

  // The line as the receiver sees it: a level that changes at T is first sampled at T + 1, on a wire as in the loopback. Busy likewise.
  logic [S*(LOOP-1)-1:0] tx_past;   // samples before tx_o, latest on top
  logic [S-1:0]  tx_then, rx_loop;
  logic          tx_then_last;
  logic [KE-1:0] busy_past;      // in terms of `now` the oldest is the cycle shown, the one before it the next cycle

  assign tx_then = (LOOP > 1) ? tx_past[S-1:0] : tx_o;
  always @* begin
    rx_loop[0] = tx_then_last;
    for (int s = 1; s < S; s++) rx_loop[s] = tx_then[s-1];
    for (int i = 0; i < INPUTS * S; i++) samples[i] = aux_i[i];
    for (int s = 0; s < S; s++) samples[INPUTS*S+s] = loopback ? rx_loop[s] : rx_i[s];
  end

  always_ff @(posedge clk) begin
    tx_past      <= (S * (LOOP - 1))'({tx_o, tx_past} >> S);
    tx_then_last <= tx_then[S-1];
    busy_past    <= {busy_past[KE-2:0], line_busy != '0};
    tx_oe        <= 1'b1;
    if (rst) begin
      tx_past      <= '1;
      tx_then_last <= 1'b1;
      busy_past    <= '0;
      tx_oe        <= 1'b0;
    end
  end

  // With several samples a cycle an edge may be seen in the very cycle in which our launch begins, and a new filter waits until the
  // old one's samples have been shown.
  litepulse_echo #(.LAG((S > 1) ? 4 : 2)) echo (
      .clk, .rst, .sent(busy_past[(S > 1) ? KE - 2 : KE - 1]), .tail(echo_tail), .line_delay(line_delay[5:0]),
      .changed(echo_changed), .own(line_own)
  );

  assign now_tick = 64'(now) << SL;
  assign status_p = {rx_busy || rec_busy, line_active, queue_idle, 1'b0, resp_armed, train_pending, train_running, tty_drained};
  assign fault_p  = ev_fault || rx_fault;

  // Time and settings ----------------------------------------------------------------------------------------------------

  litepulse_timebase #(.S(S), .START_CYCLE(START_CYCLE)) timebase (.clk, .rst, .now, .young, .near_wrap);

  litepulse_config #(.S(S), .INPUTS(INPUTS)) configuration (
      .clk, .rst, .now, .cfg_req, .cfg_addr, .cfg_data, .cfg_done, .cfg_err,
      .train_req, .train_done, .train_err, .train_running, .resp_req, .resp_done, .resp_err,
      .mem_ready, .mem_we, .mem_profile, .mem_entry, .mem_format, .mem_long, .prof_valid, .prof_invert,
      .prof0_period, .prof0_data_bits, .prof0_parity, .prof0_stop, .prof0_changed,
      .loopback, .hold_tty, .break_hold, .rx_enable, .nde_lead, .lead_changes, .de_lag,
      .rise_en, .fall_en, .filt_en, .filt_len, .filt_new, .filt_len_new, .echo_tail, .echo_changed, .event_mask,
      .flush_queue, .queue_flushed, .flush_count, .flush_tty, .tty_flushed,
      .ev_req(req[3]), .ev_ack(ack[3]), .ev_kind(req_kind[15:12]), .ev_flags(req_flags[31:24]), .ev_lo(req_lo[31:24]),
      .ev_data(req_data[127:96])
  );
  assign req_off[11:9] = 3'd0;
  assign req_source[15:12] = litepulse_map_pkg::SRC_CONTROL;

  // What goes out --------------------------------------------------------------------------------------------------------

  litepulse_responder #(.S(S), .KE(KT)) responder (
      .clk, .rst, .now, .prof_valid, .nde_lead, .lead_changes,
      .cfg_req(resp_req), .cfg_addr(cfg_addr[2:0]), .cfg_data, .cfg_done(resp_done), .cfg_err(resp_err),
      .sel_channel, .sel_rise, .sel_fall, .sel_enable, .sel_edge, .sel_off, .sel_is_line,
      .sel_filtered, .line_filtered, .filt_delay, .line_own,
      .byte_stb(rec_valid), .byte_data(rec_data[7:0]), .byte_ok, .byte_own,
      .byte_end, .byte_end_off, .brk_stb, .brk_off, .brk_own,
      .due(due[0]), .may_be_due(may_be_due[0]), .off(off[2:0]), .kind(kind[1:0]), .profile(profile[1:0]), .data(data[7:0]),
      .width_zero(width_zero[0]), .grant(grant[0]), .refuse(refuse[0]), .lead(resp_lead), .be_ok(be_ok[0]), .armed(resp_armed),
      .ev_req(req[0]), .ev_ack(ack[0]), .ev_kind(req_kind[3:0]), .ev_flags(req_flags[7:0]), .ev_lo(req_lo[7:0]),
      .ev_off(req_off[2:0]), .ev_data(req_data[31:0])
  );
  assign req_source[3:0] = litepulse_map_pkg::SRC_RESPONDER;

  // prepares the launches of the queue (thread 0) and of the train (thread 1)
  litepulse_sequencer #(.S(S), .KE(KT)) sequencer (
      .clk, .rst, .now, .near_wrap, .wrap_near, .nde_lead, .host_we, .host_addr(cfg_addr[3:0]), .host_data(cfg_data),
      .host_done, .lq_word(lq_rword), .lq_ren, .lq_rdata, .queue_cond(cond[10:0]), .train_cond(cond[21:11]),
      .act, .action, .argument, .taken, .sum, .zero, .emit, .thread, .outcome, .granted, .told_outcome, .told_granted
  );
  assign lq_raddr = {lq_rptr, lq_rword};

  litepulse_timed_source #(.S(S), .KE(KT)) queue_source (
      .clk, .rst, .now(now[7:0]), .near_wrap(wrap_near), .prof_valid, .de_lead(~nde_lead), .nslack,
      .act(act[0]), .action, .argument, .taken, .sum, .zero, .eventful(eventful[0]), .cond(cond[4:0]),
      .disarm(disarm[0]), .forget(forget[0]), .act_do(act_do[0]), .width_we, .armed(armed[0]), .slack_ok(slack_ok[0]),
      // verilator lint_off PINCONNECTEMPTY
      .fired(), .is_far(), .wrapped(),
      // verilator lint_on PINCONNECTEMPTY
      .due(due[1]), .may_be_due(may_be_due[1]), .off(off[5:3]), .kind(kind[3:2]), .profile(profile[3:2]), .data(data[15:8]),
      .grant(grant[1]), .lead(queue_lead), .ev_ack(told_ack[0]), .told(told[0]), .outcome(outcome[2:0]), .granted(granted[0]),
      .ev_lo(tx_lo[7:0]), .ev_off(tx_off[2:0])
  );
  litepulse_launch_queue #(.LQ_AW(LQ_AW)) launch_queue (
      .clk, .rst, .act(act[0]), .action, .argument, .taken, .cond(cond[10:5]), .eventful(eventful[0]),
      .act_do(act_do[0]), .armed(armed[0]), .slack_ok(slack_ok[0]), .disarm(disarm[0]), .forget(forget[0]),
      .lq_avail, .lq_free1, .be_ok(be_ok[1]), .idle(queue_idle), .flush(flush_queue), .flushed(queue_flushed), .flush_count
  );

  litepulse_timed_source #(.S(S), .KE(KT)) train_source (
      .clk, .rst, .now(now[7:0]), .near_wrap(wrap_near), .prof_valid, .de_lead(~nde_lead), .nslack,
      .act(act[1]), .action, .argument, .taken, .sum, .zero, .eventful(eventful[1]), .cond(cond[15:11]),
      .disarm(disarm[1]), .forget(forget[1]), .act_do(act_do[1]), .armed(armed[1]), .slack_ok(slack_ok[1]),
      // verilator lint_off PINCONNECTEMPTY
      .width_we(), .fired(),
      // verilator lint_on PINCONNECTEMPTY
      .is_far, .wrapped,
      .due(due[2]), .may_be_due(may_be_due[2]), .off(off[8:6]), .kind(kind[5:4]), .profile(profile[5:4]), .data(data[23:16]),
      .grant(grant[2]), .lead(train_lead), .ev_ack(told_ack[1]), .told(told[1]), .outcome(outcome[5:3]), .granted(granted[1]),
      .ev_lo(tx_lo[15:8]), .ev_off(tx_off[5:3])
  );
  litepulse_train train (
      .clk, .rst, .cfg_req(train_req), .cfg_addr(cfg_addr[3:0]), .cfg_data, .cfg_done(train_done),
      .cfg_err(train_err), .host_we, .host_done, .argument, .cond(cond[21:16]), .eventful(eventful[1]),
      .act_do(act_do[1]), .armed(armed[1]), .slack_ok(slack_ok[1]), .is_far, .wrapped, .disarm(disarm[1]), .forget(forget[1]),
      .be_ok(be_ok[2]), .running(train_running), .pending(train_pending)
  );

  litepulse_report report (
      .emit, .thread, .sum, .now(now[7:0]), .told, .outcome(told_outcome), .granted(told_granted), .lo(tx_lo), .off(tx_off),
      .ack(told_ack),
      .ev_req(req[1]), .ev_ack(ack[1]), .ev_kind(req_kind[7:4]), .ev_source(req_source[7:4]), .ev_flags(req_flags[15:8]),
      .ev_lo(req_lo[15:8]), .ev_off(req_off[5:3]), .ev_data(req_data[63:32])
  );
  litepulse_best_effort #(.S(S), .KE(KE)) best_effort (
      .clk, .rst, .now, .hold(hold_tty), .prof0_valid(prof_valid[0]), .prof0_changed,
      .period(prof0_period), .data_bits(prof0_data_bits), .parity(prof0_parity != litepulse_map_pkg::PARITY_NONE), .stop(prof0_stop),
      .nde_lead, .txb_valid, .txb_none, .txb_data, .txb_pop, .flush(flush_tty), .flushed(tty_flushed),
      .sources_ok(&be_ok), .nslack,
      .asks(tty_asks), .due(tty_due), .data(tty_data), .started(tty_started), .line_active, .start_timed, .lead(tty_lead),
      .drained(tty_drained),
      .ev_req(req[2]), .ev_ack(ack[2]), .ev_lo(req_lo[23:16]), .ev_data(req_data[95:64])
  );
  assign req_off[8:6]      = 3'd0;
  assign req_kind[11:8]    = litepulse_map_pkg::KIND_TX;
  assign req_source[11:8]  = litepulse_map_pkg::SRC_TTY;
  assign req_flags[23:16]  = 8'd0;

  litepulse_arbiter #(.S(S)) arbiter (
      .clk, .rst, .due, .may_be_due, .off, .kind, .profile, .data, .width_short, .width_low, .grant, .refuse,
      .be_due(tty_due), .be_asks(tty_asks), .be_data(tty_data), .be_started(tty_started), .break_hold, .prof_invert,
      .ren(mem_ren), .raddr(mem_raddr), .may_read, .free_next, .free_off, .free_rest, .free_from,
      .line_settled, .line_active, .start, .start_off, .start_from, .start_ends1, .start_ends2, .start_ends_off, .start_kind, .start_data,
      .start_invert, .sub_mask, .sub_level, .start_timed, .hold_start
  );

  litepulse_launch_memory #(.S(S)) launch_memory (
      .clk, .rst, .ren(mem_ren), .raddr(mem_raddr), .may_read, .interval, .few, .data_bits, .parity, .stop,
      .width_we, .width_data(sum), .cfg_ready(mem_ready), .cfg_we(mem_we), .cfg_profile(mem_profile), .cfg_entry(mem_entry),
      .cfg_data, .cfg_format(mem_format), .cfg_long(mem_long), .width_zero, .width_short, .width_low
  );

  litepulse_line_tx #(.S(S)) line_tx (
      .clk, .rst, .prepare(mem_ren), .start, .start_off, .start_from, .start_ends1, .start_ends2, .start_ends_off, .kind(start_kind),
      .data(start_data), .interval, .few, .data_bits, .parity, .stop, .invert(start_invert),
      .sub_mask, .sub_level, .rest_level(!prof_invert[0]), .hold_start, .hold(break_holds), .hold_next(break_hold),
      .free_next, .free_off, .free_rest, .free_from, .settled(line_settled), .active(line_active), .busy(line_busy),
      .tx(tx_o)
  );

  assign timed_lead = resp_lead | queue_lead | train_lead;
  always_ff @(posedge clk) timed_lead_was <= timed_lead & {S{!rst}};

  litepulse_driver_enable #(.S(S)) driver_enable (
      .clk, .rst, .lag(de_lag), .lead(((S > 1) ? timed_lead_was : timed_lead) | tty_lead), .busy(line_busy), .de(de_o)
  );

  // What comes in --------------------------------------------------------------------------------------------------------

  litepulse_capture #(.S(S), .INPUTS(INPUTS)) capture (
      .clk, .rst, .samples, .rise_en, .fall_en, .filt_en, .filt_len, .filt_new, .filt_len_new, .cond_line, .cond_next, .line_delay,
      .edge_a, .edge_f, .edge_changed, .edge_level, .edge_group, .edge_delay, .filt_delay,
      .sel_channel, .sel_rise, .sel_fall, .sel_enable, .sel_edge, .sel_off, .sel_filtered, .sel_is_line, .line_filtered
  );

  litepulse_line_rx #(.S(S)) line_rx (
      .clk, .rst, .now, .young, .enable(rx_enable && !prof0_changed), .cond_line, .cond_next, .line_delay,
      .period(prof0_period), .data_bits(prof0_data_bits), .parity(prof0_parity), .stop(prof0_stop), .invert(prof_invert[0]), .line_own,
      .rec_valid, .rec_tick, .rec_flags, .rec_data, .busy(rx_busy),
      .byte_ok, .byte_own, .byte_end, .byte_end_off, .brk_stb, .brk_off, .brk_own
  );

  litepulse_receive #(.RING_AW(RING_AW)) receive (
      .clk, .rst, .rec_valid, .rec_tick, .rec_flags, .rec_data, .rx_wr, .rx_wword, .rx_wdata, .rx_free, .rx_gap, .rx_nlost,
      .busy(rec_busy), .fault(rx_fault)
  );

  litepulse_events #(.S(S), .EV_AW(EV_AW), .C(INPUTS + 1), .PORTS(4), .BRIEF(4'b0010)) events (
      .clk, .rst, .now, .young, .req, .ack, .kind(req_kind), .source(req_source), .flags(req_flags),
      .lo(req_lo), .off(req_off), .data(req_data), .edge_a, .edge_f, .edge_changed, .edge_level, .edge_group, .edge_delay,
      .event_mask, .ev_wr, .ev_wdata, .ev_free, .ev_gap, .ev_lost, .fault(ev_fault)
  );
endmodule
