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
    input  logic [15:0]  de_lead,
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
  import litepulse_map_pkg::*;
  localparam int SL = $clog2(S);
  localparam int W = 34;

  typedef enum logic [3:0] {OFF, READY, ADD, CHECK, COUNT, WAIT, REPORT, REARM, HOLDOFF} state_t;
  state_t state;

  logic [1:0]          trigger;
  logic                rearm, exclusive, ignore_own;
  logic [7:0]          match_value, match_mask;
  logic [31:0]         delay, holdoff;
  logic [15:0]         number;
  logic signed [W-1:0] addend, cnt, reference, back;
  logic                hit, own, accept, watching, add, late, counting, invalid, launched, quiet;
  logic [2:0]          wait_cnt;

  assign counting = state == COUNT;
  assign watching = state == READY || state == HOLDOFF;
  assign armed    = state != OFF;
  assign off      = cnt[2:0] & 3'(S - 1);
  assign add      = state == ADD || state == REARM;
  assign ev_req   = state == REPORT;
  assign ev_data  = {number, 4'd0, kind, profile, data};
  assign be_ok    = state == OFF || (watching && !exclusive);
  assign invalid  = trigger == TRIGGER_OFF || kind == 2'd3 || !prof_valid[profile]
      || (kind == LAUNCH_PULSE && width == 32'd0) || (kind == LAUNCH_BREAK && data == 8'd0);

  // the sum is a cycle old when it is loaded: cnt is T - now*S + 2*S, hence KE + 1
  litepulse_countdown #(.S(S), .W(W), .KE(KE + 1)) countdown (
      .clk, .rst, .clear(accept), .add, .addend, .hi_zero(1'b1), .armed(counting), .checking(state == CHECK),
      .thr_lead({1'b0, de_lead} + 17'((KE + 3) * S)), .thr_late({1'b0, de_lead} + 17'((KE + 5) * S)), .thr_slack(W'(0)),
      .cnt, .due, .late, .lead,
      // verilator lint_off PINCONNECTEMPTY
      .slack_ok(), .far()
      // verilator lint_on PINCONNECTEMPTY
  );

  always_comb begin
    case (trigger)
      TRIGGER_EDGE: begin
        hit = sel_edge;
        own = sel_is_line && line_own;
      end
      TRIGGER_BYTE: begin
        hit = byte_stb && byte_ok && ((byte_data ^ match_value) & match_mask) == 8'd0;
        own = byte_own;
      end
      TRIGGER_BREAK: begin
        hit = brk_stb;
        own = brk_own;
      end
      default: begin
        hit = 1'b0;
        own = 1'b0;
      end
    endcase
    // from sample 0 of this cycle to the stamp of the edge, and to the reference
    if (trigger == TRIGGER_BYTE) back = '0;
    else if (trigger == TRIGGER_BREAK) back = W'(brk_off) - (W'(brk_delay) << SL);
    else back = W'(sel_off) - (W'(sel_delay) << SL);
    reference = (trigger == TRIGGER_BYTE) ? (W'(byte_end_cyc) << SL) + W'(byte_end_off) : back;
  end

  // in HOLDOFF cnt is launch tick + holdoff - now*S + 2*S
  assign quiet  = state == HOLDOFF && cnt > back + W'(2 * S);
  assign accept = watching && hit && !(own && ignore_own) && !quiet;

  always_ff @(posedge clk) begin
    cfg_done <= 1'b0;
    cfg_err  <= 1'b0;
    case (state)
      ADD: state <= CHECK;
      CHECK: begin
        launched <= 1'b0;
        ev_lo    <= now[7:0];
        ev_off   <= 3'd0;
        ev_kind  <= KIND_RESPONDER_MISSED;
        ev_flags <= REASON_LATE;
        state    <= (late || cnt[W-1]) ? REPORT : COUNT;
      end
      COUNT: begin
        wait_cnt <= 3'd0;
        if (due) begin
          launched <= grant;
          ev_lo    <= now[7:0] + 8'(KE + 1);
          ev_off   <= off;
          ev_kind  <= grant ? KIND_TX : KIND_RESPONDER_MISSED;
          ev_flags <= refuse ? REASON_BUSY : 8'd0;
          state    <= WAIT;
        end
      end
      WAIT: begin  // a stamp may not lie ahead of `now`
        wait_cnt <= wait_cnt + 3'd1;
        if (wait_cnt == 3'(KE)) state <= REPORT;
      end
      REPORT: if (ev_ack) begin
        number <= number + 16'd1;
        addend <= W'(holdoff) - W'(S);
        if (!rearm) state <= OFF;
        else state <= launched ? REARM : READY;
      end
      REARM: state <= HOLDOFF;
      HOLDOFF: if (cnt[W-1] && cnt[W-2:11] != '1) state <= READY;  // no stamp reaches back that far
      default: ;
    endcase
    if (accept) begin
      addend <= reference + W'(delay);
      state  <= ADD;
    end

    // a word changes nothing that was decided already, so it waits for the end of a report
    if (cfg_req && !cfg_done && state != WAIT && state != REPORT && !due) begin
      cfg_done <= 1'b1;
      state    <= OFF;
      case (cfg_addr)
        3'd0: begin
          trigger     <= cfg_data[RESP_TRIGGER_TRIGGER_LSB +: 2];
          sel_channel <= cfg_data[RESP_TRIGGER_CHANNEL_LSB +: 4];
          sel_rise    <= cfg_data[RESP_TRIGGER_RISE_LSB];
          sel_fall    <= cfg_data[RESP_TRIGGER_FALL_LSB];
          rearm       <= cfg_data[RESP_TRIGGER_REARM_LSB];
          exclusive   <= cfg_data[RESP_TRIGGER_EXCLUSIVE_LSB];
          ignore_own  <= cfg_data[RESP_TRIGGER_IGNORE_OWN_LSB];
        end
        3'd1: begin
          match_value <= cfg_data[RESP_MATCH_VALUE_LSB +: 8];
          match_mask  <= cfg_data[RESP_MATCH_MASK_LSB +: 8];
        end
        3'd2: delay   <= cfg_data;
        3'd3: width   <= cfg_data;
        3'd4: {kind, profile, data} <= cfg_data[11:0];
        3'd5: holdoff <= cfg_data;
        3'd6: if (cfg_data[RESP_ARM_ARM_LSB]) begin
          cfg_err <= invalid;
          number  <= 16'd0;
          if (!invalid) state <= READY;
        end
        default: cfg_err <= 1'b1;
      endcase
    end

    if (rst) begin
      state <= OFF;
      trigger <= TRIGGER_OFF;
      sel_rise <= 1'b0;
      sel_fall <= 1'b0;
      cfg_done <= 1'b0;
    end
  end
endmodule
