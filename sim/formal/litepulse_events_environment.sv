// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_events takes for granted: of each port, that a request stands until it is taken,
// that another one comes 16 cycles later (of the last port, which litepulse_config has, two may: a
// snapshot and the answer to its word), and how old it is; of litepulse_capture, that an edge
// record has an edge; of the ring, that room only grows but by what is written.
//   WAIT  cycles that a request waits at most
// For the proof also since and waits of each port: cycles since its last request came, up to 15; cycles that its request has waited. And
// second: the second cycle of a brief request.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_events_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1,
    parameter int EV_AW = 8,
    parameter int C = 16 / S,
    parameter int PORTS = 4,
    parameter logic [PORTS-1:0] BRIEF = 4'b0010,
    parameter int WAIT = 2 * PORTS - 2
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [63-$clog2(S):0] now,
    input  logic [2:0]            young,
    input  logic [PORTS-1:0]      req,
    input  logic [PORTS-1:0]      ack,
    input  logic [4*PORTS-1:0]    kind,
    input  logic [4*PORTS-1:0]    source,
    input  logic [8*PORTS-1:0]    lo,
    input  edges_t                edges,
    input  logic                  ev_wr,
    input  logic [EV_AW:0]        ev_free,
    output logic [4*PORTS-1:0]    since,
    output logic [6*PORTS-1:0]    waits,
    output logic [PORTS-1:0]      second
);
  logic                  past = 1'b0, rst_was, wr_was;
  logic [63-$clog2(S):0] now_was;
  logic [EV_AW:0]        free_was;
  logic [PORTS-1:0]      stands;          // requested and not taken in the last cycle
  logic [4*PORTS-1:0]    kind_was, source_was;
  logic [C*S-1:0]        filtered;        // bits of filtered channels
  logic [3:0]            earlier;          // as `since` of the last port, for the request before its last one
  always_comb for (int i = 0; i < C; i++) filtered[i*S +: S] = {S{edges.group[i]}};
  always_ff @(posedge clk) begin
    past <= 1'b1;
    {rst_was, now_was, wr_was, free_was, kind_was, source_was} <= {rst, now, ev_wr, ev_free, kind, source};
    second <= rst ? '0 : req & ~second & BRIEF;
    stands <= rst ? '0 : req & ~ack;
    earlier <= rst ? 4'd15 : (req[PORTS-1] && waits[6*(PORTS-1) +: 6] == 6'd0)
        ? (&since[4*(PORTS-1) +: 4] ? 4'd15 : since[4*(PORTS-1) +: 4] + 4'd1)
        : (earlier == 4'd15) ? 4'd15 : earlier + 4'd1;
    for (int i = 0; i < PORTS; i++) begin
      waits[6*i +: 6] <= (req[i] && !ack[i] && !rst) ? waits[6*i +: 6] + 6'd1 : 6'd0;
      since[4*i +: 4] <= rst ? 4'd15 : (req[i] && waits[6*i +: 6] == 6'd0) ? 4'd0
          : (since[4*i +: 4] == 4'd15) ? 4'd15 : since[4*i +: 4] + 4'd1;
    end
  end
  `ENVIRONMENT begin
    for (int i = 0; i < PORTS; i++) if (past && req[i] && !rst_was) begin
      if (!BRIEF[i] && (i == PORTS - 1 ? earlier : since[4*i +: 4]) != 4'd15) `ASSUME(waits[6*i +: 6] != 6'd0);
      `ASSUME(now[7:0] - lo[8*i +: 8] <= 8'd116 + 8'(WAIT));
      `ASSUME(kind[4*i +: 4] != litepulse_map_pkg::KIND_OVERFLOW && kind[4*i +: 4] != litepulse_map_pkg::KIND_EDGE);
    end
    for (int i = 0; i < PORTS; i++) if (past && (BRIEF[i] ? second[i] : stands[i])) begin
      `ASSUME(req[i]);
      `ASSUME(kind[4*i +: 4] == kind_was[4*i +: 4] && source[4*i +: 4] == source_was[4*i +: 4]);
    end
    if (past && rst_was) `ASSUME(req == '0 && !edges.plain && !edges.filtered);
    if (past && !rst_was) begin
      `ASSUME(now == now_was + 1'b1);
      `ASSUME(ev_free >= free_was - (EV_AW + 1)'(wr_was));
      `ASSUME(young == {now[47:7] == '0, now[31:7] == '0, now[15:7] == '0});
    end
    if (past) begin
      `ASSUME(ev_free <= (EV_AW + 1)'(1 << EV_AW));
      if (edges.filtered) `ASSUME(edges.delay <= 7'd62);
      `ASSUME(edges.plain == ((edges.changed[C*S-1:0] & ~filtered) != '0) && edges.filtered == ((edges.changed[C*S-1:0] & filtered) != '0));
    end
  end
endmodule
