// SPDX-License-Identifier: BSD-2-Clause
// Writes the receive stream. A byte for which there is no room opens a gap; in place of the bytes of a gap two records are written
// as soon as two slots are free: the tick of the first lost one, and how many were lost. A byte that comes before the first of them
// is written belongs to the gap. At LOST_STOP the count stops, and the second record says so.
// Latency: one cycle. Records come at least 4 cycles apart. What room there is is looked up in the cycle before, for speed.
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
  logic        stopped;              // `lost` counts no further

  assign open  = full && !some;
  assign close = gap && two && !rec_valid;
  assign rx_wr = (full && some) || close;
  assign rx_wdata = {tick[47:32], info, tick[31:0]};
  assign rx_lost = lost;

  always_ff @(posedge clk) begin
    some  <= rx_free[RX_AW:1] != '0 || (rx_free[0] && !rx_wr);
    two   <= rx_free[RX_AW:1] != '0;   // nothing is written in a gap
    full  <= (rec_valid && !gap) || close;
    fault <= open;
    if (open) gap <= 1'b1;
    else if (close) gap <= 1'b0;
    counts <= close;
    stopped <= lost[31:16] == litepulse_map_pkg::LOST_STOP[31:16];
    if (open || (gap && rec_valid && !stopped)) lost <= lost + 32'd1;
    else if (counts) lost <= 32'd0;
    if (close || !(open || gap)) tick <= {rec_tick[47:32] & {16{!close}}, close ? lost : rec_tick[31:0]};
    info <= close ? COUNT_INFO | 16'(stopped) : (open || gap) ? GAP_INFO : {rec_flags, rec_data};
    if (rst) begin
      full <= 1'b0;
      gap <= 1'b0;
      counts <= 1'b0;
      fault <= 1'b0;
      lost <= 32'd0;
    end
  end

`ifdef FORMAL
  // Promise 6: the stream tells of every byte once, in order, with the tick of the first lost one and their exact number; when that
  // comes to LOST_STOP it says that there may be more.
  logic        f_past = 1'b0;
  logic [31:0] f_came, f_told;       // bytes that came, less those that were not counted; bytes the stream tells of
  logic        f_skips, f_skipped;   // such were in this gap, in the one that closed in the last cycle
  logic [1:0]  f_rest;
  logic        f_pair;               // the count must come next
  logic [RX_AW:0] f_room;            // slots known to be free since the last cycle
  (* anyconst *) logic [31:0] f_which;
  logic [63:0] f_record;             // byte number f_which
  initial assume (rst);
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_room <= rst ? '0 : rx_free - (RX_AW + 1)'(rx_wr);
    f_rest <= rec_valid ? 2'd3 : (f_rest == 2'd0) ? 2'd0 : f_rest - 2'd1;
    f_came <= rst ? 32'd0 : f_came + {31'd0, rec_valid && !(gap && stopped)};
    f_skips <= !rst && gap && !close && (f_skips || (stopped && rec_valid));
    f_skipped <= f_skips;
    f_pair <= !rst && rx_wr && info == GAP_INFO;
    if (rst) f_told <= 32'd0;
    else if (rx_wr && info[15:1] == COUNT_INFO[15:1]) f_told <= f_told + tick[31:0];
    else if (rx_wr && info != GAP_INFO) f_told <= f_told + 32'd1;
    if (rec_valid && !(gap && stopped) && f_came == f_which) f_record <= {rec_tick[47:32], rec_flags, rec_data, rec_tick[31:0]};
    if (f_past && !$past(rst)) assume (rx_free >= $past(rx_free) - (RX_AW + 1)'($past(rx_wr)));
  end
  always @* begin
    assume (rx_free <= (RX_AW + 1)'(1 << RX_AW));
    if (rec_valid) assume (f_rest == 2'd0 && !rst && !rec_flags[3] && !rec_flags[6]);  // no OVERFLOW, no COUNT
    if (f_past && !rst) begin
      assert (f_came == f_told + lost + {31'd0, full && !counts});
      if (rx_wr) assert (rx_free != '0);
      // a byte is stored as it came, and only a byte that finds no room opens a gap
      if (rx_wr && !info[12] && f_told == f_which) assert (rx_wdata == f_record);
      if (open) assert (f_room == '0);
      if (rx_wr && info == GAP_INFO && f_told == f_which) assert (rx_wdata == {f_record[63:48], GAP_INFO, f_record[31:0]});
      if (rx_wr && info[15]) assert (tick[31:0] == lost && lost != 32'd0);
      assert (rx_wr || !f_pair);
      if (f_pair) assert (info[15:1] == COUNT_INFO[15:1] && (!info[0] || lost == litepulse_map_pkg::LOST_STOP) && (info[0] || !f_skipped));
      // what is not counted makes the count one of at least so many, which never wraps
      if (gap) assert (lost <= litepulse_map_pkg::LOST_STOP && (!f_skips || stopped));
      if (gap && f_rest != 2'd3) assert (stopped == (lost == litepulse_map_pkg::LOST_STOP));
      if (gap && stopped) assert (lost == litepulse_map_pkg::LOST_STOP);
      if (rx_wr && gap) assert (info == GAP_INFO && rx_free > 1);
      // at once when two slots are free
      if (gap && f_room > 1 && !rec_valid) assert (rx_wr);
      // inside
      if (full || gap) assert (some == (f_room != '0) && (two == (f_room > 1) || !gap) && f_room <= rx_free);
      if (counts) assert (some);
      assert (counts == f_pair);
      if (counts) assert (full && tick[31:0] == lost && lost != 32'd0);
      assert (!(full && gap));
      if (gap) assert (info == GAP_INFO && lost != 32'd0);
      if (full && !counts) assert (!info[12] && !info[15]);
      if (!gap && !counts) assert (lost == 32'd0);
      if (full && !counts) assert (f_rest == 2'd3);
      if (((full && !counts) || gap) && f_told == f_which) assert (tick == {f_record[63:48], f_record[31:0]});
      if (full && !counts && f_told == f_which) assert (info == f_record[47:32]);
    end
  end
  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (rx_wr && info[15:1] == COUNT_INFO[15:1] && tick == 3);
      cover (gap && rec_valid && rx_free > 1);
      cover (rx_wr && !info[12] && $past(rx_wr && info == COUNT_INFO));
    end
  end
`endif
endmodule
