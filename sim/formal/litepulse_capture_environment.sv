// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_capture takes for granted of litepulse_config: a word that changes the filter is announced, and after a reset nothing is
// filtered.
`include "litepulse_environment.svh"
module litepulse_capture_environment #(
    parameter bit ASSUMED = `ASSUMED
) (
    input logic        clk,
    input logic        rst,
    input logic [15:0] filt_en,
    input logic        filt_new,
    input logic        filt_len_new,
    input logic [5:0]  filt_len
);
  logic        past = 1'b0, rst_was;
  logic [15:0] en_was;
  logic [5:0]  len_was;
  always_ff @(posedge clk) {past, rst_was, en_was, len_was} <= {1'b1, rst, filt_en, filt_len};
  `ENVIRONMENT begin
    if (filt_len_new) `ASSUME(filt_new || !past);
    if (past && rst_was) `ASSUME(filt_en == 16'd0 && filt_len == 6'd1 && !filt_new);
    if (past && !rst_was) `ASSUME((filt_new || filt_en == en_was) && (filt_len_new || filt_len == len_was));
  end
endmodule
