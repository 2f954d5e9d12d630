// SPDX-License-Identifier: BSD-2-Clause
// litepulse_wishbone with its resets and pins, on the same ports as the LiteX wrapper by itself: window at 0x9000_0000, registers at
// 0x8000.
//   INPUTS to LQ_AW, SIMULATED  as of litepulse_wishbone
//   ONE_CLOCK  the core runs in sys_clk, too
`timescale 1ns / 1ps
module litepulse_wishbone_tb #(
    parameter int INPUTS = 4,
    parameter int LIN_ENTRIES = 64,
    parameter int EV_AW = 8,
    parameter int LQ_AW = 6,
    parameter bit ONE_CLOCK = 1'b0,
    parameter bit SIMULATED = 1'b0
) (
    input  logic              sys_clk,
    input  logic              sys_rst,
    input  logic              pulse_clk,
    input  logic              pulse_rst,
    input  logic              bus_cyc,
    input  logic              bus_stb,
    input  logic              bus_we,
    input  logic [29:0]       bus_adr,
    input  logic [3:0]        bus_sel,
    input  logic [31:0]       bus_dat_w,
    output logic [31:0]       bus_dat_r,
    output logic              bus_ack,
    output logic              bus_err,
    output logic              irq,
    output logic              tx,
    output logic              tx_oe,
    output logic              de,
    input  logic              rx,
    input  logic [INPUTS-1:0] aux
);
  logic s_clk, p_clk;
  assign s_clk = sys_clk;
  assign p_clk = ONE_CLOCK ? sys_clk : pulse_clk;
  logic sys_reset, pulse_reset, tx_o, tx_oe_o, de_o, rx_i;
  logic [INPUTS-1:0] aux_i;
  litepulse_reset #(.WAIT(0)) resets (
      .rst(sys_rst || pulse_rst),
      .sys_clk(s_clk),
      .pulse_clk(p_clk),
      .sys_rst(sys_reset),
      .pulse_rst(pulse_reset)
  );
  litepulse_wishbone #(
      .INPUTS(INPUTS),
      .LIN_ENTRIES(LIN_ENTRIES),
      .EV_AW(EV_AW),
      .LQ_AW(LQ_AW),
      .WINDOW(32'h9000_0000),
      .SIMULATED(SIMULATED)
  ) dut (
      .pulse_clk(p_clk),
      .pulse_rst(pulse_reset),
      .tx_o(tx_o),
      .tx_oe(tx_oe_o),
      .de_o(de_o),
      .port_o(),
      .rx_i(rx_i),
      .aux_i(aux_i),
      .wb_clk_i(s_clk),
      .wb_rst_i(sys_reset),
      .wb_cyc_i(bus_cyc),
      .wb_stb_i(bus_stb),
      .wb_we_i(bus_we),
      .wb_adr_i({!bus_adr[29], bus_adr[12:0]}),
      .wb_sel_i(bus_sel),
      .wb_dat_i(bus_dat_w),
      .wb_dat_o(bus_dat_r),
      .wb_ack_o(bus_ack),
      .wb_err_o(bus_err),
      .irq(irq)
  );
  litepulse_phy_generic #(.INPUTS(INPUTS)) phy (
      .clk(p_clk),
      .tx_i(tx_o),
      .tx_oe_i(tx_oe_o),
      .de_i(de_o),
      .tx_o(tx),
      .tx_oe_o(tx_oe),
      .de_o(de),
      .rx_pin(rx),
      .aux_pin(aux),
      .rx_o(rx_i),
      .aux_o(aux_i)
  );
endmodule
