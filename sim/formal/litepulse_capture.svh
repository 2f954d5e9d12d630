// SPDX-License-Identifier: BSD-2-Clause
// Promise 5: a level counts from the first of F equal samples, and an edge is where the level that counts changes. The last samples
// are kept, so that the rule can be applied to them directly: what follows a sample decides about
// it. Settings change in any cycle: samples from before a channel began again decide nothing
// together with those behind it. Included in each channel.

  litepulse_capture_environment environment (.*);
`ifndef LITEPULSE_CHECK
  localparam int F_EX = (S > 1) ? 2 : 0;     // cycles that the filter takes in any case
  localparam int F_N = 64 + 4*S;    // samples kept
  localparam int F_MAX = 64 / S + 4;         // more cycles than the longest filter looks at
  logic           f_past = 1'b0;
  logic [1:0]     f_age3 = 2'd0;
  logic [F_N-1:0] f_history;        // bit 0: the last sample of this cycle
  logic [F_N-1:0] f_old;
  logic [5:0]     f_F, f_len;       // in force for what is shown
  // cycles in a row whose samples count together, up to this one; likewise up to the one before it, ...
  logic [6:0]     f_clear, f_clear1, f_clear2, f_clear3;
  logic           f_wrote, f_wrote2;         // a word came in the last cycle, in the one before
  initial assume (rst);
  assign f_len = (group[c] && f_F != 6'd0) ? f_F : 6'd1;
  // with one sample per cycle the cycle in which a channel begins again belongs to what was before
  assign f_clear = (S > 1 && anew[c]) ? 7'd0 : (f_clear1 >= 7'(F_MAX)) ? 7'(F_MAX) : f_clear1 + 7'd1;
  always_comb begin
    f_history = f_old;
    for (int s = 0; s < S; s++) f_history = {f_history[F_N-2:0], x[s]};
  end
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_age3 <= (f_age3 == 2'd3) ? 2'd3 : f_age3 + 2'd1;
    f_old <= rst ? {F_N{REST[c]}} : f_history;
    f_clear1 <= anew[c] ? 7'd0 : f_clear;
    f_clear2 <= rst ? 7'd0 : f_clear1;
    f_clear3 <= rst ? 7'd0 : f_clear2;
    if (settled) f_F <= settings.filt_len;
    if (rst) f_F <= 6'd1;
  end

  // level that counts at the sample `age` before the last one, given the one that counted before it
  logic [S-1:0] f_want;
  logic         f_level, f_all;
  int           f_age;
  always_comb begin
    f_level = prior[c];
    f_want = '0;
    for (int s = 0; s < S; s++) begin
      f_age = (group[c] ? (int'(f_len) + S - 2) / S * S : 0) + (F_EX + 1) * S - 1 - s;
      f_all = 1'b1;
      for (int k = 0; k < F_N; k++) begin
        if (k <= f_age && k + int'(f_len) > f_age && f_history[k] != f_history[f_age]) f_all = 1'b0;
      end
      // the last of these F samples lies in this cycle, or with more samples per cycle two or three before it
      if (S == 1) f_all = f_all && f_len <= f_clear;
      else if ((f_age + 1 - int'(f_len)) / S == 2) f_all = f_all && int'(f_clear2) > f_age / S - 2;
      else f_all = f_all && int'(f_clear3) > f_age / S - 3;
      if (f_all) f_level = f_history[f_age];
      f_want[s] = f_level;
    end
    if (f_past && !rst) assert (level[c*S +: S] == f_want);
  end

  // of F - 1 samples the cycles, rounded up
  always_comb begin
    if (f_past) assert (int'(chosen_edge.delay) == (int'(f_F) + (f_F == 6'd0 ? S - 1 : S - 2)) / S);
    if (f_past && edges.filtered) assert (edges.delay <= 7'd62);
    if (f_age3 > 2'd1) assert (edges.delay <= 7'd62 && line_delay <= 7'd62);
  end

  // what is written is in force soon, and a channel counts again
  always_comb begin
    if (f_past && !rst) begin
      if (!settings.filt_new && !f_wrote && !f_wrote2) assert (group == filt_en[C-1:0] && f_F == settings.filt_len && !anew[c]);
      // one that was unfiltered and is, misses nothing
      if (!group[c] && !filt_en[c] && S > 1) assert (!anew[c]);
    end
  end
  always_ff @(posedge clk) begin
    f_wrote <= settings.filt_new && !rst;
    f_wrote2 <= f_wrote && !rst;
  end

  // an edge is where the level changes, also from one cycle to the next; it is reported with the
  // group and the delay by which it was found
  always_ff @(posedge clk) begin
    if (f_past && !rst && !$past(rst)) assert (prior[c] == $past(level[c*S + S - 1]));
    if (f_past && !rst) begin
      for (int s = 0; s < S; s++) begin
        assert (enabled[c*S + s] == ((s == 0 ? prior[c] : f_want[s == 0 ? 0 : s - 1]) != f_want[s]
            && (f_want[s] ? rise_en[c] : fall_en[c])));
      end
      if (!$past(rst)) begin
        assert (edges.changed[c*S +: S] == $past(enabled[c*S +: S]));
        assert (edges.level[c*S +: S] == $past(level[c*S +: S]));
        assert (edges.group[c] == $past(group[c]) && edges.delay == $past(chosen_edge.delay));
        if (edges.changed[c*S +: S] != '0) assert (edges.group[c] ? edges.filtered : edges.plain);
        assert (line_delay == ($past(group[INPUTS]) ? $past(chosen_edge.delay) : 7'd0));
        if (S > 1) assert (level[c*S +: S] == $past(level_next[c*S +: S]));   // cond_next
      end
      cover (group[c] && f_F == 6'd5 && enabled[c*S] && f_old[4] != f_old[0]);
      cover (group[c] && f_F == 6'd3 && f_old[0] != x[0] && f_old[1] == x[0] && f_old[2] == x[0] && level[c*S] != x[0]);
      cover (!group[c] && enabled[c*S]);
      cover (edges.filtered && chosen_edge.delay != edges.delay);
      cover (edges.changed[c*S] && !edges.group[c] && group[c]);
    end
  end

  // The responder's choice, once it has stood for two cycles, the second one of which counts for its channel: all edges of the channel once each, those of an unfiltered one two cycles
  // before they are shown.
  generate
    if (S > 1) begin : gen_chosen
      logic [2:0]   f_stands = 3'd0;     // cycles that the choice has been this channel
      edge_choice_t f_choice, f_choice1, f_choice2;   // by which what is shown in this cycle was looked at
      logic         f_quick, f_found, f_found1, f_found2, f_hit;
      logic [2:0]   f_off, f_off1, f_off2;
      logic         f_of_line;
      logic [6:0]   f_late;
      assign f_quick  = c != INPUTS && !group[c];
      assign f_choice = f_quick ? f_choice2 : edge_choice;
      always_comb begin
        f_hit = 1'b0;
        f_off = 3'd0;
        for (int s = S - 1; s >= 0; s--) begin
          if (level[c*S + s] != (s == 0 ? prior[c] : level[c*S + (s == 0 ? 0 : s - 1)])
              && (level[c*S + s] ? f_choice.rise : f_choice.fall) && f_choice.enable) begin
            f_hit = 1'b1;
            f_off = 3'(s);
          end
        end
      end
      always_ff @(posedge clk) begin
        f_stands <= (rst || edge_choice.channel != 4'(c)) ? 3'd0
            : (f_stands == 3'd7 || (f_stands == 3'd1 && f_quick && anew[c])) ? f_stands : f_stands + 3'd1;
        f_of_line <= edge_choice.of_line;
        f_late    <= 7'd2 + ((edge_choice.of_line ? group[INPUTS] : group[c]) ? delay : 7'd0);
        {f_choice2, f_choice1} <= {f_choice1, edge_choice};
        {f_off2, f_off1}       <= {f_off1, chosen_edge.off};
        {f_found2, f_found1}   <= {f_found1, f_quick && chosen_edge.found};
      end
      always_comb begin
        if (f_past && !rst && f_stands > 3'd1) begin
          if (!f_quick) assert (chosen_edge.found == f_hit && (!f_hit || chosen_edge.off == f_off));
          if (f_stands > 3'd3) begin
            if (f_quick) assert (f_found2 == f_hit && (!f_hit || f_off2 == f_off));
            else assert (!f_found2);
          end
          assert (chosen_edge.quick == f_quick);
          assert (chosen_edge.late == f_late);
          if (chosen_edge.found && !f_quick && !f_of_line) assert (chosen_edge.late == 7'd2 + (group[c] ? delay : 7'd0));
          assert (f_last == (f_quick ? accepted[S-1] : prior[c]));   // inside
        end
      end
    end
  endgenerate

  // inside
`ifdef F_ONE
  // `left`: how many samples up to now differ from the level that counts
  logic f_differ;
  int   f_n;
  logic [5:0] f_last_F;
  logic       f_last_en;
  always_comb begin
    f_differ = 1'b1;
    f_n = (f_len == 6'd1) ? 0 : ripe ? int'(f_len) - 1 : int'(f_len) - 2 - int'(left);
    if (f_past && !rst) begin
      if (f_len == 6'd1) assert (ripe);
      assert (f_n >= 0 && f_n < int'(f_clear));
      for (int k = 0; k < F_N; k++) if (k < f_n && f_old[k] == level_was) f_differ = 1'b0;
      assert (f_differ && (f_old[f_n] == level_was || f_n == int'(f_clear) - 1));
      assert (f_F == f_last_F && group[c] == f_last_en);
    end
  end
  always_ff @(posedge clk) {f_last_en, f_last_F} <= rst ? {1'b0, 6'd1} : {filt_en[c], settings.filt_len};
`else
  // `run` is one more than the length of the run that ends before this cycle, of samples that count together
  logic f_same, f_full;
  logic [S-1:0]  f_newest;
  always_comb for (int s = 0; s < S; s++) f_newest[s] = f_old[S-1-s];
  always_comb begin
    f_same = 1'b1;
    f_full = 1'b1;
    if (f_past && !rst) begin
      assert (gen_settle.came == {f_wrote2, f_wrote} && (!gen_settle.len_came || f_wrote || f_wrote2));
      if (!settings.filt_len_new && !gen_settle.len_came) assert (settings.filt_len == f_F);
      if (group[c] && !anew[c]) begin
        for (int s = 0; s < S; s++) assert (need[6*s +: 6] == ((f_F > 6'(s)) ? f_F - 6'(s) : 6'd0));
        for (int s = 0; s <= S; s++) assert (few[s] == (f_F <= 6'(s)));
      end
      assert (shift == ((group[c] && f_F != 6'd0) ? SL'(1) - f_F[SL-1:0] : '0));
      assert (x_last == f_old[0] && (x_was == f_newest || f_clear1 == 7'd0));
      assert (int'(run) >= 1 && int'(run) <= 63 + S && int'(run) <= S * int'(f_clear1) + 1);
      for (int k = 0; k < F_N; k++) begin
        if (k + 1 < int'(run) && f_old[k] != f_old[0]) f_same = 1'b0;
      end
      assert (f_same);
      if (int'(run) < 64 && int'(run) <= S * int'(f_clear1)) assert (f_old[(RW + 1)'(run) - (RW + 1)'(1)] != f_old[0]);
      // the second cycle is one behind
      for (int s = 0; s < S; s++) begin
        f_full = int'(f_clear1) > (S - 2 - s + int'(f_len)) / S;
        for (int k = 0; k < F_N; k++) begin
          if (k >= S - 1 - s && k < S - 1 - s + int'(f_len) && f_old[k] != f_old[S-1-s]) f_full = 1'b0;
        end
        assert (enough_was[s] == f_full);
      end
      assert (older[S-1] == accepted_last);
      assert (conditioned[S-1] == older[SL'(S - 1) - shift]);
      for (int s = 1; s < S; s++) begin
        f_full = int'(f_clear2) > (S - 2 - s + int'(f_len)) / S;
        for (int k = 0; k < F_N; k++) begin
          if (k >= 2*S - 1 - s && k < 2*S - 1 - s + int'(f_len) && f_old[k] != f_old[2*S-1-s]) f_full = 1'b0;
        end
        if (s > S - 1 - int'(shift)) assert (older[s] == (f_full ? f_old[2*S-1-s] : older[s-1]));
      end
    end
  end
`endif
`endif
