// SPDX-License-Identifier: BSD-2-Clause
// Finds the first edge of a cycle on one channel, in either or both directions, among what litepulse_capture shows.
// Latency: none for `chosen_edge`; a choice of another channel acts a cycle later.
`include "litepulse_types.svh"
module litepulse_edge_pick #(
    parameter int S = 1,
    parameter int C = 5          // channels; the last one is the line
) (
    input  logic           clk,
    input  logic [C*S-1:0] level,         // conditioned samples of this cycle
    input  logic [C-1:0]   prior,         // the conditioned sample before them
    input  logic [C-1:0]   group_next,    // channels that are filtered in what the next cycle shows
    input  logic           line_filtered,
    input  logic [6:0]     delay,
    input  edge_choice_t   edge_choice,
    output chosen_edge_t   chosen_edge
);
  logic         sel_edge, sel_filtered, sel_is_line;
  logic [2:0]   sel_off;
  logic [S-1:0] sel_level;
  logic         sel_prior, flip;
  logic [C-1:0] is_sel;

  always @* begin
    sel_prior = 1'b0;
    sel_level = '0;
    for (int i = 0; i < C; i++) begin
      for (int s = 0; s < S; s++) sel_level[s] = sel_level[s] || (is_sel[i] && level[i*S + s]);
      sel_prior = sel_prior || (is_sel[i] && prior[i]);
    end
    flip = 1'b0;
    sel_off = 3'd0;
    for (int s = S - 1; s >= 0; s--) begin
      // what is known late is the level
      if (sel_level[s] ? edge_choice.rise && !(s == 0 ? sel_prior : sel_level[s == 0 ? 0 : s - 1])
          : edge_choice.fall && (s == 0 ? sel_prior : sel_level[s == 0 ? 0 : s - 1])) begin
        flip = 1'b1;
        sel_off = 3'(s);
      end
    end
    sel_edge = flip && edge_choice.enable;
  end
  always_ff @(posedge clk) begin
    for (int i = 0; i < C; i++) is_sel[i] <= edge_choice.channel == 4'(i);
    sel_is_line <= edge_choice.channel == 4'(C - 1);
    sel_filtered <= 1'b0;
    for (int i = 0; i < C; i++) begin
      if (edge_choice.channel == 4'(i) && group_next[i]) sel_filtered <= 1'b1;
    end
  end
  assign chosen_edge.found         = sel_edge;
  assign chosen_edge.off           = sel_off;
  assign chosen_edge.filtered      = sel_filtered;
  assign chosen_edge.is_line       = sel_is_line;
  assign chosen_edge.line_filtered = line_filtered;
  assign chosen_edge.delay         = delay;
endmodule
