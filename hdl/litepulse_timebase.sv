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

  // Segments hold the complement and count down: whoever takes the time off something then adds a register.
  logic [15:0] nseg0, nseg1, nseg2;
  logic [CW-49:0] nseg3;
  logic carry1, carry2, carry3;  // the segments below are all ones in this cycle
  logic ones1, ones2;            // that segment was all ones in the last cycle
  logic last;                    // segment 0 is all ones in the next cycle

  assign now  = ~{nseg3, nseg2, nseg1, nseg0};
  assign last = nseg0 == 16'h0001;

  always_ff @(posedge clk) begin
    nseg0 <= nseg0 - 16'd1;
    if (carry1) nseg1 <= nseg1 - 16'd1;
    if (carry2) nseg2 <= nseg2 - 16'd1;
    if (carry3) nseg3 <= nseg3 - 1'b1;
    ones1  <= nseg1 == 16'd0;
    ones2  <= nseg2 == 16'd0;
    carry1 <= last;
    carry2 <= last && ones1;
    carry3 <= last && ones1 && ones2;
    if (nseg0[7:0] == 8'd0) prev_hi <= now[CW-1:8];
    near_wrap <= &now[31-$clog2(S):2];
    if (rst) begin
      nseg0 <= '1;
      nseg1 <= '1;
      nseg2 <= '1;
      nseg3 <= '1;
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
