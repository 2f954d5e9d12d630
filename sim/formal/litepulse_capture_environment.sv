// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_capture takes for granted of litepulse_config: a word that changes the filter is announced, and after a reset nothing is
// filtered.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_capture_environment #(
    parameter bit ASSUMED = `ASSUMED
) (
    input logic        clk,
    input logic        rst,
    input capture_settings_t settings
);
  logic        past = 1'b0, rst_was;
  logic [15:0] en_was;
  logic [5:0]  len_was;
  always_ff @(posedge clk) {past, rst_was, en_was, len_was} <= {1'b1, rst, settings.filt_en, settings.filt_len};
  `ENVIRONMENT begin
    if (settings.filt_len_new) `ASSUME(settings.filt_new || !past);
    if (past && rst_was) `ASSUME(settings.filt_en == 16'd0 && settings.filt_len == 6'd1 && !settings.filt_new);
    if (past && !rst_was) `ASSUME((settings.filt_new || settings.filt_en == en_was) && (settings.filt_len_new || settings.filt_len == len_was));
  end
endmodule
