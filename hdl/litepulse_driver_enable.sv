// SPDX-License-Identifier: BSD-2-Clause
// The driver-enable pin of an RS-485 transceiver: high from the lead before a launch to the lag after it.
// Latency: `de` one cycle after its reason, as `tx` in litepulse_line_tx.
//   S  samples per cycle, sample 0 first
module litepulse_driver_enable #(
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [15:0]  lag,    // ticks
    input  logic [S-1:0] lead,   // samples of this cycle in a lead window
    input  logic [S-1:0] busy,   // samples of this cycle in a launch
    output logic [S-1:0] de
);
  localparam int SL = $clog2(S);
  logic [15:0]  rest;  // ticks of lag left at sample 0
  logic [S-1:0] tail;

  generate
    if (S == 1) begin : gen_one  // one cell a bit
      // loaded in every cycle in which it does not count, so from the second cycle behind a launch on it is one more than the rest
      logic busy_was, count;
      assign tail = busy_was ? lag != 16'd0 : count && rest[15:1] != 15'd0;
      always_ff @(posedge clk) begin
        rest     <= count ? rest + {16{count}} : lag;
        count    <= tail && !busy && !rst;
        busy_was <= busy && !rst;
      end
    end else begin : gen_more
      // what was busy counts from the next cycle on: it comes late
      logic [S-1:0] busy_was;
      logic [2:0]   behind;     // samples behind the last busy one of the last cycle
      // verilator lint_off UNUSEDSIGNAL
      logic [2:0]   below;
      // verilator lint_on UNUSEDSIGNAL
      logic         over;       // the lag has ended, whatever `rest` says
      logic         ends, runs;
      // `ticks >= least` as a table: a comparison becomes a carry chain, which takes more cells and longer
      function automatic logic reaches(input logic [15:0] ticks, input int least);
        reaches = ticks[15:4] != 12'd0;
        for (int t = 0; t < 16; t++) reaches = reaches || (t >= least && ticks[3:0] == 4'(t));
      endfunction
      logic [15:0]  from;
      logic [15:0]  less;
      logic [S-1:0] reached;    // by the lag, if nothing is busy in this cycle
      always @* begin
        behind = 3'd0;
        for (int b = 0; b < S; b++) if (busy_was[b]) behind = 3'(S - 1 - b);
        from = (busy_was != '0) ? lag : rest;
        ends = over && busy_was == '0;
        runs = !ends;
        below = 3'd0 - behind;
        // less S + behind; its sign is known without the carry: the lag does not reach from the last sample on
        less = from + {{(15-SL){runs}}, runs && behind == 3'd0, below[SL-1:0] & {SL{runs}}};
        for (int s = 0; s < S; s++) begin
          reached[s] = 1'b0;
          for (int b = 0; b < S; b++) reached[s] = reached[s] || (behind == 3'(b) && reaches(from, s + b + 1));
          reached[s] = reached[s] && runs;
          tail[s] = reached[s];
          // An older lag no longer counts behind what is busy in this cycle: `lag` may have been lowered since.
          for (int b = 0; b < s; b++) tail[s] = tail[s] && !busy[b];
          // `busy` comes late: side by side, as a lag that reaches from one sample reaches from all behind it
          for (int b = 0; b < s; b++) tail[s] = tail[s] || (busy[b] && reaches(lag, s - b));
        end
      end
      always_ff @(posedge clk) begin
        rest <= less;
        over <= rst || !reached[S-1];
        busy_was <= busy & {S{!rst}};
      end
    end
  endgenerate

  always_ff @(posedge clk) de <= rst ? '0 : lead | busy | tail;

`ifdef FORMAL
`include "litepulse_driver_enable.svh"  // sim/formal
`endif
endmodule
