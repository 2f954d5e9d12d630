// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_lin takes for granted: litepulse_line_rx gives bytes at least 16 cycles apart; while the slave is enabled, so with bits of 64
// cycles or more, a break has no good byte in the 32 cycles before it, nor one whose frame has not ended, and no good 0x55 in the 16 cycles
// behind it: that byte has marks in its last three bits. (A 0x00 whose stop bit is noise may come there.)
// litepulse_responder keeps the byte it was given, counts only from the end of a frame that was a hit, and launches only behind that; a
// word is held until it is answered. For the proof also the cycles in which no byte may come (`rest`), no break (`quiet`), no good 0x55
// behind a break (`after`).
`include "litepulse_environment.svh"
`include "litepulse_types.svh"
module litepulse_lin_environment #(
    parameter bit ASSUMED = `ASSUMED
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        cfg_req,
    input  logic [1:0]  cfg_addr,
    input  logic [31:0] cfg_data,
    input  logic        cfg_done,
    input  logic        byte_stb,
    input  line_events_t line_events,
    input  logic [7:0]  byte_data,
    input  logic        break_stb,
    input  logic        enable,
    input  logic        counting,
    input  logic        launched,
    input  logic        hit,
    input  logic        waiting,     // the module's own: the last byte's frame has not ended
    input  logic        data_set,
    input  logic [7:0]  data_next,
    input  logic [7:0]  data,
    output logic [3:0]  rest,
    output logic [5:0]  quiet,
    output logic [3:0]  after
);
  localparam int APART = 16;
  localparam int BEFORE_BREAK = 32;
  logic        past = 1'b0, rst_was, requested, enable_was, counting_was, triggered;
  logic [7:0]  data_was;
  logic [33:0] word;
  always_ff @(posedge clk) begin
    past         <= 1'b1;
    rst_was      <= rst;
    requested    <= cfg_req && !cfg_done && !rst;
    word         <= {cfg_addr, cfg_data};
    enable_was   <= enable;
    counting_was <= counting;
    triggered    <= line_events.byte_end && hit;
    data_was     <= (data_set && enable) ? data_next : data;
    quiet        <= rst ? 6'd0 : (byte_stb && line_events.byte_ok) ? 6'(BEFORE_BREAK) : (quiet == 6'd0) ? 6'd0 : quiet - 6'd1;
    after        <= rst ? 4'd0 : break_stb ? 4'(APART - 1) : (after == 4'd0) ? 4'd0 : after - 4'd1;
    rest         <= rst ? 4'd0 : byte_stb ? 4'(APART - 1) : (rest == 4'd0) ? 4'd0 : rest - 4'd1;
  end
  `ENVIRONMENT begin
    if (past && !rst) begin
      if (byte_stb) `ASSUME(rest == 4'd0);
      if (enable && byte_stb && line_events.byte_ok && byte_data == 8'h55) `ASSUME(after == 4'd0 && !break_stb);
      if (enable && break_stb) `ASSUME(quiet == 6'd0 && !waiting);
      if (requested) `ASSUME(cfg_req && {cfg_addr, cfg_data} == word);
      if (cfg_req) `ASSUME(cfg_addr != 2'd3);
      if (enable_was) `ASSUME(data == data_was || rst_was);
      if (enable && launched) `ASSUME(!waiting && !counting);
      if (enable && enable_was && counting && !rst_was) `ASSUME(counting_was || triggered);
    end
  end
endmodule
