// SPDX-License-Identifier: BSD-2-Clause
// The pulse domain under anything that the crossing and the pins may do: any inputs, any bytes and launches, any words, each held until it
// is answered, streams of which any part is freed at any time, and resets of three cycles. Between two words lie four cycles of rest, or
// eight behind one that an event reports; the crossing takes longer for its turns. See
// environment.sby.
//   SETUP  3: profile 0 and the receiver are set up first. 0: any words from the first one on
`include "litepulse_types.svh"
module litepulse_pulse_any #(
    parameter int S = 1,
    parameter int SETUP = 3
) (
    input logic clk
);
  localparam int INPUTS = 1, EV_AW = 8, RING_AW = 6, LQ_AW = 6;

  (* anyseq *) logic          any_rst, any_req, any_stop, any_valid, any_none;
  (* anyseq *) logic [5:0]    any_addr;
  (* anyseq *) logic [31:0]   any_data, any_word;
  (* anyseq *) logic [7:0]    any_byte;
  (* anyseq *) logic [S-1:0]  rx, aux;
  (* anyseq *) logic [EV_AW:0] ev_freed;
  (* anyseq *) logic [RING_AW-1:0] rx_freed;
  (* anyseq *) logic [LQ_AW:0] lq_came;

  logic       rst = 1'b1;
  logic [1:0] rst_was = 2'b00;   // in the last cycles
  always_ff @(posedge clk) begin
    rst     <= (rst && rst_was != 2'b11) || (!rst && any_rst);
    rst_was <= {rst_was[0], rst};
  end

  ev_write_t      ev_write;
  rx_write_t      rx_write;
  logic [EV_AW:0] ev_free, ev_left;
  logic [RING_AW-1:0] rx_free, rx_left;
  assign ev_left = ev_free - (EV_AW + 1)'(ev_write.valid);
  assign rx_left = rx_free - RING_AW'(rx_write.valid && rx_write.word == 2'd3);
  always_comb assume (ev_freed <= (EV_AW + 1)'(1 << EV_AW) - ev_left && rx_freed <= ~rx_left);
  always_ff @(posedge clk) begin
    ev_free <= rst ? (EV_AW + 1)'(1 << EV_AW) : ev_left + ev_freed;
    rx_free <= rst ? '1 : rx_left + rx_freed;
  end
  initial begin
    ev_free = (EV_AW + 1)'(1 << EV_AW);
    rx_free = '1;
  end

  logic        req = 1'b0;
  cfg_request_t cfg;
  cfg_answer_t cfg_answer;
  logic [2:0]  rest = 3'd0;
  logic [1:0]  words = 2'd0;
  logic        stop = 1'b0;
  logic [5:0]  addr, first_addr;
  logic [31:0] data, first_data;
  always_comb begin
    case (words)
      2'd0:    {first_addr, first_data} = {litepulse_map_pkg::CFG_PROFILE0_FORMAT, 32'h30};
      2'd1:    {first_addr, first_data} = {litepulse_map_pkg::CFG_PROFILE0_PERIOD, 32'(4 * 256 * S + 96)};
      default: {first_addr, first_data} = {litepulse_map_pkg::CFG_LINE, 32'h8};
    endcase
  end
  always_ff @(posedge clk) begin
    if (req && cfg_answer.done) begin
      req <= 1'b0;
      rest <= (cfg_answer.refused || addr == litepulse_map_pkg::CFG_COMMAND) ? 3'd7 : 3'd3;
      if (words != 2'(SETUP)) words <= words + 2'd1;
    end else if (rest != 3'd0) begin
      rest <= rest - 3'd1;
    end else if (!req && (words < 2'(SETUP) || any_req)) begin
      req <= 1'b1;
      stop <= any_stop;
      {addr, data} <= (words < 2'(SETUP)) ? {first_addr, first_data} : {any_addr, any_data};
    end
    if (rst) {req, rest, words} <= 6'd0;
  end

  assign cfg.valid = req;
  assign cfg.addr  = addr;
  assign cfg.data  = data;
  assign cfg.stop  = stop;

  logic       valid = 1'b0, pop;
  logic [7:0] next;
  always_ff @(posedge clk) begin
    if (!valid || pop) {valid, next} <= {any_valid, any_byte};
    if (rst) valid <= 1'b0;
  end
  tx_head_t tx_head;
  assign tx_head.valid = valid;
  assign tx_head.none  = any_none;
  assign tx_head.data  = next;

  lq_read_t       lq_read;
  logic [31:0]    rdata;
  logic [LQ_AW:0] avail = '0, avail_left;
  assign avail_left = avail - (LQ_AW + 1)'(lq_read.free);
  always_comb assume (lq_came <= (LQ_AW + 1)'(1 << LQ_AW) - avail_left);
  always_ff @(posedge clk) begin
    avail <= rst ? '0 : avail_left + lq_came;
    if (lq_read.en) rdata <= any_word;
  end
  lq_head_t lq_head;
  assign lq_head.avail = 16'(avail);
  assign lq_head.data  = rdata;

  litepulse_pulse #(.S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RING_AW(RING_AW), .LQ_AW(LQ_AW),
      .LATENCY_OUT(S == 1 ? 1 : 2), .LIN_ENTRIES(8)
  ) pulse (
      .clk, .rst, .rx_i(rx), .aux_i(aux),
      .ev_write, .ev_free, .rx_write, .rx_free, .tx_head, .tx_pop(pop), .lq_head, .lq_read, .cfg, .cfg_answer
  );
endmodule
