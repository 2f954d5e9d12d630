// SPDX-License-Identifier: BSD-2-Clause
// Two models of the iCE40's pad side by side: sim/models/SB_IO.sv and Yosys' own. Latency: none of its own.
//   PIN_TYPE  as SB_IO has it
module litepulse_pad_tb #(
    parameter [5:0] PIN_TYPE = 6'b000000
) (
    input  logic clk,
    input  logic enable,
    input  logic d_out_0,
    input  logic d_out_1,
    input  logic outside,        // the level that another device drives
    input  logic outside_drives,
    output wire  pad_a,
    output wire  d_in_0_a,
    output wire  d_in_1_a,
    output wire  pad_b,
    output wire  d_in_0_b,
    output wire  d_in_1_b
);
  assign pad_a = outside_drives ? outside : 1'bz;
  assign pad_b = outside_drives ? outside : 1'bz;

  SB_IO #(.PIN_TYPE(PIN_TYPE)) a (
      .PACKAGE_PIN(pad_a), .LATCH_INPUT_VALUE(1'b0), .CLOCK_ENABLE(1'b1), .INPUT_CLK(clk), .OUTPUT_CLK(clk), .OUTPUT_ENABLE(enable),
      .D_OUT_0(d_out_0), .D_OUT_1(d_out_1), .D_IN_0(d_in_0_a), .D_IN_1(d_in_1_a)
  );
  SB_IO_YOSYS #(.PIN_TYPE(PIN_TYPE)) b (
      .PACKAGE_PIN(pad_b), .LATCH_INPUT_VALUE(1'b0), .CLOCK_ENABLE(1'b1), .INPUT_CLK(clk), .OUTPUT_CLK(clk), .OUTPUT_ENABLE(enable),
      .D_OUT_0(d_out_0), .D_OUT_1(d_out_1), .D_IN_0(d_in_0_b), .D_IN_1(d_in_1_b)
  );
endmodule
