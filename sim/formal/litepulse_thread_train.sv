// SPDX-License-Identifier: BSD-2-Clause
// The train's program with the modules beside it, an instruction in each step of the clock. See train.sby.
`include "litepulse_types.svh"
module litepulse_thread_train #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter int START = 0,    // where the run begins, 0: anywhere
    parameter int MOST = 24     // instructions of a run
) (
    input logic clk
);
  localparam int THREAD = 1;
  localparam int TRAIN_LMIN_CYCLES = 162 + KE;    // docs/core.md, as sim/house/test_program.py has it
  localparam int TRAIN_MIN_PERIOD = 120;
  localparam int CHANGE_MIN_PERIOD = 320;
`include "litepulse_thread.svh"

  (* anyconst *) logic [3:0] g_prof_valid;
  (* anyconst *) logic [9:0] g_start;  // next, change, add, idle with a start, wait with an adjust, three placings, changed, change_late
  (* anyseq *)   logic       g_ack, g_grant, cfg_req;
  (* anyseq *)   logic [3:0] cfg_addr;
  (* anyseq *)   logic [31:0] cfg_data;
  logic         disarm, forget, act_do, width_we, armed, slack_ok, fired, is_far, wrapped, due, told, eventful, be_ok;
  logic         emit, ev_req, ev_ack, cfg_done, cfg_err, cfg_untold, width_set, width_none, running, pending;
  logic [1:0]   r_ack;
  logic [31:0]  width;
  logic [S-1:0] lead;
  logic [9:0]   start;

  assign lq_data   = 32'd0;
  assign host_addr = cfg_addr;
  assign host_data = cfg_data;
  assign emit      = action == litepulse_program_pkg::ACT_EMIT;
  assign ev_ack    = ev_req && g_ack;

  litepulse_timed_source #(.S(S), .KE(KE)) source (
      .clk, .rst(1'b0), .now(now[7:0]), .near_wrap(near), .prof_valid(g_prof_valid), .de_lead(g_lead), .nslack(32'd0),
      .act(run), .operation, .eventful, .width_set, .width_none, .cond(cond[9:5]),
      .disarm, .forget, .act_do, .width_we, .armed, .slack_ok, .fired, .is_far, .wrapped, .due, .launch,
      .grant(g_grant), .lead, .ev_ack(r_ack[1]), .told, .result(launch_result)
  );
  litepulse_train train (
      .clk, .rst(1'b0), .cfg_req, .cfg_addr, .cfg_data, .cfg_done, .cfg_err, .cfg_untold, .host_we, .host_done(host_we), .operation, .cond(cond[15:10]),
      .eventful, .width_set, .width_none, .act_do, .armed, .slack_ok, .is_far, .wrapped, .disarm, .forget, .be_ok, .running, .pending
  );
  // as litepulse_launch_memory would have it
  always_ff @(posedge clk) if (width_we) width <= result[31:0];

  litepulse_report report (
      .emit, .thread(1'b1), .sum(result[31:0]), .now(now[7:0]), .told({told, 1'b0}), .outcome, .granted,
      .queue_result('0), .train_result(launch_result),
      .ack(r_ack), .ev_req, .ev_ack, .ev(r_event)
  );
  (* hierconn *) wire               \source.slot.load , \source.slot.arm , \source.slot.beyond ;
  (* hierconn *) wire        [31:0] \source.slot.value ;
  (* hierconn *) wire signed [34:0] \source.slot.rest ;
  (* hierconn *) wire               \train.command , \train.fast , \train.closed , \train.stopping ;
  (* hierconn *) wire               \source.bad , \source.width_was ;
  logic         g_load, g_arm, g_far;
  logic [31:0]  g_value;
  assign g_load  = \source.slot.load ;
  assign g_arm   = \source.slot.arm ;
  assign g_far   = \source.slot.beyond ;
  assign g_value = \source.slot.value ;

  // A run begins at one of these labels, in any state and with any words, and ends at the next one that it comes to.
  logic       first = 1'b0, ends, stopped = 1'b0;
  logic       is_wait, is_idle, is_change, is_add, is_last, is_tell_wait, is_tell_idle, is_fired, is_place, is_changed, is_late;
  logic       is_taken, is_put_off;   // likewise `fired`, behind `pend` and instead of `refused`
  logic       near_again = 1'b0;
  logic [6:0] f_step = 7'd0;
  assign start = START == 0 ? g_start : 10'(START);
  assign entry = start[0] ? litepulse_program_pkg::T_AT_NEXT : start[1] ? litepulse_program_pkg::T_AT_CHANGE
      : start[2] ? litepulse_program_pkg::T_AT_ADD : start[3] ? litepulse_program_pkg::T_AT_IDLE
      : start[4] ? litepulse_program_pkg::T_AT_WAIT
      : start[5] ? litepulse_program_pkg::T_AT_PLACE : start[6] ? litepulse_program_pkg::T_AT_CHANGE_PLACE
      : start[7] ? litepulse_program_pkg::T_AT_START_PLACE : start[8] ? litepulse_program_pkg::T_AT_CHANGED
      : litepulse_program_pkg::T_AT_CHANGE_LATE;
  assign is_wait      = pc == litepulse_program_pkg::T_AT_WAIT || pc == litepulse_program_pkg::T_AT_WAIT_1
      || pc == litepulse_program_pkg::T_AT_WAIT_2 || pc == litepulse_program_pkg::T_AT_WAIT_3 || pc == litepulse_program_pkg::T_AT_WAIT_4;
  assign is_idle      = pc == litepulse_program_pkg::T_AT_IDLE || pc == litepulse_program_pkg::T_AT_IDLE_1;
  assign is_change    = pc == litepulse_program_pkg::T_AT_CHANGE || pc == litepulse_program_pkg::T_AT_CHANGE_1;
  assign is_add       = pc == litepulse_program_pkg::T_AT_ADD || pc == litepulse_program_pkg::T_AT_ADD_1
      || pc == litepulse_program_pkg::T_AT_ADD_2;
  assign is_taken     = pc == litepulse_program_pkg::T_AT_FIRED_3;
  assign is_put_off   = pc == litepulse_program_pkg::T_AT_FIRED_4;
  assign is_fired     = pc == litepulse_program_pkg::T_AT_FIRED || pc == litepulse_program_pkg::T_AT_FIRED_1
      || pc == litepulse_program_pkg::T_AT_FIRED_2 || is_taken || is_put_off;
  assign is_last      = pc == litepulse_program_pkg::T_AT_LAST;
  assign is_tell_wait = pc == litepulse_program_pkg::T_AT_TELL_WAIT;
  assign is_tell_idle = pc == litepulse_program_pkg::T_AT_TELL_IDLE;
  assign is_place     = pc == litepulse_program_pkg::T_AT_PLACE || pc == litepulse_program_pkg::T_AT_PLACE_1
      || pc == litepulse_program_pkg::T_AT_CHANGE_PLACE || pc == litepulse_program_pkg::T_AT_START_PLACE;
  assign is_changed   = pc == litepulse_program_pkg::T_AT_CHANGED;
  assign is_late      = pc == litepulse_program_pkg::T_AT_CHANGE_LATE || pc == litepulse_program_pkg::T_AT_CHANGE_LATE_1;
  assign ends = !begins && !first && (is_changed || is_late || (is_place && !near_again) || is_wait || is_idle || is_change || is_add || is_last || is_fired || is_tell_wait || is_tell_idle);
  assign halt = ends || stopped;

  // the words as the run found them
  logic [31:0] g_number, g_count, g_frac, g_i, g_n, g_d, g_at, g_period, g_num, g_den, g_step, g_base, g_from;
  logic [63:0] g_tick, g_before, g_taken, g_begin, g_start_tick;
  logic        g_pending, g_placed = 1'b0, g_reported = 1'b0, g_answered = 1'b0, g_error, g_asap, g_word_bad, g_far_was, g_exact;
  // how the command was answered; other words may follow it
  logic        g_ok, g_bad;
  assign g_ok  = g_answered ? !g_error : cfg_done && !cfg_err;
  assign g_bad = g_answered ? g_error : cfg_done && cfg_err;
  logic [11:0] g_launch;
  logic [31:0] g_width;
  logic [1:0]  g_widths = 2'd0;        // that were written
  // 0 stands for 2^32
  logic [32:0] g_whole_d, g_whole_den, g_sum, g_d_now;
  logic        g_carry;
  logic [31:0] g_rest;
  logic [63:0] g_next;                 // floor of the next A
  logic signed [34:0] g_interval;
  logic signed [67:0] g_left;
  logic        g_valid_rate, g_valid_step, g_valid_start, g_valid_start_begin, g_fast, g_width_bad;
  logic [32:0] g_shortest;             // the least period, without the lead
  logic [31:0] w_number, w_frac, w_base, w_i, w_n, w_d, w_told, w_interval;
  logic [63:0] w_tick, w_before;
  assign w_number = mem[litepulse_program_pkg::T_WORD_NUMBER];
  assign w_frac   = mem[litepulse_program_pkg::T_WORD_FRACTION];
  assign w_base   = mem[litepulse_program_pkg::T_WORD_BASE];
  assign w_i      = mem[litepulse_program_pkg::T_WORD_I];
  assign w_n      = mem[litepulse_program_pkg::T_WORD_N];
  assign w_d      = mem[litepulse_program_pkg::T_WORD_D];
  assign w_told   = mem[litepulse_program_pkg::T_WORD_TOLD];
  assign w_interval = mem[litepulse_program_pkg::T_WORD_INTERVAL];
  assign w_tick   = {mem[litepulse_program_pkg::T_WORD_TICK_HI], mem[litepulse_program_pkg::T_WORD_TICK_LO]};
  assign w_before = {mem[litepulse_program_pkg::T_WORD_BEFORE_HI], mem[litepulse_program_pkg::T_WORD_BEFORE_LO]};

  assign g_whole_d   = {g_d == 32'd0, g_d};
  assign g_whole_den = {g_den == 32'd0, g_den};
  assign g_left      = $signed({4'd0, w_tick}) - $signed({4'd0, 64'(now + 64'(KE + 8))} << SL);
  assign g_interval  = $signed({3'd0, g_period}) + $signed({{3{g_step[31]}}, g_step});
  always_comb begin
    // A = floor + fraction/D, then I + N/D more; a change has its own, keeps the fraction if D stays, and adds its step
    g_d_now = start[1] ? g_whole_den : g_whole_d;
    g_from  = start[1] && g_den != g_d ? 32'd0 : g_frac;
    g_sum   = {1'b0, g_from} + {1'b0, start[1] ? g_num : g_n};
    g_carry = g_sum >= g_d_now;
    g_rest  = 32'(g_carry ? g_sum - g_d_now : g_sum);
    g_next  = g_tick + {32'd0, start[1] ? w_interval : g_i} + {63'd0, g_carry};
    // only a start may be of a fast train
    g_shortest    = start[4] ? 33'(CHANGE_MIN_PERIOD * S) : 33'(TRAIN_MIN_PERIOD * S);
    g_fast        = {1'b0, g_period} < 33'(CHANGE_MIN_PERIOD * S) + {17'd0, g_lead};
    g_width_bad   = kind == litepulse_map_pkg::LAUNCH_PULSE && g_width == 32'd0;
    g_valid_rate  = {1'b0, g_period} >= g_shortest + {17'd0, g_lead} && !(start[4] && g_width_bad)
        && g_period != 32'hffffffff && {1'b0, g_num} < g_whole_den;
    g_valid_step  = g_interval >= 35'sd0 && g_interval < 35'sh0ffffffff;
    g_valid_start = g_valid_rate && !g_word_bad;
    g_valid_start_begin = {1'b0, mem[litepulse_program_pkg::T_WORD_NUM]} < {mem[litepulse_program_pkg::T_WORD_DEN] == 32'd0,
        mem[litepulse_program_pkg::T_WORD_DEN]};
    g_word_bad    = g_launch[11:10] == 2'd3 || !g_prof_valid[g_launch[9:8]]
        || (g_launch[11:10] == litepulse_map_pkg::LAUNCH_PULSE && g_width == 32'd0)
        || (g_launch[11:10] == litepulse_map_pkg::LAUNCH_BREAK && g_launch[7:0] == 8'd0);
  end

  logic [2:0] f_emits = 3'd0;
  logic       f_req = 1'b0;
  logic [35:0] f_cfg;
  always_comb begin
    assume (start != 10'd0 && (start & (start - 10'd1)) == 10'd0);
    assume (w_tick[63:62] == 2'd0 && g_start_tick[63:62] == 2'd0);
    if (f_req) assume (cfg_req && {cfg_addr, cfg_data} == f_cfg);          // held until it is answered
    if (cfg_done || host_we) assume (f_req);                               // and there for a cycle before anything is done with it
    if (begins) begin
      assume (mem[litepulse_program_pkg::T_WORD_ZERO] == 32'd0);
      assume (mem[litepulse_program_pkg::T_WORD_HEAD_START] == 32'(-(KE + 24) * S));
      assume (mem[litepulse_program_pkg::T_WORD_HEAD_SHORT] == 32'(-(KE + 16) * S));
      assume (mem[litepulse_program_pkg::T_WORD_START_LEAST] == 32'(-(KE + 24 + 60) * S));
      assume (mem[litepulse_program_pkg::T_WORD_REDO_LEAST] == 32'(-(KE + 180) * S));
      assume (mem[litepulse_program_pkg::T_WORD_SOON] == 32'((KE + 24 + 60 + 24) * S));
      assume (mem[litepulse_program_pkg::T_WORD_CHANGE_LEAST] == 32'(-(KE + 32) * S));
      assume (mem[litepulse_program_pkg::T_WORD_MINIMUM] == 32'(1 - CHANGE_MIN_PERIOD * S));
      assume (mem[litepulse_program_pkg::T_WORD_FASTEST] == 32'(1 - TRAIN_MIN_PERIOD * S));
      // a train that is too fast for commands has no change that waits
      assume (\train.closed ? \train.fast && running && !pending : !(\train.fast && running));
      assume (!\train.stopping );   // a stop begins at `wait` with another command than an adjust
      if (start[3]) assume (!\train.fast );
      if (start[4]) assume (!\train.closed );
      // of a train that runs it speaks of the width alone, which is good while a change waits
      assume (!\source.width_was && !(pending && \source.bad ));
      if (running || start[7]) assume (\source.bad == (kind == litepulse_map_pkg::LAUNCH_PULSE && mem[litepulse_program_pkg::T_WORD_WIDTH] == 32'd0));
      assume (!told && !cfg_done && running == !(start[3] || start[7]) && !((start[3] || start[7]) && (pending || armed)) && !(armed && fired));
      // A as it is kept: a fraction less than 1; the rate words of a change that waits were checked
      if (!start[6] && !start[8]) assume ({1'b0, w_frac} < {w_d == 32'd0, w_d} && {1'b0, w_n} < {w_d == 32'd0, w_d});
      if (start[1] || start[6] || start[8] || start[9]) assume (pending && {1'b0, mem[litepulse_program_pkg::T_WORD_NUM]} < {mem[litepulse_program_pkg::T_WORD_DEN] == 32'd0,
          mem[litepulse_program_pkg::T_WORD_DEN]});
      if (start[0] || start[1]) assume (w_before == w_tick);
      if (start[6]) assume (mem[litepulse_program_pkg::T_WORD_TOLD] == 32'(-(KE + 32) * S) - {16'd0, g_lead});
      if (start[1]) assume (w_base == w_frac);
      // a pulse that is placed again does not come before that is done (sim/house/test_program.py,
      // test_change_redo)
      if (start[1] || start[2] || start[5] || start[6]) assume (!armed || \source.slot.rest > 35'sd120);
      if (start[3] || start[4] || start[7]) begin
        assume (cfg_req && cfg_addr == 4'(litepulse_map_pkg::CFG_TRAIN_COMMAND - 6'd16));
        assume (cfg_data[litepulse_map_pkg::TRAIN_COMMAND_COMMAND_LSB +: 2] == (start[4] ? 2'd2 : 2'd1)); // adjust, start
      end
      if (start[3] || start[4]) assume (\train.command );
      if (start[4]) assume ((armed || fired) && !wrapped);
      // what is armed was loaded for the coming pulse's tick, as every load asserts
      if (start[4] && armed && !is_far)
        assume (68'($signed(\source.slot.rest )) == $signed({4'd0, w_tick >> SL}) - $signed({4'd0, now}) - 68'(KE + 1));
      if (start[7]) assume (g_valid_start_begin && mem[litepulse_program_pkg::T_WORD_TOLD] == 32'(-(KE + 24 + 60) * S) - {16'd0, g_lead});
    end
  end

  always_ff @(posedge clk) begin
    first <= begins;
    near_again <= (first || near_again) && is_place && near;
    f_req <= cfg_req && !cfg_done;
    f_cfg <= {cfg_addr, cfg_data};
    f_emits <= emit ? f_emits + 3'd1 : 3'd0;
    if (f_emits >= 3'd3 && emit && !told) assume (g_ack);    // to wait longer changes nothing
    if (ends) stopped <= 1'b1;
    if (run) f_step <= f_step + 7'd1;
    assert (f_step < 7'(MOST));
    if (begins) begin
      g_number  <= w_number;
      g_count   <= mem[litepulse_program_pkg::T_WORD_COUNT];
      g_frac    <= w_frac;
      g_base    <= w_base;
      g_tick    <= w_tick;
      g_before  <= w_before;
      {g_i, g_n, g_d} <= {w_i, w_n, w_d};
      g_at      <= mem[litepulse_program_pkg::T_WORD_AT];
      g_period  <= mem[litepulse_program_pkg::T_WORD_PERIOD];
      g_num     <= mem[litepulse_program_pkg::T_WORD_NUM];
      g_den     <= mem[litepulse_program_pkg::T_WORD_DEN];
      g_step    <= mem[litepulse_program_pkg::T_WORD_STEP];
      g_launch  <= mem[litepulse_program_pkg::T_WORD_LAUNCH][11:0];
      g_width   <= mem[litepulse_program_pkg::T_WORD_WIDTH];
      g_start_tick <= {mem[litepulse_program_pkg::T_WORD_START_HI], mem[litepulse_program_pkg::T_WORD_START_LO]};
      g_pending <= pending;
      g_begin   <= now;
      g_asap    <= cfg_data[litepulse_map_pkg::TRAIN_COMMAND_ASAP_LSB];
      g_far_was <= is_far;
    end
    if (run && asel == 3'd4) g_taken <= now;     // the time, when it was taken last
    if (run && width_we) begin
      // of a change that is placed, or of a start: nothing is due yet
      assert (start[8] ? f_step == 7'd0 : start[3] && !armed);
      assert (result[31:0] == mem[litepulse_program_pkg::T_WORD_WIDTH]);
      g_widths  <= g_widths + 2'd1;
    end
    if (run && g_load) begin
      g_placed <= g_arm;
      // a change's width is written in the next instruction, and known 5 cycles behind that one's strobe; loaded with 0 the pulse could be
      // due 3 cycles behind the load's
      if (start[6] && g_arm && !g_far) assert (g_left >= $signed({52'd0, g_lead} + 68'(8 * S)));
      // loaded for the pulse's own tick
      if (g_arm && !g_far) assert (g_value == g_left[31:0]);
      if (g_arm && !g_far && !start[5]) assert (!g_left[67] && g_left[66:32] == '0 && g_left >= $signed({52'd0, g_lead}));
      if (g_far && !start[5]) assert (!g_left[67] && g_left - $signed({36'd0, g_value}) >= $signed(68'h80000000));
    end
    if (cfg_done && !g_answered) begin
      g_answered <= 1'b1;
      g_error    <= cfg_err;
    end
    if (ev_ack && run) begin
      assert (!g_reported && start[9] && r_source == litepulse_map_pkg::SRC_TRAIN_CHANGE && r_kind == litepulse_map_pkg::KIND_REFUSED);
      assert (r_flags == litepulse_map_pkg::REASON_LATE && r_data == g_at);
      g_reported <= 1'b1;
    end
    if (ends && !stopped) begin
      // number, end by count, the pulse that a change names
      if (start[0]) begin
        assert (is_last || is_change || is_add);
        assert (w_number == g_number + 32'd1 && w_base == g_frac && w_frac == g_frac && w_tick == g_tick && w_before == g_tick);
        assert (is_last == (g_count != 32'd0 && g_count == w_number));
        if (!is_last) assert (is_change == (g_pending && (g_at == 32'd0 || g_at == w_number)));
        assert (pending == g_pending && !g_placed);
      end
      // what is there after a pulse, or a change: exactly A + I + N/D
      if (start[2]) begin
        assert (is_place && w_tick == g_next && w_frac == g_rest && {1'b0, w_frac} < g_whole_d && !g_placed);
        assert (w_number == g_number && w_before == g_before && w_base == g_base && pending == g_pending);
      end
      if (start[5]) assert (is_wait && g_placed && w_tick == g_tick && w_frac == g_frac && w_number == g_number && pending == g_pending);
      if (start[0] || start[2] || start[5]) assert ({w_i, w_n, w_d} == {g_i, g_n, g_d});
      // a change: its own A
      if (start[1]) begin
        assert (is_place && pending && w_number == g_number && w_before == g_before && w_base == g_base && !g_placed);
        assert (w_tick == g_next && w_frac == g_rest && {1'b0, w_frac} < g_whole_den && {w_i, w_n, w_d} == {g_i, g_n, g_d});
        assert (mem[litepulse_program_pkg::T_WORD_TOLD] == 32'(-(KE + 32) * S) - {16'd0, g_lead});
      end
      // whole, or not at all: its place is near enough, and loaded
      if (start[6]) begin
        assert ((is_changed || is_late) && pending && w_number == g_number && w_before == g_before && w_base == g_base);
        assert (w_tick == g_tick && w_frac == g_frac && {w_i, w_n, w_d} == {g_i, g_n, g_d} && g_placed == is_changed);
        if (is_late) assert ($signed({4'd0, g_tick}) - $signed({4'd0, g_taken} << SL) < $signed({52'd0, g_lead} + 68'((KE + 32) * S)));
      end
      if (start[8]) begin
        assert (is_tell_wait && !pending && w_number == g_number && w_tick == g_tick && w_frac == g_frac && !g_placed);
        assert ({w_i, w_n, w_d} == {g_period, g_num, g_den} && w_told == g_number && outcome == litepulse_program_pkg::OUT_APPLIED);
        assert (g_widths == 2'd1 && width == g_width);
      end
      if (!start[3] && !start[8]) assert (g_widths == 2'd0);
      // a word of the host keeps up with it
      if (running) assert (!(pending && \source.bad ));
      if (running || (start[3] && is_place)) assert (\source.bad == (kind == litepulse_map_pkg::LAUNCH_PULSE && mem[litepulse_program_pkg::T_WORD_WIDTH] == 32'd0));
      if (start[9]) begin
        assert (is_add && !pending && w_number == g_number && w_before == g_before && w_base == g_base && !g_placed);
        assert (g_reported && w_tick == g_before && w_frac == g_base && {w_i, w_n, w_d} == {g_i, g_n, g_d});
      end
      if (start[3]) begin
        assert (is_place || is_tell_idle);
        assert (!running && !pending && !g_placed && !armed);
        if (is_place) begin
          assert (g_valid_start && {kind, profile, data} == g_launch && width == g_width && g_widths == 2'd1 && !g_answered && !cfg_done);
          assert (\train.fast == g_fast);
          assert ((g_asap || now <= g_begin + 64'd72) && mem[litepulse_program_pkg::T_WORD_TOLD] == 32'(-(KE + 24 + 60) * S) - {16'd0, g_lead});
          if (!g_asap) assert (w_tick == g_start_tick);
          // never too late for itself
          else assert (w_tick - (now << SL) >= 64'((KE + 24 + 60 + 4) * S) + {48'd0, g_lead}
              && w_tick - (g_begin << SL) <= 64'((TRAIN_LMIN_CYCLES + 24) * S) + {48'd0, g_lead});
        end else assert (!g_valid_start && outcome == litepulse_program_pkg::OUT_INVALID);
      end
      if (start[7]) begin
        assert (is_tell_wait || is_tell_idle);
        assert (running == is_tell_wait && !pending);
        if (is_tell_wait) begin
          assert (g_placed && outcome == litepulse_program_pkg::OUT_APPLIED && w_tick == g_tick
              && g_ok);
          assert (w_number == 32'd0 && w_frac == 32'd0 && {w_i, w_n, w_d} == {g_period, g_num, g_den});
        end else begin
          assert (!g_placed && outcome == litepulse_program_pkg::OUT_LATE);
          assert ($signed({4'd0, g_tick}) - $signed({4'd0, g_begin} << SL) < $signed({52'd0, g_lead} + 68'((KE + 24 + 60 + 4) * S)));
        end
      end
      if ((start[3] || start[7]) && is_tell_idle) assert (w_told == 32'd0 && g_bad);
      if (start[7] && is_tell_wait) assert (w_told == 32'd0);
      if (start[4]) begin
        assert (is_wait || is_change || is_tell_wait || is_fired || (is_place && wrapped));
        assert ({w_i, w_n, w_d} == {g_i, g_n, g_d} && w_number == g_number && w_before == g_before && w_base == g_base
            && !g_placed && running);
        if (is_change) assert (w_tick == g_before && w_frac == g_base && armed);
        else assert (w_tick == g_tick && w_frac == g_frac);
        if (is_put_off) assert (pending == g_pending && !g_answered && !cfg_done
            && (g_pending || !g_valid_rate || !g_valid_step || g_at != 32'd0));
        if (is_wait || is_change || is_taken) begin
          // taken: checked, for a pulse that is still to come
          assert (!g_pending && pending && g_valid_rate && g_valid_step && w_interval == g_interval[31:0]);
          assert (g_ok);
          if (is_change) assert (g_at == g_number || (g_at == 32'd0 && g_number != 32'd0));
          else assert (g_at == 32'd0 || $signed(g_at - g_number) > 32'sd0);
        end
        if (is_tell_wait) begin
          assert (pending == g_pending && w_told == g_at && !g_ok);
          if (g_pending) assert (outcome == litepulse_program_pkg::OUT_BUSY);
          else if (!g_valid_rate || g_interval >= 35'sh0ffffffff) assert (outcome == litepulse_program_pkg::OUT_INVALID);
          // before the pulse before it, or that pulse has passed
          else assert (outcome == litepulse_program_pkg::OUT_LATE);
          if (g_valid_rate && g_valid_step && !g_pending) assert (g_at != 32'd0 && $signed(g_at - g_number) <= 32'sd0);
        end
      end
    end
  end

  always_ff @(posedge clk) if (ends && !stopped) begin
`ifdef COVER_REDO
    cover (start[4] && is_change && g_at == 32'd0);
    cover (start[4] && is_change && g_at != 32'd0);
    cover (start[4] && is_change && g_far_was);
`else
    cover (start[2] && g_carry && g_d == 32'd0 && g_frac != 32'd0);
    cover (start[6] && is_changed);
    cover (start[8]);
    cover (start[6] && is_late);
    cover (start[9] && is_add);
    cover (start[1] && g_carry);
    cover (start[1] && g_den != g_d);
    cover (start[0] && is_last);
    cover (start[0] && is_change && g_at != 32'd0);
    cover (start[3] && is_place && g_asap);
    cover (start[7] && is_tell_wait);
    cover (start[5] && is_wait && near);
    cover (start[7] && is_tell_idle);
    cover (start[4] && is_wait && g_at != 32'd0);
    cover (start[4] && is_taken);
    cover (start[4] && is_put_off);
    cover (start[4] && is_tell_wait && outcome == litepulse_program_pkg::OUT_LATE);
`endif
  end
endmodule
