// SPDX-License-Identifier: BSD-2-Clause
// LitePulse: UART, pulse generator and timestamp unit whose every edge has a known tick. Wiring only; what it does is in docs/core.md.
// Two clock domains: `pulse` (pins, time) and `sys` (bus); their resets are asserted together for at least 4 cycles of the slower one.
// They must last until block RAM can be read, which on an iCE40 takes some microseconds after configuration (litepulse_reset).
//   S            samples per cycle: 1, 2, 4, 8       INPUTS   aux inputs; (INPUTS + 1) * S <= 16
//   EV_AW, RX_AW, TX_AW, LQ_AW  log2 of the depths: events, received bytes, bytes to send, launches; 5 to 14, 3 to 9, 2 to 15, 1 to 15
//   LATENCY_IN   cycles from a sampling instant of the PHY to the cycle that shows the sample, less one
//   WATCHDOG_UNIT  log2 of the sys cycles of a unit of watch_limit
//   IRQ_UNIT, IRQ_UNIT_STEP  log2 of the smallest unit of the interrupts' times, and of how many times longer the next one is
//   LATENCY_OUT  cycles from the decision to the pin, of which one is the core's output register
//   LIN_ENTRIES  identifiers that the LIN slave can answer, 8, 16, 32 or 64; 0: there is none
//   PORT         there is a marker port: 1 or 0, then port_o stays 0
//   SEQUENCE     the launch queue has waits for an edge and relative entries: 1 or 0
//   LARGE_RAM    Yosys' ram_style of the memories that a large single-port RAM can hold: received records, entries of the LIN slave.
//                "huge" on a UP5K, whose block RAMs would not do (two SPRAMs, and one with LIN); it has two to spare then, which keep the
//                responder's times
//   START_CYCLE  the time after reset, in cycles: 0, but tests start it shortly before the tick count carries into its upper bits
`include "litepulse_types.svh"
module litepulse #(
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6,
    parameter int LATENCY_IN = 1,
    parameter int LATENCY_OUT = 1,
    parameter int LIN_ENTRIES = 0,
    parameter bit PORT = 1'b0,
    parameter bit SEQUENCE = 1'b0,
    parameter LARGE_RAM = "auto",
    parameter logic [63:0] START_CYCLE = 64'd0,
    parameter int WATCHDOG_UNIT = 18,
    parameter int IRQ_UNIT = 5,
    parameter int IRQ_UNIT_STEP = 3
) (
    input  logic                pulse_clk,
    input  logic                pulse_rst,
    // PHY; sample 0 is the earliest, aux channel c sample s at bit c*S + s
    output logic [S-1:0]        tx_o,
    output logic                tx_oe,
    output logic [S-1:0]        de_o,
    output logic [7:0]          port_o,          // marker port, at the pins already: no PHY delays it
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
    output logic [INPUTS:0]     levels,          // of the pins: input c at c, rx behind the last one
    // watchdog
    input  logic                watch_written,   // the host has just written what follows
    input  logic [14:0]         watch_limit,
    input  logic                watch_keep,
    output logic                watch_fired,     // one cycle: the host was silent, what it left is being stopped
    // interrupts
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
  // longer than the longest answer: an adjust of the train may have to wait for the de lead to end
  localparam int BUS_TIMEOUT = 17;  // log2 of sys cycles
  localparam int RING_AW = 6;       // log2 of the received records that the crossing's ring holds
  localparam int NEAR_AW = EV_AW > 8 ? 8 : EV_AW;  // log2 of the free places for events that pulse tells apart

  // Parameters that cannot work. Icarus 11 does not know such a check.
`ifndef __ICARUS__
  generate
    if (S != 1 && S != 2 && S != 4 && S != 8) begin : gen_wrong_samples
      $error("S must be 1, 2, 4 or 8");
    end
    if (INPUTS < 1 || (INPUTS + 1) * S > 16) begin : gen_wrong_inputs
      $error("INPUTS must be at least 1, (INPUTS + 1) * S at most 16");
    end
    if (LATENCY_IN + LATENCY_OUT + (S > 1 ? 3 : 0) > 14) begin : gen_wrong_latency
      $error("LATENCY_IN + LATENCY_OUT must be at most 14, with more than one sample per cycle 11");
    end
    if (LATENCY_IN < 1 || LATENCY_OUT < 1) begin : gen_no_latency
      $error("LATENCY_IN and LATENCY_OUT must be at least 1");
    end
    if (EV_AW < 5 || EV_AW > 14 || RX_AW < 3 || RX_AW > 9) begin : gen_wrong_records
      $error("EV_AW must be 5 to 14, RX_AW 3 to 9: events keep 16 records free, and the header and the window show no more");
    end
    if (TX_AW < 2 || TX_AW > 15 || LQ_AW < 1 || LQ_AW > 15) begin : gen_wrong_depth
      $error("TX_AW must be 2 to 15, LQ_AW 1 to 15");
    end
    if (LIN_ENTRIES != 0 && LIN_ENTRIES != 8 && LIN_ENTRIES != 16 && LIN_ENTRIES != 32 && LIN_ENTRIES != 64) begin : gen_wrong_lin
      $error("LIN_ENTRIES must be 0, 8, 16, 32 or 64");
    end
  endgenerate
`endif

  // crossing: what goes to it, what comes from it; the pulse domain, then `sys`
  ev_write_t      ev_write;      logic [NEAR_AW:0]   ev_free;
  rx_write_t      rx_write;      logic [RING_AW-1:0] rx_free;
  logic           tx_pop;        tx_head_t           tx_head;
  lq_read_t       lq_read;       lq_head_t           lq_head;
  cfg_answer_t    cfg_answer;    cfg_request_t       cfg;
  pulse_state_t   state;
  ev_read_t       ev_read;       ev_records_t        ev_records;
  rx_fetch_t      rx_fetch;      rx_fetched_t        rx_fetched;
  tx_write_t      tx_write;
  lq_write_t      lq_write;      logic [LQ_AW:0]     lq_nfree;
  cfg_request_t   cfg_write;     cfg_state_t         cfg_state;
  snap_request_t  snap_request;  snap_t              snap;
  logic           turn, fault;
  // window
  rx_read_t       rx_read;       rx_records_t        rx_records;
  bus_request_t   bus;           bus_answer_t        bus_answer;
  window_counts_t counts;
  logic [1:0]     stop;          logic               stop_taken;

  // the core's own ports stay single ones, for users of Verilog
  assign bus.stb         = bus_stb;
  assign bus.we          = bus_we;
  assign bus.adr         = bus_adr;
  assign bus.dat_w       = bus_dat_w;
  assign bus_ack         = bus_answer.ack;
  assign bus_dat_r       = bus_answer.dat_r;
  assign launch_accepted = counts.launch_accepted;
  assign launch_refused  = counts.launch_refused;
  assign tx_dropped      = counts.tx_dropped;
  assign config_applied  = counts.config_applied;
  assign config_refused  = counts.config_refused;
  assign ev_ready        = ~ev_records.nready[EV_AW:0];
  assign rx_ready        = ~rx_records.nready[RX_AW:0];
  assign lq_free         = ~lq_nfree;

  litepulse_pulse #(
      .S(S), .INPUTS(INPUTS), .EV_AW(NEAR_AW), .RING_AW(RING_AW), .LQ_AW(LQ_AW), .LATENCY_IN(LATENCY_IN), .LATENCY_OUT(LATENCY_OUT),
      .LIN_ENTRIES(LIN_ENTRIES), .PORT(PORT), .SEQUENCE(SEQUENCE), .LARGE_RAM(LARGE_RAM), .START_CYCLE(START_CYCLE)
  ) pulse (
      .clk(pulse_clk), .rst(pulse_rst), .tx_o, .tx_oe, .de_o, .port_o, .rx_i, .aux_i,
      .ev_write, .ev_free, .rx_write, .rx_free, .tx_head, .tx_pop, .lq_head, .lq_read, .cfg, .cfg_answer, .state
  );

  litepulse_cdc #(.EV_AW(EV_AW), .NEAR_AW(NEAR_AW), .RING_AW(RING_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW)) cdc (
      .pulse_clk, .pulse_rst, .ev_write, .ev_free, .rx_write, .rx_free, .tx_head, .tx_pop, .lq_head, .lq_read, .cfg, .cfg_answer, .state,
      .sys_clk, .sys_rst, .turn, .ev_read, .ev_records, .rx_fetch, .rx_fetched, .tx_write, .tx_free, .lq_write, .lq_nfree,
      .cfg_write, .cfg_state, .snap_request, .snap, .status, .fault
  );

  litepulse_receive_store #(.RX_AW(RX_AW), .LARGE_RAM(LARGE_RAM)) receive_store (
      .clk(sys_clk), .rst(sys_rst), .rx_fetch, .rx_fetched, .rx_read, .rx_records
  );

  litepulse_window #(.EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW), .TIMEOUT(BUS_TIMEOUT)) window (
      .clk(sys_clk), .rst(sys_rst), .bus, .bus_answer, .counts, .stop, .stop_taken,
      .turn, .ev_records, .ev_read, .rx_records, .rx_read, .tx_free, .tx_write, .lq_nfree, .lq_write, .cfg_write, .cfg_state,
      .snap_request, .snap
  );

  litepulse_levels #(.S(S), .INPUTS(INPUTS)) pin_levels (.clk(sys_clk), .rx_i, .aux_i, .levels);

  litepulse_watchdog #(.UNIT(WATCHDOG_UNIT)) watchdog (
      .clk(sys_clk), .rst(sys_rst), .talk(bus_stb || watch_written), .limit(watch_limit), .keep(watch_keep), .fired(watch_fired),
      .stop, .taken(stop_taken)
  );

  litepulse_irq #(.EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW), .BASE(IRQ_UNIT), .STEP(IRQ_UNIT_STEP)) irq (
      .clk(sys_clk), .rst(sys_rst), .ev_nready(ev_records.nready[EV_AW:0]), .ev_arrived(ev_records.arrived),
      .rx_nready(rx_records.nready[RX_AW:0]), .rx_arrived(rx_records.arrived), .tx_free, .lq_nfree, .tx_idle(status[0]), .fault,
      .irq_ev_level, .irq_rx_level, .irq_ev_age, .irq_ev_idle, .irq_rx_age, .irq_rx_idle, .irq_unit, .irq_timed, .irq_tx_low, .irq_lq_space,
      .irq_ev, .irq_rx, .irq_tx, .irq_lq, .irq_drained, .irq_fault
  );
endmodule
