// SPDX-License-Identifier: BSD-2-Clause
// Promise 6: nothing is lost in silence. Counters of what came and of what the stream tells, an edge record of any cycle followed
// from its arrival to the FIFO or to a gap, and for each request the cycles it waits. Included at the end of litepulse_events.

  // With F_TIMES only how long something waits is proved, without it everything else, given these bounds.
  localparam int F_WAIT = 20;     // a request, in the first cycles after reset (bounded)
  localparam int F_LONG = 40;     // a request, as the module's header says
  localparam int F_AGE = 60;      // an edge record

  logic f_edge;                 // the stage holds an edge record
  assign f_edge = st_kind == litepulse_map_pkg::KIND_EDGE;

  logic f_past = 1'b0;
  initial assume (rst);
  always_ff @(posedge clk) f_past <= 1'b1;

  // What the sources and the ring promise ---------------------------------------------------------------------------------
  logic [3:0] f_since [0:5];    // cycles since the last request of a port came, up to 15
  logic [5:0] f_wait [0:5];
  always_comb begin
    for (int i = 0; i < 6; i++) if (req[i] && f_since[i] != 4'd15) assume (f_past && f_wait[i] != 6'd0);
    assume (prev_hi == now[CW-1:8] - 1'b1);
    assume (ev_free <= (EV_AW + 1)'(1 << EV_AW));
    assume (edge_delay <= 7'd62);
    // 80 when it comes, and the bound of `requests`
    for (int i = 0; i < 6; i++) if (req[i]) assume (now[7:0] - lo[8*i+:8] <= 8'd80 + F_LONG);
    for (int i = 0; i < 6; i++) begin
      assume (kind[4*i+:4] != litepulse_map_pkg::KIND_OVERFLOW && kind[4*i+:4] != litepulse_map_pkg::KIND_EDGE);
    end
    assume (!lost[31]);         // no gap of 2^31 records
  end
  always_ff @(posedge clk) begin
    if (f_past) begin
      assume (now == $past(now) + 1'b1);
      assume ($stable(edge_delay) && $stable(edge_group) && $stable(event_mask));
      if (!$past(rst)) assume (ev_free >= $past(ev_free) - (EV_AW + 1)'($past(ev_wr)));
    end
    for (int i = 0; i < 6; i++) begin
      f_wait[i] <= (req[i] && !ack[i] && !rst) ? f_wait[i] + 6'd1 : 6'd0;
      f_since[i] <= rst ? 4'd15 : (req[i] && f_wait[i] == 6'd0) ? 4'd0 : (f_since[i] == 4'd15) ? 4'd15 : f_since[i] + 4'd1;
      if (f_past && !$past(rst) && $past(req[i]) && !$past(ack[i])) begin
        assume (req[i]);
        assume ($stable(kind[4*i+:4]) && $stable(flags[8*i+:8]) && $stable(lo[8*i+:8]) && $stable(data[32*i+:32]));
      end
    end
  end
  always_ff @(posedge clk) begin
    if (rst) assume (req == 6'd0 && !edge_a && !edge_f);
  end

  // Numbers: all that happened is in the stream, told as lost, counted as lost, or in here ------------------------------------
  logic [31:0] f_came, f_told;
  logic [2:0]  f_new;
  assign f_new = {2'd0, take} + {2'd0, come_a} + {2'd0, come_f};
  always_ff @(posedge clk) begin
    f_came <= rst ? 32'd0 : f_came + {29'd0, f_new};
    if (rst) f_told <= 32'd0;
    else if (ev_wr) f_told <= f_told + ((ev_wdata[79:76] == litepulse_map_pkg::KIND_OVERFLOW) ? ev_wdata[127:96] : 32'd1);
  end
  // One edge record, from arrival to its end -----------------------------------------------------------------------------------
  (* anyseq *) logic f_pick, f_pick_f;
  typedef enum logic [2:0] {F_NONE, F_TAIL, F_HEAD, F_SPOILT, F_STAGE, F_GAP, F_STORED} f_place_t;
  f_place_t      f_place;
  logic          f_f, f_taken;
  logic [63:0]   f_tick;
  logic [EB-1:0] f_changed, f_level, f_own, f_members;
  logic [6:0]    f_age;
  assign f_own = f_pick_f ? edge_group[EB-1:0] : ~edge_group[EB-1:0];
  assign f_members = edge_group[EB-1:0] ^ {EB{!f_f}};
  assign f_taken = take_edge && (f_f ? !head_a : head_a);
  always_ff @(posedge clk) begin
    f_age <= f_age + 7'd1;
    case (f_place)
      F_NONE: if (f_pick && (f_pick_f ? come_f : come_a)) begin
        f_age <= 7'd0;
        f_f <= f_pick_f;
        f_tick <= now - (f_pick_f ? {57'd0, edge_delay} : 64'd0);
        f_changed <= edge_changed[EB-1:0] & f_own;
        f_level <= edge_level[EB-1:0] & f_own;
        f_place <= (take_all || (advance && !tail_any)) ? F_HEAD : (advance || !tail_any) ? F_TAIL : F_SPOILT;
      end
      F_TAIL: if (take_all) f_place <= F_GAP; else if (advance) f_place <= F_HEAD;
      F_HEAD: if (take_all) f_place <= F_GAP; else if (f_taken) f_place <= F_STAGE;
      F_SPOILT: if (take_all) f_place <= F_GAP;
      F_STAGE: f_place <= stall ? F_GAP : F_STORED;
      default: ;
    endcase
    if (rst) f_place <= F_NONE;
  end
  logic       f_waits;
  logic [4:0] f_spoilt;         // cycles since the queue spoilt
  logic [1:0] f_before;         // records to be taken before the followed one
  logic [6:0] f_limit;
  assign f_waits = f_place == F_TAIL || f_place == F_HEAD || f_place == F_SPOILT;
  always_ff @(posedge clk) f_spoilt <= (rst || !spoilt) ? 5'd0 : f_spoilt + 5'd1;
  assign f_before = (f_place == F_HEAD) ? {1'b0, f_f && head_a} : {1'b0, head_a} + {1'b0, head_f} + {1'b0, f_f && tail_a};
  assign f_limit = 7'd15 * (7'd3 - {5'd0, f_before});

`ifdef F_TIMES
  always_comb begin
    if (f_past && !rst) begin
`ifdef F_REQUESTS
      for (int i = 0; i < 6; i++) assert (f_wait[i] <= F_WAIT);
`endif
      if (f_waits) assert (f_age <= F_AGE);
      assert (waiting <= 6'd60);
      // inside
      assert (held <= 4'd14 && !(yield && (told || !head_any || !held[3])));
      if (!head_any) assert (held == 4'd0);
      if (!spoilt) assert (waiting == {5'd0, head_a} + {5'd0, head_f} + {5'd0, tail_a} + {5'd0, tail_f});
      if (spoilt) assert (waiting <= 6'd6 + {f_spoilt, 1'b0} && f_spoilt <= {1'b0, held});
      if (f_place == F_HEAD || f_place == F_TAIL) assert (f_age <= f_limit + {3'd0, held});
      if (f_place == F_SPOILT) assert (f_age <= {3'd0, held});
      if (f_place == F_TAIL) assert (f_f ? tail_f : tail_a);
      if (f_place == F_HEAD) assert (f_f ? head_f : head_a);
      if (f_place == F_SPOILT) assert (spoilt);
      if (spoilt) assert (head_any);
      if (tail_any) assert (head_any);
      assert (any == (chosen != 6'd0) && (chosen & (chosen - 6'd1)) == 6'd0);
      assert ((chosen & ~req) == 6'd0);
      assert (!(full && gap) && (!told || full) && (!stall || (full && !told)));
    end
  end
`else
  always_comb begin
    if (f_past) begin
      assume (waiting <= 6'd60);
      if (f_waits) assume (f_age <= F_AGE);
      assert (f_came == f_told + {31'd0, full && !told} + {26'd0, waiting} + lost);
      assert (seq == f_told[15:0]);
      // inside
      assert (!(full && gap) && (!told || full) && !(yield && told));
      assert (gap || told || lost == 32'd0);
      if (told) assert (st_data == lost && st_kind == litepulse_map_pkg::KIND_OVERFLOW && !f_edge && lost != 32'd0);
      if (gap) assert (lost != 32'd0);
      if (full && !told) assert (st_kind != litepulse_map_pkg::KIND_OVERFLOW);
      if (!spoilt) assert (waiting == {5'd0, head_a} + {5'd0, head_f} + {5'd0, tail_a} + {5'd0, tail_f});
      if (spoilt) assert (waiting >= 6'd3 && head_any);
      if (tail_any) assert (head_any);
      assert (any == (chosen != 6'd0) && (chosen & (chosen - 6'd1)) == 6'd0);
      assert ((chosen & ~req) == 6'd0);
    end
  end

  // Rules ------------------------------------------------------------------------------------------------------------------
  logic [EV_AW:0] f_room;       // slots known to be free since the last cycle
  logic        f_open;          // a gap that the stream does not tell of yet
  logic [63:0] f_first;         // tick of its first record
  always_ff @(posedge clk) begin
    if (rst || (full && told)) f_open <= 1'b0;
    else if (stall || take_all) f_open <= 1'b1;
    if (stall) f_first <= tick;
    f_room <= rst ? '0 : ev_free - (EV_AW + 1)'(ev_wr);
  end
  always_comb begin
    if (f_past && !rst) begin
      assert (f_open == (gap || told));
      assert (f_room <= ev_free && two == (f_room > 1) && plenty == (f_room > 16));
      assert (stall == (full && (f_edge ? f_room <= 16 : f_room == '0)));
      if (ev_wr) assert (ev_free != '0);
      if (ev_wr && ev_wdata[79:76] == litepulse_map_pkg::KIND_EDGE) assert (ev_free > 16);
      if (ev_wr && f_open) assert (ev_wdata[79:64] == {litepulse_map_pkg::KIND_OVERFLOW, litepulse_map_pkg::SRC_CONTROL, 8'd0});
      if (told) assert (ev_wr);
      // what is not stored had no room
      if (gap && take) assert (f_room < 2);
      if (gap && take_all) assert (f_room <= 16);
      if (!gap && take_all) assert (spoilt);
    end
  end
  logic [63:0] f_stamp;         // of the request that is taken
  logic [43:0] f_word;
  always_comb begin
    f_stamp = '0;
    f_word = '0;
    for (int i = 0; i < 6; i++) begin
      if (chosen[i]) begin
        f_stamp = now - {56'd0, now[7:0] - lo[8*i+:8]};
        f_word = {kind[4*i+:4], flags[8*i+:8], data[32*i+:32]};
      end
    end
  end
  always_ff @(posedge clk) begin
    if (f_past && !rst && !$past(rst)) begin
      if ($past(take && !gap)) begin
        assert (full && !f_edge && tick == $past(f_stamp));
        assert ({st_kind, st_flags, st_data} == $past(f_word));
      end
      if ($past(gap)) assert ($stable(tick));
      // a gap is told at once when there is room
      if ($past(gap) && $past(f_room) > 16) assert (ev_wr && told);
      if ($past(gap && use_req) && $past(f_room) >= 2) assert (ev_wr && told);
      if ($past(told && any)) assert ($past(take));
    end
  end

  always_ff @(posedge clk) begin
    if (f_past && !rst && !$past(rst)) begin
      // the oldest of what is lost at once gives the stamp
      if ($past(take_all && !gap && f_place == F_HEAD && (!f_f || !head_a))) assert (tick == f_tick);
      if ($past(f_place == F_STAGE) && f_place == F_GAP) assert (tick == f_tick && gap && lost == 32'd1);
    end
  end
  always_comb begin
    if (f_past && !rst) begin
      case (f_place)
        F_TAIL: begin
          assert (f_f ? tail_f : tail_a);
          assert ((tail[EB-1:0] & f_members) == f_changed && (tail[2*EB-1:EB] & f_members) == f_level);
          assert ((f_f ? tail[2*EB+8+:8] : tail[2*EB+:8]) == f_tick[7:0]);
        end
        F_HEAD: begin
          assert (f_f ? head_f : head_a);
          assert ((head[EB-1:0] & f_members) == f_changed && (head[2*EB-1:EB] & f_members) == f_level);
          assert ((f_f ? head[2*EB+8+:8] : head[2*EB+:8]) == f_tick[7:0]);
        end
        F_SPOILT: assert (spoilt);
        F_STAGE: begin
          assert (full && f_edge && !told);
          assert (tick == f_tick && st_data == {16'(f_level), 16'(f_changed)});
          assert ({st_kind, st_source, st_flags} == {litepulse_map_pkg::KIND_EDGE, litepulse_map_pkg::SRC_CAPTURE, f_f, 7'd0});
        end
        F_GAP, F_STORED, F_NONE: ;
        default: assert (1'b0);
      endcase
      if (f_waits) begin
        assert (now == f_tick + (f_f ? {57'd0, edge_delay} : 64'd0) + 64'd1 + {57'd0, f_age});
      end
    end
  end

  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (f_place == F_STORED && f_f);
      cover (f_place == F_GAP && $past(f_place == F_SPOILT));
      cover (ev_wr && told && lost > 3);
      cover (ev_wr && told && $past(f_room) == 2);
      cover (ev_wr && seq == 3 && ev_free == 1);
      cover (|(ack & ~chosen));
      cover (ev_wr && st_kind == litepulse_map_pkg::KIND_EDGE && $past(ev_wr && told) && seq > 2);
    end
  end
`endif
