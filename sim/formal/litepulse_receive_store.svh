// SPDX-License-Identifier: BSD-2-Clause
// Properties of litepulse_receive_store, included at its end: what is read is the record of that number, as it was fetched; nothing is
// stored where there is no room, and a record can be read when all of it is there, and not before.
  (* anyconst *) logic [RX_AW:0] f_n;     // any record, by its number, ...
  (* anyconst *) logic [1:0] f_part;      // ... any of its words, ...
  logic [15:0] f_data;                    // ... and what was fetched as this word
  logic f_known;                          // it has been stored, and no later record in its place
  logic f_past = 1'b0;
  logic f_took, f_freed;                  // in the last cycle
  logic [3:0] f_since;                    // cycles since a record was taken, less one
  logic [1:0] f_was;                      // the word requested in the last cycle, ...
  logic f_requested;                      // ... if one was
  logic [RX_AW:0] f_wptr, f_oldest, f_ready, f_left, f_at;
  (* anyseq *) logic [RX_AW:0] f_index;   // which record is read; also one that is not ready
  logic f_read;                           // the last cycle read word f_part of record f_n, when it was ready
  assign f_wptr   = ~nwptr;
  assign f_oldest = position[RX_AW:0] + FIRST_NUMBER;
  assign f_ready  = ~nready;
  assign f_left   = f_wptr - f_oldest;    // stored and not freed
  assign f_at     = f_wptr - 1'b1 - f_n;
  localparam logic [RX_AW:0] F_DEPTH = {1'b1, {RX_AW{1'b0}}};
  wire [15:0] f_mem = f_part[0] ? mem_hi[{f_n[RX_AW-1:0], f_part[1]}] : mem_lo[{f_n[RX_AW-1:0], f_part[1]}];

  // What the users promise.
  initial assume (rst);
  always_comb begin
    if (rx_fetched.take) assume (rx_fetch.idle && rx_fetch.room && !rst);
    if (rx_read.free) assume (rx_read.count <= 10'(f_ready) && !f_freed && !rst);  // an access takes two cycles
    if (rx_read.en) assume (!f_freed && !rx_read.free);
    assume (f_index[RX_AW-1:0] == rx_read.index[RX_AW-1:0]);
  end
  always_ff @(posedge clk) begin
    f_past      <= 1'b1;
    f_took      <= rx_fetched.take && !rst;
    f_freed     <= rx_read.free && !rst;
    f_since     <= rx_fetched.take ? 4'd0 : (rst || f_since == 4'd9) ? 4'd9 : f_since + 4'd1;
    f_was       <= part;
    f_requested <= rx_fetch.en;
    if (store && part == f_part && f_wptr[RX_AW-1:0] == f_n[RX_AW-1:0]) begin
      f_known <= f_wptr == f_n;
      f_data  <= rx_fetched.data;
    end
    f_read <= rx_read.en && f_index > (RX_AW + 1)'(1) && f_index < ~nlimit && position[RX_AW:0] + f_index == f_n && rx_read.word == f_part[1];
    if (rst) begin
      f_known <= 1'b0;
      f_read  <= 1'b0;
    end
  end

  always_comb begin
    if (f_past && !rst) begin
      // promised: never beyond what there is, nor more than there is room for; what is read is the record as it was fetched
      assert (f_left <= F_DEPTH);
      assert (~rx_records.nready == 10'(f_ready) && rx_records.nlimit == {{(9 - RX_AW) {1'b1}}, nlimit});  // whatever the depth
      if (moving) assert (f_left < F_DEPTH);
      if (store) assert (!rx_read.en && f_requested && f_was == part);  // it is the word that the crossing has fetched
      if (!f_freed) assert (f_ready <= f_left && f_ready == ~nlimit - FIRST_NUMBER);
      if (f_read) assert (f_known && (f_part[0] ? rdata[31:16] : rdata[15:0]) == f_data);
      // inside
      if (f_known) assert (f_mem == f_data);
      if (f_at < f_left || (moving && f_n == f_wptr && part > f_part)) assert (f_known);
      if (rx_fetch.idle && !f_freed) assert (f_ready == f_left);
      assert (moving || (part == 2'd0 && !ready));
      if (f_took) assert (moving && rested && part == 2'd0 && !ready);
      if (moving && rested) assert (f_took);
      // for the rest of a turn of litepulse_cdc nothing more is taken
      assert (f_since == 4'd9 || (f_since < 4'd9 && !rx_fetch.idle && (moving ? f_since >= {1'b0, part, ready} : f_since == 4'd8)));
      if (ready) assert (f_requested && f_was == part);
    end
  end

  // Only a read makes a word wait: it is stored in its second cycle, or in the first cycle without a read after that. Each stored record
  // gives one `arrived`, and can be read in the cycle after it.
  logic f_stored;  // the last cycle stored a record's last word
  logic f_arrived_was;
  always_ff @(posedge clk) begin
    f_stored <= store && part == 2'd3 && !rst;
    f_arrived_was <= rx_records.arrived && !rst;
    if (f_past && !rst && !$past(rst)) begin
      if ($past(moving && !ready)) assert (moving && ready);
      if ($past(moving && ready && rx_read.en)) assert (moving && ready && part == $past(part));
      if ($past(moving && ready && !rx_read.en)) assert (!ready && (moving ? part == $past(part) + 2'd1 : f_stored));
      assert (rx_records.arrived == f_stored);
      if (f_arrived_was) assert (rx_fetch.idle && f_ready != '0 || $past(rx_read.free) || $past(rx_read.free, 2));
    end
    cover (f_past && !rst && f_read && f_n[RX_AW] && !rx_fetch.room && rdata != '0);
    cover (f_past && !rst && f_stored && $past(rx_read.en, 3) && $past(rx_read.en, 5) && $past(rx_read.en, 7));
  end
