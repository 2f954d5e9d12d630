// SPDX-License-Identifier: BSD-2-Clause
// Writes the event stream: sequence numbers, order, and an exact account of what had no room.
//
// A pipeline that nothing holds up: requests are chosen by port (then acknowledged), merged, brought into the stage, written. Room
// is checked when a record comes to the stage. When there is none the stage keeps its time as that of the first lost record and
// counts in place of its data: it is the OVERFLOW record, which is written as it stands when there is room.
//
// Edges cannot wait at their source: those of a cycle enter a queue of two and go on when no request does. If a third cycle's come
// before there is room, what the queue holds is lost, as one gap with the oldest stamp.
// Latency: a request is written 4 cycles after it comes, an edge 4 cycles after `plain` or `filtered`, more when others are before it.
// Requests never wait for edges or for room. With 16 cycles or more from one request of a port to the next (a brief port may ask at
// any rate, the last one twice) the one of port n is acknowledged within n + 1 cycles, within 2n where a brief port comes before; a brief
// one in its first two cycles, or in the next two if a port before it asks in the very cycle it does. No edge record waits longer than 39.
//
//   cycle   a request                                  an edge
//     0     comes; one is chosen, by port              comes, into the queue
//     1     is acknowledged; merged with the edges     goes on if no request does
//     2     is brought into the stage, if there is room; else the stage becomes a gap's OVERFLOW record
//     3     is written
//
//   S      samples per cycle
//   EV_AW  log2 of the FIFO's depth, or of the free places from which on their number no longer matters
//   C      channels: of the edge masks C*S bits are in use
`include "litepulse_types.svh"
module litepulse_events #(
    parameter int S = 1,
    parameter int EV_AW = 8,
    parameter int C = 16 / S
) (
    input  logic                   clk,
    input  logic                   rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63-$clog2(S):0]  now,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [2:0]             young,        // see litepulse_timebase
    // requests, in their order of precedence, a bit each
    input  logic [3:0]             req,
    output logic [3:0]             ack,          // in a cycle in which req is high
    // `lo` is not ahead of `now`, and at most 116 behind when req rises
    input  event_request_t         responder,
    // for two cycles at a time: it may then be gone, or be another's, if it was not acknowledged
    input  event_request_t         sequencer,
    input  event_request_t         tty,
    input  event_request_t         control,
    // verilator lint_off UNUSEDSIGNAL
    input  edges_t                 edges,        // of the last cycle
    // verilator lint_on UNUSEDSIGNAL
    input  logic [10:0]            event_mask,
    output logic                   ev_wr,
    output logic [127:0]           ev_wdata,
    input  logic [EV_AW:0]         ev_free,
    output logic                   ev_gap,       // records are being lost
    output logic [31:0]            ev_lost,      // as many of this gap; means nothing outside of one
    output logic                   ev_lost_carries,  // ... nor in this cycle: its upper half follows in the next one
    output logic                   fault         // something was refused or missed, or a gap begins
);
  localparam int SL = $clog2(S);
  localparam int CW = 64 - SL;
  localparam int EB = C * S;   // bits of the edge masks
  localparam int RL = $clog2(litepulse_map_pkg::EVENT_RESERVE);
  localparam int NW = 5;       // bits of the number of edges that may wait
  localparam int PORTS = 4;
  localparam logic [PORTS-1:0] BRIEF = 4'b0010;   // ports whose request comes for two cycles at a time

  logic [4*PORTS-1:0]  kind, source;
  logic [8*PORTS-1:0]  flags, lo;
  // verilator lint_off UNUSEDSIGNAL
  logic [3*PORTS-1:0]  off;
  // verilator lint_on UNUSEDSIGNAL
  logic [32*PORTS-1:0] data;
  assign kind   = {control.kind, tty.kind, sequencer.kind, responder.kind};
  assign source = {control.source, tty.source, sequencer.source, responder.source};
  assign flags  = {control.flags, tty.flags, sequencer.flags, responder.flags};
  assign lo     = {control.lo, tty.lo, sequencer.lo, responder.lo};
  assign off    = {control.off, tty.off, sequencer.off, responder.off};
  assign data   = {control.data, tty.data, sequencer.data, responder.data};

  // Requests: one is chosen, by port, and acknowledged in the next cycle ------------------------------------------------------
  logic [PORTS-1:0] fresh, next, sel, sel_wanted, seen;
  logic             any, earlier;

  // of kinds and sources that come here, their bits tell
  function automatic logic is_wanted(input logic [3:0] k, input logic [2:0] s, input logic [10:0] mask);
    logic tx, refused, done, of_control;
    tx      = mask[{2'd0, s[1:0]}];
    of_control = mask[litepulse_map_pkg::EVENT_MASK_CONTROL_LSB];
    refused = s[2] ? of_control : s[0] ? mask[litepulse_map_pkg::EVENT_MASK_REFUSED_TRAIN_LSB]
        : mask[litepulse_map_pkg::EVENT_MASK_REFUSED_QUEUE_LSB];
    done    = k[0] ? mask[litepulse_map_pkg::EVENT_MASK_MISSED_LSB] : mask[litepulse_map_pkg::EVENT_MASK_TRAIN_DONE_LSB];
    is_wanted = k[3] ? mask[litepulse_map_pkg::EVENT_MASK_SNAPSHOT_LSB]
        : k[2] ? (k[1] ? done : of_control) : (k[1] ? refused : tx);
  endfunction

  always @* begin
    // a brief request is chosen in the first of its two cycles, so that it is still there in the next
    fresh = req & ~((seen & BRIEF) | (sel & ~BRIEF));
    earlier = 1'b0;
    for (int i = 0; i < PORTS; i++) begin
      next[i] = fresh[i] && !earlier;
      earlier = earlier || fresh[i];
    end
  end
  assign ack = sel;
  always_ff @(posedge clk) begin
    seen <= fresh;
    sel <= next;
    any <= fresh != '0;
    for (int i = 0; i < PORTS; i++) sel_wanted[i] <= is_wanted(kind[4*i +: 4], source[4*i +: 3], event_mask);
    if (rst) begin
      seen <= '0;
      sel <= '0;
      any <= 1'b0;
    end
  end

  // Edges ---------------------------------------------------------------------------------------------------------------------
  logic        come_a, come_f;
  logic        head_a, head_f, tail_a, tail_f;   // records to be taken from the older and the younger cycle
  logic        tail_any, shift, from_tail;
  typedef struct packed {
    logic [7:0]    now;        // cycle after theirs
    logic [6:0]    delay;      // of filtered ones
    logic [C-1:0]  group;
    logic [EB-1:0] level, changed;
  } kept_edges_t;              // the edges of a cycle, and what they were conditioned with: the settings may be others by now
  kept_edges_t head, tail, come;
  logic [NW-1:0] waiting, waiting_next;          // records in the queue, or that should be, as of the last cycle
  logic        came_a, came_f, took;             // changes of this number
  // verilator lint_off UNUSEDSIGNAL
  logic        unused;
  // verilator lint_on UNUSEDSIGNAL
  logic        spoilt;                           // a third cycle came: all of them are lost
  logic        take_edge, take_all;
  logic        pick_f;                           // of the head, the filtered record

  assign come.now     = now[7:0];
  assign come.delay   = edges.delay;
  assign come.group   = edges.group[C-1:0];
  assign come.level   = edges.level[EB-1:0];
  assign come.changed = edges.changed[EB-1:0];
  assign come_a    = edges.plain && event_mask[litepulse_map_pkg::EVENT_MASK_EDGE_LSB];
  assign come_f    = edges.filtered && event_mask[litepulse_map_pkg::EVENT_MASK_EDGE_LSB];
  assign take_edge = (head_a || head_f) && !any && !spoilt;
  assign take_all  = spoilt && !any;
  assign pick_f    = !head_a;
  assign tail_any  = tail_a || tail_f;
  assign shift     = any ? !(head_a || head_f) : spoilt || !(head_a && head_f);   // nothing is left of the head
  assign from_tail = tail_any && !spoilt;
  logic          rec_all;         // a record came behind the merging below: all that the queue held
  // changed by - took + came_a + came_f
  assign {waiting_next, unused} = {waiting, 1'b1} + {{(NW-1){took && !came_a}}, took != came_a, came_f};

  always_ff @(posedge clk) begin
    {came_a, came_f, took} <= {come_a, come_f, take_edge};
    waiting <= waiting_next;
    if (rec_all) waiting <= {{(NW-2){1'b0}}, came_a && came_f, came_a != came_f};
    if (shift) begin
      head   <= from_tail ? tail : come;
      head_f <= from_tail ? tail_f : come_f;
    end
    head_a <= shift ? (from_tail ? tail_a : come_a) : head_a && any;
    if (shift || !tail_any) begin
      tail   <= come;
      tail_a <= come_a && (!shift || from_tail);
      tail_f <= come_f && (!shift || from_tail);
    end
    spoilt <= !shift && (spoilt || (tail_any && (come_a || come_f)));
    if (rst) begin
      waiting <= '0;
      {came_a, came_f, took} <= 3'b000;
      {head_a, head_f, tail_a, tail_f} <= 4'd0;
      spoilt <= 1'b0;
    end
  end

  // Merging: the request that was chosen, else an edge record, else all that the queue holds ------------------------------------
  logic          mine, one;                // a wanted request, a record comes here
  logic          one_p;           // ... came: one record
  logic [NW-1:0] number;                   // of records
  logic [31:0]   p_data;
  logic [7:0]    p_flags, lo_req, lo_edge;
  logic [3:0]    p_kind, p_source;
  logic [2:0]    p_off;
  logic [EB-1:0] edge_own;
  logic [C-1:0]  head_group;

  assign mine     = (sel & sel_wanted) != '0;
  assign one      = take_edge || mine;
  assign number   = (p_data[NW-1:0] & {NW{rec_all}}) | {{(NW-1){1'b0}}, one_p};
  assign head_group = head.group;   // Icarus takes no variable index into a member
  always @* begin
    for (int i = 0; i < C; i++) edge_own[i*S +: S] = {S{head_group[i] == pick_f}};
  end

  logic [31:0]   m_data;
  logic [7:0]    m_flags, m_lo;
  logic [3:0]    m_kind, m_source;
  logic [2:0]    m_off;
  always @* begin
    m_data   = {16'(head.level & edge_own), 16'(head.changed & edge_own)} & {32{take_edge}};
    m_data[NW-1:0] = m_data[NW-1:0] | (waiting_next & {NW{take_all}});
    m_flags  = (take_edge && pick_f) ? litepulse_map_pkg::EVENT_FLAG_FILTERED : 8'd0;
    m_kind   = take_all ? litepulse_map_pkg::KIND_OVERFLOW : any ? 4'd0 : litepulse_map_pkg::KIND_EDGE;
    m_source = take_all ? litepulse_map_pkg::SRC_CONTROL : any ? 4'd0 : litepulse_map_pkg::SRC_CAPTURE;
    m_lo     = 8'd0;
    m_off    = 3'd0;
    for (int i = 0; i < PORTS; i++) begin
      m_data   = m_data   | (data[32*i +: 32] & {32{sel[i]}});
      m_flags  = m_flags  | (flags[8*i +: 8] & {8{sel[i]}});
      m_kind   = m_kind   | (kind[4*i +: 4] & {4{sel[i]}});
      m_source = m_source | (source[4*i +: 4] & {4{sel[i]}});
      m_lo     = m_lo     | (lo[8*i +: 8] & {8{sel[i]}});
      m_off    = m_off    | (off[3*i +: 3] & {3{sel[i]}} & 3'(S - 1));
    end
  end
  always_ff @(posedge clk) begin
    one_p    <= one;
    rec_all  <= take_all;
    p_data   <= m_data;
    p_flags  <= m_flags;
    p_kind   <= m_kind;
    p_source <= m_source;
    p_off    <= m_off;
    lo_req   <= m_lo;
    lo_edge  <= head.now + ~{1'b0, head.delay & {7{pick_f}}};   // they are those of the cycle before
    if (any) lo_edge <= 8'd0;
    if (rst) begin
      one_p <= 1'b0;
      rec_all <= 1'b0;
    end
  end

  // Stage ---------------------------------------------------------------------------------------------------------------------
  logic          full;           // a record is written in this cycle
  logic          gap;            // the stage is an OVERFLOW record that waits for room
  logic          room_one, room_two;   // for as many records of the kind that comes, as of the last cycle
  logic          enough;         // for what closes a gap, likewise, and the count is whole
  logic          above, at, below_one, below_two, room;
  logic          open, close, store, lose;
  logic [3:0]    st_kind, st_source;
  logic [7:0]    st_flags, lo_now;
  logic [31:0]   st_data;
  logic [63:0]   tick;
  logic [15:0]   seq;            // of the record in the stage

  assign above = |ev_free[EV_AW:RL+1];
  assign at    = ev_free[RL];
  assign below_one = (|ev_free[RL-1:1]) || (ev_free[0] && !ev_wr);
  assign below_two = (|ev_free[RL-1:2]) || (ev_free[1] && (ev_free[0] || !ev_wr));
  assign room  = (full || gap) ? room_two : room_one;
  assign open  = !gap || enough;
  assign close = gap && open;
  assign store = one_p && open && room;
  assign lose  = one_p && open && !room;

  // The count: its upper half follows a cycle later when the lower half wraps. A gap does not close in a cycle in which that may be.
  // When the upper half is that of LOST_STOP (the lower one then below 64) the record is marked, and what is lost from then on is not
  // counted.
  logic          was_top, wrapped, may_wrap, stopped;
  assign wrapped  = was_top && !st_data[15];
  assign may_wrap = (one_p || rec_all) && st_data[15:NW] == '1;
  assign stopped = st_flags[$clog2(litepulse_map_pkg::EVENT_FLAG_AT_LEAST)];   // in a gap

  assign lo_now = lo_req | lo_edge;
  always_ff @(posedge clk) begin
    room_one <= above || (any ? at || below_one : at && below_one);
    room_two <= above || (any ? at || below_two : at && below_two);
    enough   <= (any ? mine && (above || at || below_two) : above || (at && below_one)) && !may_wrap;
    full   <= store;
    gap    <= lose || rec_all || !open;
    fault  <= lose || (rec_all && open)
        || (full && (st_kind == litepulse_map_pkg::KIND_REFUSED || st_kind == litepulse_map_pkg::KIND_RESPONDER_MISSED));
    if (ev_wr) seq <= seq + (st_data[15:0] & {16{gap}}) + {15'd0, !gap};

    was_top <= !open && st_data[15];
    st_data[15:0]  <= open ? p_data[15:0] : st_data[15:0] + 16'(number & {NW{!stopped}});
    st_data[31:16] <= open ? p_data[31:16] : st_data[31:16] + 16'(wrapped);
    if (lose) st_data <= 32'd1;
    if (!open && st_data[31:16] == litepulse_map_pkg::LOST_STOP[31:16]) st_flags <= litepulse_map_pkg::EVENT_FLAG_AT_LEAST;
    if (open) begin
      st_kind   <= p_kind;
      st_source <= p_source;
      st_flags  <= p_flags;
      tick <= (64'({now[CW-1:48] + {(CW-48){lo_now[7] && young[2]}}, now[47:32] + {16{lo_now[7] && young[1]}},
                    now[31:16] + {16{lo_now[7] && young[0]}}, now[15:8] + {8{lo_now[7] && !now[7]}}, lo_now}) << SL) | 64'(p_off);
      if (lose) begin
        st_kind   <= litepulse_map_pkg::KIND_OVERFLOW;
        st_source <= litepulse_map_pkg::SRC_CONTROL;
        st_flags  <= 8'd0;
      end
    end
    if (rst) begin
      full <= 1'b0;
      gap <= 1'b0;
      seq <= 16'd0;
      fault <= 1'b0;
    end
  end

  assign ev_wr    = full || close;
  assign ev_wdata = {st_data, seq, st_kind, st_source, st_flags, tick};
  assign ev_gap   = gap;
  assign ev_lost  = st_data;
  assign ev_lost_carries = wrapped;

`ifdef FORMAL
`include "litepulse_events.svh"  // sim/formal
`endif
endmodule
