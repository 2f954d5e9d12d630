// SPDX-License-Identifier: BSD-2-Clause
// Where received records wait for the bus, in `sys`: takes them one by one out of litepulse_cdc's ring, as four words of 16 bits, and
// puts them into a single-port memory, which is read by index from the oldest record and freed n records at a time. The memory has two
// halves of 16 bits, each with one port and without initial contents: on a UP5K they are two of its large single-port RAMs.
//
// A read has the port before a word that is to be stored; a word waits until there is a cycle without one. Each word takes two cycles:
//
//   cycle   0        1      2       3      4       ...  8       9           10
//           `take`   fetch  store   fetch  store        store   `arrived`   `nready` has it
//           record   word 0                word 1       word 3
//
// Latency: 10 cycles from `take` until the record can be read, and one for each read meanwhile that falls on a cycle of a store.
// A read's data come a cycle after rx_read.en, and only then.
//
// Records are numbered so that bus address plus position is the memory's address: the first one has number FIRST, because the window's
// header takes the place of that many records; `position` counts the freed ones from 0.
//   RX_AW      log2 of the depth
//   LARGE_RAM  as of litepulse
`include "litepulse_types.svh"
module litepulse_receive_store #(
    parameter int RX_AW = 9,
    // verilator lint_off UNUSEDPARAM
    parameter LARGE_RAM = "auto"
    // verilator lint_on UNUSEDPARAM
) (
    input  logic             clk,
    input  logic             rst,
    // litepulse_cdc
    output rx_fetch_t        rx_fetch,
    input  rx_fetched_t      rx_fetched,   // a record is taken only while there is room and nothing is being moved
    // readers
    input  rx_read_t         rx_read,
    output rx_records_t      rx_records
);
  localparam int FIRST = 2;
  localparam logic [RX_AW:0] FIRST_NUMBER = (RX_AW + 1)'(FIRST);
  localparam int WORDS = 1 << (RX_AW + 1);

  // Moving ------------------------------------------------------------------------------------------------------------
  logic moving;
  logic ready;  // the word has been fetched
  logic rested;  // nothing was moved in the last cycle
  logic store;
  logic [1:0] part;
  logic [RX_AW:0] nwptr;  // complement of the next record's number
  logic [RX_AW:0] nready, nlimit;
  logic [15:0] position;
  assign rx_records.nready   = {{(9 - RX_AW) {1'b1}}, nready};
  assign rx_records.nlimit   = {{(9 - RX_AW) {1'b1}}, nlimit};
  assign rx_records.position = position;
  assign store = moving && ready && !rx_read.en;
  assign rx_fetch.idle = !moving && rested;
  assign rx_fetch.room = nready[RX_AW];
  assign rx_fetch.en   = moving;
  assign rx_fetch.part = part;
  assign rx_records.arrived = !moving && !rested;

  always_ff @(posedge clk) begin
    moving  <= rx_fetched.take || (moving && !(store && part == 2'd3));
    ready   <= moving && !store;
    rested  <= !moving;
    if (store) part <= part + 2'd1;
    if (store && part == 2'd3) nwptr <= nwptr - 1'b1;
    if (rst) begin
      moving  <= 1'b0;
      ready   <= 1'b0;
      rested  <= 1'b1;
      part <= 2'd0;
      nwptr   <= ~FIRST_NUMBER;
    end
  end

  // Memory: one port ----------------------------------------------------------------------------------------------------
  logic [RX_AW:0] addr;
  logic we_lo, we_hi;
  logic [31:0] rdata;
  (* ram_style = LARGE_RAM *) logic [15:0] mem_lo[0:WORDS-1];
  (* ram_style = LARGE_RAM *) logic [15:0] mem_hi[0:WORDS-1];
  assign rx_records.data = rdata;
  assign addr  = rx_read.en ? {position[RX_AW-1:0] + rx_read.index[RX_AW-1:0], rx_read.word} : {~nwptr[RX_AW-1:0], part[1]};
  assign we_lo = store && !part[0];
  assign we_hi = store && part[0];

  always_ff @(posedge clk) begin
    if (we_lo) mem_lo[addr] <= rx_fetched.data;
    else rdata[15:0] <= mem_lo[addr];
  end
  always_ff @(posedge clk) begin
    if (we_hi) mem_hi[addr] <= rx_fetched.data;
    else rdata[31:16] <= mem_hi[addr];
  end

  // What can be read ------------------------------------------------------------------------------------------------------
  logic [RX_AW:0] nlimit_next;
  assign nlimit_next = nwptr + position[RX_AW:0];

  always_ff @(posedge clk) begin
    if (rx_read.free) position <= position + 16'(rx_read.count[RX_AW:0]);
    nlimit <= nlimit_next;
    nready <= nlimit_next + FIRST_NUMBER;
    if (rst) begin
      position <= '0;
      nlimit   <= ~FIRST_NUMBER;
      nready   <= '1;
    end
  end

`ifdef FORMAL
`include "litepulse_receive_store.svh"
`endif
endmodule
