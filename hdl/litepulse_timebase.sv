// SPDX-License-Identifier: BSD-2-Clause
// Free-running 64-bit time base, counted in cycles (a tick is 1/S of a cycle, so the low log2(S) bits of a tick are not here).
// START_CYCLE in the cycle after a reset of at least two cycles. Segments of 16 bits: each carry is a register computed one cycle
// ahead, so the count is coherent in every cycle and the critical path is 16 bits.
//   S            samples per cycle
//   START_CYCLE  where the count starts, in cycles: 0, but tests start it where a segment is about to carry
//   now       cycle label of the input samples seen in this cycle
//   young     now[15:7], now[31:7], now[47:7] are 0: a stamp less than 128 cycles old whose bit 7 is set lies before the carry
//             into bit 16, 32, 48, so that part of the stamp is one less than that of `now`
//   near_wrap high, a cycle late, in the last 16 cycles before the low 32 bits of the tick count wrap, so that nothing reads the halves
//             across it
module litepulse_timebase #(
    parameter int S = 1,
    parameter logic [63:0] START_CYCLE = 64'd0
) (
    input  logic                   clk,
    input  logic                   rst,
    output logic [63-$clog2(S):0]  now,
    output logic [2:0]             young,
    output logic                   near_wrap
);
  localparam int SL = $clog2(S);
  localparam int CW = 64 - SL;
  localparam logic [CW-1:0] START = START_CYCLE[CW-1:0];

  logic [15:0]    seg0, seg1, seg2, next1, next2;
  logic [CW-49:0] seg3;
  logic carry1, carry2, carry3;  // the segments below are all ones in this cycle
  logic full1, full2;
  logic ones1, ones2;            // that segment was all ones in the last cycle
  logic tick_ones;               // ... the part of segment 1 that belongs to the low half of the tick count
  logic top_ones, last;          // segment 0 was nearly all ones in the last cycle, is so in the next one

  assign now       = {seg3, seg2, seg1, seg0};
  assign last      = top_ones && seg0[3:0] == 4'hE;
  assign near_wrap = top_ones && tick_ones;
  assign {full1, next1} = {1'b0, seg1} + 17'd1;
  assign {full2, next2} = {1'b0, seg2} + 17'd1;

  always_ff @(posedge clk) begin
    top_ones <= &seg0[15:4];
    seg0 <= seg0 + 16'd1;
    if (carry1) seg1 <= next1;
    if (carry2) seg2 <= next2;
    if (carry3) seg3 <= seg3 + 1'b1;
    ones1  <= full1;
    ones2  <= full2;
    carry1 <= last;
    carry2 <= last && ones1;
    carry3 <= last && ones1 && ones2;
    young  <= {carry3, carry2, carry1} | (young & {3{!(&seg0[6:0])}});
    if (rst) begin
      {seg3, seg2, seg1, seg0} <= START;
      carry1 <= &START[15:0];
      carry2 <= &START[31:0];
      carry3 <= &START[47:0];
      young <= {START[47:7] == '0, START[31:7] == '0, START[15:7] == '0};
    end
  end
  generate
    if (S == 1) begin : gen_tick
      assign tick_ones = ones1;
    end else begin : gen_tick
      always_ff @(posedge clk) tick_ones <= &seg1[15-SL:0];
    end
  endgenerate

`ifdef FORMAL
  logic [CW-1:0] ghost, before;
  logic [6:0]    age;
  logic [CW-1:0] stamp;       // any, less than 128 cycles old
  (* anyseq *) logic [6:0] any_age;
  logic          past = 1'b0, rst_was = 1'b0;
  logic          fresh;       // one cycle of reset has passed; with another start than 0 the look-ahead of the carries takes two
  initial assume (rst);
  assign age   = any_age;
  assign before = ghost - 1'b1;
  assign stamp = ghost - CW'(age);
  always_ff @(posedge clk) begin
    past <= 1'b1;
    rst_was <= rst;
    fresh <= START != '0 && rst && !rst_was;
    ghost <= rst ? START : ghost + 1'b1;
  end
  always @* begin
    if (past && fresh) assume (rst);
    if (past && !fresh) begin
      assert (now == ghost);
      assert (carry1 == (&ghost[15:0]));
      assert (carry2 == (&ghost[31:0]));
      assert (carry3 == (&ghost[47:0]));
      // the ones flags lag by a cycle, which only shows right after a carry into the segment
      if (ghost[15:0] != 16'd0) begin
        assert (ones1 == (&ghost[31:16]));
        assert (ones2 == (&ghost[47:32]));
        assert (tick_ones == (&ghost[31-SL:16]));
      end
      if (ghost != '0) assert (near_wrap == (&before[31-SL:4]));
      assert (young == {ghost[47:7] == '0, ghost[31:7] == '0, ghost[15:7] == '0});
      // what `young` is for
      if (ghost >= CW'(age)) begin
        assert (stamp[15:8] == now[15:8] - 8'(stamp[7] && !now[7]));
        assert (stamp[31:16] == now[31:16] - 16'(stamp[7] && young[0]));
        assert (stamp[47:32] == now[47:32] - 16'(stamp[7] && young[1]));
        assert (stamp[CW-1:48] == now[CW-1:48] - (CW - 48)'(stamp[7] && young[2]));
      end
    end
  end
  always_ff @(posedge clk) begin
    cover (past && now == 12);
  end
`endif
endmodule
