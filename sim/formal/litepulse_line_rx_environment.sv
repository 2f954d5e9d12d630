// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_line_rx takes for granted.
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_line_rx_environment #(
    parameter bit ASSUMED = `ASSUMED,
    parameter int S = 1
) (
    input logic                  clk,
    input logic                  rst,
    input logic [63-$clog2(S):0] now,
    input logic [2:0]            young,
    input logic [35:0]           period,
    input logic [S-1:0]          cond_line,
    input logic [S-1:0]          cond_next,
    input logic [6:0]            line_delay,
    input logic                  enable,
    input frame_format_t         format,
    input logic                  invert
);
  logic                  past = 1'b0;
  logic [1:0]            fresh = 2'b11;    // cycles behind a reset
  logic [63-$clog2(S):0] now_was;
  logic [S-1:0]          next_was;
  logic [43:0]           profile, profile_was;
  assign profile = {invert, format.stop, format.parity, format.data_bits, period};
  always_ff @(posedge clk) begin
    past        <= 1'b1;
    fresh       <= {fresh[0], rst};
    now_was     <= now;
    next_was    <= cond_next;
    profile_was <= profile;
  end
  `ENVIRONMENT begin
    // litepulse_config: nothing is enabled after a reset; the profile stands still while it is used
    if (fresh != 2'b00) `ASSUME(!enable || !past);
    if (past && enable) `ASSUME(profile == profile_was);
    // litepulse_launch_memory, litepulse_config: what was taken for a profile
    if (enable) `ASSUME(period >= 36'(4 * S * 256) && format.stop != 2'd3 && format.parity <= litepulse_map_pkg::PARITY_SPACE);
    // litepulse_timebase, litepulse_capture
    if (past && !fresh[0]) `ASSUME(now == now_was + 1'b1);
    if (past && !fresh[0] && S > 1) `ASSUME(cond_line == next_was);
    if (past && fresh == 2'b00) `ASSUME(young == {now[47:7] == '0, now[31:7] == '0, now[15:7] == '0});
    if (past) `ASSUME(line_delay < 7'd64);
  end
endmodule
