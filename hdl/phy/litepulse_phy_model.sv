// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of pins with S = 2, 4 or 8 samples per cycle. sample_clk runs at S times pulse_clk, every rising edge of pulse_clk falls
// on one of sample_clk: that is sample instant 0 of the cycle. LATENCY_IN = 1, LATENCY_OUT = 2.
//   S       samples per cycle      INPUTS  aux inputs
module litepulse_phy_model #(
    parameter int S = 2,
    parameter int INPUTS = 4
) (
    input  logic                pulse_clk,
    input  logic                sample_clk,
    input  logic [S-1:0]        tx_i,
    input  logic                tx_oe_i,
    input  logic [S-1:0]        de_i,
    output logic                tx_pin,
    output logic                tx_oe,
    output logic                de_pin,
    input  logic                rx_pin,
    input  logic [INPUTS-1:0]   aux_pin,
    output logic [S-1:0]        rx_o,
    output logic [INPUTS*S-1:0] aux_o
);
  localparam int SL = $clog2(S);

  // verilator lint_off PROCASSINIT
  logic          turn = 1'b0, turn_seen = 1'b0;
  logic [SL-1:0] phase = '0;     // sample index of the edge before
  logic [SL-1:0] index;          // of the coming edge
  logic [S-1:0]  tx_shift = '1, de_shift = '0;
  logic [S-1:0]  rx_samples = '1;
  logic [INPUTS*S-1:0] aux_samples = '0;
  // verilator lint_on PROCASSINIT

  // the edge after instant 0 is the first that sees `turn` changed
  assign index  = (turn != turn_seen) ? SL'(1) : phase + SL'(1);
  assign tx_pin = tx_shift[0];
  assign de_pin = de_shift[0];

  always_ff @(posedge pulse_clk) begin
    turn  <= !turn;
    tx_oe <= tx_oe_i;
    rx_o  <= rx_samples;
    aux_o <= aux_samples;
  end

  always_ff @(posedge sample_clk) begin
    turn_seen <= turn;
    phase <= index;
    if (index == '0) begin
      tx_shift <= tx_i;
      de_shift <= de_i;
    end else begin
      tx_shift <= {1'b1, tx_shift[S-1:1]};
      de_shift <= {1'b0, de_shift[S-1:1]};
    end
    rx_samples[index] <= rx_pin;
    for (int c = 0; c < INPUTS; c++) aux_samples[c*S+int'(index)] <= aux_pin[c];
  end
endmodule
