// SPDX-License-Identifier: BSD-2-Clause
// Promises 2 and 5 at the source of best-effort bytes. Included at the end of the module.

  logic        g_changed;      // prof0_changed since reset
  logic [4:0]  g_age;          // cycles since the last start; stays at the top
  logic [3:0]  g_unread;       // cycles that a report has waited
  litepulse_best_effort_environment #(.S(S)) environment (.changed(g_changed), .age(g_age), .unread(g_unread), .*);
`ifndef LITEPULSE_CHECK
  logic f_past = 1'b0;
  initial assume (rst);

  logic [5:0]  g_halves, g_rest; // half bit periods in a frame of profile 0; of those not in g_frame yet
  logic [41:0] g_frame;        // 1/512 tick, with one cycle more
  // the slack that the sources compared with for sources_ok, sources_were_ok
  logic [31:0] g_requested, g_requested2;
  logic        g_free;         // nothing keeps a byte from starting
  logic [3:0]  g_waited;
  logic [35:0] g_late;         // the period, of which the upper half is still to be added
  always_ff @(posedge clk) g_late <= period;
  always_comb begin
    g_halves = 6'd2 * (6'd6 + 6'(data_bits) + 6'(parity));   // start bit, data, parity
    g_halves = g_halves + (stop == litepulse_map_pkg::STOP_1 ? 6'd2 : stop == litepulse_map_pkg::STOP_1_5 ? 6'd3 : 6'd4);
    g_free   = txb_valid && !hold && !flush && !flushing && known && prof0_valid && !prof0_changed && sources_ok
        && lead_rest == 16'd0 && nde_lead == '1
        && state != WAIT && state != LEAD && recent == 4'd0 && !grant && !started && !rst;
    if (!due || started) assume (!grant);
    assume (started == f_granted);
  end
  always_ff @(posedge clk) begin
    f_past   <= 1'b1;
    if (prof0_changed) begin
      g_frame <= 42'(S) << 9;
      g_rest  <= g_halves;
    end else if (g_rest != 6'd0) begin
      g_frame <= g_frame + 42'(period);
      g_rest  <= g_rest - 6'd1;
    end
    g_requested  <= ~nslack;
    g_requested2 <= g_requested;
    g_waited <= !g_free ? 4'd0 : g_waited == '1 ? g_waited : g_waited + 4'd1;
  end
  always_comb begin
    if (f_past) begin
      // a granted byte starts KE + 1 cycles of the tick count on. The sources compared with a slack of two cycles ago what was left
      // three cycles ago beyond KE + 3 cycles (slot.sby), so the frame ends in time if that slack was the frame and a cycle
      if (due && grant) assert (g_rest == 6'd0 && !prof0_changed && {10'd0, g_requested2} >= (g_frame >> 9));
      assert (asks || !due);
      if (due) assert (sources_were_ok && f_could);
      // it must start: 7 cycles after the last obstacle it asks for the line
      if (g_waited >= 4'd7 && g_free) assert (due);
      // and takes no more than that slack
      if (state != IDLE && f_far && g_changed) assert ({10'd0, ~nslack} == (g_frame >> 9));

      // invariants
      if (g_changed) assert (sum + (adding_was ? {g_late[35:20], 20'd0} + {20'd0, carry, 20'd0} : 41'd0) == g_frame[40:0]
          && {1'b0, halves} == g_rest && {4'd0, g_frame[41:36]} + {4'd0, g_rest} <= 10'd24);
      if (known) assert (halves == 5'd0 && !adding_was);
      assert (state <= FLUSH && (state != FLUSH || flushing));
      if (known && g_changed && f_steady) assert ({10'd0, g_requested} >= (g_frame >> 9));
      if (known && g_changed && f_since == 2'd3 && !prof0_changed) assert ({10'd0, g_requested2} >= (g_frame >> 9));
    end
  end
  // the threshold that holds now was computed from this profile
  logic f_steady, f_far;
  (* anyseq *) logic grant;  // the arbiter's; what it starts is reported a cycle later
  logic f_granted = 1'b0, f_could = 1'b0;   // a cycle ago nothing forbade a byte
  always_ff @(posedge clk) f_could <= !hold && prof0_valid && known && !rst;
  always_ff @(posedge clk) f_granted <= grant && !rst;
  logic [1:0] f_since;       // cycles with `known`
  always_ff @(posedge clk) f_since <= (!known || prof0_changed || rst) ? 2'd0 : f_since == 2'd3 ? 2'd3 : f_since + 2'd1;
  always_comb begin
    f_steady = f_since >= 2'd2 && !prof0_changed;
    f_far    = f_since >= 2'd2 && !prof0_changed && f_state1 != IDLE && f_state2 != IDLE;
    if (f_past) begin
      if (known && f_since == 2'd0) assert (pause[0] || state != IDLE);
    end
  end
  state_t f_state1, f_state2;
  always_ff @(posedge clk) {f_state2, f_state1} <= {f_state1, state};

  // The arbiter: nothing is granted while the line is busy, which is for 7 bits of 4 cycles at least, the shortest frame.
  always_comb begin
    if (g_age < 5'd27 && !is_mark) assume (!grant);
    if (f_past && !txb_valid) assume (!grant);
  end

  // The lead: exactly its ticks lie before the first cycle in which a byte can be granted, none is missing until it is, and there is
  // none without a byte that asks. A lead that changed meanwhile is excused, once.
  logic [17:0] g_run, g_run_next;  // ticks of it without a gap, up to sample 0 of this cycle, of the next one; stay at the top
  logic [1:0]  g_same;             // cycles without a change of the setting; stays at the top
  logic        g_kept;             // it is the same since before the byte was waited for
  logic [15:0] g_lead, g_lead_was;
  logic [17:0] g_first;            // ticks of the lead in its first cycle
  always_comb begin
    g_lead  = ~nde_lead;
    g_first = 18'((g_lead - 16'd1) & 16'(S - 1)) + 18'd1;
    g_run_next = g_run;
    for (int s = 0; s < S; s++) g_run_next = !lead[s] ? 18'd0 : g_run_next == '1 ? '1 : g_run_next + 18'd1;
  end
  always_ff @(posedge clk) begin
    g_run      <= rst ? 18'd0 : g_run_next;
    g_lead_was <= g_lead;
    g_same     <= (rst || g_lead != g_lead_was) ? 2'd0 : g_same == '1 ? g_same : g_same + 2'd1;
    g_kept     <= !rst && (state == IDLE ? g_same == '1 : g_kept) && g_lead == g_lead_was;
  end
  logic g_keeps;
  assign g_keeps = g_kept && g_lead == g_lead_was;
  always_comb begin
    if (f_past && f_past1) begin
      if (state != LEAD && state != SEND) assert (lead == '0);
      if (g_keeps && state == SEND && f_state1 != SEND) assert (g_run_next == {2'd0, g_lead});
      if (g_keeps && state == SEND && f_state1 == SEND) assert (lead == {S{g_lead != 16'd0}});
      // invariants: what is left of it
      if (g_keeps && state == LEAD) begin
        assert (lead_first ? g_run == 18'd0 : g_run + 18'(lead_rest) + 18'(S) == {2'd0, g_lead} + g_first);
        assert (g_run < {2'd0, g_lead} && ((lead_rest ^ g_lead) & 16'(S - 1)) == 16'd0);
        assert (has_lead && lead_first == (f_state1 == IDLE));
      end
      if (f_state1 == IDLE) assert (g_run == 18'd0);
    end
  end

  // The report: each byte that starts is reported once, with the tick and the data with which it
  // started, and popped with it; no report is written over before it is taken.
  logic       g_unreported;
  logic [7:0] g_stamp, g_byte;
  always_ff @(posedge clk) begin
    if (f_granted) {g_stamp, g_byte} <= {now[7:0] + 8'(KE), txb_data};
    g_unreported <= !rst && (f_granted || (g_unreported && !waited));
  end
  always_comb begin
    if (f_past && !rst) begin
      assert (g_unreported == (state == WAIT));
      if (state == SEND || state == WAIT) assert (data == txb_data);  // the byte sent is the byte reported
      if (g_unreported) assert (g_age < 5'(KE) && txb_valid && txb_data == g_byte && now[7:0] + 8'(KE - 1) - 8'(g_age) == g_stamp);
      if (waited) assert (g_unreported && txb_pop && (!ev_req || ev_ack));
      assert (waited == (g_unreported && g_age == 5'(KE - 1)));
      if (txb_pop && !waited) assert (state == FLUSH);
      if (ev_req) assert (g_unread <= 4'd10 && g_age == 5'(g_unread) + 5'(KE));  // invariant
      // a mark is not on the line: a pause keeps the next record away
      if (recent != 4'd0) assert (is_mark && g_age == 5'(KE + 15) - 5'(recent) && (state == IDLE || state == FLUSH));
      if (is_mark && state != WAIT && recent == 4'd0) assert (g_age >= 5'(KE + 15));
    end
  end
  always_ff @(posedge clk) begin
    if (f_past && !$past(rst)) begin
      if ($past(waited)) assert (ev_req && ev_lo == $past(g_stamp) && ev_byte == $past(g_byte));
      else assert (ev_req == $past(ev_req && !ev_ack) && (!ev_req || {ev_lo, ev_byte} == $past({ev_lo, ev_byte})));
    end
  end

  // A flush: no byte is requested behind it until it is reported, which is when nothing is left,
  // and then soon.
  logic       g_flush;
  logic [4:0] g_empty;       // cycles of it without a byte
  always_ff @(posedge clk) begin
    g_flush <= !rst && (flush || (g_flush && !flushed));
    g_empty <= (rst || flush || flushed || !g_flush || txb_valid || !txb_none) ? 5'd0 : g_empty + 5'd1;
  end
  always_comb begin
    if (f_past) begin
      if (g_flush) assert (!due && !txb_pop || waited || state == FLUSH);
      if (g_flush) assert (!due);
      assert (!flushing || g_flush);
      if (g_flush && !flushed) assert (flushing);
      assert (g_empty <= 5'(KE + 3));
      if (f_past1 && !rst && (state == LEAD || state == SEND || state == WAIT)) assert (txb_valid);  // invariant
    end
  end
  always_ff @(posedge clk) if (f_past && flushed) assert ($past(g_flush && !txb_valid && txb_none));

  // `drained`: never while a byte waits, has begun to be sent or is on the line; else within two cycles.
  logic       g_on;
  logic [1:0] g_nothing;     // cycles without any of it; stays at the top
  always_ff @(posedge clk) begin
    g_on      <= !rst && ((started && !to_port) || (g_on && line_active && !start_timed));
    g_nothing <= (rst || txb_valid || !txb_none || g_on || started || flush || g_flush) ? 2'd0 : g_nothing == '1 ? '1 : g_nothing + 2'd1;
  end
  always_comb begin
    if (f_past && f_past1 && !rst) begin
      assert (on_line == g_on);  // invariant
      if (drained) assert (!txb_valid && !g_on && !started && state == IDLE);
      if (g_nothing >= 2'd2 && !txb_valid) assert (drained);
    end
  end
  logic f_past1 = 1'b0;
  always_ff @(posedge clk) f_past1 <= f_past && !rst;

  always_ff @(posedge clk) begin
    cover (f_past && grant && stop == litepulse_map_pkg::STOP_1_5 && period[0]);
    cover (f_past && grant && nde_lead == 16'hfffb);
    cover (f_past && $past(due) && !due && !hold);
    // a lead of two cycles and a sample, and then a wait; a flush with a byte that was just granted; the line quiet again
    cover (f_past && grant && g_keeps && g_lead == 16'(2 * S + 1) && g_run_next == 18'(2 * S + 1) + 18'(3 * S));
    cover (f_past && flushed && $past(started, KE + 4));
    cover (f_past && drained && g_age == 5'd30);
  end
`endif
