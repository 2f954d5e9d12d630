// SPDX-License-Identifier: BSD-2-Clause
// The bus slave of the core's 32 KiB window (layout: litepulse_map_pkg, docs/core.md), entirely in `sys`. bus_stb is held with
// address, direction and data until the one-cycle bus_ack; unassigned addresses read 0, ignore writes and are answered, too.
// An access whose bus_stb falls earlier is given up: it is done or not, and bus_ack may be high in the cycle behind it, in which address
// and data no longer count.
//
//   cycle   of an access                                            of a configuration word that has its turn
//     0     the memories are read, `position` and `ready` latched   goes to the crossing and into the shadow (cfg_write.valid)
//     1     bus_ack; else the access is `held` until its turn       is read back (`cfg_pending`)
//   2 on    bus_ack, a cycle behind what was done in that turn      cfg_write.data has it, until it has been answered
//
// Wait states (cycles from stb to ack): 1 for every access but these, which wait for litepulse_cdc's turn, one round at most:
//   n bytes to the TX region       up to 10 sys + 4 pulse cycles, and n
//   last word of a launch          as one byte
//   header word 0, written         as one byte, and 1
//   header word 0, read            a snapshot's round trip, at most 28 sys + 18 pulse cycles
//   configuration                  until the word before has been answered (as above plus what the core takes), then as one byte
//                                  (written) or 1 (read)
// A pulse clock that stands still cannot hang the bus: after 2^TIMEOUT cycles a header reads 0, a configuration read gives 0, bytes
// are dropped, and a launch, a configuration word or what is written to a header comes to nothing; all but the last are counted.
//
// `ready` and `position` are latched before the tick is sampled, so no record that is ready is younger than the header's tick.
// The watchdog's words (`stop`, litepulse_watchdog) go the way of a configuration word, one in each turn in which the word before has
// been answered; whatever then wants the same turn waits for the next one. They are not written to the shadow. From the cycle in which it
// fires on, the host's configuration words wait until all of them have been handed over, and its launches until they have been answered.
//
// Words 1 to 3 of a header keep showing that stream's last snapshot. A record can be read if it has arrived by then, not only if it
// had when the header was read.
//   EV_AW, RX_AW, TX_AW, LQ_AW  log2 of the depths
//   TIMEOUT                     log2 of the cycles the bus may wait for the pulse clock
`include "litepulse_types.svh"
module litepulse_window #(
    parameter int EV_AW   = 8,
    parameter int RX_AW   = 9,
    parameter int TX_AW   = 9,
    parameter int LQ_AW   = 6,
    parameter int TIMEOUT = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  bus_request_t     bus,
    output bus_answer_t      bus_answer,
    output window_counts_t   counts,
    // litepulse_watchdog
    input  logic [1:0]       stop,
    output logic             stop_taken,
    // litepulse_cdc, litepulse_receive_store
    input  logic             turn,
    // verilator lint_off UNUSEDSIGNAL
    input  ev_records_t      ev_records,
    input  rx_records_t      rx_records,
    // verilator lint_on UNUSEDSIGNAL
    output ev_read_t         ev_read,
    output rx_read_t         rx_read,
    input  logic [TX_AW:0]   tx_free,
    output tx_write_t        tx_write,
    input  logic [LQ_AW:0]   lq_nfree,   // complement
    output lq_write_t        lq_write,
    output cfg_request_t     cfg_write,  // `valid` is a strobe
    input  cfg_state_t       cfg_state,
    output snap_request_t    snap_request,
    input  snap_t            snap
);
  localparam logic [14:0] EVENTS = 15'(litepulse_map_pkg::REGION_EVENTS);
  localparam logic [14:0] RECEIVE = 15'(litepulse_map_pkg::REGION_RECEIVE);
  localparam logic [14:0] TX = 15'(litepulse_map_pkg::REGION_TX);
  localparam logic [14:0] LAUNCH = 15'(litepulse_map_pkg::REGION_LAUNCH);
  localparam logic [14:0] CONFIG = 15'(litepulse_map_pkg::REGION_CONFIG);

  // The watchdog's words, in their order; the queue's flush is 1. The ones in them are the two lowest bits of `stop_bits`.
  localparam logic [1:0] STOP_TRAIN = 2'd3;
  localparam logic [1:0] STOP_RESPONDER = 2'd2;

  logic [7:0]  launch_accepted, launch_refused, config_applied, config_refused;
  logic [15:0] tx_dropped;
  logic        bus_ack;
  assign bus_answer.ack         = bus_ack;
  assign counts.launch_accepted = launch_accepted;
  assign counts.launch_refused  = launch_refused;
  assign counts.tx_dropped      = tx_dropped;
  assign counts.config_applied  = config_applied;
  assign counts.config_refused  = config_refused;

  // Who is meant ------------------------------------------------------------------------------------------------------
  logic start, rd, wr, in_ev, in_rx, in_tx, in_lq, in_cfg, header, level, rx_record;
  assign start  = bus.stb && !bus_ack;
  assign rd     = start && !bus.we;
  assign wr     = start && bus.we;
  assign in_ev  = bus.adr[14:13] == EVENTS[14:13];
  assign in_rx  = bus.adr[14:13] == RECEIVE[14:13];
  assign in_tx  = bus.adr[14:12] == TX[14:12];
  assign in_lq  = bus.adr[14:10] == LAUNCH[14:10];
  assign in_cfg = bus.adr[14:8] == CONFIG[14:8];
  assign header = (in_ev || in_rx) && bus.adr[12:4] == '0;
  assign rx_record = rd && in_rx && !header;
  assign level  = start && header && bus.adr[3:2] == '0;

  // Waiting: what concerns the crossing is done in its turn, or given up ------------------------------------------------
  logic held;  // not the first cycle of an access
  logic snapping, expired, go, stall, tx_wr, tx_go, more_bytes, lq_wait, cfg_pending, cfg_wait;
  logic [1:0] beat, stop_bits;
  logic [TIMEOUT:0] waited;
  logic stop_next, stop_pending, host_turn;  // the next turn is the watchdog's; its word was handed over in the last cycle
  logic word_turn;  // a turn for what must not overtake the watchdog's words
  assign expired    = waited[TIMEOUT];
  assign stop_taken = stop_next && turn;
  assign host_turn  = turn && !stop_next && !stop_pending;  // there is one deed in a turn
  assign go         = host_turn || expired;
  assign word_turn  = host_turn && stop == 2'd0 && !(cfg_state.busy && stop_bits[0]);  // `stop_bits` of the last word, the flush
  assign cfg_wait = start && in_cfg && cfg_state.busy;
  assign stall    = (level && !expired && !(bus.we ? held && host_turn : snapping && !snap.busy))
                    || (cfg_wait && !expired) || ((wr && in_cfg || lq_wait) && !word_turn && !expired)
                    || (tx_wr && !tx_go) || more_bytes;

  always_ff @(posedge clk) begin
    bus_ack <= start && !stall;
    waited  <= start && stall ? waited + 1'b1 : '0;
    if (rst) begin
      bus_ack <= 1'b0;
      waited  <= '0;
    end
  end

  // Reading: the RAMs' output registers, gated onto the bus -----------------------------------------------------------
  // Comparisons are carries of a sum with a complement, which litepulse_cdc has at hand: a > b is the carry of a + ~b.
  logic show_ev, show_rx, show_cfg;
  localparam int EC = EV_AW > 8 ? EV_AW + 1 : 9;  // bits of a number of events, at least those of an index
  localparam int EI = EV_AW > 9 ? 9 : EV_AW;      // bits of an index that the memory looks at
  logic [EC+1:0] ev_seek;
  logic [11:0] rx_seek;
  logic [31:0] shadow;
  logic [15:0] position, nready;  // of a header, while it is accessed: else both show 0, so that they need no gate
  assign ev_seek     = (EC + 2)'(bus.adr[12:4]) + {2'b01, ev_records.nready[EC-1:0]};
  assign rx_seek     = {2'd0, bus.adr[12:3]} + {2'b01, rx_records.nlimit} + 1'b1;
  assign ev_read.index = 9'(bus.adr[3+EI:4]);
  assign ev_read.word  = bus.adr[3:2];
  assign rx_read.index = 9'(bus.adr[2+RX_AW:3]);
  assign rx_read.word  = bus.adr[2];
  assign ev_read.en    = start;
  assign rx_read.en    = rx_record;  // no cycle more: the port is then free to store
  assign snap_request.en     = start;
  assign snap_request.addr   = {!(rd && header) || level, bus.adr[13], bus.adr[3:2]};  // nothing is ever written to the upper half
  assign snap_request.stream = bus.adr[13];
  assign snap_request.start  = level && !bus.we && held && !snapping && !snap.busy && host_turn;
  assign bus_answer.dat_r   = ({32{show_ev}} & ev_records.data | {32{show_rx}} & rx_records.data)
                       | ({32{show_cfg}} & shadow) | snap.data | {position, ~nready};

  always_ff @(posedge clk) begin
    show_ev   <= rd && in_ev && !header && !ev_seek[EC+1];
    show_rx   <= rx_record && !rx_seek[11];
    show_cfg  <= rd && in_cfg && !cfg_wait;
    held      <= start;
    if (snap_request.start) snapping <= 1'b1;
    if (!held) position <= bus.adr[13] ? rx_records.position : ev_records.position;
    if (!held) nready <= bus.adr[13] ? {6'h3f, rx_records.nready} : {1'b1, ev_records.nready};
    if (rst || !level || expired) begin
      snapping <= 1'b0;
      position <= '0;
      nready   <= '1;
    end
  end

  // Freeing: as many as are ready or nothing, and with a guard only where the writer thinks the stream is ------------------
  localparam int N = (EV_AW > RX_AW ? EV_AW : RX_AW) + 1;
  logic [N:0] over;
  logic free_ok;
  assign over        = {1'b0, bus.dat_w[N-1:0]} + {1'b0, nready[N-1:0]};
  assign free_ok     = level && bus.we && held && host_turn && !over[N] && bus.dat_w[15:N] == '0
                       && (!bus.dat_w[31] || bus.dat_w[30:16] == position[14:0]);
  assign ev_read.free  = free_ok && !bus.adr[13];
  assign ev_read.count = 15'(bus.dat_w[EV_AW:0]);
  assign rx_read.free  = free_ok && bus.adr[13];
  assign rx_read.count = 10'(bus.dat_w[RX_AW:0]);

  // Bytes to send: all of a write or nothing --------------------------------------------------------------------------
  logic room, tx_room;
  logic [1:0] beat_next;
  logic [7:0] tx_first;
  assign tx_wr      = wr && in_tx;
  assign more_bytes = tx_wr && beat != bus.adr[11:10];
  assign tx_go      = held && (beat != '0 || go);
  assign tx_room    = beat == '0 ? host_turn && (|tx_free[TX_AW:2] || tx_free[1:0] > bus.adr[11:10]) : room;
  assign tx_write.valid = tx_wr && tx_go && tx_room;
  // four bytes in two cells per bit: a register picks one of the first two, or carries what picks one of the others
  assign beat_next  = tx_wr && tx_go && more_bytes ? beat + 1'b1 : '0;
  assign tx_write.data = beat[1] ? (tx_first & bus.dat_w[31:24]) | (~tx_first & bus.dat_w[23:16]) : tx_first;

  always_ff @(posedge clk) begin
    beat <= beat_next;
    room <= tx_room;
    if (tx_wr && tx_go && !tx_room) tx_dropped <= tx_dropped + 1'b1;
    tx_first <= {8{beat_next == 2'd3}} | (beat_next[0] ? bus.dat_w[15:8] : bus.dat_w[7:0]);
    if (beat_next == 2'd2) tx_first <= '0;
    if (rst) begin
      beat       <= '0;
      tx_dropped <= '0;
    end
  end

  // Launches: an entry any word of which met a full queue must not be committed later ---------------------------------
  logic lq_wr, lq_full, lq_last, spoilt, lq_bad;
  assign lq_wr     = wr && in_lq;
  assign lq_full   = lq_nfree == '1;
  assign lq_last   = bus.adr[3:2] == 2'd3;
  assign lq_bad    = lq_full || spoilt && bus.adr[3:2] != '0;
  assign lq_wait   = lq_wr && lq_last && !lq_bad;
  assign lq_write.en     = lq_wr && !lq_full;
  assign lq_write.word   = bus.adr[3:2];
  assign lq_write.data   = bus.dat_w;
  assign lq_write.commit = lq_wait && word_turn;

  always_ff @(posedge clk) begin
    if (lq_wr) spoilt <= lq_bad && !lq_last;
    if (lq_write.commit) launch_accepted <= launch_accepted + 1'b1;
    if (lq_wr && lq_last && (lq_bad || (expired && !word_turn))) launch_refused <= launch_refused + 1'b1;
    if (rst) begin
      spoilt          <= 1'b0;
      launch_accepted <= '0;
      launch_refused  <= '0;
    end
  end

  // Configuration: written to the shadow, then read back into its output register, which holds the word until it is answered. The upper
  // half of the shadow is never written: it gives the zeros of the watchdog's words, whose ones are added behind it.
  logic cfg_rd, cfg_wr;
  logic [5:0] cfg_held_addr;
  logic [6:0] shadow_addr;  // while a word is pending its own: the access that wrote it may be over
  assign shadow_addr = {stop_pending, cfg_pending ? cfg_held_addr : bus.adr[7:2]};
`ifdef FORMAL
  (* anyconst *) logic [6:0] f_n;  // a place of the shadow, and what lies there
  logic [31:0] f_word;
`endif
  assign cfg_wr        = wr && in_cfg && !cfg_state.busy && word_turn;
  assign cfg_write.valid = cfg_wr || stop_taken;
  assign cfg_write.addr  = cfg_held_addr;
  assign cfg_rd        = rd && in_cfg && !cfg_state.busy;
  assign cfg_write.data  = {shadow[31:2], shadow[1:0] | stop_bits};
  assign cfg_write.stop  = stop_bits[0];

  litepulse_ram #(
      .AW(7),
      .W (32)
  ) shadow_ram (
      .wr_clk (clk),
      .wr_en  (cfg_wr),
      .wr_addr({1'b0, bus.adr[7:2]}),
      .wr_data(bus.dat_w),
      .rd_clk (clk),
      .rd_en  (cfg_rd || cfg_pending),
      .rd_addr(shadow_addr),
      .rd_data(shadow)
`ifdef FORMAL
      ,
      .f_addr(f_n),
      .f_word(f_word)
`endif
  );

  always_ff @(posedge clk) begin
    cfg_pending  <= cfg_write.valid;
    stop_pending <= stop_taken;
    // without a turn the bus does nothing, so the turn that follows is free
    stop_next    <= !stop_taken && (stop_next || (stop != 2'd0 && !cfg_state.busy && !(start && turn)));
    if (cfg_write.valid) begin
      stop_bits     <= stop_taken ? {&stop, stop[0]} : 2'b00;
      cfg_held_addr <= !stop_taken ? bus.adr[7:2] : stop == STOP_TRAIN ? litepulse_map_pkg::CFG_TRAIN_COMMAND
          : stop == STOP_RESPONDER ? litepulse_map_pkg::CFG_RESP_ARM : litepulse_map_pkg::CFG_COMMAND;
    end
    if (cfg_state.answered && !cfg_state.refused) config_applied <= config_applied + 1'b1;
    if (cfg_state.answered && cfg_state.refused || wr && in_cfg && expired && !cfg_wr) config_refused <= config_refused + 1'b1;
    if (rst) begin
      cfg_pending    <= 1'b0;
      stop_pending   <= 1'b0;
      stop_next      <= 1'b0;
      stop_bits      <= '0;
      cfg_held_addr  <= '0;
      config_applied <= '0;
      config_refused <= '0;
    end
  end
  logic unused;
  assign unused = &{1'b0, ev_seek[EC:0], rx_seek[10:0], over[N-1:0]};

`ifdef FORMAL
  // What the bus and the crossing promise.
  logic f_past = 1'b0;
  wire f_host_deed = tx_write.valid || lq_write.commit || ev_read.free || rx_read.free || cfg_wr || snap_request.start;
  wire f_deed = tx_write.valid || lq_write.commit || ev_read.free || rx_read.free || cfg_write.valid || snap_request.start;
  logic f_ev_freed, f_rx_freed;  // in the last cycle: `ready` follows in the next one
  wire [EV_AW:0] f_ev_ready = ~ev_records.nready;
  wire [RX_AW:0] f_rx_ready = ~rx_records.nready;
  initial assume (rst);
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_ev_freed <= ev_read.free && !rst;
    f_rx_freed <= rx_read.free && !rst;
    if (f_past && !$past(rst)) begin
      if ($past(bus.stb && !bus_ack)) assume (!bus.stb || $stable(bus.we) && $stable(bus.adr) && $stable(bus.dat_w));
      if ($past(cfg_write.valid)) assume (cfg_state.busy);
      else assume (cfg_state.busy <= $past(cfg_state.busy));
      assume (stop == $past(stop) - 2'($past(stop_taken)) || stop == 2'd3);
      if ($past(snap_request.start)) assume (snap.busy);
      else assume (snap.busy <= $past(snap.busy));
      if ($past(turn)) assume (turn == $past(f_deed && !rx_read.free));  // received records are freed in sys
      assume (tx_free + (TX_AW + 1)'($past(tx_write.valid)) >= $past(tx_free));
      if (!$past(ev_read.free)) assume ((f_ev_ready >= $past(f_ev_ready) || $past(f_ev_freed)) && $stable(ev_records.position));
      if (!$past(rx_read.free)) assume ((f_rx_ready >= $past(f_rx_ready) || $past(f_rx_freed)) && $stable(rx_records.position));
    end else assume (!cfg_state.busy && !snap.busy);
    if (rst || !f_past || $past(rst)) assume (stop == 2'd0);
  end
  always @* begin
    assume (15'(f_ev_ready) == ~ev_records.nready && 10'(f_rx_ready) == ~rx_records.nready);
    assume (f_ev_ready[EV_AW] <= (f_ev_ready[EV_AW-1:0] == '0) && f_rx_ready[RX_AW] <= (f_rx_ready[RX_AW-1:0] == '0));
    assume (tx_free[TX_AW] <= (tx_free[TX_AW-1:0] == '0) && rx_records.nlimit == rx_records.nready - 10'd2);
    if (rst) assume (!bus.stb);
  end

  // Guaranteed to both: the crossing gets requests in its turn only, one at a time (bytes apart), and only those
  // that it can carry out; the bus is answered once and in bounded time.
  logic [TIMEOUT+1:0] f_waits;
  logic f_dropped;  // a word of the entry being written was not stored
  always_ff @(posedge clk) begin
    f_waits <= start && !rst ? f_waits + 1'b1 : '0;
    if (lq_wr) f_dropped <= !lq_last && (!lq_write.en || (lq_write.word != '0 && f_dropped));
    if (rst) f_dropped <= 1'b0;
    if (f_past && !$past(rst) && !rst && $past(f_deed))
      assert ((!lq_write.en || $past(cfg_write.valid)) && (!f_deed || ($past(tx_write.valid) && tx_write.valid)));
  end
  always @* begin
    if (f_past && !rst) begin
      if (f_deed) assert (turn);
      assert (3'(tx_write.valid) + 3'(lq_write.commit) + 3'(ev_read.free) + 3'(rx_read.free) + 3'(cfg_write.valid)
          + 3'(snap_request.start) <= 1);
      if (ev_read.free) assert (ev_read.count <= f_ev_ready && bus.dat_w[15:0] == 16'(ev_read.count));
      if (rx_read.free) assert (rx_read.count <= f_rx_ready && bus.dat_w[15:0] == 16'(rx_read.count));
      // nothing is read while `ready` and `limit` do not know of it
      if (rx_read.free || f_rx_freed) assert (!rx_read.en && !(f_rx_freed && rx_read.free));
      if (ev_read.free) assert (!bus.dat_w[31] || bus.dat_w[30:16] == ev_records.position[14:0]);
      if (rx_read.free) assert (!bus.dat_w[31] || bus.dat_w[30:16] == rx_records.position[14:0]);
      if (tx_write.valid) assert (tx_free != '0);
      if (tx_write.valid) assert (tx_write.data == bus.dat_w[8*beat+:8]);
      if (lq_write.en || lq_write.commit) assert (lq_nfree != '1);
      if (lq_write.commit) assert (lq_write.en && lq_last && !f_dropped);
      if (cfg_pending && !stop_pending && bus.stb) assert (bus_ack && bus.we && in_cfg && cfg_held_addr == bus.adr[7:2]);
      if (cfg_write.valid) assert (!cfg_state.busy && (stop_taken || bus.we && in_cfg));
      // The watchdog's words: each alone in its turn, when the one before is answered, and only when there is one.
      assert (!(stop_taken && f_host_deed) && !(stop_pending && f_deed));
      if (stop_pending) assert (cfg_pending && !stop_next);
      if (stop_next) assert (stop != 2'd0 && !cfg_state.busy && !cfg_pending);
      if (stop_taken) assert (stop_next);
      if (snap_request.start) assert (!snap.busy);
      assert (f_waits <= 4 + (1 << TIMEOUT));
      if (bus.stb && bus_ack && !bus.we && !(show_ev || show_rx || show_cfg || header)) assert (bus_answer.dat_r == snap.data);

      assert (bus_ack ? waited == '0 : !bus.stb || f_waits == (TIMEOUT + 2)'(waited));
      assert (waited <= 3 + (1 << TIMEOUT));
      if (waited != '0) assert (!bus_ack && f_waits == (TIMEOUT + 2)'(waited));
      if (waited == '0 && !bus_ack) assert (f_waits == '0);
      if (bus_ack) assert (f_waits >= 1);
      assert (held == (waited != '0 || bus_ack));
      if (in_tx && bus.stb && bus.we && !bus_ack) assert (beat <= bus.adr[11:10] && (beat == '0 || held));
      else assert (beat == '0 || !bus.stb && held);  // given up
      if (waited > (1 << TIMEOUT)) assert (beat != '0 && waited <= 7'(beat) + (1 << TIMEOUT) && (!bus.stb || in_tx && bus.we));
      if (bus.stb && beat != '0 && room) assert (turn && tx_free > bus.adr[11:10] - beat);
      if (bus.stb && beat == 2'd0 && held && !bus_ack) assert (tx_first == bus.dat_w[7:0]);
      if (bus.stb && beat == 2'd1) assert (tx_first == bus.dat_w[15:8]);
      if (beat == 2'd2) assert (tx_first == '0);
      if (beat == 2'd3) assert (tx_first == '1);
      assert (f_dropped == spoilt);
      if (snapping || position != '0 || nready != '1) assert (held && (!bus.stb || header && bus.adr[3:2] == '0));
      if (level && held && !bus.adr[13]) assert (position == ev_records.position && ~nready <= 16'(f_ev_ready));
      if (level && held && bus.adr[13]) assert (position == rx_records.position && ~nready <= 16'(f_rx_ready));
      assert (2'(show_ev) + 2'(show_rx) + 2'(show_cfg) + 2'(position != '0 || nready != '1) <= 1);
      if (show_ev || show_rx || show_cfg) assert (bus_ack && !(bus.stb && bus.we));
    end
  end
  // What the watchdog hands over is carried until it is answered, and nothing else. It is not kept waiting by the bus, and before what the
  // host writes from the cycle in which it fired on.
  logic [1:0] f_stop;  // the watchdog's word in the crossing
  logic f_read;        // it has left the shadow, ...
  logic f_upper;       // ... whose upper half was read last, ...
  logic f_at;          // ... at f_n
  always_ff @(posedge clk) begin
    if (cfg_write.valid) f_stop <= stop_taken ? stop : 2'd0;
    f_read <= (f_read || cfg_pending) && !cfg_write.valid;
    if (cfg_rd || cfg_pending) begin
      f_upper <= stop_pending;
      f_at    <= shadow_addr == f_n;
    end
    if (rst) begin
      f_stop <= 2'd0;
      f_read <= 1'b0;
      f_at   <= 1'b0;
    end
    if (f_past && !$past(rst) && !rst) begin
      if ($past(stop != 2'd0 && !cfg_state.busy && !(start && turn) && !stop_taken)) assert (stop_next);
      if ($past(stop_next && !turn)) assert (stop_next);
      if ($past(cfg_wr && {1'b0, bus.adr[7:2]} == f_n)) assert (f_word == $past(bus.dat_w));
      else assert ($stable(f_word));
      if ($past(cfg_state.busy && f_read) && cfg_state.busy) assert ($stable(cfg_write.data));
    end
    cover (f_past && f_stop == 2'd1 && f_read && cfg_state.answered);
    cover (f_past && stop_next && bus.stb && !bus_ack);
  end
  always @* begin
    if (f_n[6]) assert (f_word == '0);
    if (f_past && !rst) begin
      if (f_stop == 2'd3) assert (cfg_held_addr == litepulse_map_pkg::CFG_TRAIN_COMMAND && stop_bits == 2'd3);
      if (f_stop == 2'd2) assert (cfg_held_addr == litepulse_map_pkg::CFG_RESP_ARM && stop_bits == 2'd0);
      if (f_stop == 2'd1) assert (cfg_held_addr == litepulse_map_pkg::CFG_COMMAND && stop_bits == 2'd1);
      assert (cfg_write.stop == f_stop[0]);
      if (f_stop == 2'd0) assert (stop_bits == 2'd0);
      if (cfg_wr || lq_write.commit) assert (stop == 2'd0);
      if (lq_write.commit && cfg_state.busy) assert (f_stop == 2'd0);
      if (f_stop[1]) assert (stop != 2'd0);
      if (f_at) assert (f_upper == f_n[6] && (!f_n[6] || shadow == '0));
      // the host's word is what it wrote there, whatever the bus does behind it
      if (f_stop == 2'd0 && f_read && cfg_state.busy && {1'b0, cfg_held_addr} == f_n) assert (f_at && cfg_write.data == f_word);
      if (f_stop != 2'd0 && f_read && cfg_state.busy) assert (f_upper && (!f_at || cfg_write.data == 32'(stop_bits)));
      if (stop_pending) assert (f_stop != 2'd0);
      if (cfg_pending) assert (!f_read && stop_pending == (f_stop != 2'd0));
      if (cfg_state.busy) assert (f_read || cfg_pending);
    end
  end

  always_ff @(posedge clk) begin
    cover (f_past && bus_ack && show_ev && bus_answer.dat_r != '0);
    cover (f_past && bus_ack && f_waits == 4 + (1 << TIMEOUT));
    cover (f_past && bus_ack && !bus.we && position != '0 && nready != '1);
    cover (f_past && lq_write.commit && launch_refused != '0);
    cover (f_past && ev_read.free && bus.dat_w[31] && ev_read.count != '0);
    cover (f_past && tx_write.valid && beat == 2'd3);
  end
`endif
endmodule
