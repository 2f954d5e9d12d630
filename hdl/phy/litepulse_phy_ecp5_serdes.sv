// SPDX-License-Identifier: BSD-2-Clause
// Pins of an ECP5 with four samples per cycle (S = 4), on the left or right side only: IDDRX2F and ODDRX2F. Samples are taken at both
// edges of eclk, 0 and 2 at its rising edges, so ticks of odd number inherit the error of its duty cycle.
// Which rising edge of eclk is sample 0 is settled when eclk starts after rst: the one at the falling edge of clk. Instant 0 of cycle k
// is therefore half a cycle after rising edge k of clk, the same for inputs and outputs.
// Inputs: four registers in the pad, the last by clk, then one more: each sample has a full cycle more to become stable after it was
// taken over at a rising edge of clk. rx is pulled up. nextpnr-ecp5 0.11 can tie ALIGNWD low at pads A and C only (the true pins of the
// pairs): rx and aux belong there, tx and de may be anywhere on the side.
// Outputs: the pad's registers. tx and de are not driven from configuration on, nor while rst, whether or not the clocks run; they are
// driven after the first samples that came with tx_oe_i show at the pad, so the first level is one of the core's.
// Marker port: plain registers at the falling edge of clk, which is instant 0 of the cycle; the pads are the platform's.
// LATENCY_IN = 3, LATENCY_OUT = 4.
//   INPUTS  aux inputs of the core      PADS  how many of them have a pad (the others rest at 0)      DE  0: there is no pad de
//   eclk    edge clock, twice clk and from the same ECLKSYNCB as the CLKDIVF that makes clk
//   rst     of the gearing, high from configuration, released while eclk stands still: litepulse_phy_ecp5_start; not the core's reset
module litepulse_phy_ecp5_serdes #(
    parameter int INPUTS = 3,
    parameter int PADS = 3,
    parameter bit DE = 1
) (
    input  wire                 clk,
    input  wire                 eclk,
    input  wire                 rst,
    input  logic [3:0]          tx_i,
    input  logic                tx_oe_i,
    input  logic [3:0]          de_i,
    input  logic [7:0]          port_i,
    output logic [7:0]          port_o,
    output logic [3:0]          rx_o,
    output logic [INPUTS*4-1:0] aux_o,
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
  ODDRX2F tx_ddr (
      .SCLK(clk), .ECLK(eclk), .RST(rst), .D0(tx_i[0]), .D1(tx_i[1]), .D2(tx_i[2]), .D3(tx_i[3]), .Q(tx_q)
  );
  OFS1P3BX tx_off (.SCLK(clk), .PD(rst), .SP(1'b1), .D(off), .Q(tx_z));
  OBZ tx_io (.I(tx_q), .T(tx_z), .O(tx_pad));

  if (DE) begin : gen_de
    wire de_q, de_z;
    ODDRX2F de_ddr (
        .SCLK(clk), .ECLK(eclk), .RST(rst), .D0(de_i[0]), .D1(de_i[1]), .D2(de_i[2]), .D3(de_i[3]), .Q(de_q)
    );
    OFS1P3BX de_off (.SCLK(clk), .PD(rst), .SP(1'b1), .D(off), .Q(de_z));
    OBZ de_io (.I(de_q), .T(de_z), .O(de_pad));
  end

  // inputs: line first, aux c as number c + 1
  wire  [4*PADS+3:0] seen;
  (* async_reg = "true" *) logic [4*PADS+3:0] still;

  wire rx_in;
  IBPU rx_io (.I(rx_pad), .O(rx_in));
  IDDRX2F rx_ddr (
      .SCLK(clk), .ECLK(eclk), .RST(rst), .ALIGNWD(1'b0), .D(rx_in), .Q0(seen[0]), .Q1(seen[1]), .Q2(seen[2]), .Q3(seen[3])
  );

  for (genvar c = 0; c < PADS; c++) begin : gen_aux
    wire aux_in;
    IB aux_io (.I(aux_pad[c]), .O(aux_in));
    IDDRX2F aux_ddr (
        .SCLK(clk), .ECLK(eclk), .RST(rst), .ALIGNWD(1'b0), .D(aux_in),
        .Q0(seen[4*c+4]), .Q1(seen[4*c+5]), .Q2(seen[4*c+6]), .Q3(seen[4*c+7])
    );
  end

  always_ff @(posedge clk) still <= seen;
  assign rx_o  = still[3:0];
  assign aux_o = (4 * INPUTS)'(still >> 4);
  always_ff @(negedge clk) port_o <= port_i;
endmodule
