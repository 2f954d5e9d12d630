// SPDX-License-Identifier: BSD-2-Clause
// The crossing, the store of received records and their two users in `sys`, as the core connects them: top level of their tests.
`include "litepulse_types.svh"
module litepulse_crossing_tb #(
    parameter int EV_AW   = 8,
    parameter int NEAR_AW = EV_AW,
    parameter int RX_AW   = 9,
    parameter int RING_AW = 6,
    parameter int TX_AW   = 9,
    parameter int LQ_AW   = 6,
    parameter int TIMEOUT = 8
) (
    input  logic                pulse_clk,
    input  logic                pulse_rst,
    input  ev_write_t           ev_write,
    output logic [NEAR_AW:0]    ev_free,
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
    input  bus_request_t        bus,
    output bus_answer_t         bus_answer,
    output window_counts_t      counts,
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
  logic turn, fault, stop_taken;
  wire [1:0] stop = 2'd0;  // no watchdog
  ev_read_t ev_read;
  ev_records_t ev_records;
  rx_fetch_t rx_fetch;
  rx_fetched_t rx_fetched;
  rx_read_t rx_read;
  rx_records_t rx_records;
  tx_write_t tx_write;
  lq_write_t lq_write;
  logic [LQ_AW:0] lq_nfree;
  cfg_request_t cfg_write;
  cfg_state_t cfg_state;
  snap_request_t snap_request;
  snap_t snap;
  assign ev_ready = ~ev_records.nready[EV_AW:0];
  assign rx_ready = ~rx_records.nready[RX_AW:0];
  assign lq_free  = ~lq_nfree;

  litepulse_cdc #(
      .EV_AW  (EV_AW),
      .NEAR_AW(NEAR_AW),
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
      .ev_nready(ev_records.nready[EV_AW:0]),
      .ev_arrived(ev_records.arrived),
      .rx_nready(rx_records.nready[RX_AW:0]),
      .rx_arrived(rx_records.arrived),
      .tx_idle(status[0]),
      .*
  );
endmodule
