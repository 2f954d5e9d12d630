// SPDX-License-Identifier: BSD-2-Clause
// Exchanges one word each way between `pulse` and `sys`, in turns, for ever. Only two flags pass through synchronisers; the words
// are held still from before their flag changes until the other side has taken them, so they may be of any width, may change by
// any amount from turn to turn, arrive whole, and need no skew constraint (unlike Gray-coded pointers).
//
// Whoever's turn it is takes the other's held word and, at the same edge, loads its own and passes the turn. Hence every word
// loaded is taken exactly once, in order, and the word that comes next was loaded knowing the one sent before.
//   *_word   what to send: loaded at the edge that ends a cycle with *_take high
//   *_view   the last word taken from the other side, changes only at such an edge
// Latency from load to view: 2 to 3 cycles of the receiver. One round (load to load on the same side): at most
// 3 sys + 3 pulse cycles. Both resets must overlap for at least 4 cycles of the slower clock; a view is RESET_* after reset.
module litepulse_cdc_swap #(
    parameter int              P_BITS  = 8,  // pulse to sys
    parameter int              S_BITS  = 8,  // sys to pulse
    parameter logic [P_BITS-1:0] P_RESET = '0,
    parameter logic [S_BITS-1:0] S_RESET = '0
) (
    input  logic              pulse_clk,
    input  logic              pulse_rst,
    input  logic [P_BITS-1:0] pulse_word,
    output logic              pulse_take,
    output logic [S_BITS-1:0] pulse_view,
    input  logic              sys_clk,
    input  logic              sys_rst,
    input  logic [S_BITS-1:0] sys_word,
    output logic              sys_take,
    output logic [P_BITS-1:0] sys_view
`ifdef FORMAL
    ,
    output logic [P_BITS-1:0] f_p_hold,
    output logic [S_BITS-1:0] f_s_hold,
    output logic              f_ok,          // both sides have been reset, and not in a new reset
    output logic              f_pulse_zero,  // still as reset
    output logic              f_sys_zero
`endif
);
  logic              p_flag, s_flag;  // equal: pulse's turn
  logic [P_BITS-1:0] p_hold;
  logic [S_BITS-1:0] s_hold;
  (* async_reg = "true" *) logic p_meta, p_seen;  // p_flag in sys
  (* async_reg = "true" *) logic s_meta, s_seen;  // s_flag in pulse

  assign pulse_take = s_seen == p_flag;
  assign sys_take   = p_seen != s_flag;

  always_ff @(posedge pulse_clk) begin
    s_meta <= s_flag;
    s_seen <= s_meta;
    if (pulse_take) begin
      p_flag     <= !p_flag;
      p_hold     <= pulse_word;
      pulse_view <= s_hold;
    end
    if (pulse_rst) begin
      s_meta     <= 1'b0;
      s_seen     <= 1'b0;
      p_flag     <= 1'b0;
      p_hold     <= P_RESET;
      pulse_view <= S_RESET;
    end
  end

  always_ff @(posedge sys_clk) begin
    p_meta <= p_flag;
    p_seen <= p_meta;
    if (sys_take) begin
      s_flag   <= !s_flag;
      s_hold   <= sys_word;
      sys_view <= p_hold;
    end
    if (sys_rst) begin
      p_meta   <= 1'b0;
      p_seen   <= 1'b0;
      s_flag   <= 1'b0;
      s_hold   <= S_RESET;
      sys_view <= P_RESET;
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
  assign f_p_hold = p_hold;
  assign f_s_hold = s_hold;
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
  always_comb begin
    if (f_up) assume (pulse_rst == sys_rst);
    else if (!f_ok) assume (pulse_rst && sys_rst);
    else assume (pulse_rst <= f_pulse_rst_was && sys_rst <= f_sys_rst_was);
  end

  // Words are numbered as they are loaded, modulo 8, each side's reset word being number 0; number f_n stands for any of them.
  (* anyconst *) logic [2:0] f_n;
  logic [2:0] f_pulse_loads, f_sys_loads;
  logic [S_BITS-1:0] f_sys_word;
  logic [P_BITS-1:0] f_pulse_word;
  always_ff @(posedge pulse_clk) begin
    if (pulse_take) f_pulse_loads <= f_pulse_loads + 1'b1;
    if (pulse_take && f_pulse_loads + 3'd1 == f_n) f_pulse_word <= pulse_word;
    if (pulse_rst) begin
      f_pulse_loads <= '0;
      f_pulse_word  <= P_RESET;
    end
  end
  always_ff @(posedge sys_clk) begin
    if (sys_take) f_sys_loads <= f_sys_loads + 1'b1;
    if (sys_take && f_sys_loads + 3'd1 == f_n) f_sys_word <= sys_word;
    if (sys_rst) begin
      f_sys_loads <= '0;
      f_sys_word  <= S_RESET;
    end
  end

  // Edges of the receiver, after the step in which the word it is to take appeared.
  wire f_turn = p_flag == s_flag;  // pulse's
  logic f_turn_was = 1'b0;
  logic [1:0] f_pulse_settled, f_sys_settled, f_pulse_before, f_sys_before;
  always @(posedge gclk) begin
    f_turn_was     <= f_turn;
    f_pulse_before <= f_pulse_settled;
    f_sys_before   <= f_sys_settled;
  end
  always_comb begin
    f_pulse_settled = f_pulse_before;
    if (!f_ok) f_pulse_settled = 2'd2;
    else if (!f_turn) f_pulse_settled = 2'd0;
    else if (f_turn_was && f_pulse_edge && !f_pulse_before[1]) f_pulse_settled = f_pulse_before + 1'b1;
    f_sys_settled = f_sys_before;
    if (!f_ok || f_turn) f_sys_settled = 2'd0;
    else if (!f_turn_was && f_sys_edge && !f_sys_before[1]) f_sys_settled = f_sys_before + 1'b1;
  end

  always_comb begin
    if (f_ok) begin
      // what is promised: a word is taken only when it has been still for two edges of the taker at least, and then it is
      // the one after the last one taken: no word is taken twice, left out or mixed with another
      if (pulse_take && !pulse_rst) assert (f_turn && f_pulse_settled == 2'd2 && f_sys_loads == f_pulse_loads);
      if (sys_take && !sys_rst) assert (!f_turn && f_sys_settled == 2'd2 && f_pulse_loads == f_sys_loads + 3'd1);
      if (f_pulse_loads == f_n + 3'd1) assert (pulse_view == f_sys_word);
      if (f_sys_loads == f_n && f_n != 0) assert (sys_view == f_pulse_word);

      // what makes it so in every state
      assert (f_turn ? f_sys_loads == f_pulse_loads : f_pulse_loads == f_sys_loads + 3'd1);
      assert (p_flag == f_pulse_loads[0] && s_flag == f_sys_loads[0]);
      if (f_sys_loads == f_n) assert (s_hold == f_sys_word);
      if (f_pulse_loads == f_n) assert (p_hold == f_pulse_word);
      if (f_turn) assert (p_meta == p_flag && p_seen == p_flag && (s_seen != s_flag || s_meta == s_flag));
      else assert (s_meta == s_flag && s_seen == s_flag && (p_seen != p_flag || p_meta == p_flag));
      assert (f_pulse_settled != 2'd3 && f_sys_settled != 2'd3);
      if (f_turn && s_meta == s_flag) assert (f_pulse_settled != 2'd0);
      if (f_turn && s_seen == s_flag) assert (f_pulse_settled == 2'd2);
      if (!f_turn && p_meta == p_flag) assert (f_sys_settled != 2'd0);
      if (!f_turn && p_seen == p_flag) assert (f_sys_settled == 2'd2);
    end
    if (f_pulse_zero) begin
      assert (!p_flag && !s_meta && !s_seen && f_pulse_loads == 0);
      assert (p_hold == P_RESET && pulse_view == S_RESET && f_pulse_word == P_RESET);
    end
    if (f_sys_zero) begin
      assert (!s_flag && !p_meta && !p_seen && f_sys_loads == 0);
      assert (s_hold == S_RESET && sys_view == P_RESET && f_sys_word == S_RESET);
    end
  end

`ifndef FORMAL_PART
  // It goes round, also with edges of both clocks in the same step, and starts again after a reset.
  logic f_again = 1'b0, f_together = 1'b0;
  always @(posedge gclk) begin
    if (f_up && pulse_rst && f_pulse_loads == 3) f_again <= 1'b1;
    if (f_up && f_pulse_edge && f_sys_edge) f_together <= 1'b1;
  end
  always_comb begin
    cover (f_up && f_pulse_loads == 3 && f_sys_loads == 3 && f_together && sys_view != P_RESET && pulse_view != S_RESET);
    cover (f_up && f_again && f_sys_loads == 1);
  end
`endif
`endif
endmodule
