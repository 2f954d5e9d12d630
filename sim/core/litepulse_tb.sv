// SPDX-License-Identifier: BSD-2-Clause
// The core between two clocks and a PHY, with wires at its pins whose sources a test sets.
// Latency: none of its own. The clocks are made here, not by the test, because a long quiet stretch
// then costs no call-back.
//   PHY          "": one without primitives (generic at S = 1, else model); else that of a board, within litepulse_pins
//   WRAP_BIT     if not 0: the tick count starts WRAP_CYCLES cycles before it reaches 2**WRAP_BIT (only with PHY "")
// The other parameters are those of litepulse. With LITEPULSE_NETLIST defined litepulse_pins is a netlist: it has no parameters any more.

`timescale 1ns / 1ps

module litepulse_tb #(
    parameter PHY = "",
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int WRAP_BIT = 0,
    parameter int WRAP_CYCLES = 0,
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6,
    parameter int LIN_ENTRIES = 64,
    parameter int PORT = 1,
    parameter int SEQUENCE = 0,
    parameter int LATENCY_IN = 1,
    parameter int LATENCY_OUT = S == 1 ? 1 : 2,
    parameter int WATCHDOG_UNIT = 8
) ();
  // A simulator takes no parameter of more than 32 bits from the command line.
  localparam logic [63:0] START_CYCLE = (WRAP_BIT == 0) ? 64'd0 : (64'd1 << (WRAP_BIT - $clog2(S))) - 64'(WRAP_CYCLES);

  // Set by the test before `run`. All times in ps.
  int unsigned tick_half = 4000;
  int unsigned sys_half = 4000;
  int unsigned sys_delay = 0;
  logic run = 1'b0;

  logic pulse_clk = 1'b0;
  logic sample_clk = 1'b0;
  logic edge_clk = 1'b0;      // of pads that sample at both its edges
  logic sys_clk = 1'b0;
  logic pulse_rst = 1'b1;
  logic sys_rst = 1'b1;
  logic phy_rst = 1'b1;       // as board clocks have it: released before the core's reset

  // Both edges of an aligned pair are made in one step, so that registers of either clock see what was before it.
  initial forever begin
    wait (run);
    while (run) begin
      for (int s = 0; s < S; s++) begin
        sample_clk = 1'b1;
        edge_clk = s % 2 == 0;
        if (s == 0) pulse_clk = 1'b1;
        else if (s == S / 2) pulse_clk = 1'b0;
        #(tick_half * 1ps);
        sample_clk = 1'b0;
        if (S == 1) pulse_clk = 1'b0;
        #(tick_half * 1ps);
      end
    end
  end

  initial forever begin
    wait (run);
    #(sys_delay * 1ps);
    while (run) begin
      sys_clk = 1'b1;
      #(sys_half * 1ps);
      sys_clk = 1'b0;
      #(sys_half * 1ps);
    end
  end

  // Pins ---------------------------------------------------------------------------------------------------------
  logic rx_drive = 1'b1;      // the stranger's level
  logic rx_wire = 1'b0;       // 1: a wire from tx to rx instead
  logic rx_bus = 1'b0;        // 1: both, as on a LIN bus: space where either of them is
  logic rx_noise = 1'b0;      // turns the level over
  logic [INPUTS-1:0] aux_drive = '0;
  logic [INPUTS-1:0] aux_wire = '0;   // 1: a wire from tx to this input instead
  wire tx_pin, de_pin, oe_pin;
  wire de_oe_pin;
  wire [7:0] port_pin;
  wire rx_pin = (rx_bus ? tx_pin && rx_drive : rx_wire ? tx_pin : rx_drive) ^ rx_noise;
  wire [INPUTS-1:0] aux_pin = (aux_wire & {INPUTS{tx_pin}}) | (~aux_wire & aux_drive);

  // Bus and the rest, as the wrapper has them --------------------------------------------------------------------
  logic bus_stb = 1'b0;
  logic bus_we = 1'b0;
  logic [14:2] bus_adr = '0;
  logic [31:0] bus_dat_w = '0;
  wire [31:0] bus_dat_r;
  wire bus_ack;
  wire [EV_AW:0] ev_ready;
  wire [RX_AW:0] rx_ready;
  wire [TX_AW:0] tx_free;
  wire [LQ_AW:0] lq_free;
  wire [7:0] launch_accepted, launch_refused, config_applied, config_refused;
  wire [15:0] tx_dropped;
  wire [7:0] status;
  wire [INPUTS:0] levels;
  logic watch_written = 1'b0;
  logic [14:0] watch_limit = '0;
  logic watch_keep = 1'b0;
  wire watch_fired;
  logic [EV_AW:0] irq_ev_level = '0;
  logic [RX_AW:0] irq_rx_level = '0;
  logic [11:0] irq_ev_age = '0;
  logic [11:0] irq_ev_idle = '0;
  logic [11:0] irq_rx_age = '0;
  logic [11:0] irq_rx_idle = '0;
  logic [1:0] irq_unit = '0;
  logic irq_timed = 1'b0;
  logic [TX_AW:0] irq_tx_low = '0;
  logic [LQ_AW:0] irq_lq_space = '0;
  wire irq_ev, irq_rx, irq_tx, irq_lq, irq_drained, irq_fault;
  wire config_done;           // `pulse` answers a configuration word in this cycle (only with PHY "")

  if (PHY == "") begin : gen_plain
    wire [S-1:0] tx_o, de_o, rx_i;
    wire [INPUTS*S-1:0] aux_i;
    wire tx_oe;

    litepulse #(
        .S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW),
        .LIN_ENTRIES(LIN_ENTRIES), .PORT(PORT), .SEQUENCE(SEQUENCE), .LATENCY_IN(LATENCY_IN),
        .LATENCY_OUT(LATENCY_OUT), .START_CYCLE(START_CYCLE),
        .WATCHDOG_UNIT(WATCHDOG_UNIT)
    ) core (
        .pulse_clk, .pulse_rst, .tx_o, .tx_oe, .de_o, .port_o(port_pin), .rx_i, .aux_i,
        .sys_clk, .sys_rst, .bus_stb, .bus_we, .bus_adr, .bus_dat_w, .bus_dat_r, .bus_ack,
        .ev_ready, .rx_ready, .tx_free, .lq_free,
        .launch_accepted, .launch_refused, .tx_dropped, .config_applied, .config_refused, .status, .levels,
        .watch_written, .watch_limit, .watch_keep, .watch_fired,
        .irq_ev_level, .irq_rx_level, .irq_ev_age, .irq_ev_idle, .irq_rx_age, .irq_rx_idle, .irq_unit, .irq_timed,
        .irq_tx_low, .irq_lq_space, .irq_ev, .irq_rx, .irq_tx, .irq_lq, .irq_drained, .irq_fault
    );

`ifndef LITEPULSE_NETLIST
    assign config_done = core.cfg_answer.done;
`endif
    assign de_oe_pin = oe_pin;
    if (S == 1) begin : gen_generic
      litepulse_phy_generic #(.INPUTS(INPUTS)) phy (
          .clk(pulse_clk), .tx_i(tx_o[0]), .tx_oe_i(tx_oe), .de_i(de_o[0]), .tx_o(tx_pin), .tx_oe_o(oe_pin), .de_o(de_pin),
          .rx_pin, .aux_pin, .rx_o(rx_i[0]), .aux_o(aux_i)
      );
    end else begin : gen_model
      litepulse_phy_model #(.S(S), .INPUTS(INPUTS)) phy (
          .pulse_clk, .sample_clk, .tx_i(tx_o), .tx_oe_i(tx_oe), .de_i(de_o), .tx_pin, .tx_oe(oe_pin), .de_pin,
          .rx_pin, .aux_pin, .rx_o(rx_i), .aux_o(aux_i)
      );
    end
  end else begin : gen_pads
    wire tx_pad, de_pad;

    litepulse_pins
`ifndef LITEPULSE_NETLIST
    #(
        .PHY(PHY), .S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW), .LIN_ENTRIES(LIN_ENTRIES),
        .PORT(PORT), .SEQUENCE(SEQUENCE), .LATENCY_IN(LATENCY_IN), .LATENCY_OUT(LATENCY_OUT), .WATCHDOG_UNIT(WATCHDOG_UNIT)
    )
`endif
    pins (
        .pulse_clk, .pulse_rst, .edge_clk, .phy_rst, .tx_pad, .de_pad, .port_pad(port_pin), .rx_pad(rx_pin), .aux_pad(aux_pin),
        .sys_clk, .sys_rst, .bus_stb, .bus_we, .bus_adr, .bus_dat_w, .bus_dat_r, .bus_ack,
        .ev_ready, .rx_ready, .tx_free, .lq_free,
        .launch_accepted, .launch_refused, .tx_dropped, .config_applied, .config_refused, .status, .levels,
        .watch_written, .watch_limit, .watch_keep, .watch_fired,
        .irq_ev_level, .irq_rx_level, .irq_ev_age, .irq_ev_idle, .irq_rx_age, .irq_rx_idle, .irq_unit, .irq_timed,
        .irq_tx_low, .irq_lq_space, .irq_ev, .irq_rx, .irq_tx, .irq_lq, .irq_drained, .irq_fault
    );

    assign config_done = 1'b0;
    // what a pull-up at tx and a pull-down at de make of a pad that is not driven
    assign oe_pin = tx_pad !== 1'bz;
    assign de_oe_pin = de_pad !== 1'bz;
    assign tx_pin = tx_pad === 1'bz ? 1'b1 : tx_pad;
    assign de_pin = de_pad === 1'bz ? 1'b0 : de_pad;
  end

endmodule
