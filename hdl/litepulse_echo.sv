// SPDX-License-Identifier: BSD-2-Clause
// Says whether what the line shows may be our own transmission: from its start until `tail` cycles behind its end, and as many more as
// the filter takes to show an edge. Two counters one behind the other: the tail, then the filter's delay.
// Latency: with B a cycle in which `sent` is high, `own` is high from B + 1 to B + 2 + tail + line_delay.
// A write to the tail or the filter (`changed`) while it is high extends it by 2048 cycles and more, unless a launch follows: it never
// ends before any of the settings since the launch demands it, whatever the filter shows meanwhile.
//   LAG  cycles after `changed` in which line_delay becomes that of the new filter, at least 2
module litepulse_echo #(
    parameter int LAG = 2
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       sent,         // a launch is on the line
    input  logic [9:0] tail,         // cycles
    input  logic [5:0] line_delay,   // of the filter, cycles
    input  logic       changed,      // strobe: the tail is new in this cycle, or the filter
    output logic       own
);
  localparam int TW = 11;            // a bit more than the tail: what a change loads exceeds both settings together

  logic [TW-1:0] tail_left, tail_next;
  logic [5:0]    delay_left, delay_next;
  logic [LAG-2:0] news;              // until line_delay is new, too
  logic          tailing, tail_counts, tail_more, delay_counts, delay_more;

  // adding ones or nothing lets one cell per bit load and count; the carry says that it was not 0
  assign tail_counts  = tailing && !sent;
  assign delay_counts = own && !tailing && !sent;
  assign {tail_more, tail_next}   = {1'b0, tail_left} + {1'b0, {TW{tail_counts}}};
  assign {delay_more, delay_next} = {1'b0, delay_left} + {1'b0, {6{delay_counts}}};

  generate
    if (LAG == 2) begin : gen_at_once
      assign news = changed;
    end else begin : gen_later
      logic [LAG-3:0] changes;
      assign news = {changes, changed};
      always_ff @(posedge clk) changes <= rst ? '0 : news[LAG-3:0];
    end
  endgenerate

  always_ff @(posedge clk) begin
    tail_left  <= tail_counts ? tail_next : TW'(tail);
    if (news != '0) tail_left <= '1;
    delay_left <= delay_counts ? delay_next : line_delay;
    tailing    <= sent || tail_more || (news != '0 && own);
    own        <= sent || tailing || delay_more || (news != '0 && own);
    if (rst) begin
      tailing <= 1'b0;
      own     <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_echo.svh"  // sim/formal
`endif
endmodule
