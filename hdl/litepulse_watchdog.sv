// SPDX-License-Identifier: BSD-2-Clause
// Stops what a host left running when that host has been silent for too long. In `sys`.
//   talk    the host accesses the window, or has just written SESSION: the count restarts
//   limit   units of 2^UNIT cycles after which a host counts as silent; 0: never
//   keep    nothing is ever stopped
//   fired   one cycle: SESSION becomes 0, and with it limit and keep, so it fires at most once for each write of SESSION
//   stop    which of its three words litepulse_window is to hand over next: 3 stops the train, 2 disarms the responder, 1 flushes the
//           queue; 0: none. taken: it does, in this cycle.
// Latency: `fired` rises limit * 2^UNIT + 2 cycles after the last cycle of talk, together with `stop`.
module litepulse_watchdog #(
    parameter int UNIT  = 18,
    parameter int LIMIT = 15   // bits
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             talk,
    input  logic [LIMIT-1:0] limit,
    input  logic             keep,
    output logic             fired,
    output logic [1:0]       stop,
    input  logic             taken
);
  logic restart, cleared, some, expired;  // SESSION was cleared in the last cycle
  logic [UNIT-1:0] cycles;
  logic [UNIT:0] cycles_next;
  logic [LIMIT-1:0] left;
  logic [LIMIT:0] left_next;
  logic [1:0] left_words;  // of those that `fired` began
  assign restart     = talk || keep || cleared;
  assign cycles_next = {1'b0, cycles} + 1'b1;
  // Adding ones or nothing lets one cell per bit both load and count, and the carry says that units are left: a count that starts at 0
  // never expires.
  assign left_next   = {1'b0, left} + {1'b0, {LIMIT{!restart}}};
  assign expired     = some && !left_next[LIMIT] && !restart;
  // not from `expired`, which is known late
  assign stop        = left_words | {2{fired}};

  always_ff @(posedge clk) begin
    cycles <= cycles_next[UNIT-1:0];
    if (restart) cycles <= '0;
    if (restart || (cycles_next[UNIT] && left_next[LIMIT])) left <= restart ? limit : left_next[LIMIT-1:0];
    some  <= left_next[LIMIT];
    fired <= expired;
    left_words <= stop - 2'(taken);
    cleared <= fired || rst;
    if (rst) begin
      some  <= 1'b0;
      fired <= 1'b0;
      left_words <= 2'd0;
    end
  end

`ifdef FORMAL
`include "litepulse_watchdog.svh"  // sim/formal
`endif
endmodule
