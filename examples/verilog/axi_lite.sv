// SPDX-License-Identifier: BSD-2-Clause
// A serial port of 64 KiB on AXI4-Lite, to be put beside the processor of a Zynq or PolarFire SoC, or a MicroBlaze: core, resets and
// pins in one block. The pulse clock is one of its own, here of 100 MHz, so a tick is 10 ns.
//
// For the Linux driver the device tree has a node with the two halves as `reg`, docs/verilog.md shows it.
//   INPUTS to LQ_AW  as of litepulse
//   CLOCK_NUM, CLOCK_DEN  frequency of pulse_clk in Hz, exact
//   RESET_WAIT  WAIT of litepulse_reset; 0 is right on an FPGA whose block RAM can be read as soon as it is configured
//   SIMULATED  this is a simulation
module axi_lite #(
    parameter int INPUTS = 4,
    parameter int LIN_ENTRIES = 0,
    parameter int EV_AW = 8,
    parameter int LQ_AW = 6,
    parameter logic [31:0] CLOCK_NUM = 32'd100_000_000,
    parameter logic [31:0] CLOCK_DEN = 32'd1,
    parameter int RESET_WAIT = 4095,
    parameter bit SIMULATED = 1'b0
) (
    input  logic              pulse_clk,
    input  logic              s_axi_aclk,
    input  logic              s_axi_aresetn,
    input  logic [15:0]       s_axi_awaddr,
    input  logic [2:0]        s_axi_awprot,
    input  logic              s_axi_awvalid,
    output logic              s_axi_awready,
    input  logic [31:0]       s_axi_wdata,
    input  logic [3:0]        s_axi_wstrb,
    input  logic              s_axi_wvalid,
    output logic              s_axi_wready,
    output logic [1:0]        s_axi_bresp,
    output logic              s_axi_bvalid,
    input  logic              s_axi_bready,
    input  logic [15:0]       s_axi_araddr,
    input  logic [2:0]        s_axi_arprot,
    input  logic              s_axi_arvalid,
    output logic              s_axi_arready,
    output logic [31:0]       s_axi_rdata,
    output logic [1:0]        s_axi_rresp,
    output logic              s_axi_rvalid,
    input  logic              s_axi_rready,
    output logic              irq,       // active high
    output logic              line_tx,   // to be driven while line_tx_oe
    output logic              line_tx_oe,
    output logic              line_de,
    input  logic              line_rx,   // with a pull-up
    input  logic [INPUTS-1:0] line_aux
);
  logic sys_rst, pulse_rst, tx_o, tx_oe_o, de_o, rx_i;
  logic [INPUTS-1:0] aux_i;
  logic [7:0] marks;   // pins of the marker port, with PORT
  logic unused;
  assign unused = &{1'b0, marks};

  litepulse_reset #(
      .WAIT(RESET_WAIT)
  ) resets (
      .rst(!s_axi_aresetn),
      .sys_clk(s_axi_aclk),
      .pulse_clk(pulse_clk),
      .sys_rst(sys_rst),
      .pulse_rst(pulse_rst)
  );

  litepulse_axil #(
      .INPUTS(INPUTS),
      .LIN_ENTRIES(LIN_ENTRIES),
      .EV_AW(EV_AW),
      .LQ_AW(LQ_AW),
      .CLOCK_NUM(CLOCK_NUM),
      .CLOCK_DEN(CLOCK_DEN),
      .SIMULATED(SIMULATED)
  ) core (
      .pulse_clk(pulse_clk),
      .pulse_rst(pulse_rst),
      .tx_o(tx_o),
      .tx_oe(tx_oe_o),
      .de_o(de_o),
      .port_o(marks),
      .rx_i(rx_i),
      .aux_i(aux_i),
      .s_axi_aclk(s_axi_aclk),
      .s_axi_aresetn(!sys_rst),
      .s_axi_awaddr(s_axi_awaddr),
      .s_axi_awprot(s_axi_awprot),
      .s_axi_awvalid(s_axi_awvalid),
      .s_axi_awready(s_axi_awready),
      .s_axi_wdata(s_axi_wdata),
      .s_axi_wstrb(s_axi_wstrb),
      .s_axi_wvalid(s_axi_wvalid),
      .s_axi_wready(s_axi_wready),
      .s_axi_bresp(s_axi_bresp),
      .s_axi_bvalid(s_axi_bvalid),
      .s_axi_bready(s_axi_bready),
      .s_axi_araddr(s_axi_araddr),
      .s_axi_arprot(s_axi_arprot),
      .s_axi_arvalid(s_axi_arvalid),
      .s_axi_arready(s_axi_arready),
      .s_axi_rdata(s_axi_rdata),
      .s_axi_rresp(s_axi_rresp),
      .s_axi_rvalid(s_axi_rvalid),
      .s_axi_rready(s_axi_rready),
      .irq(irq)
  );

  litepulse_phy_generic #(
      .INPUTS(INPUTS)
  ) phy (
      .clk(pulse_clk),
      .tx_i(tx_o),
      .tx_oe_i(tx_oe_o),
      .de_i(de_o),
      .tx_o(line_tx),
      .tx_oe_o(line_tx_oe),
      .de_o(line_de),
      .rx_pin(line_rx),
      .aux_pin(line_aux),
      .rx_o(rx_i),
      .aux_o(aux_i)
  );
endmodule
