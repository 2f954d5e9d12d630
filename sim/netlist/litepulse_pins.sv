// SPDX-License-Identifier: BSD-2-Clause
// The core with the PHY of a board: what is synthesised for the tests of the netlists, with the pads at its ports.
// Latency: none of its own. tx and de are driven while the core's tx_oe says so.
//   PHY  "generic", "ice40_ddr", "ecp5_ddr", "ecp5_serdes"; the others are those of litepulse
module litepulse_pins #(
    parameter PHY = "generic",
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6,
    parameter int LIN_ENTRIES = 64,
    parameter int PORT = 0,
    parameter int SEQUENCE = 0,
    parameter LARGE_RAM = "auto",
    parameter int LATENCY_IN = 1,
    parameter int LATENCY_OUT = 1,
    parameter int WATCHDOG_UNIT = 8
) (
    input  wire               pulse_clk,
    input  wire               pulse_rst,
    input  wire               edge_clk,      // of the pads, where they have one of their own
    input  wire               phy_rst,       // starts their gearing
    inout  wire               tx_pad,
    inout  wire               de_pad,
    output wire  [7:0]        port_pad,
    input  wire               rx_pad,
    input  wire  [INPUTS-1:0] aux_pad,

    input  wire               sys_clk,
    input  wire               sys_rst,
    input  logic              bus_stb,
    input  logic              bus_we,
    input  logic [14:2]       bus_adr,
    input  logic [31:0]       bus_dat_w,
    output logic [31:0]       bus_dat_r,
    output logic              bus_ack,
    output logic [EV_AW:0]    ev_ready,
    output logic [RX_AW:0]    rx_ready,
    output logic [TX_AW:0]    tx_free,
    output logic [LQ_AW:0]    lq_free,
    output logic [7:0]        launch_accepted,
    output logic [7:0]        launch_refused,
    output logic [15:0]       tx_dropped,
    output logic [7:0]        config_applied,
    output logic [7:0]        config_refused,
    output logic [7:0]        status,
    output logic [INPUTS:0]   levels,
    input  logic              watch_written,
    input  logic [14:0]       watch_limit,
    input  logic              watch_keep,
    output logic              watch_fired,
    input  logic [EV_AW:0]    irq_ev_level,
    input  logic [RX_AW:0]    irq_rx_level,
    input  logic [11:0]       irq_ev_age,
    input  logic [11:0]       irq_ev_idle,
    input  logic [11:0]       irq_rx_age,
    input  logic [11:0]       irq_rx_idle,
    input  logic [1:0]        irq_unit,
    input  logic              irq_timed,
    input  logic [TX_AW:0]    irq_tx_low,
    input  logic [LQ_AW:0]    irq_lq_space,
    output logic              irq_ev,
    output logic              irq_rx,
    output logic              irq_tx,
    output logic              irq_lq,
    output logic              irq_drained,
    output logic              irq_fault
);
  logic [S-1:0]        tx_o, de_o, rx_i;
  logic [INPUTS*S-1:0] aux_i;
  logic                tx_oe;
  logic [7:0]          port_o;
  if (PHY != "ecp5_serdes") begin : gen_port
    assign port_pad = port_o;
  end

  litepulse #(
      .S(S), .INPUTS(INPUTS), .EV_AW(EV_AW), .RX_AW(RX_AW), .TX_AW(TX_AW), .LQ_AW(LQ_AW), .LIN_ENTRIES(LIN_ENTRIES), .PORT(PORT),
      .SEQUENCE(SEQUENCE), .LARGE_RAM(LARGE_RAM),
      .LATENCY_IN(LATENCY_IN), .LATENCY_OUT(LATENCY_OUT), .WATCHDOG_UNIT(WATCHDOG_UNIT)
  ) core (
      .pulse_clk, .pulse_rst, .tx_o, .tx_oe, .de_o, .port_o, .rx_i, .aux_i,
      .sys_clk, .sys_rst, .bus_stb, .bus_we, .bus_adr, .bus_dat_w, .bus_dat_r, .bus_ack,
      .ev_ready, .rx_ready, .tx_free, .lq_free,
      .launch_accepted, .launch_refused, .tx_dropped, .config_applied, .config_refused, .status, .levels,
      .watch_written, .watch_limit, .watch_keep, .watch_fired,
      .irq_ev_level, .irq_rx_level, .irq_ev_age, .irq_ev_idle, .irq_rx_age, .irq_rx_idle, .irq_unit, .irq_timed, .irq_tx_low, .irq_lq_space,
      .irq_ev, .irq_rx, .irq_tx, .irq_lq, .irq_drained, .irq_fault
  );

  if (PHY == "generic") begin : gen_generic
    logic tx, oe, de;
    litepulse_phy_generic #(.INPUTS(INPUTS)) phy (
        .clk(pulse_clk), .tx_i(tx_o[0]), .tx_oe_i(tx_oe), .de_i(de_o[0]), .tx_o(tx), .tx_oe_o(oe), .de_o(de),
        .rx_pin(rx_pad), .aux_pin(aux_pad), .rx_o(rx_i[0]), .aux_o(aux_i)
    );
    assign tx_pad = oe ? tx : 1'bz;
    assign de_pad = oe ? de : 1'bz;
  end else if (PHY == "ice40_ddr") begin : gen_ice40_ddr
    litepulse_phy_ice40_ddr #(.INPUTS(INPUTS), .PADS(INPUTS)) phy (
        .clk(pulse_clk), .tx_i(tx_o), .tx_oe_i(tx_oe), .de_i(de_o), .rx_o(rx_i), .aux_o(aux_i), .tx_pad, .de_pad, .rx_pad, .aux_pad
    );
  end else if (PHY == "ecp5_ddr") begin : gen_ecp5_ddr
    litepulse_phy_ecp5_ddr #(.INPUTS(INPUTS), .PADS(INPUTS)) phy (
        .clk(pulse_clk), .rst(phy_rst),
        .tx_i(tx_o), .tx_oe_i(tx_oe), .de_i(de_o), .rx_o(rx_i), .aux_o(aux_i), .tx_pad, .de_pad, .rx_pad, .aux_pad
    );
  end else if (PHY == "ecp5_serdes") begin : gen_ecp5_serdes
    litepulse_phy_ecp5_serdes #(.INPUTS(INPUTS), .PADS(INPUTS)) phy (
        .clk(pulse_clk), .eclk(edge_clk), .rst(phy_rst),
        .tx_i(tx_o), .tx_oe_i(tx_oe), .de_i(de_o), .port_i(port_o), .port_o(port_pad), .rx_o(rx_i), .aux_o(aux_i),
        .tx_pad, .de_pad, .rx_pad, .aux_pad
    );
  end
endmodule
