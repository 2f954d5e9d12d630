// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_arbiter takes for granted of the sources, of litepulse_config and of litepulse_line_tx.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_arbiter_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1
) (
    input logic        clk,
    input logic        rst,
    input logic [2:0]  due,
    input logic [2:1]  due_soon,
    input logic [8:0]  off,
    input logic [5:0]  kind,
    input logic [5:0]  profile,
    input logic [23:0] data,
    input logic        be_due,
    input logic        be_asks,
    input logic [7:0]  be_data,
    input logic        break_hold,
    input logic        break_stays,
    input logic [3:0]  prof_invert,
    input logic        read_soon,
    input logic        may_read,
    input line_state_t line,
    input logic [S-1:0] free_from,
    input logic        start,
    input logic        start_ends1,
    input logic [2:0]  start_ends_off,
    input logic        hold_start
);
  logic        past = 1'b0, rst_was, soon_was, may_read_was, be_due_was, hold_start_was, break_stays_was;
  logic [2:0]  due1, due2;      // a cycle ago; two cycles ago
  logic [2:1]  due_soon_was = 2'd0;
  logic [8:0]  off_was;
  logic [5:0]  kind_was, profile_was;
  logic [23:0] data_was;
  logic [7:0]  be_data_was;
  logic [3:0]  invert_was;
  logic        live;            // a simulation begins with anything
  assign live = ASSUMED || past;
  always_ff @(posedge clk) begin
    past <= 1'b1;
    {rst_was, be_due_was, hold_start_was, break_stays_was} <= {rst, be_due, hold_start, break_stays};
    {soon_was, may_read_was} <= {read_soon, may_read || soon_was};
    {due1, due2} <= {due, due1 & {3{!rst_was}}};
    due_soon_was <= due_soon;
    {off_was, kind_was, profile_was, data_was, be_data_was, invert_was} <= {off, kind, profile, data, be_data, prof_invert};
  end
  `ENVIRONMENT begin
    for (int i = 0; i < 3; i++) if (live && due[i]) `ASSUME(off[3*i+:3] <= 3'(S - 1) && kind[2*i+:2] != 2'd3);
    for (int i = 0; i < 3; i++) if (past) begin
      // a source keeps its request in the cycle after it, with S > 1 for two, and then profile and
      // tick in the first of them
      if (due1[i] || (S > 1 && due2[i])) `ASSUME({kind[2*i+:2], data[8*i+:8]} == {kind_was[2*i+:2], data_was[8*i+:8]});
      if (S > 1 && due1[i]) `ASSUME({profile[2*i+:2], off[3*i+:3]} == {profile_was[2*i+:2], off_was[3*i+:3]});
      // litepulse_slot, litepulse_responder: a launch stands for longer than a cycle before it is due
      if (S > 1 && due[i]) `ASSUME({off[3*i+:3], kind[2*i+:2], profile[2*i+:2]}
          == {off_was[3*i+:3], kind_was[2*i+:2], profile_was[2*i+:2]});
    end
    if (past) begin
      if (be_due_was && !rst_was) `ASSUME(be_data == be_data_was);
      // litepulse_config: a profile is written only in a cycle in which the memory is not read
      if (may_read_was && !rst_was) `ASSUME(prof_invert == invert_was);
      if (hold_start_was) `ASSUME(line.active || rst || rst_was);
    end
    // litepulse_config
    if (live && break_stays) `ASSUME(break_hold);
    if (past && break_stays_was && !rst_was) `ASSUME(break_hold);
    if (live) begin
      `ASSUME((due[2:1] & ~due_soon_was) == 2'd0 && (be_asks || !be_due));   // litepulse_slot announces a launch a cycle before
      // litepulse_line_tx: what is on the line shows as `free_next`; hold_start makes it active
      if (line.free_next) `ASSUME(!line.settled && line.free_off <= 3'(S - 1));
      if (S == 1) begin
        if (!start) `ASSUME(line.free_rest == line.free_next);
      end else begin
        `ASSUME(line.free_next == (start ? start_ends1 : line.free_rest));
        if (hold_start) `ASSUME(!line.free_rest);
        if (start && start_ends1) `ASSUME(line.free_off == start_ends_off);
        if (!start && !hold_start) for (int s = 0; s < S; s++) `ASSUME(free_from[s] == (line.free_next && line.free_off <= 3'(s)));
      end
    end
  end
endmodule
