// SPDX-License-Identifier: BSD-2-Clause
// DP16KD with vectors for ports, for its test. Latency: none of its own.
//   WA, WB        widths of the ports         MODE_A, MODE_B  0 NORMAL, 1 WRITETHROUGH, 2 READBEFOREWRITE
//   OUT_A, OUT_B  with output register        SELECT          CSDECODE of both ports, a number
//   INVERT        clocked at falling edges
module litepulse_block_ram_tb #(
    parameter int WA = 18,
    parameter int WB = 18,
    parameter int MODE_A = 0,
    parameter int MODE_B = 0,
    parameter bit OUT_A = 0,
    parameter bit OUT_B = 0,
    parameter int SELECT = 0,
    parameter bit INVERT = 0
) (
    input  logic        clk_a, ce_a, oce_a, we_a, rst_a,
    input  logic [2:0]  cs_a,
    input  logic [13:0] ad_a,
    input  logic [17:0] di_a,
    output wire  [17:0] do_a,
    input  logic        clk_b, ce_b, oce_b, we_b, rst_b,
    input  logic [2:0]  cs_b,
    input  logic [13:0] ad_b,
    input  logic [17:0] di_b,
    output wire  [17:0] do_b
);
  localparam [39:0] CODE = {"0b", 7'h18, SELECT[2], 7'h18, SELECT[1], 7'h18, SELECT[0]};

  // Word n at the start is n * 40503 modulo 2^18.
  function automatic [319:0] start(input int row);
    start = '0;
    for (int i = 0; i < 16; i++) start[20*i+:18] = 18'((16 * row + i) * 40503);
  endfunction

  DP16KD #(
      .DATA_WIDTH_A(WA), .DATA_WIDTH_B(WB), .REGMODE_A(OUT_A ? "OUTREG" : "NOREG"), .REGMODE_B(OUT_B ? "OUTREG" : "NOREG"),
      .WRITEMODE_A(MODE_A == 2 ? "READBEFOREWRITE" : MODE_A == 1 ? "WRITETHROUGH" : "NORMAL"),
      .WRITEMODE_B(MODE_B == 2 ? "READBEFOREWRITE" : MODE_B == 1 ? "WRITETHROUGH" : "NORMAL"),
      .CLKAMUX(INVERT ? "INV" : "CLKA"), .CLKBMUX(INVERT ? "INV" : "CLKB"), .CSDECODE_A(CODE), .CSDECODE_B(CODE),
      .INITVAL_00(start(0)), .INITVAL_01(start(1)), .INITVAL_02(start(2)), .INITVAL_03(start(3)), .INITVAL_04(start(4)),
      .INITVAL_05(start(5)), .INITVAL_06(start(6)), .INITVAL_07(start(7)), .INITVAL_08(start(8)), .INITVAL_09(start(9)),
      .INITVAL_0A(start(10)), .INITVAL_0B(start(11)), .INITVAL_0C(start(12)), .INITVAL_0D(start(13)), .INITVAL_0E(start(14)),
      .INITVAL_0F(start(15)), .INITVAL_10(start(16)), .INITVAL_11(start(17)), .INITVAL_12(start(18)), .INITVAL_13(start(19)),
      .INITVAL_14(start(20)), .INITVAL_15(start(21)), .INITVAL_16(start(22)), .INITVAL_17(start(23)), .INITVAL_18(start(24)),
      .INITVAL_19(start(25)), .INITVAL_1A(start(26)), .INITVAL_1B(start(27)), .INITVAL_1C(start(28)), .INITVAL_1D(start(29)),
      .INITVAL_1E(start(30)), .INITVAL_1F(start(31)), .INITVAL_20(start(32)), .INITVAL_21(start(33)), .INITVAL_22(start(34)),
      .INITVAL_23(start(35)), .INITVAL_24(start(36)), .INITVAL_25(start(37)), .INITVAL_26(start(38)), .INITVAL_27(start(39)),
      .INITVAL_28(start(40)), .INITVAL_29(start(41)), .INITVAL_2A(start(42)), .INITVAL_2B(start(43)), .INITVAL_2C(start(44)),
      .INITVAL_2D(start(45)), .INITVAL_2E(start(46)), .INITVAL_2F(start(47)), .INITVAL_30(start(48)), .INITVAL_31(start(49)),
      .INITVAL_32(start(50)), .INITVAL_33(start(51)), .INITVAL_34(start(52)), .INITVAL_35(start(53)), .INITVAL_36(start(54)),
      .INITVAL_37(start(55)), .INITVAL_38(start(56)), .INITVAL_39(start(57)), .INITVAL_3A(start(58)), .INITVAL_3B(start(59)),
      .INITVAL_3C(start(60)), .INITVAL_3D(start(61)), .INITVAL_3E(start(62)), .INITVAL_3F(start(63))
  ) ram (
      .DIA0(di_a[0]), .DIA1(di_a[1]), .DIA2(di_a[2]), .DIA3(di_a[3]), .DIA4(di_a[4]), .DIA5(di_a[5]), .DIA6(di_a[6]),
      .DIA7(di_a[7]), .DIA8(di_a[8]), .DIA9(di_a[9]), .DIA10(di_a[10]), .DIA11(di_a[11]), .DIA12(di_a[12]), .DIA13(di_a[13]),
      .DIA14(di_a[14]), .DIA15(di_a[15]), .DIA16(di_a[16]), .DIA17(di_a[17]), .ADA0(ad_a[0]), .ADA1(ad_a[1]), .ADA2(ad_a[2]),
      .ADA3(ad_a[3]), .ADA4(ad_a[4]), .ADA5(ad_a[5]), .ADA6(ad_a[6]), .ADA7(ad_a[7]), .ADA8(ad_a[8]), .ADA9(ad_a[9]),
      .ADA10(ad_a[10]), .ADA11(ad_a[11]), .ADA12(ad_a[12]), .ADA13(ad_a[13]), .DOA0(do_a[0]), .DOA1(do_a[1]), .DOA2(do_a[2]),
      .DOA3(do_a[3]), .DOA4(do_a[4]), .DOA5(do_a[5]), .DOA6(do_a[6]), .DOA7(do_a[7]), .DOA8(do_a[8]), .DOA9(do_a[9]),
      .DOA10(do_a[10]), .DOA11(do_a[11]), .DOA12(do_a[12]), .DOA13(do_a[13]), .DOA14(do_a[14]), .DOA15(do_a[15]),
      .DOA16(do_a[16]), .DOA17(do_a[17]), .CEA(ce_a), .OCEA(oce_a), .CLKA(clk_a), .WEA(we_a), .RSTA(rst_a), .CSA0(cs_a[0]),
      .CSA1(cs_a[1]), .CSA2(cs_a[2]),
      .DIB0(di_b[0]), .DIB1(di_b[1]), .DIB2(di_b[2]), .DIB3(di_b[3]), .DIB4(di_b[4]), .DIB5(di_b[5]), .DIB6(di_b[6]),
      .DIB7(di_b[7]), .DIB8(di_b[8]), .DIB9(di_b[9]), .DIB10(di_b[10]), .DIB11(di_b[11]), .DIB12(di_b[12]), .DIB13(di_b[13]),
      .DIB14(di_b[14]), .DIB15(di_b[15]), .DIB16(di_b[16]), .DIB17(di_b[17]), .ADB0(ad_b[0]), .ADB1(ad_b[1]), .ADB2(ad_b[2]),
      .ADB3(ad_b[3]), .ADB4(ad_b[4]), .ADB5(ad_b[5]), .ADB6(ad_b[6]), .ADB7(ad_b[7]), .ADB8(ad_b[8]), .ADB9(ad_b[9]),
      .ADB10(ad_b[10]), .ADB11(ad_b[11]), .ADB12(ad_b[12]), .ADB13(ad_b[13]), .DOB0(do_b[0]), .DOB1(do_b[1]), .DOB2(do_b[2]),
      .DOB3(do_b[3]), .DOB4(do_b[4]), .DOB5(do_b[5]), .DOB6(do_b[6]), .DOB7(do_b[7]), .DOB8(do_b[8]), .DOB9(do_b[9]),
      .DOB10(do_b[10]), .DOB11(do_b[11]), .DOB12(do_b[12]), .DOB13(do_b[13]), .DOB14(do_b[14]), .DOB15(do_b[15]),
      .DOB16(do_b[16]), .DOB17(do_b[17]), .CEB(ce_b), .OCEB(oce_b), .CLKB(clk_b), .WEB(we_b), .RSTB(rst_b), .CSB0(cs_b[0]),
      .CSB1(cs_b[1]), .CSB2(cs_b[2])
  );
endmodule
