// SPDX-License-Identifier: BSD-2-Clause
// `de` is high in exactly the ticks that lie in a lead window or a launch, or at most `lag` ticks after the last tick of a launch: until
// the end of that tick's cycle the lag of this cycle, from then on that of the next one, whatever it becomes later.
// Included at the end of the module.

`ifndef LITEPULSE_CHECK
  logic        f_past = 1'b0;
  logic [15:0] g_lag, g_lag_was; // that of the last launch, from the cycle behind its last tick on
  logic        g_here;           // a tick of a launch lies before this one in this cycle
  logic [17:0] g_since;          // ticks from the last busy tick to sample 0 of this cycle; stays at the top
  logic [S-1:0] g_de, g_de_last;
  logic [17:0] g_now;
  logic        f_rest;
  generate
    if (S == 1) begin : gen_f_one
      assign f_rest = gen_one.busy_was == (g_since == 18'd1)
          && gen_one.count == (g_since >= 18'd2 && g_since <= {2'd0, g_lag} + 18'd1)
          && (!gen_one.count || {2'd0, rest} + g_since == {2'd0, g_lag} + 18'd2);
    end else begin : gen_f_more
      // ticks of lag left at sample 0, and which of the last samples were busy
      logic [S-1:0] g_busy;
      always_ff @(posedge clk) g_busy <= rst ? '0 : busy;
      assign f_rest = gen_more.busy_was == g_busy && (g_busy != '0 ? 18'(gen_more.behind) + 18'd1 == g_since
          : gen_more.over ? g_since > {2'd0, g_lag} + 18'd1
          : g_since <= {2'd0, g_lag} + 18'd1 && {2'd0, rest} + g_since == {2'd0, g_lag} + 18'd1);
    end
  endgenerate
  assign g_lag = g_since <= 18'(S) ? lag : g_lag_was;
  initial assume (rst);
  always_comb begin
    g_now = g_since;
    g_here = 1'b0;
    for (int s = 0; s < S; s++) begin
      if (busy[s]) {g_here, g_now} = {1'b1, 18'd0};
      g_de[s] = busy[s] || lead[s] || g_now <= {2'd0, g_here ? lag : g_lag};
      if (g_now != '1) g_now = g_now + 18'd1;
    end
  end
  always_ff @(posedge clk) begin
    f_past    <= 1'b1;
    g_since   <= rst ? '1 : g_now;
    g_de_last <= rst ? '0 : g_de;
    g_lag_was <= g_lag;
  end
  always_comb begin
    if (f_past) begin
      assert (de == g_de_last);
      assert (g_since != 18'd0);
      assert (f_rest);
    end
  end
  always_ff @(posedge clk) begin
    cover (f_past && lag == 16'd5 && de == '0 && $past(de, 2) != '0);
    cover (f_past && lag == 16'd0 && de == '0 && $past(de) != '0);
    cover (f_past && lag == 16'd0 && g_lag == 16'd5 && de == '1 && $past(busy == '0, 2));
  end
`endif
