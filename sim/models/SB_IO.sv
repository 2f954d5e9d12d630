// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the iCE40's SB_IO. Ports, PIN_TYPE and registers: Lattice's iCE Technology Library (FPGA-TN-02026), "SB_IO".
// Yosys' own model tells the halves of a cycle apart by the clock itself, delayed by two steps without time: Verilator makes no such
// steps, and a pad wired to another is then sampled in the middle of a change. Here one of two registers changes at each edge.
// Registers start at 0, as configuration leaves them. Not modelled, and checked: input latch, NEG_TRIGGER, CLOCK_ENABLE other than 1,
// inverted outputs. Not modelled: PULLUP, delays.
//   PIN_TYPE  [1:0] input: 0 at both edges, 1 straight; [3:2] output: 0 at both edges, 1 at the rising edge, 2 straight;
//             [5:4] pad: 0 never driven, 1 always, 2 while OUTPUT_ENABLE, 3 while it was at the last rising edge
module SB_IO #(
    parameter [5:0] PIN_TYPE = 6'b000000,
    parameter [0:0] PULLUP = 1'b0,
    parameter [0:0] NEG_TRIGGER = 1'b0,
    parameter IO_STANDARD = "SB_LVCMOS"
) (
    inout  wire  PACKAGE_PIN,
    input  logic LATCH_INPUT_VALUE,
    input  logic CLOCK_ENABLE,
    input  logic INPUT_CLK,
    input  logic OUTPUT_CLK,
    input  logic OUTPUT_ENABLE,
    input  logic D_OUT_0,
    input  logic D_OUT_1,
    output wire  D_IN_0,
    output wire  D_IN_1
);
  logic in_rise, in_fall, rise, fall, once, enable;
  wire  level = PIN_TYPE[3] ? D_OUT_0 : PIN_TYPE[2] ? once : rise ^ fall;

  initial {in_rise, in_fall, rise, fall, once, enable} = '0;
  initial if (PIN_TYPE[1] || PIN_TYPE[3:2] == 2'd3 || NEG_TRIGGER) $fatal(1, "SB_IO: PIN_TYPE %b is not modelled", PIN_TYPE);

  always @(posedge INPUT_CLK) in_rise <= PACKAGE_PIN;
  always @(negedge INPUT_CLK) in_fall <= PACKAGE_PIN;
  assign D_IN_0 = PIN_TYPE[0] ? PACKAGE_PIN : in_rise;
  assign D_IN_1 = in_fall;

  always @(posedge OUTPUT_CLK) begin
    rise   <= D_OUT_0 ^ fall;
    once   <= D_OUT_0;
    enable <= OUTPUT_ENABLE;
  end
  always @(negedge OUTPUT_CLK) fall <= D_OUT_1 ^ rise;

  if (PIN_TYPE[5:4] == 2'd1) begin : gen_always
    assign PACKAGE_PIN = level;
  end else if (PIN_TYPE[5:4] == 2'd2) begin : gen_straight
    assign PACKAGE_PIN = OUTPUT_ENABLE ? level : 1'bz;
  end else if (PIN_TYPE[5:4] == 2'd3) begin : gen_registered
    assign PACKAGE_PIN = enable ? level : 1'bz;
  end

  always @(posedge OUTPUT_CLK) if (CLOCK_ENABLE !== 1'b1) $fatal(1, "SB_IO: CLOCK_ENABLE is not modelled");
endmodule
