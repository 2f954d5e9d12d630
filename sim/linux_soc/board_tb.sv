// SPDX-License-Identifier: BSD-2-Clause
// ULX3S' Linux SoC, without LitePulse, and the chips that it boots from. The ROM is the file +rom= (hexadecimal words).
//   clk, clk_ps     `sys` and the SDRAM's clock, a quarter of a period later
//   dead_x, fault   of sdram_chip
module board_tb (
    input  logic        clk,
    input  logic        clk_ps,
    input  logic        rst,
    output logic        serial_tx,
    input  logic        serial_rx,
    input  logic [14:0] dead_address,
    input  logic [15:0] dead_data,
    output logic [ 9:0] fault
);
  wire [12:0] a;
  wire [1:0] ba, dm;
  wire cke, cs_n, ras_n, cas_n, we_n, dq_oe, flash_cs_n, flash_wp, flash_hold, mosi, miso;
  wire [15:0] dq, dq_out;
  assign dq = dq_oe ? dq_out : 'z;

  litepulse_board soc (
      .clocks_sys(clk), .clocks_rst(rst), .serial_tx, .serial_rx,
      .sdram_a(a), .sdram_ba(ba), .sdram_dm(dm), .sdram_cke(cke), .sdram_cs_n(cs_n), .sdram_ras_n(ras_n), .sdram_cas_n(cas_n),
      .sdram_we_n(we_n), .sdram_dq(dq),
      .spiflash_cs_n(flash_cs_n), .spiflash_mosi(mosi), .spiflash_miso(miso), .spiflash_wp(flash_wp), .spiflash_hold(flash_hold)
  );
  sdram_chip sdram (
      .clk(clk_ps), .cke, .cs_n, .ras_n, .cas_n, .we_n, .ba, .a, .dm, .dq_in(dq), .dq_out, .dq_oe, .dead_address, .dead_data, .fault
  );
  // held, or protected, it would not answer
  flash_chip flash (
      .clk, .sck(soc.USRMCLK.pin), .cs_n(flash_cs_n || !flash_wp || !flash_hold), .mosi, .miso
  );

  string rom;
  initial if ($value$plusargs("rom=%s", rom)) $readmemh(rom, soc.rom);
endmodule
