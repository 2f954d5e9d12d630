// SPDX-License-Identifier: BSD-2-Clause
// Free-running 64-bit time base, counted in cycles (a tick is 1/S of a cycle, so the low log2(S) bits of a tick are not here).
// 0 in the cycle after reset. Segments of 16 bits: each carry is a register computed one cycle ahead, so the count is
// coherent in every cycle and the longest path is 16 bits.
//   now       cycle label of the input samples seen in this cycle
//   prev_hi   now[..:8] as it was before it last changed: extends an 8-bit stamp less than 256 cycles old to full width
//   near_wrap high shortly before the low 32 bits of the tick count wrap, so that nobody reads the two halves across it
module litepulse_timebase #(
    parameter int S = 1
) (
    input  logic                   clk,
    input  logic                   rst,
    output logic [63-$clog2(S):0]  now,
    output logic [63-$clog2(S):8]  prev_hi,
    output logic                   near_wrap
);
  localparam int CW = 64 - $clog2(S);

  logic [15:0] seg0, seg1, seg2;
  logic [CW-49:0] seg3;
  logic carry1, carry2, carry3;  // the segments below are all ones in this cycle
  logic ones1, ones2;            // that segment was all ones in the last cycle
  logic last;                    // segment 0 is all ones in the next cycle

  assign now  = {seg3, seg2, seg1, seg0};
  assign last = seg0 == 16'hfffe;

  always_ff @(posedge clk) begin
    seg0 <= seg0 + 16'd1;
    if (carry1) seg1 <= seg1 + 16'd1;
    if (carry2) seg2 <= seg2 + 16'd1;
    if (carry3) seg3 <= seg3 + 1'b1;
    ones1  <= &seg1;
    ones2  <= &seg2;
    carry1 <= last;
    carry2 <= last && ones1;
    carry3 <= last && ones1 && ones2;
    if (&seg0[7:0]) prev_hi <= now[CW-1:8];
    near_wrap <= &now[31-$clog2(S):2];
    if (rst) begin
      seg0 <= '0;
      seg1 <= '0;
      seg2 <= '0;
      seg3 <= '0;
      carry1 <= 1'b0;
      carry2 <= 1'b0;
      carry3 <= 1'b0;
      ones1 <= 1'b0;
      ones2 <= 1'b0;
      prev_hi <= '0;
      near_wrap <= 1'b0;
    end
  end

`ifdef FORMAL
  logic [CW-1:0] ghost;
  logic          past = 1'b0;
  initial assume (rst);
  always_ff @(posedge clk) begin
    past <= 1'b1;
    ghost <= rst ? '0 : ghost + 1'b1;
  end
  always_comb begin
    if (past) begin
      assert (now == ghost);
      assert (carry1 == (&ghost[15:0]));
      assert (carry2 == (&ghost[31:0]));
      assert (carry3 == (&ghost[47:0]));
      // the ones flags lag by a cycle, which only shows right after a carry into the segment
      if (ghost[15:0] != 16'd0) assert (ones1 == (&ghost[31:16]));
      if (ghost[15:0] != 16'd0) assert (ones2 == (&ghost[47:32]));
      if (ghost > 255) assert (prev_hi == ghost[CW-1:8] - 1'b1);
      // two reads one cycle apart see halves of one value unless near_wrap holds
      if (!near_wrap && ghost > 1) assert (!(&ghost[31-$clog2(S):0]));
    end
  end
  always_ff @(posedge clk) begin
    cover (past && now == 12);
  end
`endif
endmodule
