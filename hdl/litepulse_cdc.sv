// SPDX-License-Identifier: BSD-2-Clause
// Every crossing between `pulse` and `sys`. Data waits in dual-clock RAMs or in registers that stand still; everything that says
// when it may be looked at (ring pointers, request and answer flags, status) is exchanged in the turns of litepulse_cdc_swap. So
// all that arrives in one turn belongs together: e.g. `status` is never newer than the levels beside it.
//
// The bus acts on the crossing only while it is `sys`'s turn (`turn`): pushes, commits, frees, starts. Therefore what sys owns
// stands still while pulse looks, and needs no second copy; and what sys sees is worked out when it is done: with the first
// cycle of a turn in which nothing is done. So there is one deed a turn; only bytes are pushed one after the other. The turn then runs
// out: it always takes TURN cycles.
//
//   cycle   of a turn of sys
//     0     `turn` rises: the bus may do one thing, or push up to four bytes in as many cycles
//   0 to 4  `pass`, in the first cycle in which it does nothing: what pulse did counts, answers are given, and `turn` falls behind it
//     5     `sys_pass`: the turn ends. 2 to 3 pulse cycles later pulse has its own, which lasts one cycle (`pulse_take`): what sys did
//           counts there, and what pulse has done meanwhile is handed over. 2 to 3 sys cycles later the next turn of sys begins
//
// Rings: events pulse to sys (read by index from the oldest, freed n at a time), transmit bytes and launches sys to pulse. Pulse may
// write and free every cycle, but a byte to send is fetched once a turn. The other side learns of it with the next turn: a turn of
// sys lasts TURN = 6 cycles; what sys did is seen within TURN sys and 3 pulse cycles, what pulse did within 2*(TURN + 3) sys and
// 3 pulse cycles. Until then each side knows of less room or fewer entries than there are, never of more. A writer must not write
// when its free count is 0, nor a reader free more than it sees.
//
// Received records cross through a short ring, in four words of 16 bits. litepulse_receive_store takes them one at a time, at most
// one in a turn, whatever the bus does in it.
//
// Events are numbered so that bus address plus position is the RAM address: the first record has number EV_FIRST, because the
// window's header takes the place of that many records; `position` counts the freed ones from 0.
//
// The resets must be asserted together, for at least 4 cycles of the slower clock; they may be released in either order.
// Latency: RAM reads one cycle. From the start of a configuration word to its answer at most 3*(TURN + 3) sys + 9 pulse cycles plus
// what the core takes; a snapshot takes 3 pulse cycles, 5 across a wrap of the low half of the tick, and 1 more if ev_lost carries.
//   EV_AW, RING_AW, TX_AW, LQ_AW  log2 of the depths (events, received records in the ring, bytes to send, launches)
//   NEAR_AW                       log2 of the free places for events that pulse tells apart; EV_AW, or at least 2 and less
`include "litepulse_types.svh"
module litepulse_cdc #(
    parameter int EV_AW = 8,
    parameter int NEAR_AW = EV_AW,
    parameter int RING_AW = 6,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6
) (
    input  logic             pulse_clk,
    input  logic             pulse_rst,
    // streams: *_free counts this side's writes at once; ev_free ends at 2^NEAR_AW
    input  ev_write_t        ev_write,
    output logic [NEAR_AW:0] ev_free,
    // received records: rx_free counts one from its last word on. It is one less than there are places, because the record taken last may
    // still be being read
    input  rx_write_t        rx_write,
    output logic [RING_AW-1:0] rx_free,
    // bytes to send, launches
    output tx_head_t         tx_head,
    input  logic             tx_pop,
    output lq_head_t         lq_head,
    input  lq_read_t         lq_read,
    // configuration: held until it is done
    output cfg_request_t     cfg,
    input  cfg_answer_t      cfg_answer,
    input  pulse_state_t     state,

    input  logic             sys_clk,
    input  logic             sys_rst,
    output logic             turn,
    // `turn` allows all of the requests below but reads, and words of a launch
    input  ev_read_t         ev_read,
    output ev_records_t      ev_records,
    // received records: in a turn in which one was taken rx_fetch.idle does not rise again
    input  rx_fetch_t        rx_fetch,
    output rx_fetched_t      rx_fetched,
    // bytes to send: only while tx_free is not 0; launches: only while lq_nfree, a complement, is not that of 0
    input  tx_write_t        tx_write,
    output logic [TX_AW:0]   tx_free,
    input  lq_write_t        lq_write,
    output logic [LQ_AW:0]   lq_nfree,
    // configuration: address and data are held from two cycles after `valid`, which is a strobe here, until `busy` falls
    input  cfg_request_t     cfg_write,
    output cfg_state_t       cfg_state,
    // snapshots: start only while not busy
    input  snap_request_t    snap_request,
    output snap_t            snap,
    // levels as in docs/core.md; tx_idle, queue_idle and rx_busy also know of what is still on its way
    output logic [7:0]       status,
    output logic             fault
);
  localparam int TURN = 6;  // more than the cycles in which bytes may be pushed
  localparam int EV_FIRST = 1;
  localparam logic [EV_AW:0] EV_FIRST_NUMBER = (EV_AW + 1)'(EV_FIRST);
  localparam logic [EV_AW:0] EV_DEPTH = {1'b1, {EV_AW{1'b0}}};
  localparam logic [RING_AW-1:0] RX_DEPTH = '1;
  localparam logic [TX_AW:0] TX_DEPTH = {1'b1, {TX_AW{1'b0}}};
  localparam logic [LQ_AW:0] LQ_DEPTH = {1'b1, {LQ_AW{1'b0}}};

  // Width of the word that pulse hands over
  localparam int P_BITS = (EV_AW + 1) + (LQ_AW + 1) + 7 + 6;

`ifdef FORMAL
  // Ghosts (f_*): number *_n stands for any entry of a ring, word *_w for any of its words.
  (* anyconst *) logic [EV_AW:0] f_ev_n;
  (* anyconst *) logic [1:0] f_ev_w;
  (* anyconst *) logic [RING_AW:0] f_rx_n;
  (* anyconst *) logic [1:0] f_rx_w;
  (* anyconst *) logic [TX_AW:0] f_tx_n;
  (* anyconst *) logic [LQ_AW:0] f_lq_n;
  (* anyconst *) logic [1:0] f_lq_w;
  (* anyconst *) logic [2:0] f_snap_n;
  logic [31:0] f_ev_mem, f_lq_mem, f_snap_mem;
  logic [15:0] f_rx_mem;
  logic [7:0] f_tx_mem;
  logic f_ok, f_turn, f_pulse_zero, f_sys_zero;
  logic [EV_AW:0] f_ev_count;  // free places as pulse knows of, whatever ev_free says
`endif

  // The turns ---------------------------------------------------------------------------------------------------------
  // own names: registers of this side; *_h: pulse's as handed over; *_v: the other side's as last seen. Some are stored or sent as
  // complements (n*): an iCE40 subtraction costs a cell per bit more than an addition, a complement is free in front of a register.

  logic [EV_AW:0] ev_wptr, ev_nwptr_h, ev_oldest, ev_noldest_v, ev_nready;
  logic [15:0] ev_position;
  logic [LQ_AW:0] lq_wptr, lq_rptr, lq_nrptr_h;
  logic [6:0] levels, levels_h, levels_v;
  logic ev_new, ev_new_h, fault_new, fault_h;
  logic rx_some, rx_some_h, rx_flag, rx_flag_v;
  logic cfg_flag, cfg_flag_v, cfg_ack, cfg_ack_h, cfg_ack_v, cfg_bad;
  logic snap_flag, snap_flag_v, snap_ack, snap_ack_h, snap_ack_v, snap_sel;
  logic tx_fetch, tx_taken_h, lq_flag, lq_flag_v;
  logic pulse_take, done, pass;

  assign done = tx_write.valid || lq_write.commit || ev_read.free || cfg_write.valid || snap_request.start;
  assign pass = turn && !done;

  // a turn takes as long whatever is done in it, so that no bus traffic shifts what crosses later
  logic       sys_turn, sys_pass, passed;
  logic [2:0] cycle;
  assign turn     = sys_turn && !passed;
  assign sys_pass = sys_turn && cycle == 3'(TURN - 1);
  always_ff @(posedge sys_clk) begin
    cycle  <= (sys_turn && !sys_pass) ? cycle + 3'd1 : 3'd0;
    passed <= (passed || pass) && !sys_pass;
    if (sys_rst) begin
      cycle  <= 3'd0;
      passed <= 1'b0;
    end
  end

  litepulse_cdc_swap #(
      .P_BITS (P_BITS),
      .P_RESET({~EV_FIRST_NUMBER, {(LQ_AW + 1) {1'b1}}, 13'd0})
  ) swap (
      .pulse_clk,
      .pulse_rst,
      .pulse_word({~ev_wptr, ~lq_rptr, levels, tx_fetch, ev_new, rx_some, fault_new, cfg_ack, snap_ack}),
      .pulse_take,
      .sys_clk,
      .sys_rst,
      .sys_view({ev_nwptr_h, lq_nrptr_h, levels_h, tx_taken_h, ev_new_h, rx_some_h, fault_h, cfg_ack_h, snap_ack_h}),
      .sys_turn,
      .sys_pass
`ifdef FORMAL
      ,
      .f_ok,
      .f_turn,
      .f_pulse_zero,
      .f_sys_zero
`endif
  );

  // Events --------------------------------------------------------------------------------------------------------------
  logic             ev_store;   // a record is written to the memory: which, and where
  logic [EV_AW-1:0] ev_place;
  logic [127:0]     ev_stored;
  logic [15:0]      ev_at;      // what is read
  assign ev_at = ev_position + 16'(ev_read.index);
  litepulse_ram #(
      .AW (EV_AW),
      .W  (32),
      .SUB(2)
  ) ev_ram (
      .wr_clk (pulse_clk),
      .wr_en  (ev_store),
      .wr_addr(ev_place),
      .wr_data(ev_stored),
      .rd_clk (sys_clk),
      .rd_en  (ev_read.en),
      .rd_addr({ev_at[EV_AW-1:0], ev_read.word}),
      .rd_data(ev_records.data)
`ifdef FORMAL
      ,
      .f_addr ({f_ev_n[EV_AW-1:0], f_ev_w}),
      .f_word (f_ev_mem)
`endif
  );

  // The free count is a register that knows of the write of the same cycle, which is the carry into the adder. It is kept as a
  // complement: of depth - (wptr + wr - oldest).
  logic ev_carry;
  logic [NEAR_AW:0] ev_nfree;
  assign ev_free = ~ev_nfree;
  if (NEAR_AW == EV_AW) begin : g_shallow
    logic [EV_AW:0] nfree_next;
    assign {nfree_next, ev_carry} = {ev_noldest_v ^ EV_DEPTH, 1'b1} + {ev_wptr, ev_write.valid};
    assign ev_store  = ev_write.valid;
    assign ev_place  = ev_wptr[EV_AW-1:0];
    assign ev_stored = ev_write.data;
`ifdef FORMAL
    assign f_ev_count = (EV_AW + 1)'(ev_free);
`endif
    always_ff @(posedge pulse_clk) begin
      ev_nfree <= nfree_next;
      if (pulse_rst) ev_nfree <= ~EV_DEPTH;
    end
  end else begin : g_deep
    // Many block RAMs: a record is written from registers, a cycle later, which is no later than its pointer is handed over. The count
    // takes two steps, so that a write meets no longer a carry than in a shallow ring: the first does not know of the last two cycles'
    // writes. What sys freed counts two cycles later.
    logic many;
    logic [EV_AW:0] nfree, free;
    logic [NEAR_AW-1:0] near;
    assign free = ~nfree;
    assign {near, ev_carry} = {nfree[NEAR_AW-1:0], 1'b1} + {{(NEAR_AW - 1) {1'b0}}, ev_store, ev_write.valid};
    assign many = |free[EV_AW:NEAR_AW+1]
        || (free[NEAR_AW] && (|free[NEAR_AW-1:1] || (free[0] ? !(ev_store && ev_write.valid) : !(ev_store || ev_write.valid))));
    always_ff @(posedge pulse_clk) begin
      ev_store  <= ev_write.valid;
      ev_place  <= ev_wptr[EV_AW-1:0];
      ev_stored <= ev_write.data;
      nfree     <= (ev_noldest_v ^ EV_DEPTH) + ev_wptr;
      ev_nfree  <= {1'b1, near};
      if (many) ev_nfree <= {1'b0, {NEAR_AW{1'b1}}};
      if (pulse_rst) begin
        ev_store <= 1'b0;
        nfree    <= ~EV_DEPTH;
        ev_nfree <= {1'b0, {NEAR_AW{1'b1}}};
      end
    end
`ifdef FORMAL
    assign f_ev_count = free - (EV_AW + 1)'(ev_store);
`endif
  end

  always_ff @(posedge pulse_clk) begin
    if (ev_write.valid) ev_wptr <= ev_wptr + 1'b1;
    if (pulse_take) ev_noldest_v <= ~ev_oldest;
    if (pulse_take || ev_write.valid) ev_new <= ev_write.valid;
    if (pulse_take || state.fault) fault_new <= state.fault;
    if (pulse_rst) begin
      ev_wptr      <= EV_FIRST_NUMBER;
      ev_noldest_v <= ~EV_FIRST_NUMBER;
      ev_new       <= 1'b0;
      fault_new    <= 1'b0;
    end
  end

  assign ev_oldest = ev_position[EV_AW:0] + EV_FIRST_NUMBER;
  assign ev_records.position = ev_position;
  assign ev_records.nready   = {{(14 - EV_AW) {1'b1}}, ev_nready};

  always_ff @(posedge sys_clk) begin
    if (ev_read.free) ev_position <= ev_position + 16'(ev_read.count[EV_AW:0]);
    if (pass) ev_nready <= ev_nwptr_h + ev_position[EV_AW:0] + EV_FIRST_NUMBER;
    if (sys_rst) begin
      ev_position <= '0;
      ev_nready   <= '1;
    end
  end

  // Received records. As one is taken in a turn at most, neither side needs the other's pointer: pulse counts the room, and signals
  // whether there is a record that sys has not taken yet. The place of the record taken last is not free until the next one is taken,
  // as it is still being read: it is the one place that pulse does not count.
  logic [RING_AW-1:0] rx_waddr, rx_raddr;
  logic rx_came, rx_written;
  assign rx_written = rx_write.valid && rx_write.word == 2'd3;
  assign rx_came    = pulse_take && rx_flag != rx_flag_v;
  assign rx_some    = rx_free[RING_AW-1:1] != '1 || (!rx_free[0] && !rx_came);
  assign rx_fetched.take = sys_turn && rx_some_h && rx_fetch.idle && rx_fetch.room;

  litepulse_ram #(
      .AW(RING_AW + 2),
      .W (16)
  ) rx_ram (
      .wr_clk (pulse_clk),
      .wr_en  (rx_write.valid),
      .wr_addr({rx_waddr, rx_write.word}),
      .wr_data(rx_write.data),
      .rd_clk (sys_clk),
      .rd_en  (rx_fetch.en),
      .rd_addr({rx_raddr, rx_fetch.part}),
      .rd_data(rx_fetched.data)
`ifdef FORMAL
      ,
      .f_addr ({f_rx_n[RING_AW-1:0], f_rx_w}),
      .f_word (f_rx_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    if (rx_written) rx_waddr <= rx_waddr + 1'b1;
    // one less or one more
    if (rx_written != rx_came) rx_free <= rx_free + {RING_AW{rx_written}} + RING_AW'(!rx_written);
    if (pulse_take) rx_flag_v <= rx_flag;
    if (pulse_rst) begin
      rx_waddr  <= '0;
      rx_free   <= RX_DEPTH;
      rx_flag_v <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (rx_fetched.take) begin
      rx_raddr <= rx_raddr + 1'b1;
      rx_flag  <= !rx_flag;
    end
    if (sys_rst) begin
      rx_raddr <= '1;
      rx_flag  <= 1'b0;
    end
  end

  // Bytes to send: the oldest one waits in the RAM's output register. As one is fetched in a turn at most, neither side needs the
  // other's pointer: sys counts the room, and signals to pulse whether anything is left.
  logic [TX_AW-1:0] tx_wptr, tx_rptr;
  logic tx_some, txb_valid, txb_none;
  assign tx_some  = !tx_free[TX_AW];
  assign tx_fetch = pulse_take && tx_some && !txb_valid;
  assign tx_head.valid = txb_valid;
  assign tx_head.none  = txb_none;

  litepulse_ram #(
      .AW(TX_AW),
      .W (8)
  ) tx_ram (
      .wr_clk (sys_clk),
      .wr_en  (tx_write.valid),
      .wr_addr(tx_wptr),
      .wr_data(tx_write.data),
      .rd_clk (pulse_clk),
      .rd_en  (tx_fetch),
      .rd_addr(tx_rptr),
      .rd_data(tx_head.data)
`ifdef FORMAL
      ,
      .f_addr (f_tx_n[TX_AW-1:0]),
      .f_word (f_tx_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    if (tx_fetch) tx_rptr <= tx_rptr + 1'b1;
    if (tx_fetch || tx_pop) txb_valid <= tx_fetch;
    if (pulse_take) txb_none <= !tx_some;
    if (pulse_rst) begin
      tx_rptr   <= '0;
      txb_valid <= 1'b0;
      txb_none  <= 1'b1;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (tx_write.valid) tx_wptr <= tx_wptr + 1'b1;
    // one less or one more
    if (tx_write.valid || (pass && tx_taken_h)) tx_free <= tx_free + {(TX_AW + 1) {tx_write.valid}} + (TX_AW + 1)'(!tx_write.valid);
    if (sys_rst) begin
      tx_wptr <= '0;
      tx_free <= TX_DEPTH;
    end
  end

  // Launches: at most one comes in a turn ---------------------------------------------------------------------------------
  logic lq_came;
  logic [LQ_AW:0] lq_avail;
  assign lq_came = pulse_take && lq_flag != lq_flag_v;
  assign lq_head.avail = 16'(lq_avail);

  litepulse_ram #(
      .AW(LQ_AW + 2),
      .W (32)
  ) lq_ram (
      .wr_clk (sys_clk),
      .wr_en  (lq_write.en),
      .wr_addr({lq_wptr[LQ_AW-1:0], lq_write.word}),
      .wr_data(lq_write.data),
      .rd_clk (pulse_clk),
      .rd_en  (lq_read.en),
      .rd_addr({lq_rptr[LQ_AW-1:0], lq_read.word}),
      .rd_data(lq_head.data)
`ifdef FORMAL
      ,
      .f_addr ({f_lq_n[LQ_AW-1:0], f_lq_w}),
      .f_word (f_lq_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    if (lq_read.free) lq_rptr <= lq_rptr + 1'b1;
    if (lq_read.free != lq_came) lq_avail <= lq_avail + {(LQ_AW + 1) {lq_read.free}} + (LQ_AW + 1)'(!lq_read.free);
    if (pulse_take) lq_flag_v <= lq_flag;
    if (pulse_rst) begin
      lq_rptr <= '0;
      lq_avail     <= '0;
      lq_flag_v    <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (lq_write.commit) begin
      lq_wptr <= lq_wptr + 1'b1;
      lq_flag <= !lq_flag;
    end
    if (pass) lq_nfree <= (lq_nrptr_h ^ LQ_DEPTH) + lq_wptr;
    if (sys_rst) begin
      lq_wptr  <= '0;
      lq_flag  <= 1'b0;
      lq_nfree <= ~LQ_DEPTH;
    end
  end

  // Configuration: the flags differ from request to answer ------------------------------------------------------------------
  assign cfg.valid = cfg_flag_v != cfg_ack;
  assign cfg.addr  = cfg_write.addr;
  assign cfg.data  = cfg_write.data;
  assign cfg.stop  = cfg_write.stop;
  assign cfg_state.busy     = cfg_flag != cfg_ack_v;
  assign cfg_state.answered = pass && cfg_ack_h != cfg_ack_v;
  assign cfg_state.refused  = cfg_bad;  // stands still from the answer to the next request

  always_ff @(posedge pulse_clk) begin
    if (pulse_take) cfg_flag_v <= cfg_flag;
    if (cfg.valid && cfg_answer.done) begin
      cfg_ack <= !cfg_ack;
      cfg_bad <= cfg_answer.refused;
    end
    if (pulse_rst) begin
      cfg_flag_v <= 1'b0;
      cfg_ack    <= 1'b0;
      cfg_bad    <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (cfg_write.valid) cfg_flag <= !cfg_flag;
    if (pass) cfg_ack_v <= cfg_ack_h;
    if (sys_rst) begin
      cfg_flag  <= 1'b0;
      cfg_ack_v <= 1'b0;
    end
  end

  // Header snapshot: lost count, then both halves of the tick, again if the low half wrapped between them ---------------------
  localparam logic [1:0] SNAP_LOST = 2'd1, SNAP_LO = 2'd2, SNAP_HI = 2'd3;
  logic [1:0] snap_word;
  logic snap_go, snap_top, snap_wrapped, snap_ev, snap_rx;
  logic snap_none;  // the count in snap_first is none: another cycle
  logic [31:0] snap_first;
  assign snap_go = snap_flag_v != snap_ack;
  assign snap.busy = snap_flag != snap_ack_v;
  // Four words in two cells per bit: a register picks one of the first two, or carries what picks one of the others. It takes
  // snap_sel in at any time, but what is used of it was picked when that had long stood still.
  assign snap_wrapped = snap_top && !state.tick[31];
  assign snap_rx   = snap_sel && (!snap_go || snap_none) && state.rx_gap;
  assign snap_ev   = !snap_sel && (!snap_go || snap_none) && state.ev_gap;

  litepulse_ram #(
      .AW(4),
      .W (32)
  ) snap_ram (
      .wr_clk (pulse_clk),
      .wr_en  (snap_go),
      .wr_addr({1'b0, snap_sel, snap_word}),
      .wr_data(snap_word[1] ? (snap_first & state.tick[63:32]) | (~snap_first & state.tick[31:0]) : snap_first),
      .rd_clk (sys_clk),
      .rd_en  (snap_request.en),
      .rd_addr(snap_request.addr),
      .rd_data(snap.data)
`ifdef FORMAL
      ,
      .f_addr ({1'b0, f_snap_n}),
      .f_word (f_snap_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    snap_top   <= state.tick[31];
    snap_none  <= state.ev_lost_carries && snap_word == SNAP_LOST;
    snap_first <= ({32{snap_ev}} & state.ev_lost) | ({32{snap_rx}} & ~state.rx_nlost);
    if (snap_word == SNAP_LO) snap_first <= '1;
    if (pulse_take) snap_flag_v <= snap_flag;
    case (snap_word)
      SNAP_LOST: if (snap_go && !snap_none) snap_word <= SNAP_LO;
      SNAP_LO: snap_word <= SNAP_HI;
      default:
      if (snap_wrapped) snap_word <= SNAP_LO;
      else begin
        snap_word <= SNAP_LOST;
        snap_ack  <= !snap_ack;
      end
    endcase
    if (pulse_rst) begin
      snap_word   <= SNAP_LOST;
      snap_flag_v <= 1'b0;
      snap_ack    <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (snap_request.start) begin
      snap_flag <= !snap_flag;
      snap_sel  <= snap_request.stream;
    end
    if (pass) snap_ack_v <= snap_ack_h;
    if (sys_rst) begin
      snap_flag  <= 1'b0;
      snap_sel   <= 1'b0;
      snap_ack_v <= 1'b0;
    end
  end

  // Levels and strobes ----------------------------------------------------------------------------------------------------------
  // A byte waiting in front of the line is not idle, whatever the transmitter's registered status says yet.
  assign levels = {state.rx_busy, state.line_busy, state.queue_idle, state.resp_armed, state.train_pending, state.train_running,
      state.tx_idle && !txb_valid && !tx_fetch};

  logic unused;
  assign unused = &{1'b0, ev_carry, ev_at[15:EV_AW]};

  assign status = {
    levels_v[6:5], levels_v[4] && !lq_nfree[LQ_AW], cfg_state.busy,
    levels_v[3:1], levels_v[0] && !tx_some
  };
  assign fault      = pass && fault_h;
  assign ev_records.arrived = pass && ev_new_h;

  always_ff @(posedge sys_clk) begin
    // A record that is moving up, or about to, keeps rx_busy; one that waits for room does not.
    if (pass) levels_v <= {levels_h[6] || !rx_fetch.idle || (rx_some_h && rx_fetch.room), levels_h[5:0]};
    if (sys_rst) levels_v <= '0;
  end

`ifdef FORMAL
`include "litepulse_cdc.svh"
`endif
endmodule
