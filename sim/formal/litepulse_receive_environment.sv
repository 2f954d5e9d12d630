// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_receive takes for granted: litepulse_line_rx gives bytes at least 10 cycles apart, and no flags but its own; of the room
// in litepulse_cdc's ring a record takes one place, with its last word. For the proof also `rest`: cycles in which no byte may come.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_receive_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int RING_AW = 6
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               rec_valid,
    input  received_t          received,
    input  logic               last,
    input  logic [RING_AW-1:0] rx_free,
    output logic [3:0]         rest
);
  localparam int APART = 10;
  logic               past = 1'b0, rst_was;
  logic [RING_AW-1:0] room;  // known to be left
  always_ff @(posedge clk) begin
    past    <= 1'b1;
    rst_was <= rst;
    room    <= rx_free - RING_AW'(last);
    rest    <= rst ? 4'd0 : rec_valid ? 4'(APART - 1) : (rest == 4'd0) ? 4'd0 : rest - 4'd1;
  end
  `ENVIRONMENT begin
    // no OVERFLOW, no COUNT
    if (past && !rst && rec_valid) `ASSUME(rest == 4'd0 && !received.flags[3] && !received.flags[6]);
    if (past && !rst && !rst_was) `ASSUME(rx_free >= room);
  end
endmodule
