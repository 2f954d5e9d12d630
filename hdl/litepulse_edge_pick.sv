// SPDX-License-Identifier: BSD-2-Clause
// Finds the first edge of a cycle on one channel, in either or both directions, among what litepulse_capture shows.
// Latency: none for `chosen_edge`; a choice of another channel acts a cycle later.
//
// With QUICK a channel that is not filtered, other than the line, is looked at before its conditioning, which takes 2 cycles: an edge is
// found in the cycle in which its sample arrives. What counts is what litepulse_capture counts, each edge once:
//   a filter is switched on    from the word on the samples count for nothing; when the new group is in force, and the level from before
//                              the word is shown, the edges shown count
//   a filter is switched off   the edges shown count until the old group has been shown; the first sample by the new one is compared
//                              with the level shown last
// A choice of another channel acts 2 cycles later then, and not before a cycle whose samples count.
`include "litepulse_types.svh"
module litepulse_edge_pick #(
    parameter int S = 1,
    parameter int C = 5,         // channels; the last one is the line
    parameter bit QUICK = 1'b0   // S > 1 only
) (
    input  logic           clk,
    // verilator lint_off UNUSEDSIGNAL
    input  logic           rst,
    input  logic [C*S-1:0] samples,       // as they arrive
    input  logic [C-1:0]   filt_en,       // as written
    input  logic [C-1:0]   prior,         // the conditioned sample before ...
    // verilator lint_on UNUSEDSIGNAL
    input  logic [C*S-1:0] level,         // ... the conditioned samples of this cycle
    input  logic [C-1:0]   group_next,    // channels that are filtered in what the next cycle shows
    input  logic           line_filtered,
    input  logic [6:0]     delay,
    // verilator lint_off UNUSEDSIGNAL
    input  edge_choice_t   edge_choice,
    // verilator lint_on UNUSEDSIGNAL
`ifdef FORMAL
    output logic           f_last,
`endif
    output chosen_edge_t   chosen_edge
);
  logic         sel_edge, sel_filtered, sel_is_line;
  logic [2:0]   sel_off;
  logic [S-1:0] sel_level;
  logic         sel_prior, flip;
  logic         blocked;       // its samples count for nothing
  logic [C-1:0] is_sel;

  always @* begin
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
    sel_edge = flip && edge_choice.enable && !blocked;
  end
  always_ff @(posedge clk) begin
    for (int i = 0; i < C; i++) is_sel[i] <= edge_choice.channel == 4'(i);
    sel_is_line <= edge_choice.channel == 4'(C - 1);
    sel_filtered <= 1'b0;
    for (int i = 0; i < C; i++) begin
      if (edge_choice.channel == 4'(i) && group_next[i]) sel_filtered <= 1'b1;
    end
  end
  generate
    if (QUICK) begin : gen_quick
      logic       quick;       // the channel's samples are looked at as they arrive
      logic       last;        // the sample before those of this cycle, of those that count
      logic [6:0] late, late_next;   // delay + 2, without a carry chain
      logic       carry;
      always @* begin
        carry = 1'b1;
        late_next[0] = delay[0];
        for (int i = 1; i < 7; i++) begin
          late_next[i] = delay[i] ^ carry;
          carry = carry && delay[i];
        end
        sel_level = '0;
        blocked = 1'b0;
        for (int i = 0; i < C; i++) begin
          for (int s = 0; s < S; s++) begin
            sel_level[s] = sel_level[s] || (is_sel[i] && ((quick && i < C - 1) ? samples[i*S + s] : level[i*S + s]));
          end
          blocked = blocked || (quick && is_sel[i] && filt_en[i]);
        end
      end
      assign sel_prior = last;
      always_ff @(posedge clk) begin
        quick <= edge_choice.channel != 4'(C - 1);
        for (int i = 0; i < C; i++) begin
          if (edge_choice.channel == 4'(i) && group_next[i]) quick <= 1'b0;
        end
        if (!blocked) last <= sel_level[S-1];
        if (rst) last <= 1'b0;
        // a cycle behind `delay`, which is no harm: the first two cycles that show another filter show none of its edges
        late <= late_next;
        if (!(edge_choice.of_line ? line_filtered : sel_filtered)) late <= 7'd2;
      end
`ifdef FORMAL
      assign f_last = last;
`endif
      assign chosen_edge.quick = quick;
      assign chosen_edge.late  = late;
    end else begin : gen_shown
      assign blocked = 1'b0;
      always @* begin
        sel_prior = 1'b0;
        sel_level = '0;
        for (int i = 0; i < C; i++) begin
          for (int s = 0; s < S; s++) sel_level[s] = sel_level[s] || (is_sel[i] && level[i*S + s]);
          sel_prior = sel_prior || (is_sel[i] && prior[i]);
        end
      end
      assign chosen_edge.quick = 1'b0;
      assign chosen_edge.late  = 7'd0;
    end
  endgenerate
  assign chosen_edge.found         = sel_edge;
  assign chosen_edge.off           = sel_off;
  assign chosen_edge.filtered      = sel_filtered;
  assign chosen_edge.is_line       = sel_is_line;
  assign chosen_edge.line_filtered = line_filtered;
  assign chosen_edge.delay         = delay;
endmodule
