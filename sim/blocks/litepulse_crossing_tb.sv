// SPDX-License-Identifier: BSD-2-Clause
// The crossing, the store of received records and their two users in `sys`, as the core connects them: top level of their tests.
`include "litepulse_types.svh"
module litepulse_crossing_tb #(
    parameter int EV_AW   = 8,
    parameter int RX_AW   = 9,
    parameter int RING_AW = 6,
    parameter int TX_AW   = 9,
    parameter int LQ_AW   = 6,
    parameter int TIMEOUT = 8
) (
    input  logic                pulse_clk,
    input  logic                pulse_rst,
    input  ev_write_t           ev_write,
    output logic [EV_AW:0]      ev_free,
    input  rx_write_t           rx_write,
    output logic [RING_AW-1:0]  rx_free,
    output tx_head_t            tx_head,
    input  logic                tx_pop,
    output lq_head_t            lq_head,
    input  lq_read_t            lq_read,
    output cfg_request_t        cfg,
    input  cfg_answer_t         cfg_answer,
    input  pulse_state_t        state,
    input  logic                sys_clk,
    input  logic                sys_rst,
    input  logic                bus_stb,
    input  logic                bus_we,
    input  logic [14:2]         bus_adr,
    input  logic [31:0]         bus_dat_w,
    output logic [31:0]         bus_dat_r,
    output logic                bus_ack,
    output logic [7:0]          launch_accepted,
    output logic [7:0]          launch_refused,
    output logic [15:0]         tx_dropped,
    output logic [7:0]          config_applied,
    output logic [7:0]          config_refused,
    output logic [EV_AW:0]      ev_ready,
    output logic [RX_AW:0]      rx_ready,
    output logic [TX_AW:0]      tx_free,
    output logic [LQ_AW:0]      lq_free,
    output logic [7:0]          status,
    input  logic [EV_AW:0]      irq_ev_level,
    input  logic [RX_AW:0]      irq_rx_level,
    input  logic [11:0]         irq_ev_age,
    input  logic [11:0]         irq_ev_idle,
    input  logic [11:0]         irq_rx_age,
    input  logic [11:0]         irq_rx_idle,
    input  logic [1:0]          irq_unit,
    input  logic                irq_timed,
    input  logic [TX_AW:0]      irq_tx_low,
    input  logic [LQ_AW:0]      irq_lq_space,
    output logic                irq_ev,
    output logic                irq_rx,
    output logic                irq_tx,
    output logic                irq_lq,
    output logic                irq_drained,
    output logic                irq_fault
);
  logic turn;
  wire [1:0] stop = 2'd0;  // no watchdog
  wire stop_taken;
  logic [EV_AW:0] ev_nready;
  logic [RX_AW:0] rx_nready;
  logic [RX_AW:0] rx_nlimit;
  assign ev_ready = ~ev_nready;
  assign rx_ready = ~rx_nready;
  logic [LQ_AW:0] lq_nfree;
  assign lq_free = ~lq_nfree;
  logic [15:0] ev_position;
  logic ev_arrived;
  logic ev_free_stb;
  logic [EV_AW:0] ev_free_n;
  logic ev_ren;
  logic [EV_AW-1:0] ev_index;
  logic [1:0] ev_word;
  logic [31:0] ev_rdata;
  logic [15:0] rx_position;
  logic rx_arrived;
  logic rx_free_stb;
  logic [RX_AW:0] rx_free_n;
  logic rx_ren;
  logic [RX_AW-1:0] rx_index;
  logic rx_word;
  logic [31:0] rx_rdata;
  logic rx_idle, rx_room, rx_take, rx_fetch;
  logic [1:0] rx_part;
  logic [15:0] rx_fetched;
  logic tx_push;
  logic [7:0] tx_byte;
  logic lq_we;
  logic [1:0] lq_word;
  logic [31:0] lq_wdata;
  logic lq_commit;
  logic cfg_start;
  logic [5:0] cfg_held_addr;
  logic [31:0] cfg_held_data;
  logic cfg_held_stop;
  logic cfg_busy;
  logic cfg_answered;
  logic cfg_refused;
  logic snap_start;
  logic snap_stream;
  logic snap_busy;
  logic snap_ren;
  logic [3:0] snap_raddr;
  logic [31:0] snap_rdata;
  logic fault;

  litepulse_cdc #(
      .EV_AW  (EV_AW),
      .RING_AW(RING_AW),
      .TX_AW  (TX_AW),
      .LQ_AW  (LQ_AW)
  ) cdc (.*);

  litepulse_receive_store #(
      .RX_AW(RX_AW)
  ) receive_store (
      .clk(sys_clk),
      .rst(sys_rst),
      .*
  );

  litepulse_window #(
      .EV_AW(EV_AW),
      .RX_AW(RX_AW),
      .TX_AW(TX_AW),
      .LQ_AW(LQ_AW),
      .TIMEOUT(TIMEOUT)
  ) window (
      .clk(sys_clk),
      .rst(sys_rst),
      .*
  );

  litepulse_irq #(
      .EV_AW(EV_AW),
      .RX_AW(RX_AW),
      .TX_AW(TX_AW),
      .LQ_AW(LQ_AW)
  ) irq (
      .clk(sys_clk),
      .rst(sys_rst),
      .tx_idle(status[0]),
      .*
  );
endmodule
