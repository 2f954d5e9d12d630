// SPDX-License-Identifier: BSD-2-Clause
// Ordinary tty bytes: takes them from the transmit FIFO, starts each as soon as the line is free and the frame ends at or before the
// next timed launch that is known. Works out the frame length of profile 0 by adding up bit periods.
// Latency: a byte on a free line starts BEST_EFFORT_SLACK cycles after it is at the head of the FIFO, plus the de lead.
//
//   state   what happens in it                                                  then
//   IDLE    waits for a byte, and for room before the next timed launch         LEAD, SEND without a lead of more than a cycle
//   LEAD    `de` goes high; the lead counts down                                SEND
//   SEND    asks the arbiter in every cycle                                     WAIT when it begins
//   WAIT    until the start has gone by in terms of `now`: then it is           IDLE
//           reported and taken from the FIFO
//   FLUSH   drops what is in the FIFO                                           IDLE
//
// From LEAD and SEND it goes back to IDLE when there is no more room, or on a flush or XOFF.
//   KE    cycles from `now` to the pin
//   PORT  there is a litepulse_port
`include "litepulse_types.svh"
module litepulse_best_effort #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter bit PORT = 1'b1
) (
    input  logic         clk,
    input  logic         rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63-$clog2(S):0] now,   // its low byte
    // verilator lint_on UNUSEDSIGNAL
    input  logic         hold,           // XOFF
    input  logic         prof0_valid,
    input  logic         prof0_changed,  // strobe
    input  logic [35:0]  period,         // profile 0
    input  frame_format_t format,
    input  logic         to_port,        // its bytes are marks: nothing of them is on the line
    input  logic [15:0]  nde_lead,       // complement of the de lead, ticks
    // transmit FIFO
    input  logic         txb_valid,
    input  logic         txb_none,       // and as far as known no other behind it
    input  logic [7:0]   txb_data,
    output logic         txb_pop,
    input  logic         flush,          // strobe: drop what has not started
    output logic         flushed,        // strobe
    // guard
    input  logic         sources_ok,     // all timed sources leave room for a frame of this length
    output logic [31:0]  nslack,         // complement of it, ticks
    // arbiter
    output logic         asks,           // may be due in this cycle: known early
    output logic         due,
    output logic [7:0]   data,
    input  logic         started,        // it begins: it was granted in the last cycle
    input  logic         line_active,
    input  logic         start_timed,    // somebody else's launch begins
    output logic [S-1:0] lead,
    output logic         drained,        // nothing to send, nothing of it on the line
    // event request
    output logic         ev_req,
    input  logic         ev_ack,
    output event_request_t ev
);
  localparam int SL = $clog2(S);
  logic [1:0]  data_bits, stop;
  logic        parity;         // there is a parity bit
  assign data_bits = format.data_bits;
  assign parity    = format.parity != litepulse_map_pkg::PARITY_NONE;
  assign stop      = format.stop;

  logic [31:0] ev_data;
  logic [7:0]  ev_lo;
  assign ev.data   = ev_data;
  assign ev.kind   = litepulse_map_pkg::KIND_TX;
  assign ev.source = litepulse_map_pkg::SRC_TTY;
  assign ev.flags  = 8'd0;
  assign ev.lo     = ev_lo;
  assign ev.off    = 3'd0;

  localparam int P = (KE > 4) ? KE : 4;

  typedef enum logic [2:0] {IDLE, LEAD, SEND, WAIT, FLUSH} state_t;
  state_t state;

  // frame length so far and the cycle for `sources_were_ok`, 1/512 tick; the upper half is a cycle behind
  logic [40:0]  sum;
  logic         carry, adding_was;
  logic [15:0]  lead_asked;
  logic [4:0]   halves;        // half bit periods still to add
  logic         known, flushing, may, could, sources_were_ok, on_line, adding, down, ready;
  logic [3:0]   bits;          // in a frame, of two half bit periods each
  logic [15:0]  lead_rest;     // ticks of the lead from this cycle on; before it all of it
  logic         lead_first, lead_short, was_short, lead_two, lead_three, lead_done, leading, has_lead, starts;
  logic [7:0]   ev_byte;
  // a one that runs through: WAIT lasts until it has left the first KE bits, and after it the guard's comparison needs five
  // cycles to show a new threshold
  logic [P-1:0] pause;
  logic         waited, pauses;
  logic         is_mark;       // what began last
  logic [3:0]   recent;        // cycles behind a mark in which nothing begins, as litepulse_events takes a record every 16

  assign asks     = state == SEND;
  assign due      = asks && may;
  assign ev_data  = {24'd0, ev_byte};
  assign pauses   = state == LEAD || (state == SEND && !started) || waited || (state != WAIT && !known);
  assign waited   = state == WAIT && pause[KE-1:0] == '0;
  assign txb_pop  = waited || (state == FLUSH && txb_valid);
  assign drained  = state == IDLE && !txb_valid && !on_line;
  assign may      = could && !flushing && !prof0_changed && sources_were_ok;
  // at most one cycle of it, two, three cycles are left
  assign lead_short = lead_rest[15:SL+1] == '0 && (!lead_rest[SL] || (lead_rest & 16'(S - 1)) == 16'd0);
  assign lead_two   = lead_rest[15:SL+2] == '0 && (!lead_rest[SL+1] || (lead_rest & 16'(2 * S - 1)) == 16'd0);
  assign lead_three = lead_rest[15:SL+2] == '0 && (lead_rest[SL+1:SL] != 2'd3 || (lead_rest & 16'(S - 1)) == 16'd0);
  assign leading  = state == LEAD;
  assign starts   = state == IDLE && !flushing && txb_valid && may && ready
      && recent == 4'd0;

  assign down     = adding && !prof0_changed;
  always @* begin
    bits = 4'd0;
    for (int i = 0; i < 16; i++) begin  // a table, smaller than adders
      if ({stop[1], parity, data_bits} == 4'(i)) bits = 4'(7 + i / 8 + i / 4 % 2 + i % 4);
    end
  end

  // whole cycles of lead, but for the first of them; on through the wait for the line
  always @* begin
    // verilator lint_off UNSIGNED
    for (int s = 0; s < S; s++) begin
      lead[s] = (state == SEND || state == LEAD) && has_lead
          && (!lead_first || 3'(s) >= ((nde_lead[2:0] + 3'd1) & 3'(S - 1)));
    end
    // verilator lint_on UNSIGNED
  end

  always_ff @(posedge clk) begin
    data <= txb_data;               // out of a memory, which is late; it stands still from IDLE on
    sources_were_ok <= sources_ok;  // they are deep in logic
    could <= !hold && known && !prof0_changed && prof0_valid;
    flushed <= 1'b0;
    if (flush) flushing <= 1'b1;
    if (ev_ack) ev_req <= 1'b0;
    pause <= {pause[P-2:0], pauses};
    ready <= pause[3:0] == 4'd0 && !pauses;
    if (started) is_mark <= PORT && to_port;
    recent <= !PORT ? 4'd0 : (waited && is_mark) ? '1 : recent - 4'(recent != 4'd0);
    lead_asked <= ~nde_lead & {16{state == IDLE}};
    nslack <= ~(sum[40:9] + {16'd0, lead_asked});

    adding_was <= adding && !prof0_changed;
    known      <= !adding && !adding_was && !prof0_changed;
    if (adding) {carry, sum[19:0]} <= {1'b0, sum[19:0]} + {1'b0, period[19:0]};
    if (adding_was) sum[40:20] <= sum[40:20] + {5'd0, period[35:20]} + 21'(carry);
    if (prof0_changed) sum <= 41'(S * 512);
    if (prof0_changed || adding) halves <= down ? halves + {5{down}} : {bits, stop[0]};
    adding <= prof0_changed || (adding && halves != 5'd1);  // halves is not 0, known early

    if (started && !to_port) on_line <= 1'b1;
    else if ((state != WAIT || is_mark) && (!line_active || start_timed)) on_line <= 1'b0;

    lead_first <= state == IDLE;
    lead_rest  <= leading ? lead_rest + ({16{leading}} << SL) : ~nde_lead;  // one cell a bit
    was_short <= lead_short;
    lead_done <= leading ? lead_three : lead_two;
    if (state == IDLE) has_lead <= !was_short || lead_rest[SL:0] != '0;
    case (state)
      IDLE: begin
        if (flushing) state <= FLUSH;
        else if (starts) state <= was_short ? SEND : LEAD;
      end
      LEAD: begin
        if (!may) state <= IDLE;
        else if (lead_done) state <= SEND;  // the last cycle of the lead
      end
      SEND: begin
        if (started) state <= WAIT;
        else if (!may) state <= IDLE;
      end
      // a stamp may not lie ahead of `now`; the next byte does not wait for the record
      WAIT: if (waited) begin
        ev_req  <= 1'b1;
        ev_lo   <= now[7:0];
        ev_byte <= txb_data;
        state   <= IDLE;
      end
      FLUSH: if (!txb_valid && txb_none) begin
        flushing <= 1'b0;
        flushed  <= 1'b1;
        state    <= IDLE;
      end
      default: state <= IDLE;
    endcase

    if (rst) begin
      state <= IDLE;
      flushing <= 1'b0;
      flushed <= 1'b0;
      on_line <= 1'b0;
      ev_req <= 1'b0;
      recent <= 4'd0;
      is_mark <= 1'b0;
      known <= 1'b0;
      could <= 1'b0;
      halves <= 5'd0;
      adding <= 1'b0;
      pause <= '0;
    end
  end

`ifdef FORMAL
`include "litepulse_best_effort.svh"  // sim/formal
`endif
endmodule
