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
    input  logic [16:0]  thr_lead,
    input  logic [16:0]  thr_late,
    // transmit FIFO
    input  logic         txb_valid,
    input  logic [7:0]   txb_data,
    output logic         txb_pop,
    input  logic         flush,          // strobe: drop what has not started
    output logic         flushed,        // strobe
    // guard
    input  logic         sources_ok,     // all timed sources leave room for a frame of thr_slack
    output logic [31:0]  thr_slack,      // ticks
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
  localparam int W = 20;
  localparam int MARGIN = (KE + 4) * S;  // from the guard's comparison to the first edge

  typedef enum logic [2:0] {IDLE, LOAD, LEAD, SEND, WAIT, REPORT, FLUSH} state_t;
  state_t state;

  logic [39:0]  sum;           // frame length so far, 1/256 tick
  logic [3:0]   bits;          // bit periods still to add
  logic         half, known;
  logic         clear, add, counting, due_raw, flushing, may, on_line;
  logic [S-1:0] lead_raw;
  // verilator lint_off UNUSEDSIGNAL
  logic [W-1:0] cnt;
  // verilator lint_on UNUSEDSIGNAL
  logic [2:0]   wait_cnt;
  logic [1:0]   settle;        // cycles until the guard's comparison shows a new threshold

  assign counting = state == LEAD;
  assign clear    = state == IDLE;
  assign add      = state == LOAD;
  assign off      = (state == LEAD) ? cnt[2:0] & 3'(S - 1) : 3'd0;
  assign data     = txb_data;
  assign due      = (due_raw || state == SEND) && may;
  assign lead     = lead_raw | {S{state == SEND && de_lead != 16'd0}};
  assign ev_req   = state == REPORT;
  assign ev_data  = {24'd0, txb_data};
  assign txb_pop  = (state == REPORT && ev_ack) || (state == FLUSH && txb_valid);
  assign drained  = state == IDLE && !txb_valid && !on_line;
  assign may      = !hold && !flushing && known && prof0_valid && sources_ok;

  // the lead is counted like that of a timed launch which is KE + 4 cycles and the lead ahead
  litepulse_countdown #(.S(S), .W(W), .KE(KE)) countdown (
      .clk, .rst, .clear, .add, .sub(1'b0), .twice(1'b0), .addend({3'd0, thr_late}), .hi_zero(1'b1), .armed(counting), .checking(1'b0),
      .thr_lead, .thr_late(17'd0), .thr_slack(W'(0)),
      .cnt, .due(due_raw), .lead(lead_raw),
      // verilator lint_off PINCONNECTEMPTY
      .late(), .slack_ok(), .far(), .clear_of()
      // verilator lint_on PINCONNECTEMPTY
  );

  always_ff @(posedge clk) begin
    flushed <= 1'b0;
    if (flush) flushing <= 1'b1;
    if (settle != 2'd0) settle <= settle - 2'd1;
    thr_slack <= sum[39:8] + 32'(MARGIN) + ((state == IDLE) ? {16'd0, de_lead} : 32'd0);

    if (prof0_changed) begin
      sum   <= '0;
      bits  <= 4'd7 + {2'd0, data_bits} + {3'd0, parity} + {3'd0, stop == litepulse_map_pkg::STOP_2};
      half  <= stop == litepulse_map_pkg::STOP_1_5;
      known <= 1'b0;
    end else if (bits != 4'd0) begin
      sum  <= sum + {4'd0, period};
      bits <= bits - 4'd1;
    end else if (half) begin
      sum  <= sum + {5'd0, period[35:1]};
      half <= 1'b0;
    end else if (!known) begin
      known  <= 1'b1;
      settle <= 2'd3;
    end

    if (grant) on_line <= 1'b1;
    else if (state != WAIT && (!line_active || start_timed)) on_line <= 1'b0;

    wait_cnt <= (state == WAIT) ? wait_cnt + 3'd1 : 3'd0;
    case (state)
      IDLE: begin
        if (flushing) state <= FLUSH;
        else if (txb_valid && may && settle == 2'd0) state <= (de_lead == 16'd0) ? SEND : LOAD;
      end
      LOAD: state <= LEAD;
      LEAD, SEND: begin
        if (grant) begin
          ev_lo  <= now[7:0] + 8'(KE + 1);
          ev_off <= off;
          state  <= WAIT;
        end else if (!may) begin
          settle <= 2'd3;
          state  <= IDLE;
        end else if (due_raw) begin
          state  <= SEND;
        end
      end
      // a stamp may not lie ahead of `now`
      WAIT: if (wait_cnt == 3'(KE)) state <= REPORT;
      REPORT: if (ev_ack) begin
        settle <= 2'd3;
        state  <= IDLE;
      end
      FLUSH: if (!txb_valid) begin
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
      known <= 1'b0;
      bits <= 4'd0;
      half <= 1'b0;
      settle <= 2'd0;
      sum <= '0;
    end
  end
endmodule
