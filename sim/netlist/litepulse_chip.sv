// SPDX-License-Identifier: BSD-2-Clause
// The core with two samples per cycle on a whole iCE40 HX8K in CT256: what is packed and read back for the tests of bitstreams.
// Latency: none of its own. It has 206 pads: the thresholds of interrupts, which would take 98, are constants, and the marker
// port, the LIN slave and the large RAMs, which an HX8K lacks, are left out. The other ports are those of litepulse_pins.
module litepulse_chip (
    input  wire         pulse_clk,
    input  wire         pulse_rst,
    inout  wire         tx_pad,
    inout  wire         de_pad,
    input  wire         rx_pad,
    input  wire  [ 3:0] aux_pad,
    input  wire         sys_clk,
    input  wire         sys_rst,
    input  logic        bus_stb,
    input  logic        bus_we,
    input  logic [12:0] bus_adr,
    input  logic [31:0] bus_dat_w,
    output logic [31:0] bus_dat_r,
    output logic        bus_ack,
    output logic [ 8:0] ev_ready,
    output logic [ 9:0] rx_ready,
    output logic [ 9:0] tx_free,
    output logic [ 6:0] lq_free,
    output logic [ 7:0] launch_accepted,
    output logic [ 7:0] launch_refused,
    output logic [15:0] tx_dropped,
    output logic [ 7:0] config_applied,
    output logic [ 7:0] config_refused,
    output logic [ 7:0] status,
    output logic [ 4:0] levels,
    output logic        watch_fired,
    output logic        irq_ev,
    output logic        irq_rx,
    output logic        irq_tx,
    output logic        irq_lq,
    output logic        irq_drained,
    output logic        irq_fault
);
  wire [7:0] port_pad;

  litepulse_pins #(
      .PHY("ice40_ddr"), .S(2), .INPUTS(4), .LIN_ENTRIES(0), .LATENCY_IN(2), .LATENCY_OUT(2)
  ) pins (
      .pulse_clk, .pulse_rst, .edge_clk(1'b0), .phy_rst(1'b0), .tx_pad, .de_pad, .port_pad, .rx_pad, .aux_pad,
      .sys_clk, .sys_rst, .bus_stb, .bus_we, .bus_adr, .bus_dat_w, .bus_dat_r, .bus_ack,
      .ev_ready, .rx_ready, .tx_free, .lq_free,
      .launch_accepted, .launch_refused, .tx_dropped, .config_applied, .config_refused, .status, .levels,
      .watch_written(1'b0), .watch_limit(15'd0), .watch_keep(1'b0), .watch_fired,
      .irq_ev_level(9'd0), .irq_rx_level(10'd0), .irq_ev_age(12'd0), .irq_ev_idle(12'd0), .irq_rx_age(12'd0), .irq_rx_idle(12'd0),
      .irq_unit(2'd0), .irq_timed(1'b0), .irq_tx_low(10'd0), .irq_lq_space(7'd0),
      .irq_ev, .irq_rx, .irq_tx, .irq_lq, .irq_drained, .irq_fault
  );
endmodule
