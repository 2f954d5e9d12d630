// SPDX-License-Identifier: BSD-2-Clause
// Takes timed launches from the queue memory one by one: checks the entry at the head, counts down to its tick, has it launched or refused,
// reports what became of it. The entry before the head stays in the memory until the head was compared with it.
// Latency: an entry must be LMIN_CYCLES*S + de lead ticks ahead in the cycle in which it is at the head and the queue idle (docs/core.md).
//   LQ_AW  log2 of the entries     KE  cycles from `now` to the pin
module litepulse_launch_queue #(
    parameter int S = 1,
    parameter int LQ_AW = 6,
    parameter int KE = 2
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [63-$clog2(S):0] now,
    input  logic                  near_wrap,
    input  logic [3:0]            prof_valid,
    input  logic [15:0]           nde_lead,
    input  logic [31:0]           nslack,
    // queue memory
    input  logic [LQ_AW:0]        lq_avail,
    input  logic [LQ_AW-1:0]      lq_rptr,
    output logic [LQ_AW+1:0]      lq_raddr,
    output logic                  lq_ren,
    input  logic [31:0]           lq_rdata,
    output logic                  lq_free1,
    // arbiter
    output logic                  due,
    output logic [2:0]            off,
    output logic [1:0]            kind,
    output logic [1:0]            profile,
    output logic [7:0]            data,
    output logic                  width_we,  // strobe, some cycles before the launch may be due
    output logic [31:0]           width_data,
    input  logic                  grant,
    input  logic                  refuse,
    output logic [S-1:0]          lead,
    output logic                  be_ok,     // as far as the queue knows a best-effort frame may start
    output logic                  idle,
    output logic                  keeps,     // the entry that had its turn last is still in the memory
    // flush: a strobe, answered by a strobe with the number of entries dropped
    input  logic                  flush,
    output logic                  flushed,
    output logic [15:0]           flush_count,
    // event request
    output logic                  ev_req,
    input  logic                  ev_ack,
    output logic [3:0]            ev_kind,
    output logic [7:0]            ev_flags,
    output logic [7:0]            ev_lo,
    output logic [2:0]            ev_off,
    output logic [31:0]           ev_data
);
  localparam int SL = $clog2(S);
  localparam int REPORT_CYCLES = 12;  // more than litepulse_events may take

  typedef enum logic [3:0] {
    IDLE, LAUNCH, PREV_LO, HEAD_LO, PREV_HI, HEAD_HI, LOAD_LO, LOAD_HI, LOADED, CHECK, ARMED, WAIT, REPORT, FLUSH
  } state_t;
  state_t state;

  logic        have_prev;       // the oldest entry in the memory is the one before the head
  logic        order;           // the head's tick is less than that of the entry before it
  logic        borrow;
  logic        past, hi_zero;
  logic        carry;
  logic        compared;        // the entry before the head was compared (a reload skips that)
  logic        flushing;
  logic [15:0] tag;
  logic [31:0] acc;
  logic [32:0] acc_sum, lo_sum;
  logic [31:0] addend;
  logic        clear, add;
  // verilator lint_off UNUSEDSIGNAL
  logic [32:0] cnt;
  // verilator lint_on UNUSEDSIGNAL
  logic        late;
  logic        armed;
  logic        slack_ok;
  logic [1:0]  word;
  logic        of_prev;
  logic        invalid;
  logic [4:0]  wait_cnt;
  logic        acked;
  logic [LQ_AW:0] dropped;
  logic [63:0] now_tick;

  assign now_tick = 64'(now) << SL;
  assign width_we = state == LOADED;
  assign width_data = lq_rdata;
  assign armed  = state == ARMED;
  assign off    = cnt[2:0] & 3'(S - 1);
  assign keeps = have_prev;
  assign flush_count = 16'(dropped);
  assign ev_req = state == REPORT && !acked;
  assign ev_data = {tag, 4'd0, kind, profile, data};
  assign idle   = state == IDLE && lq_avail == {{LQ_AW{1'b0}}, have_prev};
  assign be_ok  = idle || (armed && slack_ok);

  litepulse_countdown #(.S(S), .W(33), .KE(KE)) countdown (
      .clk, .rst, .clear, .add, .sub(1'b0), .twice(1'b0), .addend({1'b0, addend}), .hi_zero, .armed,
      .nde_lead, .nslack, .cnt, .due, .late, .lead, .slack_ok
      // verilator lint_off PINCONNECTEMPTY
      , .distant(), .clear_of()
      // verilator lint_on PINCONNECTEMPTY
  );

  // which word is read: the answer is there in the next state
  always_comb begin
    word = 2'd3;
    of_prev = 1'b0;
    lq_ren = 1'b1;
    case (state)
      IDLE:    word = 2'd3;
      LAUNCH:  begin word = 2'd0; of_prev = 1'b1; end
      PREV_LO: word = 2'd0;
      HEAD_LO: begin word = 2'd1; of_prev = 1'b1; end
      PREV_HI: word = 2'd1;
      HEAD_HI: word = 2'd0;
      LOAD_LO: begin word = near_wrap ? 2'd0 : 2'd1; end
      LOAD_HI: word = 2'd2;
      ARMED:   begin word = 2'd0; lq_ren = !hi_zero && cnt[32]; end
      default: lq_ren = 1'b0;
    endcase
  end
  assign lq_raddr = {lq_rptr + {{(LQ_AW-1){1'b0}}, have_prev && !of_prev}, word};

  // acc - or the half of `now` - is taken off the word that was read
  assign acc_sum = {1'b0, lq_rdata} + {1'b0, ~(state == LOAD_HI ? now_tick[63:32] : acc)}
      + {32'd0, state == LOAD_HI ? carry : (state == HEAD_HI ? !borrow : 1'b1)};
  // whole cycles only: T - now - 1
  assign lo_sum = {1'b0, lq_rdata & 32'(-S)} + {1'b0, ~now_tick[31:0] & 32'(-S)};

  assign clear = state == LOAD_LO;
  assign add   = state == LOAD_HI;
  assign invalid = kind == 2'd3 || !prof_valid[profile] || (kind == litepulse_map_pkg::LAUNCH_PULSE && lq_rdata == 32'd0)
      || (kind == litepulse_map_pkg::LAUNCH_BREAK && data == 8'd0);
  assign lq_free1 = (state == CHECK && have_prev && !compared)
      || (state == FLUSH && lq_avail != '0);

  always_ff @(posedge clk) begin
    flushed <= 1'b0;
    if (flush) flushing <= 1'b1;
    if (state == WAIT || (state == REPORT && wait_cnt != 5'(KE + REPORT_CYCLES))) wait_cnt <= wait_cnt + 5'd1;
    else if (state == REPORT) wait_cnt <= wait_cnt;
    else wait_cnt <= (state == CHECK) ? 5'(KE + 1) : 5'd0;
    acked <= (acked || ev_ack) && state == REPORT;
    acc <= (state == HEAD_LO || state == LAUNCH) ? 32'd0 : acc_sum[31:0];
    addend <= lo_sum[31:0] | (lq_rdata & 32'(S - 1));
    carry <= lo_sum[32];
    if (state == HEAD_LO) borrow <= !acc_sum[32];
    case (state)
      IDLE: begin
        order <= 1'b0;
        compared <= 1'b0;
        if (flushing) begin
          state <= FLUSH;
          dropped <= {(LQ_AW + 1){have_prev}};  // the entry before the head has had its turn
        end else if (!idle) begin
          state <= LAUNCH;
        end
      end
      LAUNCH: begin
        {tag, kind, profile, data} <= {lq_rdata[31:16], lq_rdata[11:0]};
        state <= PREV_LO;
      end
      PREV_LO: state <= HEAD_LO;
      HEAD_LO: state <= PREV_HI;
      PREV_HI: state <= HEAD_HI;
      HEAD_HI: begin
        order <= have_prev && !acc_sum[32];
        state <= LOAD_LO;
      end
      LOAD_LO: if (!near_wrap) state <= LOAD_HI;
      LOAD_HI: begin
        past  <= !acc_sum[32];
        state <= LOADED;
      end
      LOADED: begin
        hi_zero <= acc == 32'd0;
        state <= CHECK;
      end
      CHECK: begin
        ev_lo <= now[7:0];
        ev_off <= 3'd0;
        ev_kind <= litepulse_map_pkg::KIND_REFUSED;
        compared <= 1'b1;
        if (!compared) have_prev <= 1'b0;
        state <= REPORT;
        if (invalid) ev_flags <= litepulse_map_pkg::REASON_INVALID;
        else if (order) ev_flags <= litepulse_map_pkg::REASON_ORDER;
        else if (past || late) ev_flags <= litepulse_map_pkg::REASON_LATE;
        else state <= ARMED;
      end
      ARMED: begin
        if (due) begin
          ev_lo <= now[7:0] + 8'(KE + 1);
          ev_off <= off;
          ev_kind <= grant ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_REFUSED;
          ev_flags <= refuse ? litepulse_map_pkg::REASON_BUSY : 8'd0;
          state <= WAIT;
        end else if (flushing) begin
          state <= FLUSH;
          dropped <= '0;
        end else if (!hi_zero && cnt[32]) begin
          state <= LOAD_LO;  // 2^32 ticks went by: count the upper half anew
        end
      end
      WAIT: begin  // a stamp may not lie ahead of `now`
        if (wait_cnt == 5'(KE)) state <= REPORT;
      end
      // a constant time, so that no record of others moves what comes next
      REPORT: if (wait_cnt == 5'(KE + REPORT_CYCLES) && (acked || ev_ack)) begin
        have_prev <= 1'b1;
        state <= IDLE;
      end
      FLUSH: begin
        have_prev <= 1'b0;
        if (lq_avail != '0) begin
          dropped <= dropped + 1'b1;
        end else begin
          flushing <= 1'b0;
          flushed <= 1'b1;
          state <= IDLE;
        end
      end
      default: state <= IDLE;
    endcase
    if (rst) begin
      state <= IDLE;
      have_prev <= 1'b0;
      flushing <= 1'b0;
      flushed <= 1'b0;
      hi_zero <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_launch_queue.svh"  // sim/formal
`endif
endmodule
