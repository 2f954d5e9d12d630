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
  logic [15:0]  rest;  // ticks of lag left at sample 0
  logic [15:0]  rest_next;
  logic [S-1:0] tail;

  always_comb begin
    rest_next = (rest > 16'(S)) ? rest - 16'(S) : 16'd0;
    for (int s = 0; s < S; s++) begin
      tail[s] = rest > 16'(s);
      for (int b = 0; b < S; b++) begin
        if (b < s && busy[b]) tail[s] = lag >= 16'(s - b);
      end
    end
    for (int b = 0; b < S; b++) begin
      if (busy[b]) rest_next = (lag > 16'(S - 1 - b)) ? lag - 16'(S - 1 - b) : 16'd0;
    end
  end

  always_ff @(posedge clk) begin
    rest <= rest_next;
    de   <= lead | busy | tail;
    if (rst) begin
      rest <= 16'd0;
      de   <= '0;
    end
  end

`ifdef FORMAL
`include "litepulse_driver_enable.svh"  // sim/formal
`endif
endmodule
