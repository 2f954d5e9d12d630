// SPDX-License-Identifier: BSD-2-Clause
// The way of an ECP5 to the clock pin of its configuration flash. Swallows the first three pulses, as other families are known to do
// after configuration. `pin` is read by the testbench. Latency: none.
module USRMCLK (
    input logic USRMCLKI,
    input logic USRMCLKTS
);
  logic [1:0] swallowed = '0;
  wire pin = USRMCLKI && !USRMCLKTS && swallowed == 2'd3;

  always_ff @(negedge USRMCLKI) if (swallowed != 2'd3) swallowed <= swallowed + 2'd1;
endmodule
