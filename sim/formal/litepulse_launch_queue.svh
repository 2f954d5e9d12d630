// SPDX-License-Identifier: BSD-2-Clause
// Promise 1 in the launch queue, one entry from any state in which the queue may be when it looks at its head: whatever the entry,
// the one before it, the time, the lead. What it arms or refuses is said in terms of the entry's own tick. Included at the end of
// the module.

  localparam int F_LMIN = 18;    // LMIN_CYCLES, docs/core.md
  (* anyconst *) logic [127:0] g_head;
  (* anyconst *) logic [63:0]  g_before;   // tick of the entry before
  (* anyconst *) logic         g_has_before;
  (* anyconst *) logic [LQ_AW-1:0] g_rptr;
  logic [63-SL:0] g_begin;
  logic [5:0]     f_cycle = 6'd0;
  logic           f_ren;
  logic [LQ_AW+1:0] f_raddr;
  logic           f_freed = 1'b0;
  logic           f_near;
  logic [63-SL:0] f_last;
  assign f_last = now - 1'b1;
  logic           f_over = 1'b0;           // the entry was armed or refused

  initial assume (state == IDLE && !flushing && have_prev == g_has_before && now[63-SL] == 1'b0);
  always_comb begin
    assume (!rst && !flush);
    if (!f_over) assume (lq_avail > {{LQ_AW{1'b0}}, g_has_before} && lq_rptr == g_rptr + {{(LQ_AW-1){1'b0}}, f_freed});
    assume (near_wrap == (f_cycle == 6'd0 ? &f_last[31-SL:2] : f_near));   // litepulse_timebase
    if (f_cycle != 6'd0 && f_ren) assume (lq_rdata == (f_raddr[LQ_AW+1:2] == g_rptr + {{(LQ_AW-1){1'b0}}, g_has_before}
        ? g_head[32*f_raddr[1:0] +: 32] : f_raddr[0] ? g_before[63:32] : g_before[31:0]));
  end
  always_ff @(posedge clk) begin
    f_cycle <= f_cycle + 6'd1;
    if (lq_free1) f_freed <= 1'b1;
    f_near  <= &now[31-SL:2];
    f_ren   <= lq_ren;
    f_raddr <= lq_raddr;
    if (f_cycle == 6'd0) g_begin <= now;
    if (state == ARMED || state == REPORT) f_over <= 1'b1;
    if (f_cycle != 6'd0) begin
      assume (now == $past(now) + 1'b1);
      assume (nde_lead == $past(nde_lead) && prof_valid == $past(prof_valid));
      if (!f_ren) assume (lq_rdata == $past(lq_rdata));
    end
  end

  logic [31:0] g_width;                    // what the queue had written to the launch memory last
  always_ff @(posedge clk) if (width_we) g_width <= width_data;
  logic [63:0] g_t;
  logic [66:0] g_left, g_ahead;            // T less the tick count: plus a cycle, as the countdown has it; when the entry was seen
  logic        g_invalid, g_order;
  logic [15:0] g_lead;
  always_comb begin
    g_t       = g_head[63:0];
    g_lead    = ~nde_lead;
    g_left    = {3'd0, g_t} - {3'd0, now_tick} + 67'(S);
    g_ahead   = {3'd0, g_t} - {3'd0, 64'(g_begin) << SL};
    g_invalid = g_head[107:106] == 2'd3 || !prof_valid[g_head[105:104]]
        || (g_head[107:106] == litepulse_map_pkg::LAUNCH_PULSE && g_head[95:64] == 32'd0)
        || (g_head[107:106] == litepulse_map_pkg::LAUNCH_BREAK && g_head[103:96] == 8'd0);
    g_order   = g_has_before && g_t < g_before;
    if (f_cycle != 6'd0 && !f_over) begin
      if (f_cycle > 6'd14) assert (f_over);
      assert (!due && !(be_ok && !armed));
      if (width_we) assert (state == LOADED && width_data == g_head[95:64]);
      if (state == ARMED) begin
        assert (!g_invalid && !g_order);
        // the countdown is loaded as its header says (countdown.sby goes on from here), with time enough for all that follows
        assert (32'(cnt) == 32'(g_left) && !g_left[66] && g_left >= 67'((KE + 3) * S) + {51'd0, g_lead});
        if (hi_zero) assert (g_left[66:32] == 35'd0 && cnt[32] == 1'b0);
        else assert (g_left[66:32] != 35'd0 || cnt[32]);    // else counted anew in this very cycle
        assert ({kind, profile, data} == g_head[107:96] && tag == g_head[127:112] && g_width == g_head[95:64]);
      end
      if (state == REPORT) begin
        assert (ev_kind == litepulse_map_pkg::KIND_REFUSED && ev_data == {g_head[127:112], 4'd0, g_head[107:96]});
        assert (ev_flags == (g_invalid ? litepulse_map_pkg::REASON_INVALID : g_order ? litepulse_map_pkg::REASON_ORDER
            : litepulse_map_pkg::REASON_LATE));
        if (!g_invalid && !g_order) assert (g_ahead[66] || g_ahead < 67'(F_LMIN * S) + {51'd0, g_lead});
      end
    end
  end
  always_ff @(posedge clk) if (f_cycle != 6'd0 && !f_over) begin
    cover (state == ARMED && g_has_before && g_t == g_before);
    cover (state == ARMED && g_ahead == 67'(F_LMIN * S) + 67'd3 && g_lead == 16'd3);
    cover (state == REPORT && ev_flags == litepulse_map_pkg::REASON_LATE && g_ahead + 67'd4 == 67'(F_LMIN * S));
    cover (state == REPORT && ev_flags == litepulse_map_pkg::REASON_ORDER && g_t + 64'd1 == g_before && g_before[31:0] == 32'd0);
    cover (state == ARMED && !hi_zero);
    cover (state == ARMED && hi_zero && g_t[32] && !now[32-SL]);
  end
