// SPDX-License-Identifier: BSD-2-Clause
// Looks at the pin of pulse_58hz: the first four pulses begin where they should, to the cycle, and are 12,000 cycles long.
`timescale 1ns / 1ps
module pulse_58hz_tb;
  logic clk = 1'b0, pulse, was = 1'b0;
  always #41.667 clk = !clk;

  pulse_58hz dut (
      .clk(clk),
      .pulse(pulse)
  );

  int cycle = 0, first = 0, rose = 0, pulses = 0, wrong = 0;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    was <= pulse;
    if (pulse && !was) begin
      if (pulses == 0) first <= cycle;
      else if (cycle - first != 206896 * pulses + 16 * pulses / 29) begin
        $display("pulse %0d began %0d cycles after the first one", pulses, cycle - first);
        wrong <= wrong + 1;
      end
      rose <= cycle;
      pulses <= pulses + 1;
    end
    if (!pulse && was && cycle - rose != 12000) begin
      $display("pulse %0d was %0d cycles long", pulses - 1, cycle - rose);
      wrong <= wrong + 1;
    end
    if (pulses == 4 && !pulse && !was) begin
      if (wrong != 0) $fatal(1, "%0d mistakes", wrong);
      $display("passed: pulses began %0d cycles after the first one", rose - first);
      $finish;
    end
    if (cycle == 1_000_000) $fatal(1, "only %0d pulses", pulses);
  end
endmodule
