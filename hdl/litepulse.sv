// SPDX-License-Identifier: BSD-2-Clause
// LitePulse: UART, pulse generator and timestamp unit whose every edge has a known tick. Wiring only; what it does is in docs/core.md.
// Two clock domains: `pulse` (pins, time) and `sys` (bus); their resets are asserted together for at least 4 cycles of the slower one.
//   S            samples per cycle: 1, 2, 4, 8       INPUTS   aux inputs; (INPUTS + 1) * S <= 16
//   EV_AW, RX_AW, TX_AW, LQ_AW  log2 of the depths: events, received bytes, bytes to send, launches
//   LATENCY_IN   cycles from a sampling instant of the PHY to the cycle that shows the sample, less one
//   LATENCY_OUT  cycles from the decision to the pin, of which one is the core's output register
//   START_CYCLE  the time after reset, in cycles: 0, but tests start it shortly before the tick count carries into its upper bits
module litepulse #(
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6,
    parameter int LATENCY_IN = 1,
    parameter int LATENCY_OUT = 1,
    parameter logic [63:0] START_CYCLE = 64'd0
) (
    input  logic                pulse_clk,
    input  logic                pulse_rst,
    // PHY; sample 0 is the earliest, aux channel c sample s at bit c*S + s
    output logic [S-1:0]        tx_o,
    output logic                tx_oe,
    output logic [S-1:0]        de_o,
    input  logic [S-1:0]        rx_i,
    input  logic [INPUTS*S-1:0] aux_i,

    input  logic                sys_clk,
    input  logic                sys_rst,
    // window
    input  logic                bus_stb,
    input  logic                bus_we,
    input  logic [14:2]         bus_adr,
    input  logic [31:0]         bus_dat_w,
    output logic [31:0]         bus_dat_r,
    output logic                bus_ack,
    // registers
    output logic [EV_AW:0]      ev_ready,
    output logic [RX_AW:0]      rx_ready,
    output logic [TX_AW:0]      tx_free,
    output logic [LQ_AW:0]      lq_free,
    output logic [7:0]          launch_accepted,
    output logic [7:0]          launch_refused,
    output logic [15:0]         tx_dropped,
    output logic [7:0]          config_applied,
    output logic [7:0]          config_refused,
    output logic [7:0]          status,
    // interrupts
    input  logic [EV_AW:0]      irq_ev_level,
    input  logic [RX_AW:0]      irq_rx_level,
    input  logic [7:0]          irq_ev_age,
    input  logic [7:0]          irq_ev_idle,
    input  logic [7:0]          irq_rx_age,
    input  logic [7:0]          irq_rx_idle,
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
  // longer than the longest answer: an adjust of the train may have to wait for the de lead to end
  localparam int BUS_TIMEOUT = 17;  // log2 of sys cycles

  // crossing: streams, bytes, launches, configuration
  logic             ev_wr, rx_wr, txb_valid, txb_none, txb_pop, lq_ren, lq_free1, cfg_req, cfg_done, cfg_err, fault_p, ev_gap;
  logic [127:0]     ev_wdata;
  logic [63:0]      rx_wdata, now_tick;
  logic [EV_AW:0]   ev_free, ev_nready;
  logic [LQ_AW:0]   lq_nfree;
  logic [RX_AW:0]   rx_free, rx_nready, rx_nlimit;
  logic [7:0]       txb_data, status_p;
  logic [LQ_AW:0]   lq_avail;
  logic [LQ_AW-1:0] lq_rptr;
  logic [LQ_AW+1:0] lq_raddr;
  logic [31:0]      lq_rdata, cfg_data, ev_lost, rx_lost;
  logic [5:0]       cfg_addr;
  // crossing, sys side
  logic [15:0]      ev_position, rx_position;
  logic             turn, ev_arrived, ev_free_stb, ev_ren, rx_arrived, rx_free_stb, rx_ren, rx_word, tx_push, lq_we, lq_commit;
  logic [EV_AW:0]   ev_free_n;
  logic [RX_AW:0]   rx_free_n;
  logic [EV_AW-1:0] ev_index;
  logic [RX_AW-1:0] rx_index;
  logic [1:0]       ev_word, lq_word;
  logic [31:0]      ev_rdata, rx_rdata, lq_wdata, cfg_held_data, snap_rdata;
  logic [7:0]       tx_byte;
  logic             cfg_start, cfg_busy, cfg_answered, cfg_refused, snap_start, snap_stream, snap_busy, snap_ren, fault;
  logic [5:0]       cfg_held_addr;
  logic [3:0]       snap_raddr;

  litepulse_pulse #(
      .S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RX_AW(RX_AW), .LQ_AW(LQ_AW), .LATENCY_IN(LATENCY_IN), .LATENCY_OUT(LATENCY_OUT),
      .START_CYCLE(START_CYCLE)
  ) pulse (
      .clk(pulse_clk), .rst(pulse_rst), .tx_o, .tx_oe, .de_o, .rx_i, .aux_i,
      .ev_wr, .ev_wdata, .ev_free, .ev_gap, .ev_lost, .rx_wr, .rx_wdata, .rx_free, .rx_lost, .now_tick,
      .txb_valid, .txb_none, .txb_data, .txb_pop, .lq_avail, .lq_rptr, .lq_raddr, .lq_ren, .lq_rdata, .lq_free1,
      .cfg_req, .cfg_addr, .cfg_data, .cfg_done, .cfg_err, .status_p, .fault_p
  );

  litepulse_cdc #(.EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW)) cdc (
      .pulse_clk, .pulse_rst, .ev_wr, .ev_wdata, .ev_free, .rx_wr, .rx_wdata, .rx_free, .txb_valid, .txb_none, .txb_data, .txb_pop,
      .lq_avail, .lq_rptr, .lq_raddr, .lq_ren, .lq_rdata, .lq_free1, .cfg_req, .cfg_addr, .cfg_data, .cfg_done, .cfg_err,
      .now_tick, .ev_gap, .ev_lost, .rx_lost, .status_p, .fault_p,
      .sys_clk, .sys_rst, .turn, .ev_nready, .ev_position, .ev_arrived, .ev_free_stb, .ev_free_n, .ev_ren, .ev_index, .ev_word, .ev_rdata,
      .rx_nready, .rx_nlimit, .rx_position, .rx_arrived, .rx_free_stb, .rx_free_n, .rx_ren, .rx_index, .rx_word, .rx_rdata,
      .tx_free, .tx_push, .tx_byte, .lq_nfree, .lq_we, .lq_word, .lq_wdata, .lq_commit,
      .cfg_start, .cfg_held_addr, .cfg_held_data, .cfg_busy, .cfg_answered, .cfg_refused,
      .snap_start, .snap_stream, .snap_busy, .snap_ren, .snap_raddr, .snap_rdata, .status, .fault
  );

  assign ev_ready = ~ev_nready;
  assign rx_ready = ~rx_nready;
  assign lq_free  = ~lq_nfree;

  litepulse_window #(.EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW), .TIMEOUT(BUS_TIMEOUT)) window (
      .clk(sys_clk), .rst(sys_rst), .bus_stb, .bus_we, .bus_adr, .bus_dat_w, .bus_dat_r, .bus_ack,
      .launch_accepted, .launch_refused, .tx_dropped, .config_applied, .config_refused,
      .turn, .ev_nready, .ev_position, .ev_free_stb, .ev_free_n, .ev_ren, .ev_index, .ev_word, .ev_rdata,
      .rx_nready, .rx_nlimit, .rx_position, .rx_free_stb, .rx_free_n, .rx_ren, .rx_index, .rx_word, .rx_rdata,
      .tx_free, .tx_push, .tx_byte, .lq_nfree, .lq_we, .lq_word, .lq_wdata, .lq_commit,
      .cfg_start, .cfg_held_addr, .cfg_held_data, .cfg_busy, .cfg_answered, .cfg_refused,
      .snap_start, .snap_stream, .snap_busy, .snap_ren, .snap_raddr, .snap_rdata
  );

  litepulse_irq #(.EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW)) irq (
      .clk(sys_clk), .rst(sys_rst), .ev_nready, .ev_arrived, .rx_nready, .rx_arrived, .tx_free, .lq_nfree, .tx_idle(status[0]), .fault,
      .irq_ev_level, .irq_rx_level, .irq_ev_age, .irq_ev_idle, .irq_rx_age, .irq_rx_idle, .irq_unit, .irq_timed, .irq_tx_low, .irq_lq_space,
      .irq_ev, .irq_rx, .irq_tx, .irq_lq, .irq_drained, .irq_fault
  );
endmodule
