// SPDX-License-Identifier: BSD-2-Clause
// The bus slave of the core's 32 KiB window (layout: litepulse_map_pkg, docs/core.md), entirely in `sys`. bus_stb is held with
// address, direction and data until the one-cycle bus_ack; addresses nobody owns read 0, ignore writes and are answered, too.
//
// Wait states (cycles from stb to ack): 1 for every access but these:
//   n bytes to the TX region   n
//   header word 0              a snapshot's round trip, typically 12, at most 11 sys + 15 pulse cycles
//   configuration              until the word before has been answered (as above plus what the core takes), then 1
// A pulse clock that stands still cannot hang the bus: after 2^TIMEOUT cycles a header reads 0, a configuration read gives 0 and a
// configuration write is dropped and counted as refused.
//
// `ready` and `position` are latched before the tick is sampled, so no record that is ready is younger than the header's tick.
// Words 1 to 3 of a header keep showing that stream's last snapshot. A record can be read if it has arrived by then, not only if it
// had when the header was read.
//   EV_AW, RX_AW, TX_AW, LQ_AW  log2 of the depths
//   TIMEOUT                     log2 of the cycles the bus may wait for the pulse clock
module litepulse_window #(
    parameter int EV_AW   = 8,
    parameter int RX_AW   = 9,
    parameter int TX_AW   = 9,
    parameter int LQ_AW   = 6,
    parameter int TIMEOUT = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             bus_stb,
    input  logic             bus_we,
    input  logic [14:2]      bus_adr,
    input  logic [31:0]      bus_dat_w,
    output logic [31:0]      bus_dat_r,
    output logic             bus_ack,
    // acknowledge registers
    input  logic             ev_ack_stb,
    input  logic [31:0]      ev_ack,
    input  logic             rx_ack_stb,
    input  logic [31:0]      rx_ack,
    // counters, modulo 2^16
    output logic [15:0]      launch_accepted,
    output logic [15:0]      launch_refused,
    output logic [15:0]      tx_dropped,
    output logic [15:0]      config_applied,
    output logic [15:0]      config_refused,
    // litepulse_cdc
    input  logic [EV_AW:0]   ev_ready,
    input  logic [15:0]      ev_position,
    output logic             ev_free_stb,
    output logic [EV_AW:0]   ev_free_n,
    output logic             ev_ren,
    output logic [EV_AW-1:0] ev_index,
    output logic [1:0]       ev_word,
    input  logic [31:0]      ev_rdata,
    input  logic [RX_AW:0]   rx_ready,
    input  logic [RX_AW:0]   rx_limit,
    input  logic [15:0]      rx_position,
    output logic             rx_free_stb,
    output logic [RX_AW:0]   rx_free_n,
    output logic             rx_ren,
    output logic [RX_AW-1:0] rx_index,
    output logic             rx_word,
    input  logic [31:0]      rx_rdata,
    input  logic [TX_AW:0]   tx_free,
    output logic             tx_push,
    output logic [7:0]       tx_byte,
    input  logic [LQ_AW:0]   lq_free,
    output logic             lq_we,
    output logic [1:0]       lq_word,
    output logic [31:0]      lq_wdata,
    output logic             lq_commit,
    output logic             cfg_start,
    output logic [5:0]       cfg_held_addr,
    output logic [31:0]      cfg_held_data,
    input  logic             cfg_busy,
    input  logic             cfg_answered,
    input  logic             cfg_refused,
    output logic             snap_start,
    output logic             snap_stream,
    input  logic             snap_busy,
    output logic             snap_ren,
    output logic [2:0]       snap_raddr,
    input  logic [31:0]      snap_rdata
);
  localparam logic [14:0] EVENTS = 15'(litepulse_map_pkg::REGION_EVENTS);
  localparam logic [14:0] RECEIVE = 15'(litepulse_map_pkg::REGION_RECEIVE);
  localparam logic [14:0] TX = 15'(litepulse_map_pkg::REGION_TX);
  localparam logic [14:0] LAUNCH = 15'(litepulse_map_pkg::REGION_LAUNCH);
  localparam logic [14:0] CONFIG = 15'(litepulse_map_pkg::REGION_CONFIG);

  // Who is meant ------------------------------------------------------------------------------------------------------
  logic start, rd, wr, in_ev, in_rx, in_tx, in_lq, in_cfg, header, level;
  assign start  = bus_stb && !bus_ack;
  assign rd     = start && !bus_we;
  assign wr     = start && bus_we;
  assign in_ev  = bus_adr[14:13] == EVENTS[14:13];
  assign in_rx  = bus_adr[14:13] == RECEIVE[14:13];
  assign in_tx  = bus_adr[14:12] == TX[14:12];
  assign in_lq  = bus_adr[14:10] == LAUNCH[14:10];
  assign in_cfg = bus_adr[14:8] == CONFIG[14:8];
  assign header = (in_ev || in_rx) && bus_adr[12:4] == '0;
  assign level  = rd && header && bus_adr[3:2] == '0;

  // Waiting -----------------------------------------------------------------------------------------------------------
  logic snapping, stall, expired, more_bytes, cfg_pending, cfg_wait;
  logic [TIMEOUT:0] waited;
  assign cfg_wait = start && in_cfg && (cfg_pending || cfg_busy);
  assign expired  = waited[TIMEOUT];
  assign stall    = ((level && !(snapping && !snap_busy)) || cfg_wait) && !expired || more_bytes;

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
  logic show_ev, show_rx, show_snap, show_cfg;
  logic [16:0] ev_seek, rx_seek;
  logic [15:0] ev_ready_c, rx_limit_c;
  assign ev_ready_c  = ~{{(15 - EV_AW) {1'b0}}, ev_ready};
  assign rx_limit_c  = ~{{(15 - RX_AW) {1'b0}}, rx_limit};
  logic [31:0] level_word;
  logic [31:0] shadow;
  assign ev_seek     = {8'd0, bus_adr[12:4]} + {1'b0, ev_ready_c};
  assign rx_seek     = {7'd0, bus_adr[12:3]} + {1'b0, rx_limit_c} + 1'b1;
  assign ev_index    = EV_AW'(bus_adr[12:4]);
  assign ev_word     = bus_adr[3:2];
  assign rx_index    = RX_AW'(bus_adr[12:3]);
  assign rx_word     = bus_adr[2];
  assign ev_ren      = start;
  assign rx_ren      = start;
  assign snap_ren    = start;
  assign snap_raddr  = {bus_adr[13], bus_adr[3:2]};
  assign snap_stream = bus_adr[13];
  assign snap_start  = level && !snapping && !snap_busy;
  assign bus_dat_r   = ({32{show_ev}} & ev_rdata | {32{show_rx}} & rx_rdata)
                       | {32{show_cfg}} & shadow | {32{show_snap}} & snap_rdata | level_word;

  always_ff @(posedge clk) begin
    show_ev   <= rd && in_ev && !header && !ev_seek[16];
    show_rx   <= rd && in_rx && !header && !rx_seek[16];
    show_snap <= rd && header && bus_adr[3:2] != '0;
    show_cfg  <= rd && in_cfg && !cfg_wait;
    // 0 but from the start of a header's read to its end, so that it needs no gate
    if (snap_start) begin
      snapping   <= 1'b1;
      level_word <= bus_adr[13] ? {rx_position, 16'(rx_ready)} : {ev_position, 16'(ev_ready)};
    end
    if (rst || !start || expired) begin
      snapping   <= 1'b0;
      level_word <= '0;
    end
  end

  // Acknowledging -----------------------------------------------------------------------------------------------------
  logic [EV_AW+1:0] ev_over;
  logic [RX_AW+1:0] rx_over;
  assign ev_over     = {1'b0, ev_ack[EV_AW:0]} + {1'b0, ~ev_ready};
  assign rx_over     = {1'b0, rx_ack[RX_AW:0]} + {1'b0, ~rx_ready};
  assign ev_free_stb = ev_ack_stb && !ev_over[EV_AW+1] && ev_ack[15:EV_AW+1] == '0
                       && (!ev_ack[31] || ev_ack[30:16] == ev_position[14:0]);
  assign ev_free_n   = ev_ack[EV_AW:0];
  assign rx_free_stb = rx_ack_stb && !rx_over[RX_AW+1] && rx_ack[15:RX_AW+1] == '0
                       && (!rx_ack[31] || rx_ack[30:16] == rx_position[14:0]);
  assign rx_free_n   = rx_ack[RX_AW:0];

  // Bytes to send: all of a write or nothing --------------------------------------------------------------------------
  logic [1:0] beat;
  logic room, tx_room, tx_wr;
  assign tx_wr      = wr && in_tx;
  assign more_bytes = tx_wr && beat != bus_adr[11:10];
  assign tx_room    = beat == '0 ? (|tx_free[TX_AW:2] || tx_free[1:0] > bus_adr[11:10]) : room;
  assign tx_push    = tx_wr && tx_room;
  assign tx_byte    = beat[1] ? (beat[0] ? bus_dat_w[31:24] : bus_dat_w[23:16]) : (beat[0] ? bus_dat_w[15:8] : bus_dat_w[7:0]);

  always_ff @(posedge clk) begin
    beat <= more_bytes ? beat + 1'b1 : '0;
    room <= tx_room;
    if (tx_wr && !tx_room) tx_dropped <= tx_dropped + 1'b1;
    if (rst) begin
      beat       <= '0;
      tx_dropped <= '0;
    end
  end

  // Launches: an entry any word of which met a full queue must not be committed later ---------------------------------
  logic lq_wr, lq_full, lq_last, spoilt, lq_bad;
  assign lq_wr     = wr && in_lq;
  assign lq_full   = lq_free == '0;
  assign lq_word   = bus_adr[3:2];
  assign lq_last   = lq_word == 2'd3;
  assign lq_bad    = lq_full || spoilt && lq_word != '0;
  assign lq_we     = lq_wr && !lq_full;
  assign lq_wdata  = bus_dat_w;
  assign lq_commit = lq_wr && lq_last && !lq_bad;

  always_ff @(posedge clk) begin
    if (lq_wr) spoilt <= lq_bad && !lq_last;
    if (lq_commit) launch_accepted <= launch_accepted + 1'b1;
    if (lq_wr && lq_last && lq_bad) launch_refused <= launch_refused + 1'b1;
    if (rst) begin
      spoilt          <= 1'b0;
      launch_accepted <= '0;
      launch_refused  <= '0;
    end
  end

  // Configuration: written to the shadow, then read back into its output register, which holds the word until it is answered
  logic cfg_wr, cfg_rd;
  assign cfg_wr        = wr && in_cfg && !cfg_wait;
  assign cfg_rd        = rd && in_cfg && !cfg_wait;
  assign cfg_start     = cfg_pending;
  assign cfg_held_data = shadow;

  litepulse_ram #(
      .AW(6),
      .W (32)
  ) shadow_ram (
      .wr_clk (clk),
      .wr_en  (cfg_wr),
      .wr_addr(bus_adr[7:2]),
      .wr_data(bus_dat_w),
      .rd_clk (clk),
      .rd_en  (cfg_rd || cfg_pending),
      .rd_addr(bus_adr[7:2]),  // of a pending word, too: its write is being acknowledged
      .rd_data(shadow)
  );

  always_ff @(posedge clk) begin
    cfg_pending <= cfg_wr;
    if (cfg_wr) cfg_held_addr <= bus_adr[7:2];
    if (cfg_answered && !cfg_refused) config_applied <= config_applied + 1'b1;
    if (cfg_answered && cfg_refused || wr && cfg_wait && expired) config_refused <= config_refused + 1'b1;
    if (rst) begin
      cfg_pending    <= 1'b0;
      cfg_held_addr  <= '0;
      config_applied <= '0;
      config_refused <= '0;
    end
  end
  logic unused;
  assign unused = &{1'b0, ev_seek[15:0], rx_seek[15:0], ev_over[EV_AW:0], rx_over[RX_AW:0]};

`ifdef FORMAL
  // What the bus and the crossing promise.
  logic f_past = 1'b0;
  initial assume (rst);
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    if (f_past && !$past(rst)) begin
      if ($past(bus_stb && !bus_ack)) assume (bus_stb && $stable(bus_we) && $stable(bus_adr) && $stable(bus_dat_w));
      if ($past(cfg_start)) assume (cfg_busy);
      else assume (cfg_busy <= $past(cfg_busy));
      if ($past(snap_start)) assume (snap_busy);
      else assume (snap_busy <= $past(snap_busy));
      assume (tx_free + (TX_AW + 1)'($past(tx_push)) >= $past(tx_free));
    end else assume (!cfg_busy && !snap_busy);
  end
  always_comb begin
    if (bus_ack) assume (bus_stb);
    assume (ev_ready[EV_AW] <= (ev_ready[EV_AW-1:0] == '0) && rx_ready[RX_AW] <= (rx_ready[RX_AW-1:0] == '0));
    assume (tx_free[TX_AW] <= (tx_free[TX_AW-1:0] == '0) && rx_limit == rx_ready + 2'd2);
    if (rst) assume (!bus_stb);
  end

  // Promised to both: the crossing is only asked for what it can do, the bus is answered once and in bounded time.
  logic [TIMEOUT+1:0] f_waits;
  logic f_dropped;  // a word of the entry being written was not stored
  always_ff @(posedge clk) begin
    f_waits <= start && !rst ? f_waits + 1'b1 : '0;
    if (lq_wr) f_dropped <= !lq_last && (!lq_we || (lq_word != '0 && f_dropped));
    if (rst) f_dropped <= 1'b0;
  end
  always_comb begin
    if (f_past && !rst) begin
      if (ev_free_stb) assert (ev_free_n <= ev_ready && ev_ack[15:0] == 16'(ev_free_n));
      if (rx_free_stb) assert (rx_free_n <= rx_ready && rx_ack[15:0] == 16'(rx_free_n));
      if (tx_push) assert (tx_free != '0);
      if (lq_we || lq_commit) assert (lq_free != '0);
      if (lq_commit) assert (lq_we && lq_last && !f_dropped);
      if (cfg_start) assert (!cfg_busy && bus_ack && bus_we && in_cfg);
      if (snap_start) assert (!snap_busy);
      assert (f_waits <= 1 + (1 << TIMEOUT));
      if (bus_ack && !(show_ev || show_rx || show_snap || show_cfg || (header && bus_adr[3:2] == '0))) assert (bus_dat_r == '0);
      if (bus_ack && bus_we) assert (bus_dat_r == '0);

      assert (bus_ack ? waited == '0 : !bus_stb || f_waits == (TIMEOUT + 2)'(waited));
      assert (waited <= (1 << TIMEOUT) && !(bus_ack && snapping && !header));
      if (waited != '0) assert (bus_stb && !bus_ack && f_waits == (TIMEOUT + 2)'(waited));
      if (waited == '0 && !bus_ack) assert (f_waits == '0);
      if (bus_ack) assert (f_waits >= 1 && f_waits <= 1 + (1 << TIMEOUT));
      if (in_tx && bus_stb && bus_we && !bus_ack) assert (waited == beat && beat <= bus_adr[11:10]);
      else assert (beat == '0);
      if (beat != '0 && room) assert (tx_free > bus_adr[11:10] - beat);
      if (cfg_pending) assert (!cfg_busy && bus_ack && bus_we && in_cfg && cfg_held_addr == bus_adr[7:2]);
      assert (f_dropped == spoilt);
      if (level_word != '0 || snapping) assert (bus_stb && !bus_we && header && bus_adr[3:2] == '0);
      assert (show_ev + show_rx + show_snap + show_cfg + (level_word != '0) <= 1);
      if (show_ev || show_rx || show_snap || show_cfg) assert (bus_ack && !bus_we);
    end
  end
  always_ff @(posedge clk) begin
    cover (f_past && bus_ack && show_ev && bus_dat_r != '0);
    cover (f_past && bus_ack && f_waits == 1 + (1 << TIMEOUT));
    cover (f_past && bus_ack && level_word != '0 && !expired);
    cover (f_past && lq_commit && launch_refused != '0);
    cover (f_past && ev_free_stb && ev_ack[31] && ev_free_n != '0);
    cover (f_past && tx_push && beat == 2'd3);
  end
`endif
endmodule
