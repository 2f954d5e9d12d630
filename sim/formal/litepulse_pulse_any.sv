// SPDX-License-Identifier: BSD-2-Clause
// The pulse domain under anything that the crossing and the pins may do: any inputs, any bytes and launches, any words, each held until it
// is answered, streams of which any part is freed at any time, and resets of three cycles. Between two words lie four cycles of rest, or
// eight behind one that an event tells of; the crossing takes longer for its turns. See environment.sby.
//   SETUP  3: profile 0 and the receiver are set up first. 0: any words from the first one on
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

  logic           ev_wr, rx_wr;
  logic [EV_AW:0] ev_free, ev_left;
  logic [1:0]     rx_wword;
  logic [RING_AW-1:0] rx_free, rx_left;
  assign ev_left = ev_free - (EV_AW + 1)'(ev_wr);
  assign rx_left = rx_free - RING_AW'(rx_wr && rx_wword == 2'd3);
  always_comb assume (ev_freed <= (EV_AW + 1)'(1 << EV_AW) - ev_left && rx_freed <= ~rx_left);
  always_ff @(posedge clk) begin
    ev_free <= rst ? (EV_AW + 1)'(1 << EV_AW) : ev_left + ev_freed;
    rx_free <= rst ? '1 : rx_left + rx_freed;
  end
  initial begin
    ev_free = (EV_AW + 1)'(1 << EV_AW);
    rx_free = '1;
  end

  logic        req = 1'b0, done, err;
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
    if (req && done) begin
      req <= 1'b0;
      rest <= (err || addr == litepulse_map_pkg::CFG_COMMAND) ? 3'd7 : 3'd3;
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

  logic       valid = 1'b0, pop;
  logic [7:0] next;
  always_ff @(posedge clk) begin
    if (!valid || pop) {valid, next} <= {any_valid, any_byte};
    if (rst) valid <= 1'b0;
  end

  logic           ren, free1;
  logic [31:0]    rdata;
  logic [LQ_AW:0] avail = '0, avail_left;
  assign avail_left = avail - (LQ_AW + 1)'(free1);
  always_comb assume (lq_came <= (LQ_AW + 1)'(1 << LQ_AW) - avail_left);
  always_ff @(posedge clk) begin
    avail <= rst ? '0 : avail_left + lq_came;
    if (ren) rdata <= any_word;
  end

  litepulse_pulse #(.S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RING_AW(RING_AW), .LQ_AW(LQ_AW),
      .LATENCY_OUT(S == 1 ? 1 : 2), .LIN_ENTRIES(8)
  ) pulse (
      .clk, .rst, .rx_i(rx), .aux_i(aux),
      .ev_wr, .ev_free, .rx_wr, .rx_wword, .rx_free, .txb_valid(valid), .txb_none(any_none), .txb_data(next), .txb_pop(pop),
      .lq_avail(avail), .lq_rptr('0), .lq_ren(ren), .lq_rdata(rdata), .lq_free1(free1),
      .cfg_req(req), .cfg_addr(addr), .cfg_data(data), .cfg_stop(stop), .cfg_done(done), .cfg_err(err)
  );
endmodule
