// SPDX-License-Identifier: BSD-2-Clause
// Pins for one sample per cycle (S = 1), no vendor primitive: the outputs are registers of the core, the inputs pass two flip-flops.
// A pad change at a clock edge is tick T if that edge is T; the first flip-flop samples at the same instants.
// LATENCY_IN = 1 (cycles from the sampling edge to the cycle that shows the sample, less one), LATENCY_OUT = 1 (from the core's
// output register, which is the pad's).
//   INPUTS  aux inputs
module litepulse_phy_generic #(
    parameter int INPUTS = 4
) (
    input  logic              clk,
    input  logic              tx_i,
    input  logic              tx_oe_i,
    input  logic              de_i,
    output logic              tx_o,      // to the pad, driven while tx_oe_o
    output logic              tx_oe_o,
    output logic              de_o,
    input  logic              rx_pin,
    input  logic [INPUTS-1:0] aux_pin,
    (* async_reg = "true" *)
    output logic              rx_o,      // to the core
    (* async_reg = "true" *)
    output logic [INPUTS-1:0] aux_o
);
  (* async_reg = "true" *) logic              rx_meta;
  (* async_reg = "true" *) logic [INPUTS-1:0] aux_meta;

  assign tx_o    = tx_i;
  assign tx_oe_o = tx_oe_i;
  assign de_o    = de_i;

  always_ff @(posedge clk) begin
    rx_meta  <= rx_pin;
    rx_o     <= rx_meta;
    aux_meta <= aux_pin;
    aux_o    <= aux_meta;
  end
endmodule
