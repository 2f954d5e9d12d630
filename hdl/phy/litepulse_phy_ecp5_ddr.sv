// SPDX-License-Identifier: BSD-2-Clause
// Pins of an ECP5 with two samples per cycle (S = 2), on any bank: IDDRX1F and ODDRX1F. Sample 0 is the rising edge of clk, sample 1
// the falling edge after it, so ticks of odd number inherit the error of the clock's duty cycle.
// Inputs: two registers in the pad (the second at the next rising edge), then one more: each sample has a full cycle more to become
// stable after it was taken over at a rising edge. rx is pulled up.
// Outputs: the pad's three registers. tx and de are not driven from configuration on, nor while rst, whether or not clk runs; they are
// driven one cycle after the first samples that came with tx_oe_i show at the pad, so the first level is one of the core's.
// LATENCY_IN = 2, LATENCY_OUT = 4.
//   INPUTS  aux inputs of the core      PADS  how many of them have a pad (the others rest at 0)      DE  0: there is no pad de
//   rst     of the pads' registers, high from configuration until clk is good; asynchronous; not the core's reset
module litepulse_phy_ecp5_ddr #(
    parameter int INPUTS = 4,
    parameter int PADS = 4,
    parameter bit DE = 1
) (
    input  wire                 clk,
    input  wire                 rst,
    input  logic [1:0]          tx_i,
    input  logic                tx_oe_i,
    input  logic [1:0]          de_i,
    output logic [1:0]          rx_o,
    output logic [INPUTS*2-1:0] aux_o,
    inout  wire                 tx_pad,
    inout  wire                 de_pad,
    input  wire                 rx_pad,
    input  wire  [PADS-1:0]     aux_pad
);
  // All three must agree: after a lost clock the core may still show what it did before.
  // verilator lint_off PROCASSINIT
  logic [2:0] run = 3'd0;
  // verilator lint_on PROCASSINIT
  wire  off = !(&run);

  always_ff @(posedge clk or posedge rst) begin
    if (rst) run <= 3'd0;
    else run <= {run[1:0], tx_oe_i};
  end

  wire tx_q, tx_z;
  ODDRX1F tx_ddr (.SCLK(clk), .RST(rst), .D0(tx_i[0]), .D1(tx_i[1]), .Q(tx_q));
  OFS1P3BX tx_off (.SCLK(clk), .PD(rst), .SP(1'b1), .D(off), .Q(tx_z));
  OBZ tx_io (.I(tx_q), .T(tx_z), .O(tx_pad));

  if (DE) begin : gen_de
    wire de_q, de_z;
    ODDRX1F de_ddr (.SCLK(clk), .RST(rst), .D0(de_i[0]), .D1(de_i[1]), .Q(de_q));
    OFS1P3BX de_off (.SCLK(clk), .PD(rst), .SP(1'b1), .D(off), .Q(de_z));
    OBZ de_io (.I(de_q), .T(de_z), .O(de_pad));
  end

  // inputs: line first, aux c as number c + 1
  wire  [2*PADS+1:0] seen;
  (* async_reg = "true" *) logic [2*PADS+1:0] still;

  wire rx_in;
  IBPU rx_io (.I(rx_pad), .O(rx_in));
  IDDRX1F rx_ddr (.SCLK(clk), .RST(rst), .D(rx_in), .Q0(seen[0]), .Q1(seen[1]));

  for (genvar c = 0; c < PADS; c++) begin : gen_aux
    wire aux_in;
    IB aux_io (.I(aux_pad[c]), .O(aux_in));
    IDDRX1F aux_ddr (.SCLK(clk), .RST(rst), .D(aux_in), .Q0(seen[2*c+2]), .Q1(seen[2*c+3]));
  end

  always_ff @(posedge clk) still <= seen;
  assign rx_o  = still[1:0];
  assign aux_o = (2 * INPUTS)'(still >> 2);
endmodule
