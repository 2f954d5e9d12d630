// SPDX-License-Identifier: BSD-2-Clause
// LitePulse as a Wishbone B4 slave of 64 KiB, for designs without LiteX: the core and its registers. Classic cycles, 32 bits.
//
//   byte address  what
//   0x0000        the window (docs/registers.md): records, bytes to send, timed launches, configuration
//   0x8000        the registers (CSRs)
//
// A whole word is read or written. A write of a part of a word ends with wb_err_o and writes nothing; an access that selects nothing
// is acknowledged and does nothing. The slave must not be cached: reads of the window have effects.
// Wait states: of litepulse_window, and one; 2 for the registers. Every access ends, even when the pulse clock stands still.
// A master may give up an access, by CYC or STB low for a cycle. It is then done or not, but of several bytes to send only the first ones
// may have been taken.
//
// pulse_rst and wb_rst_i are asserted together for at least 4 cycles of the slower clock: take them from litepulse_reset. Cores that
// share pulse_clk and pulse_rst have equal ticks.
//   S to START_CYCLE  as of litepulse; S and the latencies are those of the PHY that tx_o to aux_i go to
//   CLOCK_NUM, CLOCK_DEN, WINDOW, SIMULATED  as of litepulse_csr
module litepulse_wishbone #(
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
    parameter logic [31:0] CLOCK_NUM = 32'd48_000_000,
    parameter logic [31:0] CLOCK_DEN = 32'd1,
    parameter logic [31:0] WINDOW = 32'd0,
    parameter bit SIMULATED = 1'b0
) (
    input  logic                pulse_clk,
    input  logic                pulse_rst,
    // PHY, as of litepulse
    output logic [S-1:0]        tx_o,
    output logic                tx_oe,
    output logic [S-1:0]        de_o,
    output logic [7:0]          port_o,
    input  logic [S-1:0]        rx_i,
    input  logic [INPUTS*S-1:0] aux_i,

    input  logic                wb_clk_i,
    input  logic                wb_rst_i,
    input  logic                wb_cyc_i,
    input  logic                wb_stb_i,
    input  logic                wb_we_i,
    input  logic [15:2]         wb_adr_i,
    input  logic [3:0]          wb_sel_i,
    input  logic [31:0]         wb_dat_i,
    output logic [31:0]         wb_dat_o,
    output logic                wb_ack_o,
    output logic                wb_err_o,
    output logic                irq           // high while a source that is enabled asks for service
);
  // Decoded in the first cycle of an access, so that this and what the core does with the address need not fit into one. An access ends
  // with its answer, or in the cycle in which the master gives it up: from then on nothing is done for it and nothing answered.
  logic selected, asked_for, whole, none, bus_asked, bus_stb, bus_ack, csr_asked, csr_stb, csr_ack, passed_by, refused;
  logic [31:0] bus_dat_r, csr_dat_r;
  assign selected  = wb_cyc_i && wb_stb_i;
  assign asked_for = selected && !wb_ack_o && !wb_err_o;
  assign whole     = wb_sel_i == '1;
  assign none      = wb_sel_i == '0;
  always_ff @(posedge wb_clk_i) begin
    bus_asked <= asked_for && !wb_adr_i[15] && (wb_we_i ? whole : !none);
    csr_asked <= asked_for && wb_adr_i[15] && (wb_we_i ? whole : !none) && !csr_asked;
    csr_ack   <= csr_stb;
    passed_by <= asked_for && none;
    refused   <= asked_for && wb_we_i && !whole && !none;
    if (wb_rst_i) begin
      bus_asked <= 1'b0;
      csr_asked <= 1'b0;
      csr_ack   <= 1'b0;
      passed_by <= 1'b0;
      refused   <= 1'b0;
    end
  end
  assign bus_stb  = bus_asked && selected;
  assign csr_stb  = csr_asked && selected;
  assign wb_ack_o = selected && (bus_ack || csr_ack || passed_by);
  assign wb_err_o = selected && refused;
  assign wb_dat_o = csr_ack ? csr_dat_r : bus_dat_r;

  logic [EV_AW:0] ev_ready, irq_ev_level;
  logic [RX_AW:0] rx_ready, irq_rx_level;
  logic [TX_AW:0] tx_free, irq_tx_low;
  logic [LQ_AW:0] lq_free, irq_lq_space;
  logic [7:0] launch_accepted, launch_refused, config_applied, config_refused, status;
  logic [INPUTS:0] levels;
  logic [15:0] tx_dropped;
  logic [14:0] watch_limit;
  logic watch_written, watch_keep, watch_fired;
  logic [11:0] irq_ev_age, irq_ev_idle, irq_rx_age, irq_rx_idle;
  logic [1:0] irq_unit;
  logic irq_timed, irq_ev, irq_rx, irq_tx, irq_lq, irq_drained, irq_fault;

  // Behind the last register nothing is.
  logic [6:2] csr_adr;
  assign csr_adr = wb_adr_i[14:7] == '0 ? wb_adr_i[6:2] : '1;
  litepulse_csr #(
      .S(S),
      .INPUTS(INPUTS),
      .EV_AW(EV_AW),
      .RX_AW(RX_AW),
      .TX_AW(TX_AW),
      .LQ_AW(LQ_AW),
      .LIN_ENTRIES(LIN_ENTRIES),
      .PORT(PORT),
      .SEQUENCE(SEQUENCE),
      .CLOCK_NUM(CLOCK_NUM),
      .CLOCK_DEN(CLOCK_DEN),
      .WINDOW(WINDOW),
      .SIMULATED(SIMULATED)
  ) csr (
      .clk(wb_clk_i),
      .rst(wb_rst_i),
      .stb(csr_stb),
      .we(wb_we_i),
      .adr(csr_adr),
      .dat_w(wb_dat_i),
      .dat_r(csr_dat_r),
      .irq(irq),
      .ev_ready(ev_ready),
      .rx_ready(rx_ready),
      .tx_free(tx_free),
      .lq_free(lq_free),
      .launch_accepted(launch_accepted),
      .launch_refused(launch_refused),
      .tx_dropped(tx_dropped),
      .config_applied(config_applied),
      .config_refused(config_refused),
      .status(status),
      .pin_levels(levels),
      .watch_written(watch_written),
      .watch_limit(watch_limit),
      .watch_keep(watch_keep),
      .watch_fired(watch_fired),
      .irq_ev_level(irq_ev_level),
      .irq_rx_level(irq_rx_level),
      .irq_ev_age(irq_ev_age),
      .irq_ev_idle(irq_ev_idle),
      .irq_rx_age(irq_rx_age),
      .irq_rx_idle(irq_rx_idle),
      .irq_unit(irq_unit),
      .irq_timed(irq_timed),
      .irq_tx_low(irq_tx_low),
      .irq_lq_space(irq_lq_space),
      .irq_ev(irq_ev),
      .irq_rx(irq_rx),
      .irq_tx(irq_tx),
      .irq_lq(irq_lq),
      .irq_drained(irq_drained),
      .irq_fault(irq_fault)
  );
  litepulse #(
      .S(S),
      .INPUTS(INPUTS),
      .EV_AW(EV_AW),
      .RX_AW(RX_AW),
      .TX_AW(TX_AW),
      .LQ_AW(LQ_AW),
      .LATENCY_IN(LATENCY_IN),
      .LATENCY_OUT(LATENCY_OUT),
      .LIN_ENTRIES(LIN_ENTRIES),
      .PORT(PORT),
      .SEQUENCE(SEQUENCE),
      .LARGE_RAM(LARGE_RAM),
      .START_CYCLE(START_CYCLE),
      .WATCHDOG_UNIT(litepulse_csr_pkg::WATCHDOG_UNIT),
      .IRQ_UNIT(litepulse_csr_pkg::IRQ_UNIT),
      .IRQ_UNIT_STEP(litepulse_csr_pkg::IRQ_UNIT_STEP)
  ) core (
      .sys_clk(wb_clk_i),
      .sys_rst(wb_rst_i),
      .bus_stb(bus_stb),
      .bus_we(wb_we_i),
      .bus_adr(wb_adr_i[14:2]),
      .bus_dat_w(wb_dat_i),
      .bus_dat_r(bus_dat_r),
      .bus_ack(bus_ack),
      .pulse_clk(pulse_clk),
      .pulse_rst(pulse_rst),
      .tx_o(tx_o),
      .tx_oe(tx_oe),
      .de_o(de_o),
      .port_o(port_o),
      .rx_i(rx_i),
      .aux_i(aux_i),
      .ev_ready(ev_ready),
      .rx_ready(rx_ready),
      .tx_free(tx_free),
      .lq_free(lq_free),
      .launch_accepted(launch_accepted),
      .launch_refused(launch_refused),
      .tx_dropped(tx_dropped),
      .config_applied(config_applied),
      .config_refused(config_refused),
      .status(status),
      .levels(levels),
      .watch_written(watch_written),
      .watch_limit(watch_limit),
      .watch_keep(watch_keep),
      .watch_fired(watch_fired),
      .irq_ev_level(irq_ev_level),
      .irq_rx_level(irq_rx_level),
      .irq_ev_age(irq_ev_age),
      .irq_ev_idle(irq_ev_idle),
      .irq_rx_age(irq_rx_age),
      .irq_rx_idle(irq_rx_idle),
      .irq_unit(irq_unit),
      .irq_timed(irq_timed),
      .irq_tx_low(irq_tx_low),
      .irq_lq_space(irq_lq_space),
      .irq_ev(irq_ev),
      .irq_rx(irq_rx),
      .irq_tx(irq_tx),
      .irq_lq(irq_lq),
      .irq_drained(irq_drained),
      .irq_fault(irq_fault)
  );
endmodule
