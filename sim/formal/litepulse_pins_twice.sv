// SPDX-License-Identifier: BSD-2-Clause
// Promise 7 as two copies: the pulse domain twice, with the same inputs, the same settings of the line and the same things to send, under
// different traffic. Both streams have room or not as they like; words that must not matter are written at any time in either, or not;
// a timed launch comes earlier or later, in time in both. The pins must not tell the copies apart in any cycle. See twice.sby.
`include "litepulse_types.svh"
module litepulse_pins_twice #(
    parameter int S = 1,
    parameter int WHAT = 0,     // 0: a launch of the queue; 1: the responder; 2: bytes
    parameter int FREE = 7,     // what may be anything: 1: the format; 2: lead and lag; 4: filter, edges, once or again
    parameter int LMIN = 64,    // LMIN_CYCLES of docs/core.md
    parameter int SHOW = 0      // 1: one scene with a frame instead, 2: with a pulse; that the pins never move is asserted there, and fails
) (
    input logic clk
);
  localparam int SL = $clog2(S);
  localparam int SETUP = (WHAT == 1) ? 9 : 4;   // words that both get first ...
  localparam int READY = 9 * SETUP;                                // ... and the cycle in which they have them
  localparam int LATER = 8;                                        // cycles by which the launch may come later

  localparam logic [8:0] NEVER = 9'h1ff;

  // what both see: a reset of three cycles, any inputs
  logic [8:0] cycle = 9'd0;
  logic       rst;
  (* anyseq *) logic [S-1:0]  rx, aux;
  (* anyconst *) logic [31:0] delay;
  wire [31:0] line = 32'h8;                            // received, too
  (* anyconst *) logic [31:0] any_format, any_driver, any_filter, any_trigger;
  wire [31:0] format = (FREE & 1) != 0 ? any_format : 32'h30;   // of profile 0; else 8N1
  wire [31:0] driver = (FREE & 2) != 0 ? any_driver : 32'd0;    // lead and lag
  wire [31:0] filter = (FREE & 4) != 0 ? any_filter : 32'd0;    // of the responder's input ...
  wire [31:0] trigger = (FREE & 4) != 0 ? any_trigger : 32'h301;  // ... and when it answers; else both edges of the input, once
  wire [31:0] lead = {16'd0, driver[litepulse_map_pkg::DRIVER_ENABLE_LEAD_LSB +: 16]};
  wire [31:0] period = 32'(4 * 256 * S + 96);          // short bits, so that much happens within the depth
  (* anyconst *) logic [31:0] word, width;      // the launch
  (* anyconst *) logic [31:0] tick;             // for the queue
  (* anyconst *) logic [8:0]  come_a, come_b;   // cycles in which the queue has it
  (* anyconst *) logic [8:0]  tty;              // cycle from which there are bytes to send
  (* anyconst *) logic [7:0]  bytes;
  assign rst = cycle < 9'd3;
  always_ff @(posedge clk) cycle <= cycle + 9'd1;

  always_comb begin
    assume (word[11:10] != 2'd3 && word[9:8] == 2'd0);
    assume (word[11:10] != litepulse_map_pkg::LAUNCH_BREAK || word[7:0] != 8'd0);
    assume (width != 32'd0);
    assume (delay[31:24] == 8'd0);
    assume (format[3:0] == 4'd0 && format[31:12] == 20'd0);
    assume (format[litepulse_map_pkg::PROFILE_FORMAT_PARITY_LSB +: 3] <= litepulse_map_pkg::PARITY_SPACE);
    assume (format[litepulse_map_pkg::PROFILE_FORMAT_STOP_LSB +: 2] != 2'd3);
    assume (lead < 32'(4 * S) && driver[litepulse_map_pkg::DRIVER_ENABLE_LAG_LSB +: 16] < 16'd8);
    // a channel or none, any number of samples up to 4; edges of the input or of the line, once or again and again
    assume (filter[15:2] == 14'd0 && filter[31:16] <= 16'd4);
    assume (trigger[3:0] == 4'(litepulse_map_pkg::TRIGGER_EDGE) && trigger[7:5] == 3'd0 && trigger[31:13] == 19'd0);
    assume (!trigger[litepulse_map_pkg::RESP_TRIGGER_EXCLUSIVE_LSB]);
    // in time in both
    if (WHAT != 0) assume (come_a == NEVER && come_b == NEVER);
    else assume (come_a >= 9'(READY) && come_b >= 9'(READY));
    if (WHAT == 0) begin
      assume (come_a < 9'(READY + LATER) && come_b < 9'(READY + LATER) && tick < 32'((READY + LATER + LMIN + 8) * S));
      assume ({23'd0, come_a} + 32'(LMIN) <= ((tick - lead) >> SL) && {23'd0, come_b} + 32'(LMIN) <= ((tick - lead) >> SL));
    end
    assume (tty >= 9'(READY));
    if (WHAT != 2) assume (tty == NEVER);
    if (SHOW != 0) begin
      assume (format == 32'h30 && driver == 32'd0 && filter == 32'd0 && trigger == 32'h301);
      assume (width == 32'd3 && delay == 32'(9 * S) && word[9:0] == 10'h055 && word[31:12] == '0);
      assume (word[11:10] == (SHOW == 2 ? litepulse_map_pkg::LAUNCH_PULSE : litepulse_map_pkg::LAUNCH_FRAME));
      assume (come_a == (WHAT == 0 ? 9'(READY + 3) : NEVER) && come_b == (WHAT == 0 ? 9'(READY) : NEVER));
      assume (tick == 32'((READY + 3 + LMIN) * S) && tty == (WHAT == 2 ? 9'(READY + 3) : NEVER) && bytes == 8'h55);
      assume (rx == {S{1'b1}} && aux == {S{cycle > 9'(READY + 12)}});
    end
  end

  logic [S-1:0] tx_a, tx_b, de_a, de_b;
  logic         oe_a, oe_b;
  logic [5:0]   words_a, words_b;
  litepulse_pins_once #(.S(S), .WHAT(WHAT), .SETUP(SETUP), .SHOW(SHOW != 0), .TRAFFIC(1'b1)) a (
      .clk, .rst, .cycle, .rx, .aux, .format, .period, .driver, .line, .filter, .trigger, .delay, .word, .width, .tick,
      .come(come_a), .tty, .bytes,
      .tx(tx_a), .oe(oe_a), .de(de_a), .words(words_a));
  litepulse_pins_once #(.S(S), .WHAT(WHAT), .SETUP(SETUP), .SHOW(SHOW != 0)) b (
      .clk, .rst, .cycle, .rx, .aux, .format, .period, .driver, .line, .filter, .trigger, .delay, .word, .width, .tick,
      .come(come_b), .tty, .bytes,
      .tx(tx_b), .oe(oe_b), .de(de_b), .words(words_b));

  generate
    if (SHOW == 0) begin : gen_same
      always_comb begin
        if (cycle != 9'd0) assert (tx_a == tx_b && de_a == de_b && oe_a == oe_b);
        // all that follows speaks of a core that is set up
        if (cycle == 9'(READY)) assert (words_a == 6'(SETUP) && words_b == 6'(SETUP));
      end
    end else begin : gen_show
      // it goes out, under traffic in copy a: the start of a frame, or the end of a pulse
      logic [S-1:0] tx_was;
      logic         rises, falls;
      assign rises = tx_was == {S{1'b0}} && tx_a == {S{1'b1}};
      assign falls = tx_was == {S{1'b1}} && tx_a == {S{1'b0}};
      always_ff @(posedge clk) tx_was <= tx_a;
      always_comb begin
        if (cycle > 9'(READY)) begin
          if (SHOW == 2) assert (!(rises && words_a > words_b));
          else assert (!(falls && words_a > 6'(SETUP + 1) && words_b == 6'(SETUP)));
        end
      end
    end
  endgenerate
endmodule

// One of the copies, with what the crossing offers it.
module litepulse_pins_once #(
    parameter int S = 1,
    parameter int WHAT = 0,
    parameter int SETUP = 4,
    parameter bit SHOW = 1'b0,
    parameter bit TRAFFIC = 1'b0
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [8:0]   cycle,
    input  logic [S-1:0] rx,
    input  logic [S-1:0] aux,
    input  logic [31:0]  format,
    input  logic [31:0]  period,
    input  logic [31:0]  driver,
    input  logic [31:0]  line,
    input  logic [31:0]  filter,
    input  logic [31:0]  trigger,
    input  logic [31:0]  delay,
    input  logic [31:0]  word,
    input  logic [31:0]  width,
    input  logic [31:0]  tick,
    input  logic [8:0]   come,
    input  logic [8:0]   tty,
    input  logic [7:0]   bytes,
    output logic [S-1:0] tx,
    output logic         oe,
    output logic [S-1:0] de,
    output logic [5:0]   words     // answered
);
  localparam int INPUTS = 1, EV_AW = 8, RING_AW = 6, LQ_AW = 6;

  // streams: any room at any time
  (* anyseq *) logic [EV_AW:0] ev_free;
  (* anyseq *) logic [RING_AW-1:0] rx_free;

  // configuration: the set-up, then any word that must not matter, held until it is answered, a cycle of rest between two
  (* anyseq *) logic        any_req;
  (* anyseq *) logic [5:0]  any_addr;
  (* anyseq *) logic [31:0] any_data;
  logic        req;
  cfg_answer_t cfg_answer;
  logic [5:0]  addr, first_addr;
  logic [31:0] data, first_data;
  always_comb begin
    case (words)
      6'd0:    {first_addr, first_data} = {litepulse_map_pkg::CFG_PROFILE0_FORMAT, format};
      6'd1:    {first_addr, first_data} = {litepulse_map_pkg::CFG_PROFILE0_PERIOD, period};
      6'd2:    {first_addr, first_data} = {litepulse_map_pkg::CFG_LINE, line};
      6'd3:    {first_addr, first_data} = {litepulse_map_pkg::CFG_DRIVER_ENABLE, driver};
      default: {first_addr, first_data} = {litepulse_map_pkg::CFG_EVENT_MASK, 32'd0};
    endcase
    if (WHAT == 1) begin
      case (words)
        6'd2:    {first_addr, first_data} = {litepulse_map_pkg::CFG_FILTER, filter};
        6'd4:    {first_addr, first_data} = {litepulse_map_pkg::CFG_RESP_TRIGGER, trigger};
        6'd5:    {first_addr, first_data} = {litepulse_map_pkg::CFG_RESP_DELAY, delay};
        6'd6:    {first_addr, first_data} = {litepulse_map_pkg::CFG_RESP_WIDTH, width};
        6'd7:    {first_addr, first_data} = {litepulse_map_pkg::CFG_RESP_LAUNCH, word};
        6'd8:    {first_addr, first_data} = {litepulse_map_pkg::CFG_RESP_ARM, 32'd1};
        default: ;
      endcase
    end
    assume (any_addr == litepulse_map_pkg::CFG_EVENT_MASK || any_addr == litepulse_map_pkg::CFG_CAPTURE_EDGES
        || (any_addr[5:3] == 3'd0 && any_addr[2:1] != 2'd0)    // other profiles
        || (any_addr == litepulse_map_pkg::CFG_COMMAND && any_data[1:0] == 2'd0)   // a snapshot
        || (any_addr[5:4] == 2'd1 && any_addr != litepulse_map_pkg::CFG_TRAIN_COMMAND)
        || (any_addr[5:3] == 3'd4 && any_addr != litepulse_map_pkg::CFG_RESP_ARM && WHAT != 1)
        || any_addr > litepulse_map_pkg::CFG_RESP_ARM);
    if (SHOW) begin
      assume (any_req == TRAFFIC && any_addr == litepulse_map_pkg::CFG_EVENT_MASK && any_data == 32'd0);
      assume (ev_free == 9'd99 && rx_free == 6'd59);
    end
  end
  initial {req, words} = 7'd0;
  always_ff @(posedge clk) begin
    if (req && cfg_answer.done) begin
      req <= 1'b0;
      if (words != '1) words <= words + 6'd1;
    end else if (!req && (words < 6'(SETUP) || (any_req && cycle >= 9'(9 * SETUP)))) begin
      req <= 1'b1;
      {addr, data} <= (words < 6'(SETUP)) ? {first_addr, first_data} : {any_addr, any_data};
    end
    if (rst) {req, words} <= 7'd0;
  end
  cfg_request_t cfg;
  assign cfg.valid = req;
  assign cfg.addr  = addr;
  assign cfg.data  = data;
  assign cfg.stop  = 1'b0;

  // the launch: there from cycle `come` on until it is freed
  logic             gone;
  lq_read_t         lq_read;
  logic [31:0]      rdata;
  logic [LQ_AW:0]   avail;
  always_ff @(posedge clk) begin
    avail <= (LQ_AW + 1)'(cycle >= come && !gone && !lq_read.free);
    gone  <= !rst && (gone || lq_read.free);
    if (lq_read.en) begin
      case (lq_read.word)
        2'd0: rdata <= tick;
        2'd1: rdata <= 32'd0;
        2'd2: rdata <= width;
        default: rdata <= word;
      endcase
    end
    if (rst) avail <= '0;
  end
  lq_head_t lq_head;
  assign lq_head.avail = 16'(avail);
  assign lq_head.data  = rdata;

  // bytes, one after the other
  logic       valid, pop;
  logic [7:0] next;
  always_ff @(posedge clk) begin
    valid <= cycle >= tty && !pop && !rst;
    if (pop) next <= next + 8'd1;
    if (rst) next <= bytes;
  end
  tx_head_t tx_head;
  assign tx_head.valid = valid;
  assign tx_head.none  = 1'b0;
  assign tx_head.data  = next;

  litepulse_pulse #(.S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RING_AW(RING_AW), .LQ_AW(LQ_AW)) pulse (
      .clk, .rst, .tx_o(tx), .tx_oe(oe), .de_o(de), .rx_i(rx), .aux_i(aux),
      .ev_free, .rx_free, .tx_head, .tx_pop(pop), .lq_head, .lq_read, .cfg, .cfg_answer
  );
endmodule
