// SPDX-License-Identifier: BSD-2-Clause
// Edges on the inputs, with an optional glitch filter per channel. The filter accepts a level after F equal samples and delays its
// channel so that the accepted level begins with the first of them, then on by the samples that make the delay whole cycles.
// Latency: none for unfiltered channels (cond_line, sel_* are combinational) with S = 1, 2 cycles with more; ceil((F - 1)/S) cycles more
// for filtered ones. Edges for the event stream come a cycle later.
//
// A channel whose enable changes, or F while it is enabled, begins again: its level stays, and only the samples from then on count. What
// a setting conditioned is shown with the group and delay of that setting. With S = 1 the sample of the cycle in which the new settings
// come is the last one of the old. With more, `settled` takes them over when those of the old ones have been shown, 3 cycles after the
// last word came; the samples of these cycles do not count.
//
//   cycle   S = 1                                      S > 1
//     0     is shown: `level`, chosen_edge             which samples end F equal ones (`enough`)
//     1     edges                                      their levels count (`accepted`), moved to whole cycles (cond_next)
//     2                                                is shown: `level`, chosen_edge
//     3                                                edges
//
//   S       samples per cycle
//   INPUTS  aux inputs; channel INPUTS is the line. (INPUTS + 1)*S <= 16
//   SEQUENCE  somebody else waits for an edge, too: a wait in the launch queue
`include "litepulse_types.svh"
module litepulse_capture #(
    parameter int S = 1,
    parameter int INPUTS = (S > 2) ? 16 / S - 1 : 4,
    parameter bit SEQUENCE = 1'b0
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic [(INPUTS+1)*S-1:0] samples,      // channel c, sample s at c*S + s
    // verilator lint_off UNUSEDSIGNAL
    input  capture_settings_t       settings,     // F is filt_len
    // verilator lint_on UNUSEDSIGNAL
    // the line as the receiver sees it, late by the cycles of filtering; what it will be in the next cycle (S > 1 only)
    output logic [S-1:0]            cond_line,
    output logic [S-1:0]            cond_next,
    output logic [6:0]              line_delay,
    output edges_t                  edges,
    input  edge_choice_t            edge_choice,
    output chosen_edge_t            chosen_edge,
    // verilator lint_off UNUSEDSIGNAL
    input  edge_choice_t            wait_choice,
    // verilator lint_on UNUSEDSIGNAL
    output chosen_edge_t            wait_edge
);
  localparam int C = INPUTS + 1;
  localparam int SL = $clog2(S);
  localparam int RW = (S == 1) ? 6 : 7;
  // Icarus takes no variable index into a member
  logic [C-1:0]   rise_en, fall_en, filt_en;
  assign rise_en = settings.rise_en[C-1:0];
  assign fall_en = settings.fall_en[C-1:0];
  assign filt_en = settings.filt_en[C-1:0];

  logic [6:0]     edge_delay;

  // level after reset: the line rests at 1
  localparam logic [C-1:0] REST = {1'b1, {INPUTS{1'b0}}};

  logic [6:0]     delay;      // of the filtered channels that `level` shows in this cycle
  logic [C-1:0]   group;      // these channels
  logic [C*S-1:0] level;      // conditioned samples of this cycle
  logic [C-1:0]   prior;      // the conditioned sample before them
  logic           settled;    // what is shown from the next cycle on is conditioned with the settings of this one
  logic [C-1:0]   anew;       // channels that begin again

  always_ff @(posedge clk) begin
    if (settled) begin
      group <= filt_en;
      delay <= ({1'b0, settings.filt_len} + ((S > 1) ? 7'(S - 2) : {7{settings.filt_len != 6'd0}})) >> SL;
    end
    line_delay <= delay & {7{group[INPUTS]}};
    if (rst) begin
      group <= '0;
      delay <= 7'd0;
    end
  end
  generate
    if (S == 1) begin : gen_settle
      assign settled = 1'b1;
      assign anew = {C{rst || settings.filt_len_new}} | (filt_en ^ group);
    end else begin : gen_settle
      logic [1:0] came;       // words of the last cycles
      logic       len_came;   // filt_len has changed and is not yet taken over
      assign settled = came == 2'b10 && !settings.filt_new;
      assign anew = {C{rst}} | (filt_en ^ group) | (group & {C{settings.filt_len_new || len_came}});
      always_ff @(posedge clk) begin
        came <= {came[0], settings.filt_new} & {2{!rst}};
        len_came <= (settings.filt_len_new || len_came) && !settled && !rst;
      end
    end
  endgenerate

  // for each sample: that many equal ones up to sample 0 make F up to it
  // verilator lint_off UNUSEDSIGNAL
  logic [6*S-1:0] need;
  logic [S:0]     few;        // this many equal ones are F
  logic [C*S-1:0] level_next;
  // verilator lint_on UNUSEDSIGNAL
  always_ff @(posedge clk) begin
    for (int s = 0; s <= S; s++) few[s] <= settings.filt_len[5:SL+1] == '0 && settings.filt_len[SL:0] <= (SL + 1)'(s);
    for (int s = 0; s < S; s++) need[6*s +: 6] <= (settings.filt_len > 6'(s)) ? settings.filt_len - 6'(s) : 6'd0;
  end

  genvar c;
  generate
    for (c = 0; c < C; c = c + 1) begin : gen_channel
      if (S == 1) begin : gen_one
        // counts the samples that differ from the level that counts: `left` are still to come before the one that makes it ripe
        logic [0:0] x;
        logic       level_was, ripe, differs, counts, more, no_filter;
        logic [5:0] left, less;
        assign x = samples[c +: 1];
        assign no_filter = !filt_en[c] || settings.filt_len[5:1] == 5'd0;   // what is shown from the next cycle on
        assign level[c] = ripe ? x[0] : level_was;
        assign level_next[c] = 1'b0;
        assign prior[c] = level_was;
        assign differs  = x[0] != level_was && !ripe;
        assign counts   = differs && !anew[c];   // not in front of the carry chain
        assign {more, less} = {1'b0, left} + 7'd63;   // looked at only where it differs, which comes late
        always_ff @(posedge clk) begin
          level_was <= level[c];
          left <= counts ? less : settings.filt_len - 6'd2;
          ripe <= counts ? !more : no_filter;
          if (rst) begin
            level_was <= REST[c];
            ripe <= 1'b1;
          end
        end
`ifdef FORMAL
`include "litepulse_capture.svh"  // sim/formal
`endif
      end else begin : gen_many
        // first cycle: which samples end F equal ones
        logic [S-1:0]  x, accepted;
        logic          x_last, accepted_last;
        logic [RW-1:0] run;       // equal samples up to sample 0 of this cycle, if that is equal, too; 64 or more: no more are counted
        logic [RW-1:0] run_next;
        logic [S-1:0]  enough;    // ... ending at each sample
        logic [S-1:0]  x_was, enough_was;
        logic [S-1:0]  change;    // from the sample before
        logic          same;      // none behind this sample
        logic          none;

        assign x = samples[c*S +: S];

        always @* begin
          // the last change before each sample, if there is one in this cycle, looked for in all places at once
          change = x ^ S'({x, x_last});
          run_next = '0;
          same = 1'b1;
          for (int s = 0; s < S; s++) begin
            enough[s] = !group[c];
            same = 1'b1;
            for (int p = s; p >= 0; p--) begin
              enough[s] = enough[s] || (same && change[p] && few[s-p+1]);
              if (s == S - 1 && same && change[p]) run_next = run_next | RW'(S - p + 1);
              same = same && !change[p];
            end
            enough[s] = enough[s] || (same && run >= RW'(need[6*s +: 6]));
          end
          if (same) run_next = run_next | (run + (run[RW-1] ? '0 : RW'(S)));   // not held: its enable would come late
        end

        always_ff @(posedge clk) begin
          x_last <= x[S-1];
          run <= run_next;
          x_was <= x;
          enough_was <= enough;
          if (rst) x_last <= REST[c];
          if (anew[c]) begin
            run <= RW'(1);
            enough_was <= '0;
          end
        end

        // second cycle: their levels count
        always @* begin
          for (int s = 0; s < S; s++) begin
            accepted[s] = 1'b0;
            none = 1'b1;
            for (int p = s; p >= 0; p--) begin   // the last one that counts
              accepted[s] = accepted[s] || (none && enough_was[p] && x_was[p]);
              none = none && !enough_was[p];
            end
            accepted[s] = accepted[s] || (none && accepted_last);
          end
        end
        always_ff @(posedge clk) begin
          accepted_last <= accepted[S-1];
          if (rst) accepted_last <= REST[c];
        end

        // whole cycles: go back by (delay*S - (F - 1)) samples more
        logic [S-1:0]   older, aligned, conditioned;
        logic [2*S-1:0] both;
        logic [SL-1:0]  shift;
        logic           last;

        assign both = {accepted, older};
        always @* begin
          for (int s = 0; s < S; s++) aligned[s] = both[(SL + 1)'(S + s) - (SL + 1)'(shift)];
        end
        assign level[c*S +: S] = conditioned;
        assign level_next[c*S +: S] = aligned;
        assign prior[c] = last;
        always_ff @(posedge clk) begin
          older <= accepted;
          conditioned <= level_next[c*S +: S];
          last <= conditioned[S-1];
          if (settled) shift <= (filt_en[c] && settings.filt_len != 6'd0) ? SL'(1) - settings.filt_len[SL-1:0] : '0;
          if (rst) begin
            shift <= '0;
            older <= {S{REST[c]}};
            conditioned <= {S{REST[c]}};
            last <= REST[c];
          end
        end
`ifdef FORMAL
`include "litepulse_capture.svh"  // sim/formal
`endif
      end
    end
  endgenerate

  assign cond_line  = level[INPUTS*S +: S];
  assign cond_next  = level_next[INPUTS*S +: S];

  // edges of this cycle
  logic [C*S-1:0] flips, enabled, changed, filtered;
  logic [C-1:0]   group_was;  // of the edges in `changed`
  always @* begin
    for (int i = 0; i < C; i++) begin
      for (int s = 0; s < S; s++) begin
        flips[i*S + s]   = level[i*S + s] != (s == 0 ? prior[i] : level[i*S + (s == 0 ? 0 : s - 1)]);
        enabled[i*S + s] = flips[i*S + s] && (level[i*S + s] ? rise_en[i] : fall_en[i]);
        filtered[i*S + s] = group_was[i];
      end
    end
  end
  always_ff @(posedge clk) begin
    changed <= enabled;
    group_was <= group;
    edge_delay <= delay;
    if (rst) changed <= '0;
  end
  generate
    if (S == 1) begin : gen_level
      assign edges.level = 16'(prior);    // it is the last cycle's
    end else begin : gen_level
      logic [C*S-1:0] level_was;
      always_ff @(posedge clk) begin
        level_was <= level;
        if (rst) for (int i = 0; i < C; i++) level_was[i*S +: S] <= {S{REST[i]}};
      end
      assign edges.level = 16'(level_was);
    end
  endgenerate

  assign edges.plain    = |(changed & ~filtered);
  assign edges.filtered = |(changed & filtered);
  assign edges.changed  = 16'(changed);
  assign edges.group    = 16'(group_was);
  assign edges.delay    = edge_delay;

  // the first one of a selected channel
  logic [C-1:0] group_next;
  assign group_next = settled ? filt_en : group;
  litepulse_edge_pick #(.S(S), .C(C)) pick (
      .clk, .level, .prior, .group_next, .line_filtered(group[INPUTS]), .delay, .edge_choice, .chosen_edge
  );
  generate
    if (SEQUENCE) begin : gen_wait
      litepulse_edge_pick #(.S(S), .C(C)) wait_pick (
          .clk, .level, .prior, .group_next, .line_filtered(group[INPUTS]), .delay, .edge_choice(wait_choice), .chosen_edge(wait_edge)
      );
    end else begin : gen_no_wait
      assign wait_edge = '0;
    end
  endgenerate
endmodule
