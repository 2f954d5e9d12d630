// SPDX-License-Identifier: BSD-2-Clause
// Pins of an iCE40 with two samples per cycle (S = 2): SB_IO in DDR mode. Sample 0 is the rising edge of clk, sample 1 the falling
// edge after it, so ticks of odd number inherit the error of the clock's duty cycle.
// Inputs: the register in the pad, then two more, so each sample has one and a half cycles at least to become stable. rx is pulled up.
// Outputs: the pad's registers; tx and de are not driven until tx_oe_i, which is 0 from configuration on (flip-flops start at 0).
// LATENCY_IN = 2, LATENCY_OUT = 2.
//   INPUTS  aux inputs of the core      PADS  how many of them have a pad (the others rest at 0)      DE  0: there is no pad de
module litepulse_phy_ice40_ddr #(
    parameter int INPUTS = 4,
    parameter int PADS = 4,
    parameter bit DE = 1
) (
    input  wire                clk,
    input  logic [1:0]         tx_i,
    input  logic               tx_oe_i,
    input  logic [1:0]         de_i,
    output logic [1:0]         rx_o,
    output logic [INPUTS*2-1:0] aux_o,
    inout  wire                tx_pad,
    inout  wire                de_pad,
    input  wire                rx_pad,
    input  wire  [PADS-1:0]    aux_pad
);
  localparam bit [5:0] DDR_IN = 6'b000000;
  localparam bit [5:0] DDR_OUT = 6'b110000;   // the enable is registered too

  // sample 1 leaves half a cycle after sample 0 of the same cycle
  logic tx_late, de_late;
  always_ff @(posedge clk) begin
    tx_late <= tx_i[1];
    de_late <= de_i[1];
  end

  SB_IO #(.PIN_TYPE(DDR_OUT)) tx_io (
      .PACKAGE_PIN(tx_pad), .LATCH_INPUT_VALUE(1'b0), .CLOCK_ENABLE(1'b1), .INPUT_CLK(clk), .OUTPUT_CLK(clk),
      .OUTPUT_ENABLE(tx_oe_i), .D_OUT_0(tx_i[0]), .D_OUT_1(tx_late), .D_IN_0(), .D_IN_1()
  );

  if (DE) begin : gen_de
    SB_IO #(.PIN_TYPE(DDR_OUT)) de_io (
        .PACKAGE_PIN(de_pad), .LATCH_INPUT_VALUE(1'b0), .CLOCK_ENABLE(1'b1), .INPUT_CLK(clk), .OUTPUT_CLK(clk),
        .OUTPUT_ENABLE(tx_oe_i), .D_OUT_0(de_i[0]), .D_OUT_1(de_late), .D_IN_0(), .D_IN_1()
    );
  end

  // inputs: line first, aux c as number c + 1
  wire  [2*PADS+1:0] seen;
  (* async_reg = "true" *) logic [2*PADS+1:0] meta, still;

  SB_IO #(.PIN_TYPE(DDR_IN), .PULLUP(1'b1)) rx_io (
      .PACKAGE_PIN(rx_pad), .LATCH_INPUT_VALUE(1'b0), .CLOCK_ENABLE(1'b1), .INPUT_CLK(clk), .OUTPUT_CLK(clk),
      .OUTPUT_ENABLE(1'b0), .D_OUT_0(1'b0), .D_OUT_1(1'b0), .D_IN_0(seen[0]), .D_IN_1(seen[1])
  );
  for (genvar c = 0; c < PADS; c++) begin : gen_aux
    SB_IO #(.PIN_TYPE(DDR_IN)) aux_io (
        .PACKAGE_PIN(aux_pad[c]), .LATCH_INPUT_VALUE(1'b0), .CLOCK_ENABLE(1'b1), .INPUT_CLK(clk), .OUTPUT_CLK(clk),
        .OUTPUT_ENABLE(1'b0), .D_OUT_0(1'b0), .D_OUT_1(1'b0), .D_IN_0(seen[2*c+2]), .D_IN_1(seen[2*c+3])
    );
  end

  always_ff @(posedge clk) begin
    meta  <= seen;
    still <= meta;
  end
  assign rx_o  = still[1:0];
  assign aux_o = (2 * INPUTS)'(still >> 2);
endmodule
