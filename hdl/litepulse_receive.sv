// SPDX-License-Identifier: BSD-2-Clause
// Writes the receive stream. A byte for which there is no room opens a gap; in place of the bytes of a gap two records are written as
// soon as two slots are free: the tick of the first lost one, and how many were lost. A byte that comes before the second of them is
// written belongs to the gap.
// Latency: one cycle. Records come at least 4 cycles apart.
//   RX_AW  log2 of the FIFO's depth
module litepulse_receive #(
    parameter int RX_AW = 9
) (
    input  logic           clk,
    input  logic           rst,
    input  logic           rec_valid,
    input  logic [47:0]    rec_tick,
    input  logic [6:0]     rec_flags,
    input  logic [8:0]     rec_data,
    output logic           rx_wr,
    output logic [63:0]    rx_wdata,
    input  logic [RX_AW:0] rx_free,
    output logic [31:0]    rx_lost,    // bytes of the gap; 0 outside of one
    output logic           fault       // a gap begins
);
  localparam logic [15:0] GAP_INFO = 16'(1) << litepulse_map_pkg::RX_OVERFLOW_LSB;
  localparam logic [15:0] COUNT_INFO = GAP_INFO | 16'(1) << litepulse_map_pkg::RX_COUNT_LSB;

  // The stage holds the record to be written next; when there is no room for it, it becomes the first record of a gap and waits.
  logic [47:0] tick;
  logic [15:0] info;
  logic        full, gap, counts;   // counts: the stage tells the number lost
  logic [31:0] lost;
  logic        some, two, open, close;

  assign some  = rx_free != '0;
  assign two   = rx_free[RX_AW:1] != '0;
  assign open  = full && !some;
  assign close = gap && two && !rec_valid;
  assign rx_wr = (full && some) || close;
  assign rx_wdata = {tick[47:32], info, tick[31:0]};
  assign rx_lost = lost;

  always_ff @(posedge clk) begin
    full  <= (rec_valid && !gap) || close;
    fault <= open;
    if (open) gap <= 1'b1;
    else if (close) gap <= 1'b0;
    counts <= close;
    if (open || (gap && rec_valid)) lost <= lost + 32'd1;
    else if (counts) lost <= 32'd0;
    if (!gap && !open) {tick, info} <= {rec_tick, rec_flags, rec_data};
    if (open) info <= GAP_INFO;
    if (close) {tick, info} <= {16'd0, lost, COUNT_INFO};
    if (rst) begin
      full <= 1'b0;
      gap <= 1'b0;
      counts <= 1'b0;
      fault <= 1'b0;
      lost <= 32'd0;
    end
  end
endmodule
