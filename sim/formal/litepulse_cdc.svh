// SPDX-License-Identifier: BSD-2-Clause
// Properties of litepulse_cdc, included at its end: nothing is lost, doubled, mixed or overrun on its way between two free clocks.
  // sent: pulse's pointer as it was handed over; seen: as sys knew it when it last passed; freed: sys's as pulse has seen it.
  logic [EV_AW:0] f_ev_sent, f_ev_seen, f_ev_freed, f_ev_ready;
  logic [TX_AW:0] f_tx_w, f_tx_r;
  logic [LQ_AW:0] f_lq_sent, f_lq_seen;
  assign f_ev_sent = ~ev_nwptr_h;
  assign f_ev_freed = ~ev_noldest_v;
  assign f_ev_ready = ~ev_nready;
  assign f_lq_sent = ~lq_nrptr_h;
  // counts and flags of what happened: full pointers of the transmit ring and of the received records, how often a flag has turned
  logic [LQ_AW:0] f_lq_pulse;  // launches pulse knows of, and so lq_wptr when it last looked
  // records written, taken, and known to pulse as taken
  logic [RING_AW:0] f_rx_wr, f_rx_taken, f_rx_pulse;
  logic [RING_AW:0] f_rx_sent;                       // written when pulse last had its turn
  logic [1:0] f_rx_part;      // the record's next word
  // sys has done something in this turn, and not passed it yet
  logic f_deed;
  // a deed of the bus: no other access can follow it at once. The watchdog's words come beside the bus.
  logic f_bus_deed;

  // What the users promise.
  (* anyseq *) logic [EV_AW:0] f_ev_index;  // which record is read; also one that is not ready
  logic [63:0] f_tick_was;
  logic f_pushing;  // what was done was a push
  always_comb begin
    if (ev_write.valid) assume (ev_free != '0);
    if (rx_write.valid) assume (rx_free != '0 && rx_write.word == f_rx_part);
    if (done) assume (turn);
    if (f_rx_took) assume (!rx_fetch.idle);
    if (cycle > 3'd3) assume (!done);  // four bytes at most, from the first cycle of a turn on
    assume (3'(tx_write.valid) + 3'(lq_write.commit) + 3'(ev_read.free) + 3'(cfg_write.valid) + 3'(snap_request.start) <= 1);
    if (f_deed && done) assume (tx_write.valid && f_pushing);
    if (f_bus_deed) assume (!lq_write.en);
    if (ev_read.free) assume (ev_read.count <= 15'(f_ev_ready));
    if (tx_write.valid) assume (tx_free != '0);
    if (lq_write.en || lq_write.commit) assume (lq_nfree != '1);
    if (lq_read.free) assume (lq_avail != '0);
    if (cfg_write.valid) assume (!cfg_state.busy);
    if (snap_request.start) assume (!snap.busy);
    assume (f_ev_index[EV_AW-1:0] == ev_read.index[EV_AW-1:0]);
    assume (state.tick == f_tick_was + 1'b1);
  end

  // What each entry holds from its write until its place is written again; what was read.
  logic f_ev_known = 1'b0, f_rx_known = 1'b0, f_tx_known = 1'b0, f_lq_known = 1'b0, f_lq_whole = 1'b0;
  logic f_ev_read = 1'b0, f_rx_read = 1'b0, f_tx_read = 1'b0, f_lq_read = 1'b0;
  logic [31:0] f_ev_data, f_lq_data, f_ev_expect, f_lq_expect;
  logic [15:0] f_rx_data, f_rx_expect;
  logic [7:0] f_tx_data, f_tx_expect;
  logic [TX_AW:0] f_tx_pops;
  logic f_cfg_starts, f_cfg_dones, f_cfg_answers, f_cfg_bad_given;
  logic [63:0] f_tick;
  logic [31:0] f_lost, f_lost_was, f_snap_data;
  logic f_carried, f_lost_whole;  // ev_lost carried in the last cycle; did not when f_lost was taken
  logic f_snap_known = 1'b0;
  logic f_rx_any, f_rx_took;  // a record has been taken; in this turn
  logic f_rx_quiet, f_rx_done;  // sys passed in the last cycle with room for a record and no byte being received; all had been moved
  wire f_snap_end = snap_word == SNAP_HI && !(snap_top && !state.tick[31]);

  wire f_ev_staged = NEAR_AW != EV_AW && ev_store;

  always_ff @(posedge pulse_clk) begin
    f_tick_was <= state.tick;
    if (ev_write.valid && ev_wptr[EV_AW-1:0] == f_ev_n[EV_AW-1:0]) begin
      f_ev_known <= ev_wptr == f_ev_n;
      f_ev_data  <= ev_write.data[32*f_ev_w+:32];
    end
    if (rx_write.valid) f_rx_part <= f_rx_part + 1'b1;
    if (rx_written) f_rx_wr <= f_rx_wr + 1'b1;
    if (rx_came) f_rx_pulse <= f_rx_pulse + 1'b1;
    if (pulse_take) f_rx_sent <= f_rx_wr;
    if (rx_write.valid && rx_write.word == f_rx_w && f_rx_wr[RING_AW-1:0] == f_rx_n[RING_AW-1:0]) begin
      f_rx_known <= f_rx_wr == f_rx_n;
      f_rx_data  <= rx_write.data;
    end
    if (tx_fetch) begin
      f_tx_r      <= f_tx_r + 1'b1;
      f_tx_read   <= f_tx_r == f_tx_n;
      f_tx_expect <= f_tx_data;
    end
    if (txb_valid && tx_pop) f_tx_pops <= f_tx_pops + 1'b1;
    if (lq_read.en) begin
      // one that is just being counted may be read too
      f_lq_read   <= (lq_avail != '0 || lq_came) && lq_rptr == f_lq_n && lq_read.word == f_lq_w && f_lq_whole;
      f_lq_expect <= f_lq_data;
    end
    if (cfg.valid && cfg_answer.done) begin
      f_cfg_dones     <= !f_cfg_dones;
      f_cfg_bad_given <= cfg_answer.refused;
    end
    if (pulse_take) f_lq_pulse <= lq_wptr;
    f_lost_was <= snap_sel ? (state.rx_gap ? ~state.rx_nlost : 32'd0) : state.ev_gap ? state.ev_lost : 32'd0;
    f_carried <= state.ev_lost_carries;
    if (snap_go && snap_word == SNAP_LOST) {f_lost, f_lost_whole} <= {f_lost_was, !f_carried};
    if (snap_word == SNAP_LO) f_tick <= state.tick;
    if (f_snap_end && f_snap_n[2] == snap_sel) begin
      f_snap_known <= f_snap_n[1:0] != '0;
      f_snap_data  <= f_snap_n[1:0] == 2'd1 ? f_lost : f_snap_n[0] ? f_tick[63:32] : f_tick[31:0];
    end
    if (pulse_rst) begin
      f_ev_known  <= 1'b0;
      f_rx_known  <= 1'b0;
      f_tx_read   <= 1'b0;
      f_lq_read   <= 1'b0;
      f_tx_pops   <= '0;
      f_tx_r      <= '0;
      f_rx_wr     <= '0;
      f_rx_pulse  <= '0;
      f_rx_sent   <= '0;
      f_rx_part   <= '0;
      f_lq_pulse  <= '0;
      f_cfg_dones <= 1'b0;
      f_cfg_bad_given <= 1'b0;
      f_snap_known <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (turn) f_deed <= done;
    if (turn) f_bus_deed <= done && !cfg_write.valid;
    f_pushing <= tx_write.valid;
    if (pass) begin
      f_ev_seen <= f_ev_sent;
      f_lq_seen <= f_lq_sent;
    end
    if (tx_write.valid) f_tx_w <= f_tx_w + 1'b1;
    // records are read when nothing is under way
    if (ev_read.en) begin
      f_ev_read   <= !f_bus_deed && (!done || cfg_write.valid) && f_ev_index != '0 && f_ev_index <= f_ev_ready && ev_position[EV_AW:0] + f_ev_index == f_ev_n && ev_read.word == f_ev_w;
      f_ev_expect <= f_ev_data;
    end
    if (rx_fetched.take) f_rx_taken <= f_rx_taken + 1'b1;
    // of a record that is handed over in this very cycle nothing can be fetched yet
    if (rx_fetch.en) begin
      f_rx_read   <= f_rx_any && f_rx_taken - 1'b1 == f_rx_n && rx_fetch.part == f_rx_w;
      f_rx_expect <= f_rx_data;
    end
    f_rx_any  <= f_rx_any || rx_fetched.take;
    f_rx_took <= (f_rx_took || rx_fetched.take) && !sys_pass;
    f_rx_quiet <= pass && rx_fetch.room && !levels_h[6];
    f_rx_done <= f_rx_sent == f_rx_taken && rx_fetch.idle;
    if (tx_write.valid && f_tx_w[TX_AW-1:0] == f_tx_n[TX_AW-1:0]) begin
      f_tx_known <= f_tx_w == f_tx_n;
      f_tx_data  <= tx_write.data;
    end
    if (lq_write.en && lq_wptr[LQ_AW-1:0] == f_lq_n[LQ_AW-1:0] && lq_write.word == f_lq_w) begin
      f_lq_known <= lq_wptr == f_lq_n;
      f_lq_data  <= lq_write.data;
    end
    if (lq_write.commit && lq_wptr == f_lq_n) f_lq_whole <= f_lq_known || (lq_write.en && lq_write.word == f_lq_w);
    if (cfg_write.valid) f_cfg_starts <= !f_cfg_starts;
    if (cfg_state.answered) f_cfg_answers <= !f_cfg_answers;
    if (sys_rst) begin
      f_deed        <= 1'b0;
      f_bus_deed    <= 1'b0;
      f_ev_seen     <= EV_FIRST_NUMBER;
      f_rx_taken    <= '0;
      f_rx_any      <= 1'b0;
      f_rx_took     <= 1'b0;
      f_rx_quiet    <= 1'b0;
      f_lq_seen     <= '0;
      f_tx_w        <= '0;
      f_ev_read     <= 1'b0;
      f_rx_read     <= 1'b0;
      f_tx_known    <= 1'b0;
      f_lq_known    <= 1'b0;
      f_lq_whole    <= 1'b0;
      f_cfg_starts  <= 1'b0;
      f_cfg_answers <= 1'b0;
    end
  end

  // Distances from the write pointer, modulo twice the depth.
  wire [EV_AW:0] f_ev_0 = ev_wptr - f_ev_freed, f_ev_2 = ev_wptr - ev_oldest;
  wire [EV_AW:0] f_ev_3 = ev_wptr - f_ev_seen, f_ev_4 = ev_wptr - f_ev_sent, f_ev_at = ev_wptr - 1'b1 - f_ev_n;
  wire [RING_AW:0] f_rx_0 = f_rx_wr - f_rx_pulse, f_rx_2 = f_rx_wr - f_rx_taken, f_rx_at = f_rx_wr - 1'b1 - f_rx_n;
  wire [TX_AW:0] f_tx_2 = f_tx_w - f_tx_r, f_tx_at = f_tx_w - 1'b1 - f_tx_n;
  wire [LQ_AW:0] f_lq_0 = lq_wptr - f_lq_seen, f_lq_1 = lq_wptr - f_lq_sent, f_lq_2 = lq_wptr - lq_rptr;
  wire [LQ_AW:0] f_lq_3 = lq_wptr - f_lq_pulse, f_lq_at = lq_wptr - 1'b1 - f_lq_n;
  // a byte was fetched and sys has not counted it yet
  wire f_tx_owed = !f_turn && !passed && tx_taken_h;
  // Flags on their way round: at most one of two neighbours differs.
  wire [3:0] f_cfg_round = {cfg_flag, cfg_flag_v, cfg_ack, cfg_ack_h};
  wire [3:0] f_snap_round = {snap_flag, snap_flag_v, snap_ack, snap_ack_h};
  wire [3:0] f_cfg_steps = f_cfg_round ^ {f_cfg_round[2:0], cfg_ack_v};
  wire [3:0] f_snap_steps = f_snap_round ^ {f_snap_round[2:0], snap_ack_v};

  always_comb begin
    if (f_ok) begin
      // Promised: no overrun, no underrun, what each side knows is safe; every entry comes out as it went in.
      assert (f_ev_0 <= EV_DEPTH && f_rx_0 <= (RING_AW + 1)'(RX_DEPTH) && f_tx_2 <= TX_DEPTH - (TX_AW + 1)'(f_tx_owed) && f_lq_0 <= LQ_DEPTH);
      assert ((EV_AW + 1)'(ev_free) <= f_ev_count && f_ev_count <= EV_DEPTH - f_ev_0 && rx_free == RX_DEPTH - f_rx_0[RING_AW-1:0]);
      assert (tx_free == TX_DEPTH - f_tx_2 - (TX_AW + 1)'(f_tx_owed));
      if (!f_bus_deed) assert (lq_nfree == ~(LQ_DEPTH - f_lq_0));
      if (!f_bus_deed) assert (f_ev_ready <= f_ev_2);
      assert (~ev_records.nready == 15'(f_ev_ready));  // whatever the depth
      assert (lq_avail <= f_lq_2);
      // a record is only taken when there is one, and at most once in a turn
      if (rx_fetched.take) assert (f_rx_2 != '0 && rx_fetch.idle && rx_fetch.room && sys_turn && !f_rx_took);
      if (f_ev_read) assert (ev_records.data == f_ev_expect);
      if (f_rx_read) assert (rx_fetched.data == f_rx_expect);
      // rx_busy: when it ends, all records that were written when the receiver was last idle have been taken and moved, if there is room
      if (f_rx_quiet) assert (!levels_v[6] == f_rx_done);
      if (f_lq_read) assert (lq_head.data == f_lq_expect);
      // the n-th byte popped is the n-th pushed
      if (f_tx_read) assert (tx_head.data == f_tx_expect);
      if (txb_valid && f_tx_pops == f_tx_n) assert (f_tx_read);
      assert (f_tx_r == f_tx_pops + (TX_AW + 1)'(txb_valid));
      if (pulse_take && !pulse_rst) assert (tx_some == (f_tx_2 != '0));
      // one request at the core for each start, one answer for each that was done, with the error given
      if (cfg.valid) assert (f_cfg_starts != f_cfg_dones);
      assert (cfg_state.busy == (f_cfg_starts != f_cfg_answers));
      if (cfg_state.answered) assert (cfg_state.refused == f_cfg_bad_given);
      // both halves of a snapshot are of one tick, and it stands still when sys may read it
      if (f_snap_end) assert (state.tick[63:32] == f_tick[63:32]);
      if (snap_word != SNAP_LOST) assert (f_lost_whole);
      if (f_snap_known && !snap.busy) assert (f_snap_mem == f_snap_data);
      if (!snap.busy) assert (!snap_go);

      // What makes it so in every state: the order of all copies of a pointer, older ones behind.
      assert (f_ev_2 <= f_ev_0 && f_ev_3 <= f_ev_2 && f_ev_4 <= f_ev_3);
      assert (f_rx_2 <= f_rx_0 && f_rx_0 - f_rx_2 <= 1 && (rx_flag == rx_flag_v) == (f_rx_0 == f_rx_2));
      assert (rx_waddr == f_rx_wr[RING_AW-1:0] && rx_raddr == f_rx_taken[RING_AW-1:0] - 1'b1);
      // until sys takes one, pulse knows all that it took, and what pulse reported is still there
      if (!f_turn && !f_rx_took) assert (f_rx_0 == f_rx_2 && rx_some_h == (f_rx_sent != f_rx_taken) && f_rx_wr - f_rx_sent <= f_rx_2);
      if (f_rx_took) assert (sys_turn);
      assert (f_lq_1 <= f_lq_0 && f_lq_2 <= f_lq_1 && f_lq_3 <= f_lq_2);
      if (!f_bus_deed) assert (f_ev_ready == f_ev_2 - f_ev_3);
      if (f_deed) assert (turn);
      if (f_bus_deed) assert (f_deed);
      // a side that passes the turn has worked out what is seen
      assert (cycle < 3'(TURN) && (sys_turn || (cycle == 3'd0 && !passed)) && (cycle < 3'd5 || passed) && (!f_turn || !sys_turn));
      if (cycle == 3'd0) assert (!passed && !f_deed);
      if (turn && cycle != 3'd0) assert (f_deed);
      if (f_turn || passed) assert (f_ev_seen == f_ev_sent && f_lq_seen == f_lq_sent && !f_deed);
      if (f_turn || passed) assert (cfg_ack_h == cfg_ack_v && snap_ack_h == snap_ack_v && levels_h[5:0] == levels_v[5:0] && levels_h[6] <= levels_v[6]);
      // pulse knows all that sys did, but for the last turn
      if (!f_turn && !f_deed && !passed) assert (f_lq_3 == '0);
      assert (lq_avail == f_lq_2 - f_lq_3);
      assert ((lq_flag == lq_flag_v) == (f_lq_3 == '0) && f_lq_3 <= 1);
      assert (f_tx_w[TX_AW-1:0] == tx_wptr && f_tx_r[TX_AW-1:0] == tx_rptr);
      if (f_ev_at < f_ev_0) assert (f_ev_known);
      // also of the record taken last, and of the words of the one being written
      if (f_rx_at < f_rx_2 || (f_rx_any && f_rx_at == f_rx_2) || (f_rx_n == f_rx_wr && f_rx_w < f_rx_part)) assert (f_rx_known);
      if (f_tx_at < f_tx_2 + (TX_AW + 1)'(f_tx_owed)) assert (f_tx_known);
      if (f_lq_at < f_lq_0 && f_lq_whole) assert (f_lq_known);
      assert (f_cfg_steps == (f_cfg_steps & -f_cfg_steps) && f_snap_steps == (f_snap_steps & -f_snap_steps));
      assert (cfg_flag == f_cfg_starts && cfg_ack == f_cfg_dones && cfg_bad == f_cfg_bad_given && cfg_ack_v == f_cfg_answers);
      if (snap_word == SNAP_LO) assert (snap_first == '0);
      if (snap_word == SNAP_HI) assert (snap_first == '1 && f_tick == f_tick_was && snap_top == f_tick_was[31]);
      if (snap_word == SNAP_LOST && snap_go) assert (snap_first == f_lost_was && snap_none == f_carried);
      if (snap_word == SNAP_HI) assert (!snap_none);
      if (f_snap_known && !(snap_go && snap_sel == f_snap_n[2])) assert (f_snap_mem == f_snap_data);
      if (snap_go && snap_sel == f_snap_n[2] && f_snap_n[1:0] == 2'd1 && snap_word != SNAP_LOST)
        assert (f_snap_mem == f_lost);
      if (snap_go && snap_sel == f_snap_n[2] && f_snap_n[1:0] == 2'd2 && snap_word == SNAP_HI)
        assert (f_snap_mem == f_tick[31:0]);
      assert (snap_word != 2'd0 && (snap_go || snap_word == SNAP_LOST));
    end
    // a deep ring's record is written a cycle after its pointer has moved, and before it is handed over
    if (f_ok && f_ev_staged) assert (f_ev_4 != '0 && ev_place == ev_wptr[EV_AW-1:0] - 1'b1);
    if (f_ev_known) assert ((f_ev_staged && ev_place == f_ev_n[EV_AW-1:0] ? ev_stored[32*f_ev_w+:32] : f_ev_mem) == f_ev_data);
    if (f_rx_known) assert (f_rx_mem == f_rx_data);
    if (f_tx_known) assert (f_tx_mem == f_tx_data);
    if (f_lq_known) assert (f_lq_mem == f_lq_data);
    if (f_pulse_zero) begin
      assert (ev_wptr == EV_FIRST_NUMBER && rx_waddr == '0 && f_rx_wr == '0 && f_rx_sent == '0 && f_rx_part == '0 && f_tx_r == '0 && tx_rptr == '0 && lq_rptr == '0);
      assert (ev_noldest_v == ~EV_FIRST_NUMBER && f_rx_pulse == '0 && !rx_flag_v && f_lq_pulse == '0 && !lq_flag_v);
      assert (ev_free == {1'b1, {NEAR_AW{1'b0}}} && f_ev_count == EV_DEPTH && !f_ev_staged && rx_free == RX_DEPTH && lq_avail == '0 && !txb_valid && f_tx_pops == '0);
      assert (!cfg_ack && !cfg_bad && !f_cfg_dones && !f_cfg_bad_given && snap_word == SNAP_LOST && !snap_ack);
      assert (!cfg_flag_v && !snap_flag_v);
      assert (!f_ev_known && !f_rx_known && !f_tx_read && !f_lq_read && !f_snap_known);
    end
    if (f_sys_zero) begin
      assert (ev_position == '0 && f_rx_taken == '0 && rx_raddr == '1 && !rx_flag && !f_rx_any && !f_rx_took && !f_rx_quiet && tx_wptr == '0 && f_tx_w == '0 && lq_wptr == '0 && !cfg_flag && !snap_flag);
      assert (ev_nready == '1 && tx_free == TX_DEPTH && lq_nfree == ~LQ_DEPTH);
      assert (f_ev_seen == EV_FIRST_NUMBER && f_lq_seen == '0 && !f_deed && !f_bus_deed);
      assert (!f_ev_read && !f_rx_read && !f_tx_known && !f_lq_known && !f_lq_whole && !f_cfg_starts && !f_cfg_answers);
      assert (!cfg_ack_v && !snap_ack_v && levels_v == '0 && !lq_flag && !snap_sel && cycle == 3'd0 && !passed);
    end
  end

`ifdef COVER_CLOCKS
  // both clocks in step: any clocks would do, but these take the fewest steps
  (* gclk *) logic f_gclk;
  logic f_pulse_was = 1'b1, f_sys_was = 1'b1;
  always @(posedge f_gclk) begin
    f_pulse_was <= pulse_clk;
    f_sys_was   <= sys_clk;
  end
  always @* assume (pulse_clk != f_pulse_was && sys_clk != f_sys_was);
`endif

  // All of it happens: rings run full, what is read came across, snapshots over a wrap, refusals.
  logic f_was_full = 1'b0, f_wrapped = 1'b0;
  always_ff @(posedge pulse_clk) begin
    if (f_ok && !pulse_rst && ev_free == '0) f_was_full <= 1'b1;
    if (f_ok && !pulse_rst && snap_word == SNAP_HI && !f_snap_end) f_wrapped <= 1'b1;
  end
  always_comb begin
    cover (f_ok && f_was_full && f_ev_read && ev_records.data != '0);
    cover (f_ok && f_rx_read && rx_fetched.data != '0 && f_rx_n != '0 && f_rx_w != '0);
    cover (f_ok && f_tx_read && f_tx_pops == f_tx_n && txb_valid && f_tx_n != '0);
    cover (f_ok && f_lq_read && lq_head.data != '0 && f_lq_n != '0);
    cover (f_ok && cfg_state.answered && cfg_state.refused);
    cover (f_ok && f_wrapped && f_snap_known && !snap.busy);
    cover (f_ok && fault && ev_records.arrived && rx_fetched.take);
    cover (f_ok && f_deed && f_pushing && tx_write.valid && f_tx_owed);
  end
