// SPDX-License-Identifier: BSD-2-Clause
// Promise 5: a level counts from the first of F equal samples, and an edge is where the level that counts changes. The last samples
// are kept, so that the rule can be asked of them directly: what follows a sample decides about it. Included in each channel.

  localparam int F_EX = (S > 1) ? 2 : 0;     // cycles that the filter takes in any case
  localparam int F_N = 64 + 4*S;    // samples kept
  logic           f_past = 1'b0;
  logic [1:0]     f_age3 = 2'd0;
  logic [5:0]     f_F;              // of the last cycle
  logic           f_En;
  logic           f_still;          // settings as in the last cycle
  logic [F_N-1:0] f_history;        // bit 0: the last sample of this cycle
  logic [F_N-1:0] f_shown;          // conditioned samples, likewise
  logic [F_N-1:0] f_old;
  logic [5:0]     f_len;
  initial assume (rst);
  assign f_len = (filt_en[c] && filt_len != 6'd0) ? filt_len : 6'd1;
  always_comb begin
    f_history = f_old;
    for (int s = 0; s < S; s++) f_history = {f_history[F_N-2:0], x[s]};
  end
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_age3 <= (f_age3 == 2'd3) ? 2'd3 : f_age3 + 2'd1;
    f_old <= rst ? {F_N{REST[c]}} : f_history;
    if (f_past) assume (filt_len == $past(filt_len) && filt_en == $past(filt_en));
  end

  // level that counts at the sample `age` before the last one, given the one that counted before it
  logic [S-1:0] f_want;
  logic         f_level, f_all;
  int           f_age;
  always_comb begin
    f_level = prior[c];
    f_want = '0;
    for (int s = 0; s < S; s++) begin
      f_age = (filt_en[c] ? (int'(f_len) + S - 2) / S * S : 0) + (F_EX + 1) * S - 1 - s;
      f_all = 1'b1;
      for (int k = 0; k < F_N; k++) begin
        if (k <= f_age && k + int'(f_len) > f_age && f_history[k] != f_history[f_age]) f_all = 1'b0;
      end
      if (f_all) f_level = f_history[f_age];
      f_want[s] = f_level;
    end
    if (f_past && !rst) assert (level[c*S +: S] == f_want);
  end

  // of F - 1 samples the cycles, rounded up, when F has stood for a while
  always_comb begin
    if (f_age3 != 2'd0) assert (delays == (f_F != 6'd0));
    if (f_age3 > 2'd1) assert (int'(edge_delay) == (int'(f_F) + (f_F == 6'd0 ? S - 1 : S - 2)) / S);
    if (f_age3 == 2'd3) assert (line_delay == (f_En ? edge_delay : 7'd0));
  end
  always_ff @(posedge clk) {f_En, f_F} <= {filt_en[INPUTS], filt_len};

  // an edge is where the level changes, also from one cycle to the next
  always_ff @(posedge clk) begin
    if (f_past && !rst && !$past(rst)) assert (prior[c] == $past(level[c*S + S - 1]));
    if (f_past && !rst) begin
      for (int s = 0; s < S; s++) begin
        assert (enabled[c*S + s] == ((s == 0 ? prior[c] : f_want[s == 0 ? 0 : s - 1]) != f_want[s]
            && (f_want[s] ? rise_en[c] : fall_en[c])));
      end
      if (!$past(rst)) begin
        assert (edge_changed[c*S +: S] == $past(enabled[c*S +: S]));
        assert (edge_level[c*S +: S] == $past(level[c*S +: S]));
        assert (edge_group[c*S +: S] == {S{filt_en[c]}});
        if (S > 1) assert (level[c*S +: S] == $past(level_next[c*S +: S]));   // cond_next
      end
      cover (filt_en[c] && filt_len == 6'd5 && enabled[c*S] && f_old[4] != f_old[0]);
      cover (filt_en[c] && filt_len == 6'd3 && f_old[0] != x[0] && f_old[1] == x[0] && f_old[2] == x[0] && level[c*S] != x[0]);
      cover (!filt_en[c] && enabled[c*S]);
    end
  end

  // inside
`ifdef F_ONE
  // `left` tells how many samples up to now differ from the level that counts
  logic f_differ;
  int   f_n;
  always_comb begin
    f_differ = 1'b1;
    f_n = (f_len == 6'd1) ? 0 : ripe ? int'(f_len) - 1 : int'(f_len) - 2 - int'(left);
    if (f_past && !rst) begin
      if (f_len == 6'd1) assert (ripe);
      assert (f_n >= 0);
      for (int k = 0; k < F_N; k++) if (k < f_n && f_old[k] == level_was) f_differ = 1'b0;
      assert (f_differ && f_old[f_n] == level_was);
    end
  end
`else
  // `run` is one more than the length of the run that ends before this cycle, as far as it matters
  logic f_same, f_full, need_known;
  logic [RW-1:0] f_run;
  logic [S-1:0]  f_newest;
  always_ff @(posedge clk) f_run <= rst ? RW'(2) : run;
  always_comb begin
    need_known = 1'b1;
    for (int s = 0; s < S; s++) begin
      f_newest[s] = f_old[S-1-s];
      if (need[6*s +: 6] != ((filt_len > 6'(s)) ? filt_len - 6'(s) : 6'd0)) need_known = 1'b0;
    end
  end
  always_comb begin
    f_same = 1'b1;
    f_full = 1'b1;
    if (f_past && !rst) begin
      assert (x_last == f_old[0]);
      assert (int'(run) >= 2 && int'(run) <= 63 + S);
      for (int k = 0; k < F_N; k++) begin
        if (k + 1 < int'(run) && f_old[k] != f_old[0]) f_same = 1'b0;
      end
      assert (f_same);
      // the second cycle is one behind
      assert (x_was == f_newest && need_known);
      for (int s = 0; s < S; s++) begin
        f_full = 1'b1;
        for (int k = 0; k < F_N; k++) begin
          if (k >= S - 1 - s && k < S - 1 - s + int'(f_len) && f_old[k] != f_old[S-1-s]) f_full = 1'b0;
        end
        if (enough_was[s]) assert (f_full);
        if (f_full) assert (accepted[s] == x_was[s]);
      end
      for (int k = 0; k < F_N - S; k++) if (k + 1 < int'(f_run) && f_old[k + S] != f_old[S]) f_same = 1'b0;
      assert (f_same);
      if (f_run <= RW'(filt_len)) assert (accepted_last == f_old[S] || f_old[(RW + 1)'(f_run) + (RW + 1)'(S - 1)] != f_old[S]);
      if (f_run > RW'(filt_len)) assert (accepted_last == f_old[S]);
      if (!filt_en[c]) assert (accepted_last == f_old[S]);
      assert (!hold);
      assert (older[S-1] == accepted_last);
      assert (conditioned[S-1] == older[SL'(S - 1) - shift]);
      for (int s = 1; s < S; s++) begin
        f_full = 1'b1;
        for (int k = 0; k < F_N; k++) begin
          if (k >= 2*S - 1 - s && k < 2*S - 1 - s + int'(f_len) && f_old[k] != f_old[2*S-1-s]) f_full = 1'b0;
        end
        if (s > S - 1 - int'(shift)) assert (older[s] == (f_full ? f_old[2*S-1-s] : older[s-1]));
      end
    end
  end
`endif
