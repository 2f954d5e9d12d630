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
// 4 sys + 4 pulse cycles. Both resets must overlap for at least 4 cycles of the slower clock; a view is RESET_* after reset.
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
endmodule
