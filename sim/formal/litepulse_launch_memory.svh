// SPDX-License-Identifier: BSD-2-Clause
// What is read is what was written last, whole, and `few`, width_zero, width_short tell the truth of it. Included at the end of the
// module.

  litepulse_launch_memory_environment environment (.*);
`ifndef LITEPULSE_CHECK
  logic f_past = 1'b0;
  initial assume (rst);
  (* anyconst *) logic [2:0] g_entry;       // of any entry
  logic [31:0] g_low = 32'd0;               // what it should hold
  logic [10:0] g_format = 11'd0;
  logic        g_known = 1'b0;              // written
  logic        g_few;
  (* anyseq *) logic g_matters;             // what is read in this cycle
  logic        g_timed, g_config;           // in this cycle it is written by ...
  logic        g_shown = 1'b0;              // the output shows it, as it was then
  logic [43:0] g_word;
  logic [31:0] g_width, f_config;
  logic [10:0] f_format;
  logic [2:0]  f_stable = 3'd0;
  logic        f_long, f_long2;
  logic        f_start = 1'b1;              // the first cycles, in which nothing writes
  logic [1:0]  f_age = 2'd0;
  logic        f_soon = 1'b0;               // a read was announced in the last cycle
  always_ff @(posedge clk) f_soon <= read_soon;
  initial assume (timed == 4'd0 && rests && wrote == 3'd0);
  always_comb begin
    assume (g_entry != 3'd7 && (may_read || f_soon || !g_matters) && (ren || !g_matters));
    g_timed  = timed[1] && g_entry == (is_train[1] ? 3'd6 : 3'd5);
    g_config = cfg_write.we && cfg_ready && g_entry == {!cfg_write.is_profile, cfg_write.entry};
    if (f_start) assume (!cfg_write.we && !width_we);
    // a width is written before its launch may be granted
    for (int i = 0; i < 2; i++) if ((width_we && width_train == i[0]) || (timed[0] && is_train[0] == i[0]) || (timed[1] && is_train[1] == i[0]))
      assume (!(g_matters && raddr == 3'(5 + i)));
    g_few = g_entry[2] ? g_low < 32'(4 * S) : {g_format[3:0], g_low} < 36'(8 * S * 256);
  end
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_long <= cfg_long;
    f_long2 <= f_long;
    f_age <= (f_age == 2'd3) ? f_age : f_age + 2'd1;
    f_start <= f_age < 2'd2;
    if (width_we) g_width <= width_data;
    // the word is held still
    f_config <= cfg_data;
    f_format <= {cfg_write.format, cfg_write.period_high};
    f_stable <= {f_stable[1:0], f_past && cfg_data == f_config && {cfg_write.format, cfg_write.period_high} == f_format};
    if (g_timed || g_config) begin
      g_low   <= g_timed ? g_width : cfg_data;
      g_known <= 1'b1;
      if (!g_entry[2]) g_format <= {cfg_write.format, cfg_write.period_high};
    end
    if (ren) begin
      g_shown <= g_matters && raddr == g_entry && g_known;
      g_word  <= {g_few, g_format[10:4], g_entry[2] ? 4'd0 : g_format[3:0], g_low};
    end
  end
  always_comb begin
    if (f_past && g_shown) assert ({few, format, interval} == g_word);
    // a write never meets a read of what is written, if that matters
    assert (!(we && g_matters && waddr == raddr));
    assert (low[g_entry] == g_low && high[g_entry][10:0] == g_format);
    if (g_entry[2]) assert (g_format == 11'd0);
    if (g_known) assert (high[g_entry][11] == g_few);
    if (g_known && !g_entry[2]) assert ({g_format[3:0], g_low} >= 36'(4 * S * 256));
    // what is shown of a profile is never too short to send
    if (f_past && g_shown && !g_entry[2]) assert (interval >= 36'(4 * S * 256));
    // invariants: what was looked at
    if (f_past && !f_start) assert (wdata == (timed[1:0] != 2'd0 ? g_width : f_config));
    if (f_past && !f_start && (timed[1] || (f_stable[0] && timed[2:0] == 3'd0))) assert (above == (wdata[31:11+SL] != '0)
        && between == (wdata[10+SL:2+SL] != '0));
    assert (timed[1:0] != 2'd3 && (!rests || (timed == 4'd0 && !f_soon)));
    assert ($onehot0(wrote));
    if (cfg_ready && cfg_write.we && cfg_write.is_profile) assert (f_long2 == ({cfg_write.period_high, cfg_data} >= 36'(4 * S * 256))
        && f_long == f_long2);
  end
  logic g_since;                            // written since reset, a cycle ago
  logic g_wrote;
  logic [31:0] g_low1;                      // what it held a cycle ago
  logic g_known1 = 1'b0;
  always_ff @(posedge clk) begin
    g_low1 <= g_low;
    g_known1 <= g_known;
    g_wrote <= !rst && (g_timed || g_config);
    g_since <= !rst && (g_since || g_wrote);
  end
  always_comb begin
    if (f_past) for (int i = 0; i < 3; i++) if (g_entry == 3'(4 + i)) begin
      assert (width_zero[i] == (g_since ? g_low1 == 32'd0 : 1'b1));
      if (S > 1 && g_since) assert (width_short[i] == (g_low1 < 32'(4 * S)) && width_low[(SL+2)*i+:SL+2] == g_low1[SL+1:0]);
      assert (wrote[i] == g_wrote);
      if (g_wrote) assert (zero_in == (g_low == 32'd0) && short_in == (g_low < 32'(4 * S)) && low_in == g_low[SL+1:0]);
    end
    if (f_past && (g_since || g_wrote)) assert (g_known);
    if (f_past && g_since) assert (g_known1);
  end
  always_ff @(posedge clk) begin
    cover (f_past && g_shown && g_entry == 3'd5 && few && interval != 36'd0);
    cover (f_past && g_shown && g_entry == 3'd2 && interval == 36'h912345678 && few == 1'b0);
    cover (f_past && cfg_write.we && timed[1]);
  end
`endif
