// SPDX-License-Identifier: BSD-2-Clause
// What a slot does for a launch at tick T that was loaded as its header says, in absolute time. Included at the end of the module.

`ifndef LITEPULSE_CHECK
  localparam int F_KE = 2;               // cycles from `now` to the pin; any value would do
  logic         f_past = 1'b0;
  (* anyseq *) logic [63:0] g_new;       // T of the launch that is loaded
  logic [63:0]  g_t;                     // T of the launch that is in the slot
  logic [63:0]  g_now;                   // cycles
  logic [67:0]  g_tick;                  // ticks, of sample 0
  logic signed [67:0] g_left, g_left_new, g_left1, g_to_pin;
  logic         g_has = 1'b0, g_armed = 1'b0, g_far = 1'b0, g_due, g_fired = 1'b0, g_end = 1'b0, g_ended = 1'b0;
  logic         g_lead_ok = 1'b0, g_lead_ok1 = 1'b0, g_armed1 = 1'b0, g_far1 = 1'b0, g_was_armed = 1'b0;
  logic [15:0]  g_lead1;
  logic [31:0]  g_frame1;
  initial assume (rst);

  assign g_tick     = 68'(g_now) << SL;
  assign g_left     = $signed({4'd0, g_t}) - $signed(g_tick + 68'((F_KE + 2) * S));        // the count that this cycle should have
  assign g_left_new = $signed({4'd0, g_new}) - $signed(g_tick + 68'((F_KE + 3) * S));      // and that a load has to bring
  // the cycle before the one whose samples reach the pin around T
  assign g_due      = g_armed && !g_far && !disarm && (g_now + 64'(F_KE + 1)) == (g_t >> SL);

  always_comb begin
    assume (g_now[63:60] == 4'd0);
    if (f_past && !counting) begin
      assume (value == g_left_new[31:0]);
      if (arm && !beyond) assume (!g_left_new[67] && g_left_new[66:32] == 35'd0);   // when far, g_new is just where its count ends
    end
  end
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    g_now  <= g_now + 64'd1;
    if (!counting) begin
      g_t     <= g_new;
      g_has   <= 1'b1;
      g_armed <= arm;
      g_far   <= beyond;
      // the lead can be exact: loaded in time, and what was there before, if anything, had not opened its window
      g_lead_ok <= arm && (beyond || g_left_new >= $signed({52'd0, de_lead}))
          && (!g_armed || (g_lead_ok && (g_far || (de_lead == g_lead1 && g_left > $signed({52'd0, de_lead} + 68'(4 * S))))));
    end else begin
      if (due || disarm) g_armed <= 1'b0;
      if (!g_far && f_past && de_lead != g_lead1) g_lead_ok <= 1'b0;
    end
    g_fired <= (g_fired || g_due) && !load && !forget;
    g_end   <= g_armed && g_far && counting && g_left[31:SL] == '0;
    g_ended <= (g_ended || (g_end && g_armed && counting)) && !load && !forget;
    g_lead_ok1 <= g_lead_ok && counting;
    g_lead1  <= de_lead;
    g_frame1 <= ~nslack;
    g_left1  <= g_left;
    g_armed1 <= g_armed && !disarm && counting;
    g_far1   <= g_far;
    g_was_armed <= g_armed && !disarm && !rst;
    if (rst) begin
      g_armed <= 1'b0;
      g_armed1 <= 1'b0;
      g_far   <= 1'b0;
      g_has   <= 1'b0;
      g_fired <= 1'b0;
      g_end   <= 1'b0;
      g_ended <= 1'b0;
      g_lead_ok <= 1'b0;
      g_lead_ok1 <= 1'b0;
    end
  end

  always_comb begin
    g_to_pin = '0;
    if (f_past) begin
      assert (armed == g_armed);
      // exactly once: at T, and nowhere else
      assert (due == g_due);
      if (due) assert (off == 3'(g_t[2:0] & 3'(S - 1)));
      assert (fired == g_fired);
      // reported when and only when a far count has ended, a cycle later
      assert (wrapped == g_ended);
      // one cycle later: armed then and still, and enough was left
      if (armed && g_armed1) assert (slack_ok == (g_far1 || (!g_left1[67] && g_left1 >= $signed({36'd0, g_frame1}))));
      // its lead window, in samples: the engine's cycle is now, the pin's F_KE later
      for (int s = 0; s < S; s++) begin
        g_to_pin = g_left + $signed(68'(2 * S - s));
        if (g_lead_ok && g_lead_ok1 && g_armed1 && !g_far1) begin
          assert (lead[s] == (g_to_pin > $signed(68'd0) && g_to_pin <= $signed({52'd0, g_lead1})));
        end
      end
      if (!g_was_armed || (g_lead_ok1 && g_far1)) assert (lead == '0);
      // how it does so
      assert (live == (armed && !is_far && !disarm));
      assert (due == (ended && live));
      if (cycles[LOW-1:0] == '0 && g_has) assert (upper_zero == (cycles[CW-1:LOW] == '0));
      if (g_armed && g_far) assert (ended == g_end);
      if (g_armed) begin
        assert (g_has && is_far == g_far && count == g_left[31:0] && off < 3'(S));
        if (!g_far) assert (g_left >= $signed(68'(0)) ? (g_left[66:32] == 35'd0) : (g_left + $signed(68'(S)) >= $signed(68'd0)));
        if (!g_far) assert (ended == ((g_now + 64'(F_KE + 1)) == (g_t >> SL)));
      end
      if (g_lead_ok && g_armed) begin
        if (g_far) assert (!lead_on && !lead_opens);
        else begin
          assert ((lead_on || lead_opens) == (g_left < $signed({52'd0, g_lead1})));
          assert (lead_opens == (g_left < $signed({52'd0, g_lead1}) && g_left + $signed(68'(S)) >= $signed({52'd0, g_lead1})));
        end
      end
    end
  end
  always_ff @(posedge clk) begin
    // announced, and nothing is announced for long
    if (f_past && due) assert ($past(due_soon));
    if (f_past && due_soon) assert (armed && count < 32'(4 * S));
    cover (f_past && due && $past(lead) == '0 && g_lead_ok);
    cover (f_past && due && $past(lead, 3) != '0 && g_lead_ok);
    cover (f_past && due && $past(load));
    cover (f_past && armed && g_armed1 && slack_ok && g_frame1 != '0 && !is_far);
    cover (f_past && wrapped && armed && $past(load, 8));
  end
`endif
