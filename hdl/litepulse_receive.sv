// SPDX-License-Identifier: BSD-2-Clause
// Writes the receive stream, each record as four words of 16 bits: word 0 and 1 the tick's low half, 2 flags and data, 3 the tick's
// upper part. A byte for which there is no room opens a gap. In place of the bytes of a gap two records are written as soon as there is
// room for two: the tick of the first lost one, and how many were lost. A byte that comes before the first of them is written belongs
// to the gap. At LOST_STOP the count stops, and the second record says so.
// Bytes come at least 10 cycles apart. What room there is is looked up in the cycle before, for speed.
//
//   cycle    0          1       2 to 5    6 to 7    8 to 9
//   a byte   rec_valid  `full`  `telling`
//   a gap               `gap`   `telling`  `draining`  `ending`       (room for two is known in cycle 1)
//
//   RING_AW  log2 of the records that litepulse_cdc's ring holds; rx_free counts a record from its last word on
`include "litepulse_types.svh"
module litepulse_receive #(
    parameter int RING_AW = 6
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               rec_valid,
    input  received_t          received,
    output logic               rx_wr,
    output logic [1:0]         rx_wword,
    output logic [15:0]        rx_wdata,
    input  logic [RING_AW-1:0] rx_free,
    output logic               rx_gap,
    output logic [31:0]        rx_nlost,   // complement of the bytes of the gap, while rx_gap
    output logic               busy,       // a record is on its way to the ring
    output logic               fault       // a gap begins
);
  localparam logic [15:0] GAP_INFO = 16'(1) << litepulse_map_pkg::RX_OVERFLOW_LSB;
  localparam logic [15:0] COUNT_INFO = GAP_INFO | 16'(1) << litepulse_map_pkg::RX_COUNT_LSB;

  // The stage holds the record to be written next; when there is no room for it, it becomes the first record of a gap and waits. While
  // it is written it moves down, a word in each cycle. The number lost follows in the same way, straight from its counter, so that the
  // stage can take a byte meanwhile.
  logic [15:0] word3, info, word1, word0;
  logic        full;                 // the stage has a byte whose record has not been begun
  logic        gap;                  // until the first of its two records has been written
  logic        telling, draining, ending;  // being written: the stage; words 0 and 1 of the number lost, 2 and 3 of them
  logic [31:0] nlost;                // complement: counts down, for it can then move down in the same cells ...
  logic        counts;               // ... while this is low
  logic [15:0] nlost_less;
  logic        low_is_zero, low_some;  // the upper half counts, too; known a cycle before, so that no carry chain is longer than a half
  logic        some, two, open, last, one_more;
  logic        stopped;              // `lost` counts no further

  assign open     = full && !rx_wr && !some;
  assign last     = rx_wr && rx_wword == 2'd3;
  assign rx_wr    = telling || draining || ending;
  assign rx_gap   = gap;
  assign rx_nlost = nlost;
  assign busy     = full || rx_wr;
  // the number lost has moved out when its record's last two words come
  assign rx_wdata = telling ? word0
                    : ~nlost[15:0] | (COUNT_INFO | 16'(stopped)) & {16{ending && !rx_wword[0]}};

  assign draining = !counts;
  assign one_more = open || (gap && rec_valid && !stopped);
  assign {low_some, nlost_less} = {1'b0, nlost[15:0]} + {1'b0, {16{counts}}};

  always_ff @(posedge clk) begin
    some <= rx_free[RING_AW-1:1] != '0 || (rx_free[0] && !last);
    two  <= rx_free[RING_AW-1:1] != '0;   // nothing was written in a gap
    if (rx_wr) rx_wword <= rx_wword + 2'd1;
    telling  <= telling ? !last : !rx_wr && ((full && some) || (gap && two));
    counts   <= !(telling && last && gap) && (counts || rx_wword[0]);
    ending   <= (draining && rx_wword[0]) || (ending && !rx_wword[0]);
    full  <= rec_valid ? !gap : full && rx_wr;
    fault <= open;
    if (open) gap <= 1'b1;
    else if (last) gap <= 1'b0;
    if (gap) stopped <= nlost[31:16] == ~litepulse_map_pkg::LOST_STOP[31:16];
    low_is_zero <= !low_some;
    if (one_more || !counts) nlost[15:0] <= counts ? nlost_less : nlost[31:16];
    if ((one_more && low_is_zero) || !counts) nlost[31:16] <= counts ? nlost[31:16] + {16{counts}} : 16'hffff;
    if (telling) {info, word1, word0} <= {word3, info, word1};
    else if (open) info <= GAP_INFO;
    else if (rec_valid && !gap) {word3, info, word1, word0} <= {received.tick[47:32], received.flags, received.data, received.tick[31:0]};
    if (rst) begin
      rx_wword <= 2'd0;
      telling <= 1'b0;
      counts <= 1'b1;
      ending <= 1'b0;
      full <= 1'b0;
      gap <= 1'b0;
      fault <= 1'b0;
      nlost <= '1;
      low_is_zero <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_receive.svh"
`endif
endmodule
