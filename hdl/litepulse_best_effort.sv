// SPDX-License-Identifier: BSD-2-Clause
// Ordinary tty bytes: takes them from the transmit FIFO, starts each as soon as the line is free and the frame ends at or before the
// next timed launch that is known. Works out the frame length of profile 0 by adding up bit periods.
// Latency: a byte on a free line starts BEST_EFFORT_SLACK cycles after it is at the head of the FIFO, plus the de lead.
//   KE  cycles from `now` to the pin
module litepulse_best_effort #(
    parameter int S = 1,
    parameter int KE = 2
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
    input  logic [1:0]   data_bits,
    input  logic         parity,
    input  logic [1:0]   stop,
    input  logic [15:0]  de_lead,
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
    output logic         due,
    output logic [2:0]   off,
    output logic [7:0]   data,
    input  logic         grant,
    input  logic         line_active,
    input  logic         start_timed,    // somebody else's launch begins
    output logic [S-1:0] lead,
    output logic         drained,        // nothing to send, nothing of it on the line
    // event request
    output logic         ev_req,
    input  logic         ev_ack,
    output logic [7:0]   ev_lo,
    output logic [2:0]   ev_off,
    output logic [31:0]  ev_data
);
  localparam int MARGIN = 0;

  typedef enum logic [2:0] {IDLE, LEAD, SEND, WAIT, FLUSH} state_t;
  state_t state;

  logic [40:0]  sum;           // frame length so far, 1/512 tick
  logic [4:0]   halves;        // half bit periods still to add
  logic         known, flushing, may, on_line;
  logic [16:0]  lead_rest;     // ticks of the lead still to come
  logic         lead_first;
  logic [2:0]   wait_cnt;
  logic [7:0]   ev_byte;
  logic [1:0]   settle;        // cycles until the guard's comparison shows a new threshold

  assign off      = 3'd0;
  assign data     = txb_data;
  assign due      = state == SEND && may;
  assign ev_off   = 3'd0;
  assign ev_data  = {24'd0, ev_byte};
  assign txb_pop  = (state == WAIT && wait_cnt == 3'(KE)) || (state == FLUSH && txb_valid);
  assign drained  = state == IDLE && !txb_valid && !on_line;
  assign may      = !hold && !flushing && known && !prof0_changed && prof0_valid && sources_ok;

  // whole cycles of lead, but for the first of them; on through the wait for the line
  always_comb begin
    // verilator lint_off UNSIGNED
    for (int s = 0; s < S; s++) begin
      lead[s] = (state == SEND || state == LEAD) && de_lead != 16'd0
          && (!lead_first || 3'(s) >= ((3'd0 - de_lead[2:0]) & 3'(S - 1)));
    end
    // verilator lint_on UNSIGNED
  end

  always_ff @(posedge clk) begin
    flushed <= 1'b0;
    if (flush) flushing <= 1'b1;
    if (ev_ack) ev_req <= 1'b0;
    if (settle != 2'd0) settle <= settle - 2'd1;
    nslack <= ~(sum[40:9] + 32'(MARGIN) + ((state == IDLE) ? {16'd0, de_lead} : 32'd0));

    if (prof0_changed) begin
      sum    <= '0;
      halves <= {4'd7 + {3'd0, parity} + {2'd0, data_bits}, 1'b0} + {3'd0, stop};
      known  <= 1'b0;
    end else if (halves != 5'd0) begin
      sum    <= sum + {5'd0, period};
      halves <= halves - 5'd1;
    end else if (!known) begin
      known  <= 1'b1;
      settle <= 2'd3;
    end

    if (grant) on_line <= 1'b1;
    else if (state != WAIT && (!line_active || start_timed)) on_line <= 1'b0;

    lead_first <= state == IDLE;
    lead_rest  <= (state == IDLE) ? {1'b0, de_lead} : lead_rest - 17'(S);
    wait_cnt   <= (state == WAIT) ? wait_cnt + 3'd1 : 3'd0;
    case (state)
      IDLE: begin
        if (flushing) state <= FLUSH;
        else if (txb_valid && may && settle == 2'd0) state <= (de_lead <= 16'(S)) ? SEND : LEAD;
      end
      LEAD: begin
        if (!may) begin
          settle <= 2'd3;
          state  <= IDLE;
        end else if (lead_rest <= 17'(2 * S)) begin  // SEND is the last cycle of the lead
          state <= SEND;
        end
      end
      SEND: begin
        if (grant) begin
          ev_lo <= now[7:0] + 8'(KE + 1);
          state <= WAIT;
        end else if (!may) begin
          settle <= 2'd3;
          state  <= IDLE;
        end
      end
      // a stamp may not lie ahead of `now`; the next byte does not wait for the record
      WAIT: if (wait_cnt == 3'(KE)) begin
        ev_req  <= 1'b1;
        ev_byte <= txb_data;
        settle  <= 2'd3;
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
      known <= 1'b0;
      halves <= 5'd0;
      settle <= 2'd0;
      sum <= '0;
    end
  end

`ifdef FORMAL
`include "litepulse_best_effort.svh"  // sim/formal
`endif
endmodule
