// SPDX-License-Identifier: BSD-2-Clause
// What the countdown tells of a launch at tick T, given that it was loaded as its header says. Included at the end of the module.

  logic         f_past = 1'b0;
  (* anyconst *) logic [62:0] g_t;
  logic [62:0]  g_now;         // ticks at sample 0
  logic [66:0]  g_left;        // T - now*S + S
  logic         g_loaded;      // cnt holds it, from the first cycle after the last addition
  logic         g_loaded1, g_loaded2, g_armed1;
  logic [66:0]  g_left1;
  logic [W-1:0] g_need1;
  logic [15:0]  g_lead;
  assign g_lead = ~nde_lead;
  initial assume (rst);

  assign g_left  = {4'd0, g_t} - {4'd0, g_now} + 67'(S);
  always_ff @(posedge clk) begin
    f_past   <= 1'b1;
    g_now    <= g_now + 63'(S);
    g_loaded <= !clear && !add && !sub && !twice && !rst && (g_loaded || g_load);
    g_loaded1 <= g_loaded && g_loaded1_ok;
    g_loaded2 <= g_loaded1 && g_loaded1_ok;
    g_left1  <= g_left;
    g_need1  <= ~{{(W - 32) {1'b1}}, nslack};
    g_armed1 <= armed && g_loaded1_ok && g_loaded1 && !rst;
    if (f_past) assume (nde_lead == $past(nde_lead));
    if (f_past && g_loaded && !$past(g_loaded)) assume (hi_zero == (g_left[66:32] == 35'd0));
    // it arms in time, and is done with when the launch is due
    if (f_past && armed && !$past(armed)) assume (!g_left[66] && g_left >= 67'((KE + 3) * S));
    if (f_past && $past(due)) assume (!armed);
    // nothing above the counter is said once, before it is armed, and stays true
    if (f_past && g_loaded && $past(g_loaded)) assume (hi_zero == $past(hi_zero));
  end
  // the owner's part: the sums come out right, and it arms one cycle after that at the earliest
  (* anyseq *) logic g_load;   // the last addition is over
  logic g_loaded1_ok;
  assign g_loaded1_ok = g_loaded && !clear && !add && !sub && !twice;
  always_comb begin
    assume (g_now[62:61] == 2'd0);
    if (armed) assume (g_loaded && g_loaded1 && !clear && !add && !sub && !twice);
    if (g_load && !clear && !add && !sub && !twice) begin
      assume (!g_left[66] && W'(cnt) == W'(g_left) && g_left >= 67'((KE + 5) * S));
    end
    if (g_loaded && !hi_zero) assume (g_left[66:32] != 35'd0 && !g_left[66]);   // else the owner loads anew
  end

  logic [66:0] g_dist;
  always_comb begin
    g_dist = '0;
    if (f_past && g_loaded) begin
      assert (W'(cnt) == W'(g_left));
      if (hi_zero) assert (g_left[66] || g_left[66:32] == 35'd0);
      if (g_loaded1 && hi_zero) assert (high == (g_left1[W-1:17] != '0) && rest == {1'b0, g_left1[16:0]} - {2'b00, g_lead});
      if (g_loaded1) assert (g_left1 == g_left + 67'(S));
    end
    if (f_past && g_armed1) begin
      assert (g_left1 == g_left + 67'(S));
      // the launch is due in the cycle before the engine's, and only then
      if (hi_zero) assert (due == (armed && g_left >> SL == 67'(KE + 2)));
      if (armed) assert (!g_left[66] && g_left >= 67'((KE + 2) * S));
      if (hi_zero) assert (g_left1[66:32] == 35'd0);
      assert (slack_ok == (g_left1 >= 67'(g_need1)));
    end
    if (f_past && g_armed1 && g_loaded2 && hi_zero && g_left[66:32] == 35'd0) begin
      // in this cycle the engine makes the samples that reach the pin at now + KE
      for (int s = 0; s < S; s++) begin
        g_dist = g_left - 67'((KE + 1) * S + s);   // ticks from that sample to T
        assert (lead[s] == (!g_dist[66] && g_dist != 67'd0 && g_dist <= {51'd0, g_lead}));
      end
    end
  end
  always_ff @(posedge clk) begin
    cover (f_past && due && $past(lead) == '0);
    cover (f_past && due && $past(lead, 3) != '0);
    cover (f_past && g_armed1 && slack_ok && g_need1 != '0);
  end
