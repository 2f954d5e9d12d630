// SPDX-License-Identifier: BSD-2-Clause
// One PHY whose clocks and pads a test can distort. Clocks begin with `run`; a tick is `tick` ps long. Latency: none of its own.
//   KIND  0 generic, 1 ice40_ddr, 2 ecp5_ddr, 3 ecp5_serdes with the clocks and the start-up it has on a board
//   S     samples per cycle of that PHY      INPUTS, PADS, DE  its parameters
`timescale 1ns / 1ps

module litepulse_phy_tb #(
    parameter int KIND = 0,
    parameter int S = 1,
    parameter int INPUTS = 3,
    parameter int PADS = 3,
    parameter bit DE = 1
) ();
  // Set by the test before `run`.
  int unsigned tick = 2500;   // ps
  logic run = 1'b0;           // clocks of the pads (serdes: of the PLL)
  logic xtal_run = 1'b0;
  logic locked = 1'b0;
  logic reset = 1'b1;         // of the pads, where a test makes it

  logic fast = 1'b0, xtal = 1'b0;
  wire  clk, eclk, rst, ready;

  // high for one tick, low for one, or half a tick each where a tick is a cycle
  initial forever begin
    wait (run);
    while (run) begin
      fast = 1'b1;
      #((S == 1 ? tick / 2 : tick) * 1ps);
      fast = 1'b0;
      #((S == 1 ? tick - tick / 2 : tick) * 1ps);
    end
  end
  initial forever begin
    wait (xtal_run);
    while (xtal_run) begin
      #20.011 xtal = !xtal;
    end
  end

  // the core's side
  logic [S-1:0] tx_i = '1, de_i = '0;
  logic         tx_oe_i = 1'b0;
  wire  [S-1:0] rx_o;
  wire  [INPUTS*S-1:0] aux_o;

  // the board's side: driven by the test, or a wire from tx
  wire  tx_pad, de_pad;
  logic rx_drive = 1'b1, rx_wire = 1'b0;
  logic [PADS-1:0] aux_drive = '0, aux_wire = '0;
  wire  rx_pad = rx_wire ? tx_pad : rx_drive;
  wire  [PADS-1:0] aux_pad = (aux_wire & {PADS{tx_pad}}) | (~aux_wire & aux_drive);

  // 2 undriven, else the level
  wire  [1:0] tx_seen = (tx_pad === 1'bz) ? 2'd2 : {1'b0, tx_pad};
  wire  [1:0] de_seen = (de_pad === 1'bz) ? 2'd2 : {1'b0, de_pad};

  if (KIND == 3) begin : gen_clocks
    wire stop;
    ECLKSYNCB gate (.ECLKI(fast), .STOP(stop), .ECLKO(eclk));
    CLKDIVF #(.DIV("2.0")) divide (.CLKI(eclk), .RST(rst), .ALIGNWD(1'b0), .CDIVX(clk));
    litepulse_phy_ecp5_start start (.clk(xtal), .locked, .stop, .gear_rst(rst), .ready);
  end else begin : gen_clock
    assign clk   = fast;
    assign eclk  = 1'b0;
    assign rst   = reset;
    assign ready = !reset;
  end

  if (KIND == 0) begin : gen_generic
    wire tx_o, tx_oe_o, de_o;
    litepulse_phy_generic #(.INPUTS(INPUTS)) phy (
        .clk, .tx_i(tx_i[0]), .tx_oe_i, .de_i(de_i[0]), .tx_o, .tx_oe_o, .de_o,
        .rx_pin(rx_pad), .aux_pin(INPUTS'(aux_pad)), .rx_o(rx_o[0]), .aux_o(aux_o)
    );
    // the pads, as a platform adds them
    assign tx_pad = tx_oe_o ? tx_o : 1'bz;
    assign de_pad = tx_oe_o ? de_o : 1'bz;
  end else if (KIND == 1) begin : gen_ice40
    litepulse_phy_ice40_ddr #(.INPUTS(INPUTS), .PADS(PADS), .DE(DE)) phy (
        .clk, .tx_i, .tx_oe_i, .de_i, .rx_o, .aux_o, .tx_pad, .de_pad, .rx_pad, .aux_pad
    );
`ifdef YOSYS_SB_IO  // its flip-flops are unknown until their first clock; those of an iCE40 start at 0
    initial phy.tx_io.outena_q = 1'b0;
    if (DE) begin : gen_start
      initial phy.gen_de.de_io.outena_q = 1'b0;
    end
`endif
  end else if (KIND == 2) begin : gen_ecp5_ddr
    litepulse_phy_ecp5_ddr #(.INPUTS(INPUTS), .PADS(PADS), .DE(DE)) phy (
        .clk, .rst, .tx_i, .tx_oe_i, .de_i, .rx_o, .aux_o, .tx_pad, .de_pad, .rx_pad, .aux_pad
    );
  end else begin : gen_ecp5_serdes
    litepulse_phy_ecp5_serdes #(.INPUTS(INPUTS), .PADS(PADS), .DE(DE)) phy (
        .clk, .eclk, .rst, .tx_i, .tx_oe_i, .de_i, .port_i(8'd0), .port_o(), .rx_o, .aux_o, .tx_pad, .de_pad, .rx_pad, .aux_pad
    );
  end
endmodule
