// SPDX-License-Identifier: BSD-2-Clause
// Promises 1 and 2 at the arbiter: who has the line in each tick of the next cycle. Included at the
// end of the module.

  litepulse_arbiter_environment #(.S(S)) environment (.*);
`ifndef LITEPULSE_CHECK
  logic f_past = 1'b0;
  initial assume (rst);
  always_ff @(posedge clk) f_past <= 1'b1;
  logic f_soon = 1'b0;          // a read was announced in the last cycle
  always_ff @(posedge clk) f_soon <= read_soon;

  // launch i, 3 being best effort (a frame, always longer than a cycle)
  localparam int G_WB = $clog2(S) + 2;
  (* anyseq *) logic [95:0] g_width;  // pulse widths, of which the arbiter sees only what is short
  logic [3:0]  g_due, g_grant, g_inside;
  logic        be_grant;
  assign be_grant = go && who_next == 2'd3;
  // the launches that are answered in this cycle: with S > 1 those of the cycle before
  logic [2:0]  a_due;
  logic [8:0]  a_off;
  logic [5:0]  a_kind, a_profile;
  logic [95:0] a_width;
  generate
    if (S == 1) begin : gen_asked
      always_comb {a_due, a_off, a_kind, a_profile, a_width} = {due, off, kind, profile, g_width};
    end else begin : gen_asked
      always_ff @(posedge clk) {a_due, a_off, a_kind, a_profile, a_width} <= {due & {3{!rst}}, off, kind, profile, g_width};
      initial a_due = 3'd0;
      always_comb if (f_past) assert (gen_more.begins == (start || hold_start)); else assume (gen_more.begins == (start || hold_start));
      // of what begins in this cycle and ends in the next one: the samples that it leaves free
      always_comb if (f_past) for (int v = 0; v < S; v++) assert (gen_more.free_soon[v]
          == (start && start_ends1 && start_ends_off <= 3'(v)));
    end
  endgenerate
  logic [2:0]  g_off [0:3];
  logic [32:0] g_len [0:3];    // ticks
  logic        g_line [0:7];   // the line is taken in this tick by what began earlier
  always_comb begin
    g_due   = {be_due, a_due};
    g_grant = {be_grant, grant};
    for (int i = 0; i < 3; i++) begin
      g_off[i] = a_off[3*i+:3];
      g_len[i] = a_kind[2*i+:2] == litepulse_map_pkg::LAUNCH_PULSE ? {1'b0, a_width[32*i+:32]} : 33'(4 * S);
      assume (width_short[i] == (g_width[32*i+:32] < 32'(4 * S)) && width_low[G_WB*i+:G_WB] == g_width[32*i+:G_WB]);
      if (due[i]) assume (kind[2*i+:2] != litepulse_map_pkg::LAUNCH_PULSE || g_width[32*i+:32] != 32'd0);
    end
    g_off[3] = 3'd0;
    g_len[3] = 33'(4 * S);
    for (int s = 0; s < 8; s++) g_line[s] = !line.free_next || 3'(s) < line.free_off;
    for (int i = 0; i < 4; i++) g_inside[i] = g_grant[i] && 33'(g_off[i]) + g_len[i] < 33'(S);
  end
  // a pulse's width stands like the rest of the launch
  always_ff @(posedge clk) begin
    for (int i = 0; i < 3; i++) if (S > 1 && due[i]) assume (f_past && g_width[32*i+:32] == $past(g_width[32*i+:32]));
  end

  logic g_first, g_blocked;
  logic [3:0] g_taken;
  always_comb begin
    assert (grant == (a_due & ~refuse) && refuse == (a_due & ~grant));
    for (int i = 0; i < 3; i++) begin
      // granted if and only if nothing has the line at T: what runs, what began earlier in this cycle, or another for the same tick
      // that comes first: responder, queue, train
      g_blocked = g_line[g_off[i]];
      for (int j = 0; j < 3; j++) if (j != i && grant[j]) begin
        if (g_off[j] < g_off[i] && 33'(g_off[i]) < 33'(g_off[j]) + g_len[j]) g_blocked = 1'b1;
        if (g_off[j] == g_off[i] && j < i) g_blocked = 1'b1;
      end
      assert (grant[i] == (a_due[i] && !g_blocked));
    end
    assert (may_read || f_soon || (g_grant & ~g_inside) == 4'd0);
    // best effort: only when nothing timed is due, and then it must
    assert (be_grant == (be_due && a_due == 3'd0 && !break_hold && !g_line[0] && !start));
    // never two in one tick
    for (int s = 0; s < S; s++) begin
      g_taken = 4'd0;
      for (int i = 0; i < 4; i++) g_taken[i] = g_grant[i] && 3'(s) >= g_off[i] && 33'(s) < 33'(g_off[i]) + g_len[i];
      assert ((g_taken & (g_taken - 4'd1)) == 4'd0);
      if (g_line[s]) assert (g_taken == 4'd0);
    end
    // the profile, or the width of a pulse, is read for the one that goes on beyond the cycle
    // read for each launch; for a byte that asks also in vain, with S > 1 at any time, but never while what was read last is still in use
    if ((g_grant & ~g_inside) != 4'd0) assert (ren);
    if (S == 1 && ren && g_grant == 4'd0) assert (be_asks && a_due == 3'd0 && !break_hold && !g_line[0]);
    if (S > 1 && ren) assert (!g_line[S-1]);
    for (int i = 0; i < 3; i++) if (grant[i] && !g_inside[i])
      assert (raddr == (a_kind[2*i+:2] == litepulse_map_pkg::LAUNCH_PULSE ? 3'(4 + i) : {1'b0, a_profile[2*i+:2]}));
    if (be_grant) assert (raddr == 3'd0);
  end

  // one cycle later, to litepulse_line_tx
  logic [3:0]   p_go;
  logic [2:0]   p_off [0:3];
  logic [S-1:0] p_mask, p_level, p_line;
  logic         p_rst, p_invert;
  logic [32:0]  p_len, p_end;       // of a pulse: ticks from sample 0 to its end
  logic [3:0]   p_inverts;          // polarities as of the last cycle: a pulse's need not be what goes with the memory
  assign p_end = p_len + 33'(start_off);
  always_ff @(posedge clk) begin
    p_rst <= rst;
    p_inverts <= prof_invert;
    p_go  <= g_grant & ~g_inside;
    for (int i = 0; i < 4; i++) p_off[i] <= g_off[i];
    if (be_grant) p_invert <= prof_invert[0];
    for (int i = 0; i < 3; i++) if (grant[i] && !g_inside[i]) begin
      p_invert <= prof_invert[a_profile[2*i+:2]];
      p_len    <= g_len[i];
    end
    for (int s = 0; s < S; s++) begin
      p_line[s] <= g_line[s];
      p_mask[s] <= 1'b0;
      for (int i = 0; i < 3; i++) if (g_inside[i] && 3'(s) >= g_off[i] && 33'(s) < 33'(g_off[i]) + g_len[i]) begin
        p_mask[s]  <= 1'b1;
        p_level[s] <= p_inverts[a_profile[2*i+:2]];
      end
    end
  end
  always_comb begin
    if (f_past && !p_rst) begin
      assert (start == (p_go != 4'd0));
      for (int s = 0; s < S; s++) assert (start_from[s] == (start && 3'(s) >= start_off));
      assert (start_timed == (p_go[2:0] != 3'd0));
      assert (sub_mask == p_mask && ((sub_level ^ p_level) & p_mask) == '0);
      for (int i = 0; i < 3; i++) if (p_go[i]) begin
        assert (start_off == p_off[i] && start_kind == kind[2*i+:2]);
        if (start_kind != litepulse_map_pkg::LAUNCH_PULSE) assert (start_data == data[8*i+:8]);
      end
      if (p_go[3]) assert (start_off == p_off[3] && start_kind == litepulse_map_pkg::LAUNCH_FRAME && start_data == be_data);
      // what line_tx.sby takes for granted
      for (int s = 0; s < S; s++) begin
        if (p_line[s]) assert (!sub_mask[s] && !(start && 3'(s) >= start_off) && !hold_start);
        if (sub_mask[s] && start) assert (3'(s) < start_off);
      end
      if (start) assert (start_off <= 3'(S - 1));
      if (start) assert (start_invert == p_invert);
      if (start && S > 1) assert (start_ends1 == (start_kind == litepulse_map_pkg::LAUNCH_PULSE && p_end / 33'(S) == 33'd1));
      if (start && S > 1) assert (start_ends2 == (start_kind == litepulse_map_pkg::LAUNCH_PULSE && p_end / 33'(S) == 33'd2));
      if (start && S > 1 && (start_ends1 || start_ends2)) assert (33'(start_ends_off) == p_end % 33'(S));
      if (start && start_kind == litepulse_map_pkg::LAUNCH_PULSE) assert (p_len != 33'd0 && p_len + 33'(start_off) >= 33'(S));
      if (hold_start) assert (!start && sub_mask == '0);
    end
    if (f_past && p_rst) assert (!start && start_from == '0 && sub_mask == '0 && !hold_start);
  end

  always_ff @(posedge clk) begin
    // a break that is held begins as soon as nothing is on the line or about to be
    if (f_past && !$past(rst) && $past(break_stays && line.free_next && line.free_off == 3'd0 && a_due == 3'd0 && !line.active
        && !hold_start)) assert (hold_start);
    if (f_past && hold_start) assert ($past(break_stays));
    cover (f_past && grant == 3'b001 && refuse == 3'b110);
    cover (f_past && grant == 3'b010 && be_due && refuse == 3'b100);
    cover (f_past && be_grant);
    cover (f_past && hold_start);
    if (S > 1) cover (f_past && grant == 3'b111);
    if (S > 1) cover (f_past && line.free_next && line.free_off == 3'(S - 1) && grant[2]);
  end
`endif
