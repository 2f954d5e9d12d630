// SPDX-License-Identifier: BSD-2-Clause
// Promise 6: nothing is lost without a report. Counters of what came and of what the stream
// reports, an edge record of any cycle followed from its arrival to the FIFO or to a gap, and for
// each request the cycles it waits. Included at the end of litepulse_events.

  logic [4*PORTS-1:0] since;
  logic [6*PORTS-1:0] waits;
  logic [PORTS-1:0]   second;
  litepulse_events_environment #(.S(S), .EV_AW(EV_AW), .C(C), .PORTS(PORTS), .BRIEF(BRIEF)) environment (.*);
`ifndef LITEPULSE_CHECK
  // With F_TIMES only how long something waits is proved, without it everything else, given these bounds.
  localparam int F_BUSY = 9;            // cycles in a row in which some request is there to be merged
  localparam int F_AGE = 3 * (F_BUSY + 1) + F_BUSY;  // an edge record
  localparam int F_WAIT = 2*PORTS - 2;

  logic f_past = 1'b0;
  initial assume (rst);
  always_ff @(posedge clk) f_past <= 1'b1;

  logic [3:0]         f_since [0:PORTS-1];    // cycles since the last request of a port came, up to 15
  logic [5:0]         f_wait [0:PORTS-1];
  logic [EB-1:0]      f_filtered;             // bits of filtered channels
  always_comb begin
    for (int i = 0; i < C; i++) f_filtered[i*S +: S] = {S{edges.group[i]}};
    for (int i = 0; i < PORTS; i++) {f_since[i], f_wait[i]} = {since[4*i +: 4], waits[6*i +: 6]};
  end

  // One edge record, from arrival to its end -----------------------------------------------------------------------------------
  (* anyseq *) logic f_pick, f_pick_f;
  typedef enum logic [3:0] {F_NONE, F_TAIL, F_HEAD, F_SPOILT, F_ALL, F_MERGED, F_STAGE, F_GAP, F_STORED} f_place_t;
  f_place_t      f_place;
  logic          f_f, f_waits, f_any;
  logic [63:0]   f_cycle;
  logic [EB-1:0] f_changed, f_level, f_own, f_members;
  logic [C-1:0]  f_group;       // with what it came
  logic [6:0]    f_delay;
  logic [6:0]    f_age;         // cycles since the one in which it came
  always_comb begin
    for (int i = 0; i < C; i++) begin
      f_own[i*S +: S] = f_filtered[i*S +: S] ^ {S{!f_pick_f}};
      f_members[i*S +: S] = {S{f_group[i] == f_f}};
    end
  end
  assign f_waits = f_place == F_TAIL || f_place == F_HEAD || f_place == F_SPOILT;
  always_ff @(posedge clk) begin
    f_any <= any;
    f_age <= f_age + 7'd1;
    case (f_place)
      F_NONE: if (f_pick && (f_pick_f ? come_f : come_a)) begin
        f_age <= 7'd0;
        f_f <= f_pick_f;
        f_group <= edges.group[C-1:0];
        f_delay <= edges.delay;
        f_cycle <= 64'(now) - 64'd1 - (f_pick_f ? {57'd0, edges.delay} : 64'd0);
        f_changed <= edges.changed[EB-1:0] & f_own;
        f_level <= edges.level[EB-1:0] & f_own;
        f_place <= (shift && !from_tail) ? F_HEAD : (shift || !tail_any) ? F_TAIL : F_SPOILT;
      end
      F_TAIL: if (take_all) f_place <= F_ALL; else if (shift) f_place <= F_HEAD;
      F_HEAD: if (take_all) f_place <= F_ALL; else if (take_edge && f_f == !head_a) f_place <= F_MERGED;
      F_SPOILT: if (take_all) f_place <= F_ALL;
      F_ALL: f_place <= F_GAP;
      F_MERGED: f_place <= (open && room) ? F_STAGE : F_GAP;
      F_STAGE: f_place <= F_STORED;
      default: ;
    endcase
    if (rst) f_place <= F_NONE;
  end
  logic [NW-1:0] f_total;       // records in the queue, or that should be
  assign f_total = rec_all ? NW'(came_a) + NW'(came_f) : waiting_next;
  logic [1:0]  f_before;        // records to be taken before the followed one
  assign f_before = (f_place == F_HEAD) ? {1'b0, f_f && head_a} : {1'b0, head_a} + {1'b0, head_f} + {1'b0, f_f && tail_a};
  always_comb begin
    if (f_past && !rst) begin
      assert (any == (sel != '0) && (sel & (sel - 1'b1)) == '0 && (sel & ~req) == '0);
      assert (!(tail_any || spoilt) || head_a || head_f);
      assert (!spoilt || tail_any);
      if (!spoilt) assert (f_total == NW'(head_a) + NW'(head_f) + NW'(tail_a) + NW'(tail_f));
      assert ({1'b0, one_p} + {1'b0, rec_all} <= 2'd1 && took == (one_p && !f_any));
      if (rec_all) assert (!f_any && waiting == p_data[NW-1:0]);
      if (f_place == F_TAIL) assert (f_f ? tail_f : tail_a);
      if (f_place == F_HEAD) assert (f_f ? head_f : head_a);
      if (f_place == F_SPOILT) assert (spoilt);
      if (f_place != F_NONE) assert (f_changed != '0 && (!f_f || f_delay <= 7'd62));   // no record without an edge
      for (int i = 0; i < PORTS; i++) begin
        if (BRIEF[i]) assert (seen[i] == second[i] || !second[i]);
      end
    end
  end

`ifdef F_TIMES
  logic [3:0] f_busy;           // cycles in a row in which a request was there to be merged
  logic [4:0] f_spoilt;         // cycles since the queue spoilt
  logic [6:0] f_limit;
  assign f_limit = 7'(F_BUSY + 1) * (7'd3 - {5'd0, f_before});
  always_ff @(posedge clk) begin
    f_busy <= (rst || !any) ? 4'd0 : f_busy + 4'd1;
    f_spoilt <= (rst || !spoilt) ? 5'd0 : f_spoilt + 5'd1;
  end
  logic [PORTS-1:0] f_displaced [0:3];   // a brief request was not chosen in its first cycle
  always_ff @(posedge clk) begin
    f_displaced[0] <= rst ? '0 : req & ~second & BRIEF & ~next;
    for (int k = 1; k < 4; k++) f_displaced[k] <= rst ? '0 : f_displaced[k-1];
  end
  always_comb begin
    if (f_past && !rst) begin
      for (int i = 0; i < PORTS; i++) begin
        if (!BRIEF[i]) assert (f_wait[i] <= 6'((BRIEF & ((1 << i) - 1)) != '0 ? 2*i : i + 1));
        // a brief one: chosen at once, or with its next offer 4 cycles later
        if (BRIEF[i] && req[i] && !second[i]) assert (next[i] || !f_displaced[3][i]);
        if (BRIEF[i] && sel[i]) assert (second[i]);
        // inside
        if (!BRIEF[i] && req[i] && f_wait[i] != 6'd0) assert ({2'd0, f_since[i]} == f_wait[i] - 6'd1);
        if (!BRIEF[i] && sel[i]) assert (f_wait[i] != 6'd0);
      end
      assert (f_busy <= 4'(F_BUSY));
      if (f_waits) assert (f_age <= 7'(F_AGE));
      assert (f_total <= NW'(6 + 2 * F_BUSY));
      if (spoilt) assert (f_total <= NW'(6) + {f_spoilt[NW-2:0], 1'b0} && f_spoilt <= {1'b0, f_busy});
      if (f_place == F_HEAD || f_place == F_TAIL) assert (f_age <= f_limit + {3'd0, f_busy});
      if (f_place == F_SPOILT) assert (f_age <= {3'd0, f_busy});
    end
  end
`else
  // Numbers: all that happened is in the stream, reported as lost, counted as lost, or in here
  // ----- except what is lost in a gap that is reported as one of at least N
  logic [31:0] f_came, f_reported, f_lost, f_skipped;
  logic        f_skips;         // in this gap
  logic [15:0] f_upper;
  assign f_upper = litepulse_map_pkg::LOST_STOP[31:16];
  assign f_lost = st_data + {15'd0, wrapped, 16'd0};
  always_ff @(posedge clk) begin
    f_came <= rst ? 32'd0 : f_came + 32'(mine) + 32'(come_a) + 32'(come_f);
    f_skipped <= rst ? 32'd0 : f_skipped + ((!open && stopped) ? 32'(number) : 32'd0);
    f_skips <= !rst && !open && (f_skips || (stopped && number != '0));
    if (rst) f_reported <= 32'd0;
    else if (ev_wr) f_reported <= f_reported + ((ev_wdata[79:76] == litepulse_map_pkg::KIND_OVERFLOW) ? ev_wdata[127:96] : 32'd1);
  end
  always_comb begin
    if (f_past && !rst) begin
      assume (f_total <= NW'(6 + 2 * F_BUSY));
      if (f_waits) assume (f_age <= 7'(F_AGE));
      assert (f_came == f_reported + f_skipped + 32'(full) + 32'(one_p) + (rec_all ? p_data : 32'd0) + 32'(f_total) + (gap ? f_lost : 32'd0));
      assert (seq == f_reported[15:0]);
      assert (ev_gap == gap && (!gap || ev_lost_carries || ev_lost == f_lost));
      // inside
      assert (!(full && gap) && !(wrapped && !gap && full && st_data == 32'd0));
      if (gap) assert ({st_kind, st_source} == {litepulse_map_pkg::KIND_OVERFLOW, litepulse_map_pkg::SRC_CONTROL});
      if (gap) assert (st_flags == 8'd0 || st_flags == litepulse_map_pkg::EVENT_FLAG_AT_LEAST);
      // a gap of fewer than LOST_STOP is exact, its count never wraps
      assert (!f_skips || (gap && stopped));
      if (gap && stopped) assert (st_data[31:16] == f_upper && st_data[15:0] < 16'd128);
      if (gap) assert (st_data[31:16] <= f_upper);
      if (gap && st_data[31:16] == f_upper) assert (!was_top && st_data[15:0] < (stopped ? 16'd96 : 16'd64));
      if (gap) assert (f_lost != 32'd0);
      if (gap && wrapped) assert (st_data[15:0] < 16'd32);
      if (gap && was_top && !wrapped) assert (st_data[15]);
      if (full) assert (st_kind != litepulse_map_pkg::KIND_OVERFLOW);
      if (one_p) assert (p_kind != litepulse_map_pkg::KIND_OVERFLOW && (p_kind == litepulse_map_pkg::KIND_EDGE) == !f_any);
      if (rec_all) begin
        assert ({p_kind, p_source, p_flags} == {litepulse_map_pkg::KIND_OVERFLOW, litepulse_map_pkg::SRC_CONTROL, 8'd0});
        assert (p_data[31:NW] == '0 && p_data != 32'd0);
      end
      if (spoilt) assert (f_total >= NW'(3));
      if (one_p) assert (f_any ? lo_edge == 8'd0 : lo_req == 8'd0);
    end
  end

  // Rules ------------------------------------------------------------------------------------------------------------------
  logic [EV_AW:0] f_room;       // slots known to be free since the last cycle
  logic           f_open;       // a gap that the stream does not tell of yet
  logic           f_mine;       // a wanted request is being merged
  logic           f_may_wrap;   // the count's lower half may have wrapped in the last cycle
  assign f_mine = one_p && f_any;
  always_ff @(posedge clk) begin
    f_open <= !rst && (lose || rec_all || (f_open && !close));
    f_room <= rst ? '0 : ev_free - (EV_AW + 1)'(ev_wr);
    f_may_wrap <= may_wrap;
  end
  always_comb begin
    if (f_past && !rst) begin
      assert (f_open == gap);
      assert (f_room <= ev_free);
      // `room_*` are not reset
      if (one_p || gap) begin
        assert (room_one == (f_room > (f_any ? 0 : 16)));
        assert (room_two == (f_room > (f_any ? 1 : 17)));
        assert (enough == ((f_any ? one_p && f_room > 1 : f_room > 16) && !f_may_wrap));
      end
      if (full) assert (f_room >= 1 && (st_kind != litepulse_map_pkg::KIND_EDGE || f_room > 16));
      if (ev_wr) assert (ev_free != '0);
      if (ev_wr && ev_wdata[79:76] == litepulse_map_pkg::KIND_EDGE) assert (ev_free > 16);
      // a gap is reported with a next record that is stored, or by itself beyond the reserve: then
      // at once
      if (close) assert (f_room > 16 || (f_mine && store && f_room >= 2));
      if (gap && !close) assert (f_may_wrap || (f_any ? !one_p || f_room < 2 : f_room <= 16));
      assert (!close || !wrapped);
      // a record that is not stored had no room
      if (lose) assert (f_any ? f_room <= (EV_AW + 1)'(full || gap) : f_room <= 16 + (EV_AW + 1)'(full || gap));
    end
  end

  // What is written is what came ---------------------------------------------------------------------------------------------
  logic [63:0] f_stamp, f_stamp_p;         // of the request that is merged, in ticks
  logic [47:0] f_word, f_word_p;
  always_comb begin
    f_stamp = '0;
    f_word = '0;
    for (int i = 0; i < PORTS; i++) begin
      if (sel[i]) begin
        f_stamp = ((64'(now) - {56'd0, now[7:0] - lo[8*i+:8]}) << SL) + 64'(off[3*i+:3] & 3'(S - 1));
        f_word = {kind[4*i+:4], source[4*i+:4], flags[8*i+:8], data[32*i+:32]};
      end
    end
  end
  always_ff @(posedge clk) begin
    f_stamp_p <= f_stamp;
    f_word_p <= f_word;
    if (f_past && !rst && !$past(rst)) begin
      assert (!(ev_lost_carries && $past(ev_lost_carries)));
      if ($past(f_mine && open)) assert (tick == $past(f_stamp_p));
      if ($past(f_mine && store)) assert (full && {st_kind, st_source, st_flags, st_data} == $past(f_word_p));
      if ($past(f_mine && lose)) assert (gap && st_data == 32'd1);
      if ($past(gap && !close)) assert (gap && $stable(tick));
      // the oldest of what is lost at once gives the stamp
      if ($past(f_place) == F_ALL && $past(open)) assert (gap && st_data == $past(p_data));
      if ($past(f_place) == F_MERGED && $past(open)) begin
        assert (tick == f_cycle << SL);
        if (f_place == F_GAP) assert (gap && st_data == 32'd1);
      end
    end
  end
  always_comb begin
    if (f_past && !rst) begin
      if (f_mine) begin
        assert ({p_kind, p_source, p_flags, p_data} == f_word_p && lo_req == f_stamp_p[SL+:8] && 64'(p_off) == (f_stamp_p & 64'(S - 1)));
        assert ((64'(now) << SL) - f_stamp_p <= 64'(127 * S));   // what the tick's upper bits are made of
      end
      case (f_place)
        F_TAIL: begin
          assert ((tail.changed & f_members) == f_changed && (tail.level & f_members) == f_level && tail.group == f_group);
          assert (tail.now == f_cycle[7:0] + 8'd1 + (f_f ? {1'b0, f_delay} : 8'd0) && tail.delay == f_delay);
        end
        F_HEAD: begin
          assert ((head.changed & f_members) == f_changed && (head.level & f_members) == f_level && head.group == f_group);
          assert (head.now == f_cycle[7:0] + 8'd1 + (f_f ? {1'b0, f_delay} : 8'd0) && head.delay == f_delay);
        end
        F_MERGED: begin
          assert (one_p && !f_any && p_data == {16'(f_level), 16'(f_changed)} && p_off == 3'd0 && lo_edge == f_cycle[7:0]);
          assert ({p_kind, p_source, p_flags} == {litepulse_map_pkg::KIND_EDGE, litepulse_map_pkg::SRC_CAPTURE, f_f, 7'd0});
        end
        F_STAGE: begin
          assert (full && tick == f_cycle << SL && st_data == {16'(f_level), 16'(f_changed)});
          assert ({st_kind, st_source, st_flags} == {litepulse_map_pkg::KIND_EDGE, litepulse_map_pkg::SRC_CAPTURE, f_f, 7'd0});
        end
        F_ALL: assert (rec_all);
        F_SPOILT, F_GAP, F_STORED, F_NONE: ;
        default: assert (1'b0);
      endcase
      if (f_waits || f_place == F_MERGED) begin
        assert (64'(now) << SL == (f_cycle + (f_f ? {57'd0, f_delay} : 64'd0) + 64'd2 + {57'd0, f_age}) << SL);
        assert (f_age <= 7'(F_AGE + 1));
      end
    end
  end

  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (f_place == F_STORED && f_f);
      cover (f_place == F_GAP && $past(f_place == F_ALL));
      cover (close && st_data > 3);
      cover (close && f_room == 2);
      cover (ev_wr && seq == 3 && ev_free == 1);
      cover (any && !mine);
      cover (|(sel & BRIEF) && mine);
      cover (ev_wr && st_kind == litepulse_map_pkg::KIND_EDGE && $past(close) && seq > 2);
      cover (close && lose);
    end
  end
`endif
`endif
