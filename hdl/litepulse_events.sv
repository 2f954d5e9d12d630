// SPDX-License-Identifier: BSD-2-Clause
// Writes the event stream: sequence numbers, order, and an exact account of what had no room.
//
// One record at a time lies in a stage: its full time stamp, and all else that goes into the FIFO in the next cycle. When there is
// no room for it the stage keeps the stamp as that of the first lost record and a gap is open: what comes then is counted, until
// the OVERFLOW record can be written.
//
// Requests (held until ack) go first, by port; edges cannot wait at their source, so those of each cycle enter a queue of two. If
// a third comes while requests use the stage, what the queue holds is lost, as one gap with the oldest stamp. An edge that has
// waited 8 cycles goes before a request.
// Latency: a request is written 3 cycles after it comes, an edge 2 cycles, more when others are before it. With 16 cycles or more
// between the requests of one port none waits longer than 40 cycles for its ack, whatever the edges do, no edge longer than 60.
//   S      samples per cycle
//   EV_AW  log2 of the FIFO's depth
//   EB     bits of the edge masks in use: channels times S
module litepulse_events #(
    parameter int S = 1,
    parameter int EV_AW = 8,
    parameter int EB = 16
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [63-$clog2(S):0]  now,
    input  logic [63-$clog2(S):8]  prev_hi,
    // requests: 0 responder, 1 queue, 2 train, 3 tty, 4 train_change, 5 control
    input  logic [5:0]             req,
    output logic [5:0]             ack,
    input  logic [23:0]            kind,
    input  logic [47:0]            flags,
    input  logic [47:0]            lo,           // cycle stamp: not ahead of `now`, at most 80 behind when req rises
    // verilator lint_off UNUSEDSIGNAL
    input  logic [17:0]            off,          // sample
    // verilator lint_on UNUSEDSIGNAL
    input  logic [191:0]           data,
    // edges of this cycle: see litepulse_capture
    input  logic                   edge_a,
    input  logic                   edge_f,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [15:0]            edge_changed,
    input  logic [15:0]            edge_level,
    input  logic [15:0]            edge_group,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [6:0]             edge_delay,
    input  logic [10:0]            event_mask,
    output logic                   ev_wr,
    output logic [127:0]           ev_wdata,
    input  logic [EV_AW:0]         ev_free,
    output logic [31:0]            ev_lost,      // records of the gap; 0 outside of one
    output logic                   fault         // something was refused or missed, or a gap begins
);
  localparam int SL = $clog2(S);
  localparam int CW = 64 - SL;

  // which kinds are wanted ----------------------------------------------------------------------------------------------
  logic [5:0] wanted;

  assign wanted[0] = (kind[3:0] == litepulse_map_pkg::KIND_TX) ? event_mask[litepulse_map_pkg::EVENT_MASK_TX_RESPONDER_LSB]
      : event_mask[litepulse_map_pkg::EVENT_MASK_MISSED_LSB];
  assign wanted[1] = (kind[7:4] == litepulse_map_pkg::KIND_TX) ? event_mask[litepulse_map_pkg::EVENT_MASK_TX_QUEUE_LSB]
      : event_mask[litepulse_map_pkg::EVENT_MASK_REFUSED_QUEUE_LSB];
  assign wanted[2] = (kind[11:8] == litepulse_map_pkg::KIND_TX) ? event_mask[litepulse_map_pkg::EVENT_MASK_TX_TRAIN_LSB]
      : (kind[11:8] == litepulse_map_pkg::KIND_REFUSED) ? event_mask[litepulse_map_pkg::EVENT_MASK_REFUSED_TRAIN_LSB]
      : event_mask[litepulse_map_pkg::EVENT_MASK_TRAIN_DONE_LSB];
  assign wanted[3] = event_mask[litepulse_map_pkg::EVENT_MASK_TX_TTY_LSB];
  assign wanted[4] = event_mask[litepulse_map_pkg::EVENT_MASK_CONTROL_LSB];
  assign wanted[5] = (kind[23:20] == litepulse_map_pkg::KIND_SNAPSHOT) ? event_mask[litepulse_map_pkg::EVENT_MASK_SNAPSHOT_LSB]
      : event_mask[litepulse_map_pkg::EVENT_MASK_CONTROL_LSB];

  // the request to be taken next, chosen a cycle ahead -------------------------------------------------------------------
  logic [5:0] chosen, next;   // one-hot
  logic       any;
  logic       take;           // the chosen request goes to the stage, or is counted as lost

  always_comb begin
    next = 6'd0;
    for (int i = 5; i >= 0; i--) if (req[i] && wanted[i] && !chosen[i]) next = 6'd1 << i;
  end
  assign ack = (chosen & {6{take}}) | (req & ~wanted & ~chosen);
  always_ff @(posedge clk) begin
    if (!any || take) begin
      chosen <= next;
      any    <= next != 6'd0;
    end
    if (rst) begin
      chosen <= 6'd0;
      any <= 1'b0;
    end
  end

  // edges ---------------------------------------------------------------------------------------------------------------
  logic        come_a, come_f, come_any;
  logic        head_a, head_f, tail_a, tail_f;   // records to be taken from the older and the younger cycle
  logic        head_any, tail_any;
  logic [2*EB+15:0] head, tail, come;
  logic [5:0]  waiting;                          // records in the queue
  logic        spoilt;                           // a third cycle came: all of them are lost
  logic        take_edge, take_all, advance;
  logic [3:0]  held;                             // cycles since an edge could last go on
  logic        yield;                            // it has waited long enough: requests wait one record

  assign come     = {now[7:0] - {1'b0, edge_delay}, now[7:0], edge_level[EB-1:0], edge_changed[EB-1:0]};
  assign come_a   = edge_a && event_mask[litepulse_map_pkg::EVENT_MASK_EDGE_LSB];
  assign come_f   = edge_f && event_mask[litepulse_map_pkg::EVENT_MASK_EDGE_LSB];
  assign come_any = come_a || come_f;
  assign head_any = head_a || head_f;
  assign tail_any = tail_a || tail_f;
  assign advance  = !head_any || (take_edge && !(head_a && head_f));

  always_ff @(posedge clk) begin
    held <= (take_edge || take_all || !head_any) ? 4'd0 : held + 4'd1;
    waiting <= (take_all ? 6'd0 : waiting) + {5'd0, come_a} + {5'd0, come_f} - {5'd0, take_edge};
    if (take_all) begin
      head <= come;
      {head_a, head_f} <= {come_a, come_f};
      {tail_a, tail_f} <= 2'b00;
      spoilt <= 1'b0;
    end else if (advance) begin
      head <= tail_any ? tail : come;
      tail <= come;
      {head_a, head_f} <= tail_any ? {tail_a, tail_f} : {come_a, come_f};
      {tail_a, tail_f} <= tail_any ? {come_a, come_f} : 2'b00;
    end else begin
      if (take_edge) head_a <= 1'b0;
      if (!tail_any) begin
        tail <= come;
        {tail_a, tail_f} <= {come_a, come_f};
      end
      if (tail_any && come_any) spoilt <= 1'b1;
    end
    if (rst) begin
      held <= 4'd0;
      waiting <= 6'd0;
      {head_a, head_f, tail_a, tail_f} <= 4'd0;
      spoilt <= 1'b0;
    end
  end

  // what goes into the stage --------------------------------------------------------------------------------------------
  logic        use_req;        // a request, else an edge
  logic [5:0]  sel;
  logic        pick_f;         // of the head, the filtered record
  logic [31:0] pick_data, edge_data;
  logic [7:0]  pick_lo, edge_lo, pick_flags;
  logic [2:0]  pick_off;
  logic [3:0]  pick_kind, pick_source;
  logic [EB-1:0] edge_own;

  assign use_req   = any && !yield;
  assign sel       = chosen & {6{!yield}};
  assign pick_f    = !head_a;
  assign edge_own  = edge_group[EB-1:0] ^ {EB{!pick_f}};
  assign edge_data = {16'(head[EB +: EB] & edge_own), 16'(head[0 +: EB] & edge_own)};
  assign edge_lo   = pick_f ? head[2*EB+8 +: 8] : head[2*EB +: 8];

  always_comb begin
    pick_data  = use_req ? 32'd0 : edge_data;
    pick_lo    = use_req ? 8'd0 : edge_lo;
    pick_flags = (use_req || !pick_f) ? 8'd0 : litepulse_map_pkg::EVENT_FLAG_FILTERED;
    pick_kind  = use_req ? 4'd0 : litepulse_map_pkg::KIND_EDGE;
    pick_off   = 3'd0;
    for (int i = 0; i < 6; i++) begin
      pick_data  = pick_data  | (data[32*i +: 32] & {32{sel[i]}});
      pick_lo    = pick_lo    | (lo[8*i +: 8] & {8{sel[i]}});
      pick_flags = pick_flags | (flags[8*i +: 8] & {8{sel[i]}});
      pick_kind  = pick_kind  | (kind[4*i +: 4] & {4{sel[i]}});
      pick_off   = pick_off   | (off[3*i +: 3] & {3{sel[i]}} & 3'(S - 1));
    end
    pick_source = ({4{sel[0]}} & litepulse_map_pkg::SRC_RESPONDER) | ({4{sel[1]}} & litepulse_map_pkg::SRC_QUEUE)
        | ({4{sel[2]}} & litepulse_map_pkg::SRC_TRAIN) | ({4{sel[3]}} & litepulse_map_pkg::SRC_TTY)
        | ({4{sel[4]}} & litepulse_map_pkg::SRC_TRAIN_CHANGE) | ({4{sel[5]}} & litepulse_map_pkg::SRC_CONTROL)
        | ({4{!use_req}} & litepulse_map_pkg::SRC_CAPTURE);
  end

  // stage -----------------------------------------------------------------------------------------------------------------
  logic          full;         // a record is written in this cycle if there is room
  logic          told;         // ... and it is an OVERFLOW record
  logic          gap;          // `tick` is that of the first lost record
  logic [3:0]    st_kind, st_source;
  logic [7:0]    st_flags;
  logic [31:0]   st_data, lost;
  logic [63:0]   tick;
  logic [15:0]   seq;          // of the record in the stage, or of the first lost one
  logic          some_next, two, plenty, plenty_next, full_next, edge_next, stall, close, count;

  assign some_next   = ev_free > (EV_AW + 1)'(ev_wr);
  assign plenty_next = ev_free > (EV_AW + 1)'(litepulse_map_pkg::EVENT_RESERVE) + (EV_AW + 1)'(ev_wr);
  assign full_next   = close || (!stall && !gap && (use_req || take_edge));
  assign edge_next   = !use_req && !close;
  // what room there is as of the last cycle, so that no long path begins at ev_free
  always_ff @(posedge clk) begin
    two    <= ev_free > (ev_wr ? (EV_AW + 1)'(2) : (EV_AW + 1)'(1));
    plenty <= plenty_next;
    stall  <= full_next && !(edge_next ? plenty_next : some_next);
    yield  <= held[3] && !close && !take_edge && !take_all;
    if (rst) {two, plenty, stall, yield} <= 4'b0000;
  end
  assign close  = gap && (plenty || (use_req && two));
  assign take   = use_req && !stall && !close;
  assign take_all  = head_any && !use_req && (gap ? !close : spoilt && !stall && !told);
  assign take_edge = head_any && !use_req && !gap && !stall && !spoilt;
  assign count  = stall || (gap && take) || take_all;

  always_ff @(posedge clk) begin
    full <= full_next;
    told <= close;
    // no stamp here is older than 127 cycles
    if (!stall && !gap) tick <= (64'({(pick_lo[7] && !now[7]) ? prev_hi : now[CW-1:8], pick_lo}) << SL) | 64'(pick_off);
    st_data <= gap ? lost : pick_data;
    st_kind <= gap ? litepulse_map_pkg::KIND_OVERFLOW : pick_kind;
    st_source <= gap ? litepulse_map_pkg::SRC_CONTROL : pick_source;
    st_flags <= gap ? 8'd0 : pick_flags;

    if (stall || take_all) gap <= 1'b1;
    else if (close) gap <= 1'b0;
    if (full && told) lost <= 32'd0;
    else if (count) lost <= lost + ((use_req || stall) ? 32'd1 : {26'd0, waiting});
    if (full && !stall) seq <= seq + (told ? st_data[15:0] : 16'd1);
    fault <= stall || (take_all && !gap)
        || (full && (st_kind == litepulse_map_pkg::KIND_REFUSED || st_kind == litepulse_map_pkg::KIND_RESPONDER_MISSED));
    if (rst) begin
      full <= 1'b0;
      told <= 1'b0;
      gap <= 1'b0;
      lost <= 32'd0;
      seq <= 16'd0;
      fault <= 1'b0;
    end
  end

  assign ev_wr    = full && !stall;
  assign ev_wdata = {st_data, seq, st_kind, st_source, st_flags, tick};
  assign ev_lost  = lost;

`ifdef FORMAL
`include "litepulse_events.svh"  // sim/formal
`endif
endmodule
