// SPDX-License-Identifier: BSD-2-Clause
// Every crossing between `pulse` and `sys`. Data waits in dual-clock RAMs or in registers held still; everything that says when it
// may be looked at (ring pointers, request and answer flags, status) travels in the two words that litepulse_cdc_swap exchanges in
// turns. So all that arrives in one turn belongs together: e.g. `status` is never newer than the pointers beside it.
//
// Rings: events and received bytes pulse to sys (read by index from the oldest, freed n at a time), transmit bytes and launches sys
// to pulse. Both sides may write or free every cycle; the other side learns of it with the next turn: at most 7 of its own plus 3
// of the other side's cycles later. Until then it knows of less room or fewer entries than there are, never of more. A writer must
// not write when its free count is 0, nor a reader free more than it sees.
//
// Entries of a receiving ring are numbered so that bus address plus position is the RAM address: the first record has number
// EV_FIRST (RX_FIRST), because the window's header takes the place of that many records; `position` counts the freed ones from 0.
//
// The resets must be asserted together, for at least 4 cycles of the slower clock; they may be released in either order.
// Latency: RAM reads one cycle. A byte that follows the one popped is valid in the next cycle if it had been seen to wait. From the
// start of a configuration word to its answer at most 10 sys + 9 pulse cycles plus what the core takes; a snapshot takes 3 pulse
// cycles, 5 across a wrap of the low half of the tick.
//   EV_AW, RX_AW, TX_AW, LQ_AW  log2 of the depths (events, received bytes, bytes to send, launches)
module litepulse_cdc #(
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6
) (
    input  logic             pulse_clk,
    input  logic             pulse_rst,
    // streams: *_free counts this side's writes at once
    input  logic             ev_wr,
    input  logic [127:0]     ev_wdata,
    output logic [EV_AW:0]   ev_free,
    input  logic             rx_wr,
    input  logic [63:0]      rx_wdata,
    output logic [RX_AW:0]   rx_free,
    // bytes to send, first word falls through
    output logic             txb_valid,
    output logic [7:0]       txb_data,
    input  logic             txb_pop,
    // launches: lq_rdata is valid the cycle after lq_ren and held
    output logic [LQ_AW:0]   lq_avail,
    output logic [LQ_AW-1:0] lq_rptr,
    input  logic [LQ_AW+1:0] lq_raddr,
    input  logic             lq_ren,
    output logic [31:0]      lq_rdata,
    input  logic             lq_free1,
    // configuration: held until cfg_done
    output logic             cfg_req,
    output logic [5:0]       cfg_addr,
    output logic [31:0]      cfg_data,
    input  logic             cfg_done,
    input  logic             cfg_err,
    // sampled for a snapshot
    input  logic [63:0]      now_tick,
    input  logic [31:0]      ev_lost,
    input  logic [31:0]      rx_lost,
    input  logic [7:0]       status_p,
    input  logic             fault_p,

    input  logic             sys_clk,
    input  logic             sys_rst,
    // streams: index 0 .. FIRST-1 is the header's place, FIRST the oldest record; data a cycle after *_ren, held. Records can be
    // read up to ev_index = ev_ready and below rx_index = rx_limit (rx_ready + RX_FIRST)
    output logic [EV_AW:0]   ev_ready,
    output logic [15:0]      ev_position,
    output logic             ev_arrived,
    input  logic             ev_free_stb,
    input  logic [EV_AW:0]   ev_free_n,
    input  logic             ev_ren,
    input  logic [EV_AW-1:0] ev_index,
    input  logic [1:0]       ev_word,
    output logic [31:0]      ev_rdata,
    output logic [RX_AW:0]   rx_ready,
    output logic [RX_AW:0]   rx_limit,
    output logic [15:0]      rx_position,
    output logic             rx_arrived,
    input  logic             rx_free_stb,
    input  logic [RX_AW:0]   rx_free_n,
    input  logic             rx_ren,
    input  logic [RX_AW-1:0] rx_index,
    input  logic             rx_word,
    output logic [31:0]      rx_rdata,
    // bytes to send: push only while tx_free is not 0
    output logic [TX_AW:0]   tx_free,
    input  logic             tx_push,
    input  logic [7:0]       tx_byte,
    // launches: words go straight into the next free slot, commit (only while lq_free is not 0) hands it over
    output logic [LQ_AW:0]   lq_free,
    input  logic             lq_we,
    input  logic [1:0]       lq_word,
    input  logic [31:0]      lq_wdata,
    input  logic             lq_commit,
    // configuration: address and data are held from the cycle after start until busy falls; answered is one cycle, then
    input  logic             cfg_start,
    input  logic [5:0]       cfg_held_addr,
    input  logic [31:0]      cfg_held_data,
    output logic             cfg_busy,
    output logic             cfg_answered,
    output logic             cfg_refused,
    // header snapshot: words 1 (lost), 2, 3 (tick) of stream snap_stream (0 events, 1 receive); start only while not busy
    input  logic             snap_start,
    input  logic             snap_stream,
    output logic             snap_busy,
    input  logic             snap_ren,
    input  logic [2:0]       snap_raddr,
    output logic [31:0]      snap_rdata,
    // levels as in docs/core.md; tx_idle and queue_idle also know of what is still on its way
    output logic [7:0]       status,
    output logic             fault
);
  localparam int EV_FIRST = 1;
  localparam int RX_FIRST = 2;
  localparam logic [EV_AW:0] EV_FIRST_NUMBER = (EV_AW + 1)'(EV_FIRST);
  localparam logic [RX_AW:0] RX_FIRST_NUMBER = (RX_AW + 1)'(RX_FIRST);
  localparam logic [EV_AW:0] EV_DEPTH = {1'b1, {EV_AW{1'b0}}};
  localparam logic [RX_AW:0] RX_DEPTH = {1'b1, {RX_AW{1'b0}}};
  localparam logic [TX_AW:0] TX_DEPTH = {1'b1, {TX_AW{1'b0}}};
  localparam logic [LQ_AW:0] LQ_DEPTH = {1'b1, {LQ_AW{1'b0}}};

  // Width of the two words of the exchange
  localparam int P_BITS = (EV_AW + 1) + (RX_AW + 1) + (TX_AW + 1) + (LQ_AW + 1) + 8 + 6;
  localparam int S_BITS = (EV_AW + 1) + (RX_AW + 1) + (TX_AW + 1) + (LQ_AW + 1) + 3;

`ifdef FORMAL
  // Ghosts (f_*): number *_n stands for any entry of a ring, word *_w for any of its words.
  (* anyconst *) logic [EV_AW:0] f_ev_n;
  (* anyconst *) logic [1:0] f_ev_w;
  (* anyconst *) logic [RX_AW:0] f_rx_n;
  (* anyconst *) logic f_rx_w;
  (* anyconst *) logic [TX_AW:0] f_tx_n;
  (* anyconst *) logic [LQ_AW:0] f_lq_n;
  (* anyconst *) logic [1:0] f_lq_w;
  (* anyconst *) logic [2:0] f_snap_n;
  logic [31:0] f_ev_mem, f_rx_mem, f_lq_mem, f_snap_mem;
  logic [7:0] f_tx_mem;
  logic [P_BITS-1:0] f_p_hold;
  logic [S_BITS-1:0] f_s_hold;
  logic f_ok, f_pulse_zero, f_sys_zero;
`endif

  // The exchange ------------------------------------------------------------------------------------------------------
  // own names: pointers of this side; *_v: the other side's, as last seen. Some are stored or sent as complements (n*): an iCE40
  // subtraction costs a cell per bit more than an addition, while a complement is free in front of a register.

  logic [EV_AW:0] ev_wptr, ev_nwptr_v, ev_oldest, ev_noldest_v;
  logic [RX_AW:0] rx_wptr, rx_nwptr_v, rx_oldest, rx_noldest_v;
  logic [TX_AW:0] tx_nwptr, tx_nwptr_v, tx_nrptr, tx_rptr_v;
  logic [LQ_AW:0] lq_wptr, lq_nwptr_v, lq_rptr_full, lq_nrptr_v;
  logic [7:0] levels, levels_v;
  logic ev_new, ev_new_v, rx_new, rx_new_v, fault_new, fault_v;
  logic cfg_flag, cfg_flag_v, cfg_ack, cfg_ack_v, cfg_bad, cfg_bad_v;
  logic snap_flag, snap_flag_v, snap_ack, snap_ack_v, snap_sel, snap_sel_v;
  logic pulse_take, sys_take, fresh;

  litepulse_cdc_swap #(
      .P_BITS (P_BITS),
      .S_BITS (S_BITS),
      .P_RESET({~EV_FIRST_NUMBER, ~RX_FIRST_NUMBER, {(TX_AW + 1) {1'b0}}, {(LQ_AW + 1) {1'b1}}, 14'd0}),
      .S_RESET({~EV_FIRST_NUMBER, ~RX_FIRST_NUMBER, {(TX_AW + 1) {1'b1}}, {(LQ_AW + 1) {1'b1}}, 3'd0})
  ) swap (
      .pulse_clk,
      .pulse_rst,
      .pulse_word({~ev_wptr, ~rx_wptr, ~tx_nrptr, ~lq_rptr_full, levels, ev_new, rx_new, fault_new, cfg_ack, cfg_bad, snap_ack}),
      .pulse_take,
      .pulse_view({ev_noldest_v, rx_noldest_v, tx_nwptr_v, lq_nwptr_v, cfg_flag_v, snap_flag_v, snap_sel_v}),
      .sys_clk,
      .sys_rst,
      .sys_word  ({~ev_oldest, ~rx_oldest, tx_nwptr, ~lq_wptr, cfg_flag, snap_flag, snap_sel}),
      .sys_take,
      .sys_view  ({ev_nwptr_v, rx_nwptr_v, tx_rptr_v, lq_nrptr_v, levels_v, ev_new_v, rx_new_v, fault_v, cfg_ack_v, cfg_bad_v,
                   snap_ack_v})
`ifdef FORMAL
      ,
      .f_p_hold(f_p_hold),
      .f_s_hold(f_s_hold),
      .f_ok,
      .f_pulse_zero,
      .f_sys_zero
`endif
  );

  // Streams -------------------------------------------------------------------------------------------------------------
  litepulse_ram #(
      .AW (EV_AW),
      .W  (32),
      .SUB(2)
  ) ev_ram (
      .wr_clk (pulse_clk),
      .wr_en  (ev_wr),
      .wr_addr(ev_wptr[EV_AW-1:0]),
      .wr_data(ev_wdata),
      .rd_clk (sys_clk),
      .rd_en  (ev_ren),
      .rd_addr({ev_position[EV_AW-1:0] + ev_index, ev_word}),
      .rd_data(ev_rdata)
`ifdef FORMAL
      ,
      .f_addr ({f_ev_n[EV_AW-1:0], f_ev_w}),
      .f_word (f_ev_mem)
`endif
  );

  litepulse_ram #(
      .AW (RX_AW),
      .W  (32),
      .SUB(1)
  ) rx_ram (
      .wr_clk (pulse_clk),
      .wr_en  (rx_wr),
      .wr_addr(rx_wptr[RX_AW-1:0]),
      .wr_data(rx_wdata),
      .rd_clk (sys_clk),
      .rd_en  (rx_ren),
      .rd_addr({rx_position[RX_AW-1:0] + rx_index, rx_word}),
      .rd_data(rx_rdata)
`ifdef FORMAL
      ,
      .f_addr ({f_rx_n[RX_AW-1:0], f_rx_w}),
      .f_word (f_rx_mem)
`endif
  );

  // The free counts are registers that know of the write of the same cycle, which is the carry into the adder. They are kept as
  // complements: of depth - (wptr + wr - oldest).
  logic ev_carry, rx_carry;
  logic [EV_AW:0] ev_nfree, ev_nfree_next, ev_nready;
  logic [RX_AW:0] rx_nfree, rx_nfree_next, rx_nready, rx_nlimit;
  assign {ev_nfree_next, ev_carry} = {ev_noldest_v ^ EV_DEPTH, 1'b1} + {ev_wptr, ev_wr};
  assign {rx_nfree_next, rx_carry} = {rx_noldest_v ^ RX_DEPTH, 1'b1} + {rx_wptr, rx_wr};
  assign ev_free = ~ev_nfree;
  assign rx_free = ~rx_nfree;

  always_ff @(posedge pulse_clk) begin
    if (ev_wr) ev_wptr <= ev_wptr + 1'b1;
    if (rx_wr) rx_wptr <= rx_wptr + 1'b1;
    ev_nfree <= ev_nfree_next;
    rx_nfree <= rx_nfree_next;
    if (pulse_take || ev_wr) ev_new <= ev_wr;
    if (pulse_take || rx_wr) rx_new <= rx_wr;
    if (pulse_take || fault_p) fault_new <= fault_p;
    if (pulse_rst) begin
      ev_wptr   <= EV_FIRST_NUMBER;
      rx_wptr   <= RX_FIRST_NUMBER;
      ev_nfree  <= ~EV_DEPTH;
      rx_nfree  <= ~RX_DEPTH;
      ev_new    <= 1'b0;
      rx_new    <= 1'b0;
      fault_new <= 1'b0;
    end
  end

  assign ev_oldest = ev_position[EV_AW:0] + EV_FIRST_NUMBER;
  assign rx_oldest = rx_position[RX_AW:0] + RX_FIRST_NUMBER;
  assign ev_nready = ev_nwptr_v + ev_position[EV_AW:0] + EV_FIRST_NUMBER;
  assign rx_nready = rx_nlimit + RX_FIRST_NUMBER;
  assign ev_ready  = ~ev_nready;
  assign rx_ready  = ~rx_nready;
  assign rx_nlimit = rx_nwptr_v + rx_position[RX_AW:0];
  assign rx_limit  = ~rx_nlimit;

  always_ff @(posedge sys_clk) begin
    if (ev_free_stb) ev_position <= ev_position + 16'(ev_free_n);
    if (rx_free_stb) rx_position <= rx_position + 16'(rx_free_n);
    if (sys_rst) begin
      ev_position <= '0;
      rx_position <= '0;
    end
  end

  // Bytes to send: the oldest one waits in the RAM's output register. Both pointers are complements, i.e. count down -----------
  logic tx_fetch, tx_carry;
  logic tx_some;  // one is waiting: looked up a cycle ahead, for speed
  logic [TX_AW:0] tx_nrptr_next;
  assign tx_fetch = tx_some && (!txb_valid || txb_pop);
  assign {tx_free, tx_carry} = {tx_rptr_v ^ TX_DEPTH, 1'b1} + {tx_nwptr, 1'b1};

  litepulse_ram #(
      .AW(TX_AW),
      .W (8)
  ) tx_ram (
      .wr_clk (sys_clk),
      .wr_en  (tx_push),
      .wr_addr(tx_nwptr[TX_AW-1:0]),
      .wr_data(tx_byte),
      .rd_clk (pulse_clk),
      .rd_en  (tx_fetch),
      .rd_addr(tx_nrptr[TX_AW-1:0]),
      .rd_data(txb_data)
`ifdef FORMAL
      ,
      .f_addr (~f_tx_n[TX_AW-1:0]),
      .f_word (f_tx_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    if (tx_fetch) begin
      tx_nrptr      <= tx_nrptr_next;
      tx_nrptr_next <= tx_nrptr_next - 1'b1;
    end
    if (tx_fetch || txb_pop) txb_valid <= tx_fetch;
    tx_some <= tx_fetch ? tx_nwptr_v != tx_nrptr_next : tx_nwptr_v != tx_nrptr;
    if (pulse_rst) begin
      tx_nrptr      <= '1;
      tx_nrptr_next <= {{TX_AW{1'b1}}, 1'b0};
      tx_some       <= 1'b0;
      txb_valid     <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (tx_push) tx_nwptr <= tx_nwptr - 1'b1;
    if (sys_rst) tx_nwptr <= '1;
  end

  // Launches --------------------------------------------------------------------------------------------------------------
  logic lq_carry;
  logic [LQ_AW:0] lq_navail, lq_navail_next;
  assign {lq_navail_next, lq_carry} = {lq_nwptr_v, 1'b1} + {lq_rptr_full, lq_free1};
  assign lq_avail = ~lq_navail;
  assign lq_rptr = lq_rptr_full[LQ_AW-1:0];
  assign lq_free = ~((lq_nrptr_v ^ LQ_DEPTH) + lq_wptr);

  litepulse_ram #(
      .AW(LQ_AW + 2),
      .W (32)
  ) lq_ram (
      .wr_clk (sys_clk),
      .wr_en  (lq_we),
      .wr_addr({lq_wptr[LQ_AW-1:0], lq_word}),
      .wr_data(lq_wdata),
      .rd_clk (pulse_clk),
      .rd_en  (lq_ren),
      .rd_addr(lq_raddr),
      .rd_data(lq_rdata)
`ifdef FORMAL
      ,
      .f_addr ({f_lq_n[LQ_AW-1:0], f_lq_w}),
      .f_word (f_lq_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    if (lq_free1) lq_rptr_full <= lq_rptr_full + 1'b1;
    lq_navail <= lq_navail_next;
    if (pulse_rst) begin
      lq_rptr_full <= '0;
      lq_navail    <= '1;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (lq_commit) lq_wptr <= lq_wptr + 1'b1;
    if (sys_rst) lq_wptr <= '0;
  end

  // Configuration: the flags differ from request to answer ------------------------------------------------------------------
  logic cfg_was_busy;
  assign cfg_req      = cfg_flag_v != cfg_ack;
  assign cfg_addr     = cfg_held_addr;
  assign cfg_data     = cfg_held_data;
  assign cfg_busy     = cfg_flag != cfg_ack_v;
  assign cfg_answered = cfg_was_busy && !cfg_busy;
  assign cfg_refused  = cfg_bad_v;

  always_ff @(posedge pulse_clk) begin
    if (cfg_req && cfg_done) begin
      cfg_ack <= !cfg_ack;
      cfg_bad <= cfg_err;
    end
    if (pulse_rst) begin
      cfg_ack <= 1'b0;
      cfg_bad <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    cfg_was_busy <= cfg_busy;
    if (cfg_start) cfg_flag <= !cfg_flag;
    if (sys_rst) begin
      cfg_was_busy <= 1'b0;
      cfg_flag     <= 1'b0;
    end
  end

  // Header snapshot: lost count, then both halves of the tick, again if the low half wrapped between them ---------------------
  localparam logic [1:0] SNAP_LOST = 2'd1, SNAP_LO = 2'd2, SNAP_HI = 2'd3;
  logic [1:0] snap_word;
  logic snap_go, snap_top;
  assign snap_go   = snap_flag_v != snap_ack;
  assign snap_busy = snap_flag != snap_ack_v;

  litepulse_ram #(
      .AW(3),
      .W (32)
  ) snap_ram (
      .wr_clk (pulse_clk),
      .wr_en  (snap_go),
      .wr_addr({snap_sel_v, snap_word}),
      .wr_data(!snap_word[1] ? (snap_sel_v ? rx_lost : ev_lost) : snap_word[0] ? now_tick[63:32] : now_tick[31:0]),
      .rd_clk (sys_clk),
      .rd_en  (snap_ren),
      .rd_addr(snap_raddr),
      .rd_data(snap_rdata)
`ifdef FORMAL
      ,
      .f_addr (f_snap_n),
      .f_word (f_snap_mem)
`endif
  );

  always_ff @(posedge pulse_clk) begin
    snap_top <= now_tick[31];
    case (snap_word)
      SNAP_LOST: if (snap_go) snap_word <= SNAP_LO;
      SNAP_LO: snap_word <= SNAP_HI;
      default:
      if (snap_top && !now_tick[31]) snap_word <= SNAP_LO;
      else begin
        snap_word <= SNAP_LOST;
        snap_ack  <= !snap_ack;
      end
    endcase
    if (pulse_rst) begin
      snap_word <= SNAP_LOST;
      snap_ack  <= 1'b0;
    end
  end

  always_ff @(posedge sys_clk) begin
    if (snap_start) begin
      snap_flag <= !snap_flag;
      snap_sel  <= snap_stream;
    end
    if (sys_rst) begin
      snap_flag <= 1'b0;
      snap_sel  <= 1'b0;
    end
  end

  // Levels and strobes ----------------------------------------------------------------------------------------------------------
  // A byte waiting in front of the line is not idle, whatever the transmitter's registered status says yet.
  // status_p[4]: the queue keeps the entry that had its turn last, to compare the next one with it
  assign levels = {status_p[4], status_p[7:5], status_p[3:1], status_p[0] && !txb_valid};

  logic unused;
  assign unused = &{1'b0, ev_carry, rx_carry, tx_carry, lq_carry};

  assign status = {
    levels_v[6:5], levels_v[4] && lq_free == LQ_DEPTH - (LQ_AW + 1)'(levels_v[7]), cfg_busy,
    levels_v[3:1], levels_v[0] && tx_free == TX_DEPTH
  };
  assign fault      = fresh && fault_v;
  assign ev_arrived = fresh && ev_new_v;
  assign rx_arrived = fresh && rx_new_v;

  always_ff @(posedge sys_clk) begin
    fresh <= sys_take;
    if (sys_rst) fresh <= 1'b0;
  end

`ifdef FORMAL
`include "litepulse_cdc.svh"
`endif
endmodule
