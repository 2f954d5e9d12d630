// SPDX-License-Identifier: BSD-2-Clause
// Sees the break before a LIN header: 11 bit times of space, wherever they begin, also within a byte. litepulse_line_rx cannot: in its
// frames a break is a whole one without a mark.
// A cycle shows a mark if one of its samples does. Marks in two of three cycles begin the count again, so noise of one cycle does not.
// Latency: `seen` comes 4 cycles after the one in which the line has shown space for 11 * bit_cycles - 1 cycles. With the fraction that
// bit_cycles lacks a space of 11 bit times is always enough; at 64 cycles a bit one of 10.8 may be, with longer bits it is nearer to 11.
//
//   S     samples per cycle
//   BITS  of bit_cycles
module litepulse_lin_break #(
    parameter int S = 1,
    parameter int BITS = 18
) (
    input  logic            clk,
    input  logic            rst,
    input  logic            enable,      // low: count from the beginning. Low for a cycle with new bit_cycles.
    input  logic [S-1:0]    cond_line,
    input  logic            invert,
    input  logic [BITS-1:0] bit_cycles,  // whole cycles in a bit, at least 4
    output logic            seen
);
  localparam logic [3:0] BREAK_BITS = 4'd11;
  logic [2:0]      marks;               // of this cycle and the two before
  logic            restart;
  logic [BITS-1:0] count;               // of the cycle after this one in the bit, from 1 on; one more in the first bit
  logic            bit_ends;            // with this cycle
  logic [3:0]      bits_left;           // with the bit that is counted
  assign restart = (marks[0] && marks[1]) || (marks[1] && marks[2]) || (marks[0] && marks[2]) || !enable;
  always_ff @(posedge clk) begin
    marks      <= {marks[1:0], (cond_line ^ {S{invert}}) != '0};
    seen       <= !restart && bits_left == 4'd1 && bit_ends;
    bit_ends   <= !restart && count == bit_cycles;
    if (restart || bit_ends) count <= restart ? BITS'(3) : BITS'(2);
    else count <= count + 1'b1;
    if (restart) bits_left <= BREAK_BITS;
    else if (bit_ends && bits_left != 4'd0) bits_left <= bits_left - 4'd1;
    if (rst) begin
      marks <= '1;
      seen  <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_lin_break.svh"  // sim/formal
`endif
endmodule
