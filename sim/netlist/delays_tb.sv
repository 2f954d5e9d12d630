// SPDX-License-Identifier: BSD-2-Clause
// Prints each change of the pin of pulse_58hz: its new level, the cycle, and how long after the edge of the clock at its pad.
//   PARAMETERS    macro: those of the example, #(...); a netlist has none
//   +period=PS    of the clock
//   +cycles=N     how many to run
`timescale 1ps / 1ps
`ifndef PARAMETERS
`define PARAMETERS
`endif
module delays_tb;
  logic clk = 1'b0;
  wire pulse;
  int period, cycles;
  int cycle = 0;
  time edge_at = 0;
  logic was = 1'bx;  // at first nothing is known about registers without a reset

  pulse_58hz `PARAMETERS dut (
      .clk(clk),
      .pulse(pulse)
  );

  initial begin
    if (!$value$plusargs("period=%d", period) || !$value$plusargs("cycles=%d", cycles)) $fatal(1, "period and cycles are needed");
    while (cycle < cycles) begin
      #(period / 2) clk = 1'b1;
      #(period - period / 2) clk = 1'b0;
    end
    $display("end");
    $finish;
  end
  always @(posedge clk) begin
    cycle = cycle + 1;
    edge_at = $time;
  end
  always @(pulse) begin
    if (was !== 1'bx) $display("pulse %b %0d %0d", pulse, cycle, $time - edge_at);
    was = pulse;
  end
endmodule
