// SPDX-License-Identifier: BSD-2-Clause
// Properties of litepulse_receive, included at its end. Promise 6: every byte is in the stream once, in order, or counted: the stream has
// the tick of the first lost byte and their exact number. At LOST_STOP it says that more may be lost.

  logic [3:0]  f_rest;               // cycles in which no byte may come
  litepulse_receive_environment #(.RING_AW(RING_AW)) environment (.rest(f_rest), .*);
`ifndef LITEPULSE_CHECK
  logic        f_past = 1'b0;
  // bytes that came, without those not counted; bytes stored or counted in the stream
  logic [31:0] f_came, f_reported;
  logic [31:0] f_lost;               // bytes of a gap whose count is not in the stream yet
  logic        f_skips;              // bytes that were not counted are among them
  logic        f_pair;               // the count must come next
  logic [RING_AW-1:0] f_room;        // records known to fit since the last cycle
  logic        f_fresh, f_just;      // the last cycle opened the gap; a byte of the gap came in it
  logic [47:0] f_words;              // the last three words
  (* anyconst *) logic [31:0] f_which;
  logic [63:0] f_record;             // byte number f_which
  wire         f_counted = rec_valid && !(gap && stopped);
  wire [63:0]  f_written = {rx_wdata, f_words};      // the record, in the cycle of its last word
  wire [15:0]  f_info = f_written[47:32];
  wire         f_is_count = last && f_info[15:1] == COUNT_INFO[15:1], f_is_gap = last && f_info == GAP_INFO;
  // what the record being written from the stage will have been
  wire [63:0]  f_whole = rx_wword == 2'd0 ? {word3, info, word1, word0} : rx_wword == 2'd1 ? {info, word1, word0, f_words[47:32]}
                         : rx_wword == 2'd2 ? {word1, word0, f_words[47:16]} : {word0, f_words};
  initial assume (rst);
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_room <= rst ? '0 : rx_free - RING_AW'(last);
    f_came <= rst ? 32'd0 : f_came + 32'(f_counted);
    f_fresh <= open && !rst;
    f_just <= gap && rec_valid && !rst;
    if (rx_wr) f_words <= {rx_wdata, f_words[47:16]};
    if (f_counted && f_came == f_which) f_record <= {received.tick[47:32], received.flags, received.data, received.tick[31:0]};
    if (open) f_lost <= 32'd1;
    else if (gap && f_counted) f_lost <= f_lost + 32'd1;
    else if (f_is_count) f_lost <= 32'd0;
    if (open) f_skips <= 1'b0;
    else if (gap && rec_valid && stopped) f_skips <= 1'b1;
    if (last) f_pair <= f_is_gap;
    if (f_is_count) f_reported <= f_reported + f_written[31:0];
    else if (last && !f_is_gap) f_reported <= f_reported + 32'd1;
    if (rst) begin
      f_reported <= 32'd0;
      f_lost <= 32'd0;
      f_pair <= 1'b0;
    end
  end
  always @* begin
    if (f_past && !rst) begin
      assert (f_came == f_reported + f_lost + 32'(full || (telling && !gap)));
      if (rx_wr) assert (rx_free != '0);
      // a byte is stored as it came, and only a byte that finds no room opens a gap
      if (last && !f_info[12] && f_reported == f_which) assert (f_written == f_record);
      if (open) assert (f_room == '0);
      if (f_is_gap && f_reported == f_which) assert (f_written == {f_record[63:48], GAP_INFO, f_record[31:0]});
      if (last && f_info[15]) assert (f_written[31:0] == f_lost && f_lost != 32'd0 && f_written[63:48] == 16'd0);
      // the number follows at once
      if (f_pair) assert (rx_wr && (!last || f_is_count));
      if (f_is_count) assert (f_pair && (!f_info[0] || f_lost == litepulse_map_pkg::LOST_STOP) && (f_info[0] || !f_skips));
      if (last && !f_info[12]) assert (!f_info[15]);
      // the header's count does not include a gap whose count is in the stream
      if (rx_gap) assert (~rx_nlost == f_lost && f_lost != 32'd0);
      if (!rx_gap && !f_pair) assert (f_lost == 32'd0);
      // bytes that are not counted make the count one of at least N, which never wraps
      assert (f_lost <= litepulse_map_pkg::LOST_STOP);
      if (gap && !f_fresh) assert (!stopped || f_lost == litepulse_map_pkg::LOST_STOP);
      if (gap && !f_fresh && !f_just) assert (stopped || f_lost != litepulse_map_pkg::LOST_STOP);
      if (gap || f_pair) assert (!f_skips || stopped);
      // inside
      assert (2'(telling) + 2'(draining) + 2'(ending) <= 2'd1 && (rx_wr || rx_wword == 2'd0));
      if (draining) assert (!rx_wword[1] && f_lost == (rx_wword[0] ? {~nlost[15:0], f_words[47:32]} : ~nlost));
      if (draining && rx_wword[0]) assert (nlost[31:16] == '1);
      if (ending) assert (rx_wword[1] && f_lost == (rx_wword[0] ? f_words[31:0] : f_words[47:16]));
      if (ending && rx_wword[0]) assert (f_words[47:32] == (COUNT_INFO | 16'(stopped)));
      if (draining || ending) assert (!stopped || f_lost == litepulse_map_pkg::LOST_STOP);
      if (draining || ending) assert (f_lost != 32'd0);
      assert (f_pair == (draining || ending) && !(f_pair && gap) && !(full && gap) && !(full && telling));
      if (!gap && !draining) assert (nlost == '1 && (!low_is_zero || (ending && !rx_wword[0])));
      if (gap && !f_fresh && !f_just) assert (low_is_zero == (nlost[15:0] == '0));
      if (one_more) assert (counts && low_is_zero == (nlost[15:0] == '0));
      if (gap) assert (!f_just || f_rest == 4'd9);
      if (f_fresh) assert (gap && f_rest >= 4'd5 && f_lost == 32'd1 && !telling && !f_skips);
      if (full || (gap && !telling)) assert (rx_wr || (some == (f_room != '0) && (two == (f_room > 1) || !gap)));
      if (telling) assert (f_room != '0 && (!gap || f_room > 1));
      if (f_pair) assert (f_room != '0);
      assert (f_room <= rx_free);
      if (full) assert (!info[12] && !info[15] && f_rest >= 4'd6);
      if (full && draining) assert (rx_wword == 2'd1 && f_rest == 4'd9);
      if (full && ending) assert (f_rest >= (rx_wword[0] ? 4'd7 : 4'd8));
      if (telling && !gap) assert (f_rest >= 4'd5 - 4'(rx_wword) && !f_whole[44] && !f_whole[47]);
      if (gap) assert (f_whole[47:32] == GAP_INFO);
      if (full && f_reported + f_lost == f_which) assert ({word3, info, word1, word0} == f_record);
      if (telling && !gap && f_reported == f_which) assert (f_whole == f_record);
      if (gap && f_reported == f_which) assert (f_whole[63:48] == f_record[63:48] && f_whole[31:0] == f_record[31:0]);
    end
  end
  // `fault` is high for one cycle when a gap begins
  always_ff @(posedge clk) if (f_past) assert (fault == (rx_gap && !$past(rx_gap)));
  // at once when two fit
  always_ff @(posedge clk) if (f_past && !$past(rst) && !rst && $past(gap && !rx_wr && f_room > 1)) assert (telling && gap);
  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (f_is_count && f_written[31:0] == 3);
      cover (gap && rec_valid && rx_free > 1);
      cover (last && !f_info[12] && f_words != '0 && f_reported > 32'd1 && $past(full, 5) && $past(ending, 6));
    end
  end
`endif
