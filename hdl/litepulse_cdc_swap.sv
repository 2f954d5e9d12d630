// SPDX-License-Identifier: BSD-2-Clause
// Turns between `pulse` and `sys`, endlessly. Only two flags pass through synchronisers; everything else that crosses stands still
// before the turn passes to the side that looks at it and until that side has passed it back. So words may be of any width, may
// change by any amount from turn to turn, arrive whole, and need no skew constraint (unlike Gray-coded pointers).
//
//   pulse  has its turn for one cycle (pulse_take). At the edge that ends it pulse_word is loaded into the word sys looks at.
//   sys    has its turn while sys_turn is high, until the edge that ends a cycle with sys_pass.
// What pulse looks at directly must not change but at edges that end a cycle with sys_turn; likewise the other way with pulse_take.
//
// Latency: what changes at the edge that passes the turn is seen 2 to 3 cycles of the other side later. One round: at most
// 3 pulse + 3 sys cycles, and what sys takes longer to pass. Both resets must overlap for at least 4 cycles of the slower clock.
module litepulse_cdc_swap #(
    parameter int                P_BITS  = 8,
    parameter logic [P_BITS-1:0] P_RESET = '0
) (
    input  logic              pulse_clk,
    input  logic              pulse_rst,
    input  logic [P_BITS-1:0] pulse_word,
    output logic              pulse_take,
    input  logic              sys_clk,
    input  logic              sys_rst,
    output logic [P_BITS-1:0] sys_view,    // stands still while sys_turn
    output logic              sys_turn,
    input  logic              sys_pass     // only while sys_turn
`ifdef FORMAL
    ,
    output logic              f_ok,          // both sides have been reset, and not in a new reset
    output logic              f_turn,        // pulse's, from the edge on that passes it
    output logic              f_pulse_zero,  // still as reset
    output logic              f_sys_zero
`endif
);
  logic p_flag, s_flag;  // equal: pulse's turn
  (* async_reg = "true" *) logic p_meta, p_seen;  // p_flag in sys
  (* async_reg = "true" *) logic s_meta, s_seen;  // s_flag in pulse

  assign pulse_take = s_seen == p_flag;
  assign sys_turn   = p_seen != s_flag;

  always_ff @(posedge pulse_clk) begin
    s_meta <= s_flag;
    s_seen <= s_meta;
    if (pulse_take) begin
      p_flag   <= !p_flag;
      sys_view <= pulse_word;
    end
    if (pulse_rst) begin
      s_meta   <= 1'b0;
      s_seen   <= 1'b0;
      p_flag   <= 1'b0;
      sys_view <= P_RESET;
    end
  end

  always_ff @(posedge sys_clk) begin
    p_meta <= p_flag;
    p_seen <= p_meta;
    if (sys_pass) s_flag <= !s_flag;
    if (sys_rst) begin
      p_meta <= 1'b0;
      p_seen <= 1'b0;
      s_flag <= 1'b0;
    end
  end

`ifdef FORMAL
  // Both clocks are free: each may have an edge in any step of the global clock, alone or with the other. A flag that is sampled
  // while it changes may be seen old or new: both orders of the two edges are among the cases. The resets start together at any
  // time, and each lasts until both sides have had an edge in it.
  (* gclk *) logic gclk;
  logic f_pulse_was = 1'b1, f_sys_was = 1'b1, f_pulse_reset = 1'b0, f_sys_reset = 1'b0, f_up = 1'b0;
  logic f_pulse_rst_was = 1'b0, f_sys_rst_was = 1'b0;
  wire  f_pulse_edge = pulse_clk && !f_pulse_was;
  wire  f_sys_edge = sys_clk && !f_sys_was;
  assign f_ok = f_pulse_reset && f_sys_reset;
  assign f_pulse_zero = !f_up && f_pulse_reset && f_pulse_rst_was;
  assign f_sys_zero = !f_up && f_sys_reset && f_sys_rst_was;
  initial assume (pulse_rst && sys_rst);
  always @(posedge gclk) begin
    f_pulse_was     <= pulse_clk;
    f_sys_was       <= sys_clk;
    f_pulse_rst_was <= pulse_rst;
    f_sys_rst_was   <= sys_rst;
    if (f_up && pulse_rst) begin
      f_up          <= 1'b0;
      f_pulse_reset <= 1'b0;
      f_sys_reset   <= 1'b0;
    end else if (!f_up) begin
      if (f_pulse_edge && f_pulse_rst_was) f_pulse_reset <= 1'b1;
      if (f_sys_edge && f_sys_rst_was) f_sys_reset <= 1'b1;
      if (!pulse_rst && !sys_rst) f_up <= 1'b1;
    end
  end
  always @* begin
    if (f_up) assume (pulse_rst == sys_rst);
    else if (!f_ok) assume (pulse_rst && sys_rst);
    else assume (pulse_rst <= f_pulse_rst_was && sys_rst <= f_sys_rst_was);
    if (sys_pass) assume (sys_turn);
  end

  // Turns are counted, modulo 8.
  logic [2:0] f_takes, f_passes;
  always_ff @(posedge pulse_clk) begin
    if (pulse_take) f_takes <= f_takes + 1'b1;
    if (pulse_rst) f_takes <= '0;
  end
  always_ff @(posedge sys_clk) begin
    if (sys_pass) f_passes <= f_passes + 1'b1;
    if (sys_rst) f_passes <= '0;
  end

  // Clock edges of the domain that has the turn, after the step in which the turn passed to it.
  assign f_turn = p_flag == s_flag;
  logic f_turn_was = 1'b0;
  logic [1:0] f_pulse_settled, f_sys_settled, f_pulse_before, f_sys_before;
  always @(posedge gclk) begin
    f_turn_was     <= f_turn;
    f_pulse_before <= f_pulse_settled;
    f_sys_before   <= f_sys_settled;
  end
  always @* begin
    f_pulse_settled = f_pulse_before;
    if (!f_ok) f_pulse_settled = 2'd2;
    else if (!f_turn) f_pulse_settled = 2'd0;
    else if (f_turn_was && f_pulse_edge && !f_pulse_before[1]) f_pulse_settled = f_pulse_before + 1'b1;
    f_sys_settled = f_sys_before;
    if (!f_ok || f_turn) f_sys_settled = 2'd0;
    else if (!f_turn_was && f_sys_edge && !f_sys_before[1]) f_sys_settled = f_sys_before + 1'b1;
  end

  // A witness for everything that stands still: changes in any way, but only when it may.
  (* anyseq *) logic [P_BITS-1:0] f_pulse_next, f_sys_next;
  logic [P_BITS-1:0] f_pulse_still, f_sys_still, f_pulse_still_was, f_sys_still_was, f_view_was;
  logic f_pulse_took = 1'b0, f_sys_had = 1'b0, f_past = 1'b0;
  always_ff @(posedge pulse_clk) if (pulse_take) f_pulse_still <= f_pulse_next;
  always_ff @(posedge sys_clk) if (sys_turn) f_sys_still <= f_sys_next;
  always @(posedge gclk) begin
    f_past            <= f_ok && !pulse_rst && !sys_rst;
    f_pulse_took      <= pulse_take;
    f_sys_had         <= sys_turn;
    f_pulse_still_was <= f_pulse_still;
    f_sys_still_was   <= f_sys_still;
    f_view_was        <= sys_view;
  end

  always @* begin
    if (f_ok) begin
      // guaranteed: never both at once, and all is still since two clock edges or more of the domain that has the turn
      if (pulse_take && !pulse_rst) assert (f_turn && f_pulse_settled == 2'd2);
      if (sys_turn && !sys_rst) assert (!f_turn && f_sys_settled == 2'd2);
      if (f_past && f_sys_had) assert (sys_view == f_view_was && f_pulse_still == f_pulse_still_was);
      if (f_past && f_pulse_took) assert (f_sys_still == f_sys_still_was);

      // what makes it so in every state
      assert (f_turn ? f_passes == f_takes : f_takes == f_passes + 3'd1);
      assert (p_flag == f_takes[0] && s_flag == f_passes[0]);
      if (f_turn) assert (p_meta == p_flag && p_seen == p_flag && (s_seen != s_flag || s_meta == s_flag));
      else assert (s_meta == s_flag && s_seen == s_flag && (p_seen != p_flag || p_meta == p_flag));
      assert (f_pulse_settled != 2'd3 && f_sys_settled != 2'd3);
      if (f_turn && s_meta == s_flag) assert (f_pulse_settled != 2'd0);
      if (f_turn && s_seen == s_flag) assert (f_pulse_settled == 2'd2);
      if (!f_turn && p_meta == p_flag) assert (f_sys_settled != 2'd0);
      if (!f_turn && p_seen == p_flag) assert (f_sys_settled == 2'd2);
    end
    if (f_up) assert (f_ok);
    if (f_pulse_zero) assert (!p_flag && !s_meta && !s_seen && f_takes == 0 && sys_view == P_RESET);
    if (f_sys_zero) assert (!s_flag && !p_meta && !p_seen && f_passes == 0);
  end

`ifndef FORMAL_PART
  // It goes round, also with edges of both clocks in the same step and turns that last, and starts again after a reset.
  logic f_again = 1'b0, f_together = 1'b0, f_lasts = 1'b0;
  always @(posedge gclk) begin
    if (f_up && pulse_rst && f_takes == 3) f_again <= 1'b1;
    if (f_up && f_pulse_edge && f_sys_edge) f_together <= 1'b1;
    if (f_up && f_sys_had && f_sys_edge && sys_turn && f_past) f_lasts <= 1'b1;
  end
  always @* begin
    cover (f_up && f_takes == 3 && f_passes == 3 && f_together && f_lasts && sys_view != P_RESET);
    cover (f_up && f_again && f_passes == 1);
  end
`endif
`endif
endmodule
