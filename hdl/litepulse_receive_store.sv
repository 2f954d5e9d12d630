// SPDX-License-Identifier: BSD-2-Clause
// Where received records wait for the bus, in `sys`: takes them one by one out of litepulse_cdc's ring, as four words of 16 bits, and
// puts them into a single-port memory, which is read by index from the oldest record and freed n records at a time. The memory has two
// halves of 16 bits, each with one port and without initial contents: on a UP5K they are two of its large single-port RAMs.
//
// A read has the port before a word that is to be stored; a word waits until there is a cycle without one. Each word takes two cycles:
//
//   cycle   0        1      2       3      4       ...  8       9           10
//           rx_take  fetch  store   fetch  store        store   rx_arrived  rx_nready has it
//           record   word 0                word 1       word 3
//
// Latency: 10 cycles from rx_take until the record can be read, and one for each read meanwhile that falls on a cycle of a store.
// A read's data come a cycle after rx_ren, and only then.
//
// Records are numbered so that bus address plus position is the memory's address: the first one has number FIRST, because the window's
// header takes the place of that many records; `position` counts the freed ones from 0.
//   RX_AW      log2 of the depth
//   LARGE_RAM  as of litepulse
module litepulse_receive_store #(
    parameter int RX_AW = 9,
    // verilator lint_off UNUSEDPARAM
    parameter LARGE_RAM = "auto"
    // verilator lint_on UNUSEDPARAM
) (
    input  logic             clk,
    input  logic             rst,
    // litepulse_cdc
    output logic             rx_idle,      // nothing is being moved, nor was in the cycle before: `rx_room` counts all records
    output logic             rx_room,
    input  logic             rx_take,      // only when both are so
    output logic             rx_fetch,
    output logic [1:0]       rx_part,
    input  logic [15:0]      rx_fetched,   // a cycle later, held
    // readers; n*: complements. Records can be read below rx_index = rx_limit (rx_ready + FIRST)
    output logic [RX_AW:0]   rx_nready,
    output logic [RX_AW:0]   rx_nlimit,
    output logic [15:0]      rx_position,
    output logic             rx_arrived,
    input  logic             rx_free_stb,
    input  logic [RX_AW:0]   rx_free_n,
    input  logic             rx_ren,
    input  logic [RX_AW-1:0] rx_index,
    input  logic             rx_word,
    output logic [31:0]      rx_rdata
);
  localparam int FIRST = 2;
  localparam logic [RX_AW:0] FIRST_NUMBER = (RX_AW + 1)'(FIRST);
  localparam int WORDS = 1 << (RX_AW + 1);

  // Moving ------------------------------------------------------------------------------------------------------------
  logic moving;
  logic ready;  // the word has been fetched
  logic rested;  // nothing was moved in the last cycle
  logic store;
  logic [RX_AW:0] nwptr;  // complement of the next record's number
  assign store      = moving && ready && !rx_ren;
  assign rx_fetch   = moving;
  assign rx_idle    = !moving && rested;
  assign rx_arrived = !moving && !rested;
  assign rx_room    = rx_nready[RX_AW];

  always_ff @(posedge clk) begin
    moving  <= rx_take || (moving && !(store && rx_part == 2'd3));
    ready   <= moving && !store;
    rested  <= !moving;
    if (store) rx_part <= rx_part + 2'd1;
    if (store && rx_part == 2'd3) nwptr <= nwptr - 1'b1;
    if (rst) begin
      moving  <= 1'b0;
      ready   <= 1'b0;
      rested  <= 1'b1;
      rx_part <= 2'd0;
      nwptr   <= ~FIRST_NUMBER;
    end
  end

  // Memory: one port ----------------------------------------------------------------------------------------------------
  logic [RX_AW:0] addr;
  logic we_lo, we_hi;
  (* ram_style = LARGE_RAM *) logic [15:0] mem_lo[0:WORDS-1];
  (* ram_style = LARGE_RAM *) logic [15:0] mem_hi[0:WORDS-1];
  assign addr  = rx_ren ? {rx_position[RX_AW-1:0] + rx_index, rx_word} : {~nwptr[RX_AW-1:0], rx_part[1]};
  assign we_lo = store && !rx_part[0];
  assign we_hi = store && rx_part[0];

  always_ff @(posedge clk) begin
    if (we_lo) mem_lo[addr] <= rx_fetched;
    else rx_rdata[15:0] <= mem_lo[addr];
  end
  always_ff @(posedge clk) begin
    if (we_hi) mem_hi[addr] <= rx_fetched;
    else rx_rdata[31:16] <= mem_hi[addr];
  end

  // What can be read ------------------------------------------------------------------------------------------------------
  logic [RX_AW:0] nlimit_next;
  assign nlimit_next = nwptr + rx_position[RX_AW:0];

  always_ff @(posedge clk) begin
    if (rx_free_stb) rx_position <= rx_position + 16'(rx_free_n);
    rx_nlimit <= nlimit_next;
    rx_nready <= nlimit_next + FIRST_NUMBER;
    if (rst) begin
      rx_position <= '0;
      rx_nlimit   <= ~FIRST_NUMBER;
      rx_nready   <= '1;
    end
  end

`ifdef FORMAL
`include "litepulse_receive_store.svh"
`endif
endmodule
