// SPDX-License-Identifier: BSD-2-Clause
// Some geared pads of an ECP5, each output looped to the input of the next, with their clocks and their start-up. The test carries
// `gear_rst` to the resets of the pads and of the divider, as late as it likes. Latency: none of its own.
//   N  pads
`timescale 1ns / 1ps

module litepulse_gearing_tb #(
    parameter int N = 4
) ();
  logic locked = 1'b0, never_stop = 1'b0;
  logic [N:0] rst = '1;        // N: the divider's
  logic [3:0] word = '0;
  logic fast = 1'b0, xtal = 1'b0;
  wire  stop, gear_rst, ready, eclk, clk;
  wire  [N-1:0] pad;
  wire  [4*N-1:0] got;

  initial forever #2.5 fast = !fast;
  initial forever #20.011 xtal = !xtal;

  litepulse_phy_ecp5_start start (.clk(xtal), .locked, .stop, .gear_rst, .ready);
  ECLKSYNCB gate (.ECLKI(fast), .STOP(stop && !never_stop), .ECLKO(eclk));
  CLKDIVF #(.DIV("2.0")) divide (.CLKI(eclk), .RST(rst[N]), .ALIGNWD(1'b0), .CDIVX(clk));

  for (genvar i = 0; i < N; i++) begin : gen_pad
    ODDRX2F out (
        .SCLK(clk), .ECLK(eclk), .RST(rst[i]), .D0(word[0]), .D1(word[1]), .D2(word[2]), .D3(word[3]), .Q(pad[i])
    );
    IDDRX2F in (
        .SCLK(clk), .ECLK(eclk), .RST(rst[i]), .ALIGNWD(1'b0), .D(pad[(i+1)%N]),
        .Q0(got[4*i]), .Q1(got[4*i+1]), .Q2(got[4*i+2]), .Q3(got[4*i+3])
    );
  end
endmodule
