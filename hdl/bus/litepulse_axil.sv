// SPDX-License-Identifier: BSD-2-Clause
// LitePulse as an AXI4-Lite slave of 64 KiB: litepulse_wishbone, where the byte addresses and rules are. One access at a time; where
// a read and a write wait, they take turns. A write with some but not all strobes is answered with SLVERR and writes nothing; all
// else with OKAY.
// Latency: ready in the cycle in which the core has answered, 3 after valid for a register, and the answer the cycle after.
//   S to SIMULATED  as of litepulse_wishbone, as are pulse_rst and s_axi_aresetn: !sys_rst of litepulse_reset
module litepulse_axil #(
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
    output logic [S-1:0]        tx_o,
    output logic                tx_oe,
    output logic [S-1:0]        de_o,
    output logic [7:0]          port_o,
    input  logic [S-1:0]        rx_i,
    input  logic [INPUTS*S-1:0] aux_i,

    input  logic                s_axi_aclk,
    input  logic                s_axi_aresetn,
    input  logic [15:0]         s_axi_awaddr,
    input  logic [2:0]          s_axi_awprot,
    input  logic                s_axi_awvalid,
    output logic                s_axi_awready,
    input  logic [31:0]         s_axi_wdata,
    input  logic [3:0]          s_axi_wstrb,
    input  logic                s_axi_wvalid,
    output logic                s_axi_wready,
    output logic [1:0]          s_axi_bresp,
    output logic                s_axi_bvalid,
    input  logic                s_axi_bready,
    input  logic [15:0]         s_axi_araddr,
    input  logic [2:0]          s_axi_arprot,
    input  logic                s_axi_arvalid,
    output logic                s_axi_arready,
    output logic [31:0]         s_axi_rdata,
    output logic [1:0]          s_axi_rresp,
    output logic                s_axi_rvalid,
    input  logic                s_axi_rready,
    output logic                irq
);
  localparam logic [1:0] OKAY = 2'b00, SLVERR = 2'b10;

  // Who is served. Address and data stay on the bus until they are taken, in the cycle in which the core answers.

  logic serving, writing, write_waits, read_waits, ack, err, done;
  logic [31:0] read;
  assign write_waits = s_axi_awvalid && s_axi_wvalid && !s_axi_bvalid;
  assign read_waits  = s_axi_arvalid && !s_axi_rvalid;
  assign done        = ack || err;
  always_ff @(posedge s_axi_aclk) begin
    if (!serving) begin
      serving <= write_waits || read_waits;
      writing <= write_waits && !(read_waits && writing);  // reads and writes take turns
    end else if (done) begin
      serving <= 1'b0;
    end
    if (!s_axi_aresetn) begin
      serving <= 1'b0;
      writing <= 1'b0;
    end
  end
  assign s_axi_awready = serving && writing && done;
  assign s_axi_wready  = s_axi_awready;
  assign s_axi_arready = serving && !writing && done;

  // The answers, held until they are taken.

  assign s_axi_rresp = OKAY;
  always_ff @(posedge s_axi_aclk) begin
    if (s_axi_bready) s_axi_bvalid <= 1'b0;
    if (s_axi_rready) s_axi_rvalid <= 1'b0;
    if (s_axi_awready) begin
      s_axi_bvalid <= 1'b1;
      s_axi_bresp  <= err ? SLVERR : OKAY;
    end
    if (s_axi_arready) begin
      s_axi_rvalid <= 1'b1;
      s_axi_rdata  <= read;
    end
    if (!s_axi_aresetn) begin
      s_axi_bvalid <= 1'b0;
      s_axi_rvalid <= 1'b0;
    end
  end

  logic [15:2] adr;
  assign adr = writing ? s_axi_awaddr[15:2] : s_axi_araddr[15:2];

  litepulse_wishbone #(
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
      .CLOCK_NUM(CLOCK_NUM),
      .CLOCK_DEN(CLOCK_DEN),
      .WINDOW(WINDOW),
      .SIMULATED(SIMULATED)
  ) wishbone (
      .pulse_clk(pulse_clk),
      .pulse_rst(pulse_rst),
      .tx_o(tx_o),
      .tx_oe(tx_oe),
      .de_o(de_o),
      .port_o(port_o),
      .rx_i(rx_i),
      .aux_i(aux_i),
      .wb_clk_i(s_axi_aclk),
      .wb_rst_i(!s_axi_aresetn),
      .wb_cyc_i(serving),
      .wb_stb_i(serving),
      .wb_we_i(writing),
      .wb_adr_i(adr),
      .wb_sel_i(writing ? s_axi_wstrb : 4'b1111),
      .wb_dat_i(s_axi_wdata),
      .wb_dat_o(read),
      .wb_ack_o(ack),
      .wb_err_o(err),
      .irq(irq)
  );

  logic unused;
  assign unused = &{1'b0, s_axi_awaddr[1:0], s_axi_awprot, s_axi_araddr[1:0], s_axi_arprot};
endmodule
