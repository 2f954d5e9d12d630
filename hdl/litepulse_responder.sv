// SPDX-License-Identifier: BSD-2-Clause
// Answers a trigger with one launch at reference + delay, whatever the CPU does. A relative down-counter, so no 64-bit arithmetic lies
// between trigger and launch. After the launch the same counter measures the holdoff.
// Latency: the delay must be at least RESPONSE_MIN_CYCLES*S + de lead ticks (docs/core.md), more behind a filter.
//   KE  cycles from `now` to the pin
module litepulse_responder #(
    parameter int S = 1,
    parameter int KE = 2
) (
    input  logic         clk,
    input  logic         rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63-$clog2(S):0] now,   // its low byte
    // verilator lint_on UNUSEDSIGNAL
    input  logic [3:0]   prof_valid,
    input  logic [15:0]  nde_lead,
    // configuration: request with stable address and data until done
    input  logic         cfg_req,
    input  logic [2:0]   cfg_addr,     // index less 32
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0]  cfg_data,
    // verilator lint_on UNUSEDSIGNAL
    output logic         cfg_done,
    output logic         cfg_err,
    // triggers
    output logic [3:0]   sel_channel,
    output logic         sel_rise,
    output logic         sel_fall,
    input  logic         sel_edge,     // an edge of the selected channel and direction, ...
    input  logic [2:0]   sel_off,      // ... at this sample of the cycle ...
    input  logic [6:0]   sel_delay,    // ... that lies so many cycles before `now`
    input  logic         sel_is_line,
    input  logic         byte_stb,
    input  logic [7:0]   byte_data,
    input  logic         byte_ok,
    input  logic         byte_own,
    input  logic [31:0]  byte_end_cyc, // cycles from `now` to the frame's end, and the sample there
    input  logic [2:0]   byte_end_off,
    input  logic         brk_stb,      // the edge that ends a break, like sel_*
    input  logic [2:0]   brk_off,
    input  logic [6:0]   brk_delay,
    input  logic         brk_own,
    input  logic         line_own,     // our transmitter is busy, or was a moment ago, in terms of `now`
    // arbiter
    output logic         due,
    output logic [2:0]   off,
    output logic [1:0]   kind,
    output logic [1:0]   profile,
    output logic [7:0]   data,
    output logic [31:0]  width,
    input  logic         grant,
    input  logic         refuse,
    output logic [S-1:0] lead,
    output logic         be_ok,
    output logic         armed,
    // event request
    output logic         ev_req,
    input  logic         ev_ack,
    output logic [3:0]   ev_kind,
    output logic [7:0]   ev_flags,
    output logic [7:0]   ev_lo,
    output logic [2:0]   ev_off,
    output logic [31:0]  ev_data
);
  localparam int SL = $clog2(S);
  localparam int REPORT_CYCLES = 12;  // more than litepulse_events may take
  localparam int B = 24;     // bits of delay and holdoff
  localparam int W = 34;     // the end of a byte may be further away than they reach

  typedef enum logic [3:0] {OFF, READY, ADD, TRIM, CHECK, COUNT, WAIT, REPORT, REARM, HOLDOFF} state_t;
  state_t state;

  logic [1:0]   trigger;
  logic         rearm, exclusive, ignore_own;
  logic [7:0]   match_value, match_mask;
  logic [B-1:0] delay, holdoff;
  logic [15:0]  number;
  logic [W-1:0] addend, cnt;
  logic [6:0]   edge_delay;
  logic [2:0]   edge_off;
  logic [W-1:0] back;
  logic         hit, own, accept, add, late, counting, invalid, launched, over, clear, twice;
  logic [4:0]   wait_cnt;
  logic         acked;

  assign counting = state == COUNT;
  assign armed    = state != OFF;
  assign off      = cnt[2:0] & 3'(S - 1);
  assign ev_req   = state == REPORT && !acked;
  assign ev_data  = {number, 4'd0, kind, profile, data};
  assign be_ok    = state == OFF || ((state == READY || state == HOLDOFF) && !exclusive);
  assign invalid  = trigger == litepulse_map_pkg::TRIGGER_OFF || kind == 2'd3 || !prof_valid[profile]
      || (kind == litepulse_map_pkg::LAUNCH_PULSE && width == 32'd0) || (kind == litepulse_map_pkg::LAUNCH_BREAK && data == 8'd0);

  assign clear    = state == OFF || (state == READY && !accept);
  assign twice    = state == TRIM && trigger == litepulse_map_pkg::TRIGGER_BYTE;

  litepulse_countdown #(.S(S), .W(W), .KE(KE)) countdown (
      .clk, .rst, .clear, .add, .sub(1'b0), .twice, .addend, .hi_zero(1'b1),
      .armed(counting), .nde_lead, .nslack(32'd0),
      .cnt, .due, .late, .lead,
      // verilator lint_off PINCONNECTEMPTY
      .slack_ok(), .distant(), .clear_of()
      // verilator lint_on PINCONNECTEMPTY
  );

  always_comb begin
    edge_delay = sel_delay;
    edge_off   = sel_off;
    case (trigger)
      litepulse_map_pkg::TRIGGER_EDGE: begin
        hit = sel_edge;
        own = sel_is_line && line_own;
      end
      litepulse_map_pkg::TRIGGER_BYTE: begin
        hit = byte_stb && byte_ok && ((byte_data ^ match_value) & match_mask) == 8'd0;
        own = byte_own;
        edge_delay = 7'd0;
        edge_off   = 3'd0;
      end
      litepulse_map_pkg::TRIGGER_BREAK: begin
        hit = brk_stb;
        own = brk_own;
        edge_delay = brk_delay;
        edge_off   = brk_off;
      end
      default: begin
        hit = 1'b0;
        own = 1'b0;
      end
    endcase
    // an edge: ticks from the next cycle's sample 0 back to its stamp
    back = W'(edge_off) - (W'(edge_delay) << SL) - W'(S);
    // the counter is 0 when a trigger comes, so reference and delay are simply added; then it is T - now*S + S
    // (a byte's reference has S too much, which TRIM takes off)
    case (state)
      READY:   addend = (trigger == litepulse_map_pkg::TRIGGER_BYTE) ?
          ({{(W - 32){byte_end_cyc[31]}}, byte_end_cyc} << SL) + W'(byte_end_off) : back;
      ADD:     addend = W'(delay);
      default: addend = W'(holdoff);
    endcase
  end
  assign add    = accept || state == ADD || state == REARM;
  assign accept = state == READY && hit && !(own && ignore_own);
  // in HOLDOFF cnt is end of the holdoff - now*S + 2*S: READY in the first cycle that does not begin before the end
  assign over   = cnt[W-1] || (cnt[W-1:SL+2] == '0 && (cnt[SL+1:SL] != 2'd3 || off == 3'd0));

  always_ff @(posedge clk) begin
    cfg_done <= 1'b0;
    cfg_err  <= 1'b0;
    if (state == WAIT || (state == REPORT && wait_cnt != 5'(KE + REPORT_CYCLES))) wait_cnt <= wait_cnt + 5'd1;
    else if (state == REPORT) wait_cnt <= wait_cnt;
    else wait_cnt <= (state == CHECK) ? 5'(KE + 1) : 5'd0;
    acked <= (acked || ev_ack) && state == REPORT;
    case (state)
      READY: begin
        if (accept) state <= ADD;
      end
      ADD:  state <= TRIM;
      TRIM: state <= CHECK;
      CHECK: begin
        launched <= 1'b0;
        ev_lo    <= now[7:0];
        ev_off   <= 3'd0;
        ev_kind  <= litepulse_map_pkg::KIND_RESPONDER_MISSED;
        ev_flags <= litepulse_map_pkg::REASON_LATE;
        state    <= late ? REPORT : COUNT;
      end
      COUNT: begin
        if (due) begin
          launched <= grant;
          ev_lo    <= now[7:0] + 8'(KE + 1);
          ev_off   <= off;
          ev_kind  <= grant ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_RESPONDER_MISSED;
          ev_flags <= refuse ? litepulse_map_pkg::REASON_BUSY : 8'd0;
          state    <= WAIT;
        end
      end
      WAIT: begin  // a stamp may not lie ahead of `now`
        if (wait_cnt == 5'(KE)) state <= REPORT;
      end
      // a constant time, so that no record of others moves what comes next
      REPORT: if (wait_cnt == 5'(KE + REPORT_CYCLES) && (acked || ev_ack)) begin
        number <= number + 16'd1;
        if (!rearm) state <= OFF;
        else state <= launched ? REARM : READY;
      end
      REARM: state <= HOLDOFF;
      HOLDOFF: if (over) begin
        state     <= READY;
      end
      default: ;
    endcase

    // a word changes nothing that was decided already, so it waits for the end of a report
    if (cfg_req && !cfg_done && state != WAIT && state != REPORT && !due) begin
      cfg_done <= 1'b1;
      state    <= OFF;
      case (cfg_addr)
        3'd0: begin
          trigger     <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_TRIGGER_LSB +: 2];
          sel_channel <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_CHANNEL_LSB +: 4];
          sel_rise    <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_RISE_LSB];
          sel_fall    <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_FALL_LSB];
          rearm       <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_REARM_LSB];
          exclusive   <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_EXCLUSIVE_LSB];
          ignore_own  <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_IGNORE_OWN_LSB];
        end
        3'd1: begin
          match_value <= cfg_data[litepulse_map_pkg::RESP_MATCH_VALUE_LSB +: 8];
          match_mask  <= cfg_data[litepulse_map_pkg::RESP_MATCH_MASK_LSB +: 8];
        end
        3'd2: begin
          cfg_err <= cfg_data[31:B] != '0;
          if (cfg_data[31:B] == '0) delay <= cfg_data[B-1:0];
        end
        3'd3: width   <= cfg_data;
        3'd4: {kind, profile, data} <= cfg_data[11:0];
        3'd5: begin
          cfg_err <= cfg_data[31:B] != '0;
          if (cfg_data[31:B] == '0) holdoff <= cfg_data[B-1:0];
        end
        3'd6: if (cfg_data[litepulse_map_pkg::RESP_ARM_ARM_LSB]) begin
          cfg_err <= invalid;
          number  <= 16'd0;
          if (!invalid) state <= READY;
        end
        default: cfg_err <= 1'b1;
      endcase
    end

    if (rst) begin
      state <= OFF;
      trigger <= litepulse_map_pkg::TRIGGER_OFF;
      sel_rise <= 1'b0;
      sel_fall <= 1'b0;
      cfg_done <= 1'b0;
    end
  end
endmodule
