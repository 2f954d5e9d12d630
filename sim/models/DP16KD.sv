// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's block RAM DP16KD: 1024 words of 18 bits, two ports, or one that writes and one that reads 36 bits.
// Behaviour: Lattice FPGA-TN-02204 (ECP5 memory usage guide) and the ports' use in Yosys' library for this cell.
// - A port is clocked at its rising edge (falling with CLKxMUX = "INV") while CEx and while CSx equals CSDECODEx. WEx = 1 writes, else it
//   reads. What it shows while it writes is WRITEMODE: NORMAL the value before, WRITETHROUGH the new word, READBEFOREWRITE the old one.
// - Widths 1, 2, 4 leave out each ninth bit. The address is that of a bit (ADx[13:0]) of which a width uses the upper part; at 18 and
//   36 bits ADx[1:0] and ADx[3:0] are byte enables (9 bits each) of a write instead.
// - At 36 bits A writes, word 0 of 18 bits on DIA, word 1 on DIB, and B reads, word 0 on DOA, word 1 on DOB.
// - Both ports at one word at the same time: the reader gets the old word here; the silicon promises nothing.
// - REGMODE = OUTREG: one more register, enabled by OCEx. RSTx clears at the clock what DOx shows, whatever CEx; with RESETMODE = ASYNC
//   it must stay 0 (checked).
// - INITVAL_nn: 16 words of 18 bits, each at a multiple of 20 bits.
// Not modelled: GSR, ASYNC_RESET_RELEASE, delays. Unknown widths and modes are refused.
module DP16KD #(
    parameter DATA_WIDTH_A = 18,
    parameter DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC",
    parameter ASYNC_RESET_RELEASE = "SYNC",
    parameter CSDECODE_A = "0b000",
    parameter CSDECODE_B = "0b000",
    parameter WRITEMODE_A = "NORMAL",
    parameter WRITEMODE_B = "NORMAL",
    parameter CLKAMUX = "CLKA",
    parameter CLKBMUX = "CLKB",
    parameter GSR = "ENABLED",
    parameter [319:0] INITVAL_00 = 320'd0, INITVAL_01 = 320'd0, INITVAL_02 = 320'd0, INITVAL_03 = 320'd0,
    parameter [319:0] INITVAL_04 = 320'd0, INITVAL_05 = 320'd0, INITVAL_06 = 320'd0, INITVAL_07 = 320'd0,
    parameter [319:0] INITVAL_08 = 320'd0, INITVAL_09 = 320'd0, INITVAL_0A = 320'd0, INITVAL_0B = 320'd0,
    parameter [319:0] INITVAL_0C = 320'd0, INITVAL_0D = 320'd0, INITVAL_0E = 320'd0, INITVAL_0F = 320'd0,
    parameter [319:0] INITVAL_10 = 320'd0, INITVAL_11 = 320'd0, INITVAL_12 = 320'd0, INITVAL_13 = 320'd0,
    parameter [319:0] INITVAL_14 = 320'd0, INITVAL_15 = 320'd0, INITVAL_16 = 320'd0, INITVAL_17 = 320'd0,
    parameter [319:0] INITVAL_18 = 320'd0, INITVAL_19 = 320'd0, INITVAL_1A = 320'd0, INITVAL_1B = 320'd0,
    parameter [319:0] INITVAL_1C = 320'd0, INITVAL_1D = 320'd0, INITVAL_1E = 320'd0, INITVAL_1F = 320'd0,
    parameter [319:0] INITVAL_20 = 320'd0, INITVAL_21 = 320'd0, INITVAL_22 = 320'd0, INITVAL_23 = 320'd0,
    parameter [319:0] INITVAL_24 = 320'd0, INITVAL_25 = 320'd0, INITVAL_26 = 320'd0, INITVAL_27 = 320'd0,
    parameter [319:0] INITVAL_28 = 320'd0, INITVAL_29 = 320'd0, INITVAL_2A = 320'd0, INITVAL_2B = 320'd0,
    parameter [319:0] INITVAL_2C = 320'd0, INITVAL_2D = 320'd0, INITVAL_2E = 320'd0, INITVAL_2F = 320'd0,
    parameter [319:0] INITVAL_30 = 320'd0, INITVAL_31 = 320'd0, INITVAL_32 = 320'd0, INITVAL_33 = 320'd0,
    parameter [319:0] INITVAL_34 = 320'd0, INITVAL_35 = 320'd0, INITVAL_36 = 320'd0, INITVAL_37 = 320'd0,
    parameter [319:0] INITVAL_38 = 320'd0, INITVAL_39 = 320'd0, INITVAL_3A = 320'd0, INITVAL_3B = 320'd0,
    parameter [319:0] INITVAL_3C = 320'd0, INITVAL_3D = 320'd0, INITVAL_3E = 320'd0, INITVAL_3F = 320'd0
) (
    input  wire DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1,
    DIA0, ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0, CEA, OCEA, CLKA, WEA, RSTA,
    CSA2, CSA1, CSA0,
    output wire DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1,
    DOA0,
    input  wire DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1,
    DIB0, ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0, CEB, OCEB, CLKB, WEB, RSTB,
    CSB2, CSB1, CSB0,
    output wire DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
    DOB0
);
  localparam int WA = DATA_WIDTH_A, WB = DATA_WIDTH_B;
  localparam bit OUT_A = REGMODE_A == "OUTREG", OUT_B = REGMODE_B == "OUTREG";
  localparam bit THROUGH_A = WRITEMODE_A == "WRITETHROUGH", THROUGH_B = WRITEMODE_B == "WRITETHROUGH";
  localparam bit BEFORE_A = WRITEMODE_A == "READBEFOREWRITE", BEFORE_B = WRITEMODE_B == "READBEFOREWRITE";

  // The three characters after "0b", as a number.
  function automatic [2:0] decode(input logic [39:0] text);
    decode = {text[16], text[8], text[0]};
  endfunction

  function automatic known(input int width);
    known = width == 1 || width == 2 || width == 4 || width == 9 || width == 18 || width == 36;
  endfunction

  initial begin
    if (!known(WA) || !known(WB)) $fatal(1, "DP16KD: no such width");
    if (!OUT_A && REGMODE_A != "NOREG" || !OUT_B && REGMODE_B != "NOREG") $fatal(1, "DP16KD: no such REGMODE");
    if (RESETMODE != "ASYNC" && RESETMODE != "SYNC") $fatal(1, "DP16KD: no such RESETMODE");
    if (!THROUGH_A && !BEFORE_A && WRITEMODE_A != "NORMAL" || !THROUGH_B && !BEFORE_B && WRITEMODE_B != "NORMAL")
      $fatal(1, "DP16KD: no such WRITEMODE");
  end

  wire        clk_a = (CLKAMUX == "INV") ? ~CLKA : CLKA;
  wire        clk_b = (CLKBMUX == "INV") ? ~CLKB : CLKB;
  wire        on_a = CEA && {CSA2, CSA1, CSA0} == decode(CSDECODE_A);
  wire        on_b = CEB && {CSB2, CSB1, CSB0} == decode(CSDECODE_B);
  wire [13:0] ad_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] ad_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] di_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [17:0] di_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};

  logic [17:0] mem[0:1023];
  localparam [64*320-1:0] INIT = {
      INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38, INITVAL_37, INITVAL_36,
      INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30, INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C,
      INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22,
      INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
      INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F, INITVAL_0E,
      INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08, INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04,
      INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00
  };

  // The word of 18 bits with `data` written into the place that `ad` says, by a port that is `width` wide (18 at most).
  function automatic [17:0] merged(input logic [17:0] word, input logic [17:0] data, input logic [13:0] ad, input int width);
    merged = word;
    case (width)
      1: merged[(ad[3] ? 9 : 0) + int'(ad[2:0])] = data[0];
      2: merged[(ad[3] ? 9 : 0) + 2 * int'(ad[2:1])+:2] = data[1:0];
      4: merged[(ad[3] ? 9 : 0) + 4 * int'(ad[2])+:4] = data[3:0];
      9: merged[(ad[3] ? 9 : 0)+:9] = data[8:0];
      default: begin
        if (ad[0]) merged[8:0] = data[8:0];
        if (ad[1]) merged[17:9] = data[17:9];
      end
    endcase
  endfunction

  // What a port that is `width` wide shows of a word.
  function automatic [17:0] part(input logic [17:0] word, input logic [13:0] ad, input int width);
    case (width)
      1: part = 18'(word[(ad[3] ? 9 : 0) + int'(ad[2:0])]);
      2: part = 18'(word[(ad[3] ? 9 : 0) + 2 * int'(ad[2:1])+:2]);
      4: part = 18'(word[(ad[3] ? 9 : 0) + 4 * int'(ad[2])+:4]);
      9: part = 18'(word[(ad[3] ? 9 : 0)+:9]);
      default: part = word;
    endcase
  endfunction

  initial begin
    for (int i = 0; i < 1024; i++) mem[i] = INIT[(i/16)*320+(i%16)*20+:18];
  end

  // Words of the ports before their output registers; B's second word at 36 bits.
  logic [17:0] read_a, read_b, read_b1, reg_a, reg_b, reg_b1;
  initial {read_a, read_b, read_b1, reg_a, reg_b, reg_b1} = '0;

  always @(posedge clk_a) begin
    if (on_a && WEA) begin
      if (WA == 36) begin
        mem[{ad_a[13:5], 1'b0}] <= merged(mem[{ad_a[13:5], 1'b0}], di_a, {12'd0, ad_a[1:0]}, 18);
        mem[{ad_a[13:5], 1'b1}] <= merged(mem[{ad_a[13:5], 1'b1}], di_b, {12'd0, ad_a[3:2]}, 18);
      end else mem[ad_a[13:4]] <= merged(mem[ad_a[13:4]], di_a, ad_a, WA);
    end
  end

  always @(posedge clk_b) begin
    if (on_b && WEB && WB != 36) mem[ad_b[13:4]] <= merged(mem[ad_b[13:4]], di_b, ad_b, WB);
  end

  always @(posedge clk_a) begin
    if (on_a && WA != 36) begin
      if (!WEA || BEFORE_A) read_a <= part(mem[ad_a[13:4]], ad_a, WA);
      else if (THROUGH_A) read_a <= part(merged(mem[ad_a[13:4]], di_a, ad_a, WA), ad_a, WA);
    end
    if (RSTA && !OUT_A) read_a <= 18'd0;
    if (RSTA) reg_a <= 18'd0;
    else if (OCEA) reg_a <= read_a;
  end

  always @(posedge clk_b) begin
    if (on_b) begin
      if (WB == 36) {read_b1, read_b} <= {mem[{ad_b[13:5], 1'b1}], mem[{ad_b[13:5], 1'b0}]};
      else if (!WEB || BEFORE_B) read_b <= part(mem[ad_b[13:4]], ad_b, WB);
      else if (THROUGH_B) read_b <= part(merged(mem[ad_b[13:4]], di_b, ad_b, WB), ad_b, WB);
    end
    if (RSTB && !OUT_B) {read_b1, read_b} <= 36'd0;
    if (RSTB) {reg_b1, reg_b} <= 36'd0;
    else if (OCEB) {reg_b1, reg_b} <= {read_b1, read_b};
  end

  wire [17:0] out_b = OUT_B ? reg_b : read_b;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} =
      WB == 36 ? out_b : OUT_A ? reg_a : read_a;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} =
      WB == 36 ? (OUT_B ? reg_b1 : read_b1) : out_b;

  always @* if (RESETMODE == "ASYNC" && (RSTA || RSTB)) $fatal(1, "DP16KD: an asynchronous reset is not modelled");
endmodule
