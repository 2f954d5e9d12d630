// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_line_tx takes for granted: of litepulse_arbiter, that a launch begins on a free
// line only, and that what it reports about it is true; of litepulse_launch_memory, that it shows
// what was read, and that `few` is true.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_line_tx_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         prepare,
    input  logic         start,
    input  start_t       launch,
    input  logic [S-1:0] start_from,
    input  logic [35:0]  interval,
    input  logic         few,
    input  frame_format_t format,
    input  logic [S-1:0] sub_mask,
    input  logic         hold_start,
    input  logic         hold,
    input  logic         hold_next,
    input  logic         free_next,
    input  logic [2:0]   free_off,
    // free in the last cycle, from sample free_off_was on
    output logic        free_was,
    output logic [2:0]  free_off_was
);
  logic        past = 1'b0, rst_was, prepare_was, hold_was, hold_next_was;
  logic        whole;           // from the first sample on, with one sample per cycle
  logic [43:0] shown, shown_was;
  logic [32:0] ends;            // of a pulse: ticks from sample 0 of its first cycle to its end
  logic        pulse, live;     // a simulation begins with anything
  assign live = ASSUMED || past;
  assign shown = {few, format.stop, format.parity, format.data_bits, interval};
  assign ends  = 33'(interval[31:0]) + 33'(launch.off);
  assign pulse = launch.kind == litepulse_map_pkg::LAUNCH_PULSE;
  always_ff @(posedge clk) begin
    past          <= 1'b1;
    rst_was       <= rst;
    prepare_was   <= prepare;
    hold_was      <= hold;
    hold_next_was <= hold_next;
    free_was      <= free_next || rst;
    free_off_was  <= rst ? 3'd0 : free_off;
    whole         <= free_next && (S > 1 || free_off == 3'd0);
    shown_was     <= shown;
  end
  `ENVIRONMENT begin
    if (live) for (int s = 0; s < S; s++) `ASSUME(start_from[s] == (start && 3'(s) >= launch.off));
    if (live && start) begin
      `ASSUME(free_was && free_off_was <= launch.off && launch.off <= 3'(S - 1));
      `ASSUME(launch.kind != 2'd3 && format.stop != 2'd3 && format.parity <= litepulse_map_pkg::PARITY_SPACE);
      if (!pulse) `ASSUME(interval >= 36'(4 * S * 256) && few == (interval < 36'(8 * S * 256)));
      if (launch.kind == litepulse_map_pkg::LAUNCH_BREAK) `ASSUME(launch.data != 8'd0);
      if (S > 1) `ASSUME(launch.ends1 == (pulse && ends >> $clog2(S) == 33'd1));
      if (S > 1) `ASSUME(launch.ends2 == (pulse && ends >> $clog2(S) == 33'd2));
      if (S > 1 && (launch.ends1 || launch.ends2)) `ASSUME(33'(launch.ends_off) == ends % 33'(S));
      if (pulse) `ASSUME(interval[35:32] == 4'd0 && few == (interval[31:0] < 32'(4 * S)) && interval[31:0] != 32'd0 && ends >= 33'(S));
    end
    for (int s = 0; s < S; s++) if (live && sub_mask[s]) begin
      `ASSUME(free_was && free_off_was <= 3'(s));
      if (start) `ASSUME(3'(s) < launch.off);
    end
    if (live && hold_start) `ASSUME(!start && sub_mask == '0 && free_was && free_off_was == 3'd0);
    // a hold that ends before it begins does not begin
    if (live && hold_start) `ASSUME(hold && (S == 1 || hold_next));
    if (past && rst_was) `ASSUME(!start && sub_mask == '0 && !hold_start);
    // the launch memory is read where a start may follow, ...
    if (past && !start && !prepare_was) `ASSUME(shown == shown_was);
    // ... and a byte need not go after all; with more samples per cycle it is read whenever the line is free from one of them on
    if (past && !rst_was) `ASSUME(start ? prepare_was : !prepare_was || whole);
    if (past && (S > 1 || (hold_was && !rst_was))) `ASSUME(hold == hold_next_was);
  end
endmodule
