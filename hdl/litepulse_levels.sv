// SPDX-License-Identifier: BSD-2-Clause
// The level of each pin for the bus: the last sample of a cycle, two to three bus cycles ago. Each pin by itself: pins that change
// together may be seen a bus cycle apart. Neither glitch filter nor loopback comes in between, so it is what is on the wire.
// rx_i and aux_i come straight from the PHY's registers.
//   S, INPUTS  as in litepulse
module litepulse_levels #(
    parameter int S = 1,
    parameter int INPUTS = 4
) (
    input  logic                clk,     // of the bus
    // verilator lint_off UNUSEDSIGNAL
    input  logic [S-1:0]        rx_i,
    input  logic [INPUTS*S-1:0] aux_i,   // input c, sample s at c*S + s
    // verilator lint_on UNUSEDSIGNAL
    output logic [INPUTS:0]     levels   // input c at c, rx behind the last one
);
  logic [INPUTS:0] pins;
  (* async_reg = "true" *) logic [INPUTS:0] meta, still;
  always @* begin
    for (int c = 0; c < INPUTS; c++) pins[c] = aux_i[c*S+S-1];
    pins[INPUTS] = rx_i[S-1];
  end
  always_ff @(posedge clk) {meta, still} <= {pins, meta};
  assign levels = still;
endmodule
