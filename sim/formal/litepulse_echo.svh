// SPDX-License-Identifier: BSD-2-Clause
// `own` is exactly the window that the settings say; where they change meanwhile it is never shorter than any of them demands, and ends.
// Included at the end of litepulse_echo.

  logic [3:0]    g_changed;             // in the cycles before
  litepulse_echo_environment #(.LAG(LAG)) environment (.changed_was(g_changed), .*);
`ifndef LITEPULSE_CHECK
  localparam int GW = 13;
  logic          f_past = 1'b0;
  logic          g_any;                 // a launch was sent
  logic [GW-1:0] g_since;               // cycles since the last one in which it was, stops at the top
  logic [9:0]    g_tail, g_tail_most;   // the tail in that cycle; the largest since, while `own`
  logic [5:0]    g_delay, g_delay_most; // the filter's delay when the tail was over; its largest, from the cycle behind the launch on
  logic          g_stretched;           // a change since then took effect ...
  logic [GW-1:0] g_change;              // ... so many cycles ago
  logic [9:0]    g_tail_was;
  logic [5:0]    g_delay_was;
  logic [GW-1:0] g_demand;              // the last cycle of the window, as g_since

  logic          g_news;                // LAG - 2 cycles longer than `changed`
  assign g_news = changed || (LAG > 2 && g_changed[0]) || (LAG > 3 && g_changed[1]);

  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    g_tail_was <= tail;
    g_delay_was <= line_delay;
    if (sent) begin
      g_any <= 1'b1;
      g_since <= GW'(1);
      g_tail <= tail;
      g_tail_most <= tail;
      g_delay_most <= 6'd0;
    end else begin
      if (g_since != '1) g_since <= g_since + GW'(1);
      if (own && tail > g_tail_most) g_tail_most <= tail;
      if (own && line_delay > g_delay_most) g_delay_most <= line_delay;
    end
    if (tailing || sent) g_delay <= line_delay;
    g_stretched <= (g_news && (own || sent)) || (g_stretched && !sent);
    if (g_news && (own || sent)) g_change <= GW'(1);
    else if (g_change != '1) g_change <= g_change + GW'(1);
    if (rst) {g_any, g_stretched} <= 2'b00;
  end

  initial assume (rst);

  assign g_demand = GW'(2) + GW'(g_tail_most) + GW'(g_delay_most);
  always_comb begin
    if (f_past && !rst) begin
      assert ((news != '0) == g_news);
      // what is promised
      if (g_any && g_since <= g_demand) assert (own);
      if (own && !g_stretched) assert (g_any && g_since <= GW'(2) + GW'(g_tail) + GW'(g_delay));
      if (own && g_stretched) assert (g_any && g_change <= GW'(2049 + 63));
      if (own && g_since > GW'(1) && !g_stretched && !tailing) assert (g_delay_most == g_delay);
      if (own && !g_stretched) assert (g_tail_most == g_tail && (changed || tail == g_tail));
      // inside
      if (tailing) assert (own);
      if (!g_any) assert (!own && !g_stretched);
      else begin
        assert (g_since != '0 && (!g_stretched || g_change != '0));
        if (g_stretched) begin
          assert (g_change <= g_since);
          assert (tailing == (g_change <= GW'(2048)));
          if (tailing) assert (tail_left == TW'(2047) - TW'(g_change - GW'(1)));
          if (own && !tailing) assert (GW'(delay_left) == GW'(g_delay) - (g_change - GW'(2049)) && g_change >= GW'(2049)
              && g_change <= GW'(2049) + GW'(g_delay));
        end else begin
          assert (tailing == (g_since <= GW'(1) + GW'(g_tail)));
          if (tailing) assert (GW'(tail_left) == GW'(g_tail) - (g_since - GW'(1)));
          assert (own == (g_since <= GW'(2) + GW'(g_tail) + (tailing ? GW'(0) : GW'(g_delay))));
          if (own && !tailing) assert (GW'(delay_left) == GW'(g_delay) - (g_since - GW'(2) - GW'(g_tail)));
          if (own) assert (g_changed[LAG-2:0] == '0 && (g_since == GW'(1) || !g_changed[LAG-1]));
          // what the delay may still become is what it is when the tail is over
          if (own && g_since > GW'(1)) assert (g_delay_most == g_delay_was && g_delay == g_delay_was && g_tail_was == g_tail);
          if (own && g_since == GW'(1)) assert (g_delay_most == 6'd0 && g_tail_was == g_tail);
        end
      end
    end
  end
  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover ($past(own) && !own && !g_stretched && g_tail == 10'd3 && g_delay == 6'd4);
      cover ($past(own) && !own && !g_stretched && g_tail == 10'd0 && g_delay == 6'd0);
      cover (g_stretched && g_since == GW'(9) && g_tail == 10'd2 && g_delay_most == 6'd1);
      cover (own && g_since == GW'(1) && $past(own && !tailing && delay_left == 6'd2));
    end
  end
`endif
