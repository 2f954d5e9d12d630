// SPDX-License-Identifier: BSD-2-Clause
// What AsyncResetSynchronizer is on an FPGA, for simulation: rst rises with `request`, falls two edges of clk after it.
//   ASYNC  0: rises with the next edge of clk instead, which is less work for a simulator
module litepulse_sim_reset #(
    parameter bit ASYNC = 1
) (
    input  logic clk,
    input  logic request,
    output logic rst
);
  logic meta;
  if (ASYNC) begin : g_async
    always_ff @(posedge clk or posedge request) begin
      if (request) {rst, meta} <= 2'b11;
      else         {rst, meta} <= {meta, 1'b0};
    end
  end else begin : g_sync
    always_ff @(posedge clk) begin
      if (request) {rst, meta} <= 2'b11;
      else         {rst, meta} <= {meta, 1'b0};
    end
  end
endmodule
