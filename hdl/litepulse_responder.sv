// SPDX-License-Identifier: BSD-2-Clause
// Answers a trigger with a launch at reference + delay, or with a burst of launches, a period apart from there on, whatever the CPU
// does. A relative down-counter, so no 64-bit arithmetic lies between trigger and launch: while it waits for a trigger it holds the
// delay already, less the cycles that the signal takes from pin to pin in any case. From the launch's tick on the same counter
// measures the period of a burst, and behind its last launch, or an only one, the holdoff, which is the same setting.
//
//   state (one bit each)   what happens in it                                                  then
//   armed and none below   the delay is loaded into `remaining`, one cycle                     preset
//   preset                 the fixed part is taken off; triggers count from here on            ready
//   ready                  conditioning's delay is taken off in the cycle of the trigger       count, a cycle behind the trigger
//   count                  `remaining` counts down to the launch, which is due when it is -1   in_flight, or report if it is late
//   in_flight              from `due` until the launch's first sample leaves                   report
//   report                 the event is written                                                count within a burst that is not late,
//                                                                                              hold with rearm, else not armed
//   hold                   `remaining` counts the holdoff down                                 the delay is loaded again
//
// Latency: the delay must be at least RESPONSE_MIN_CYCLES*S + de lead ticks (docs/core.md), more behind a filter; the period
// BURST_MIN_CYCLES*S + de lead. With S > 1 an edge of an unfiltered channel other than the line comes 2 cycles before it is shown
// (litepulse_edge_pick): the fixed part is that of such an edge, all others have the 2 cycles in their delay.
//   KE   cycles from `now` to the pin, 1 to 14
//   LIN  there is the trigger `lin`, by litepulse_lin
//   LARGE_RAM  as of litepulse; with "huge" its times lie in block RAM, which is there to spare
`include "litepulse_types.svh"
module litepulse_responder #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter bit LIN = 1'b0,
    parameter LARGE_RAM = "auto"
) (
    input  logic         clk,
    input  logic         rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63-$clog2(S):0] now,   // its low byte
    // verilator lint_on UNUSEDSIGNAL
    input  logic [3:0]   prof_valid,
    input  logic [15:0]  nde_lead,     // de lead, ticks, complement
    input  logic         lead_changes, // it has another value from the next cycle on
    // configuration: request with stable address and data until done
    input  logic         cfg_req,
    input  logic [2:0]   cfg_addr,     // index less 32, not 7
    input  logic [31:0]  cfg_data,
    output logic         cfg_done,
    output logic         cfg_err,
    // an edge of the selected channel and direction; what says so is that of the samples shown in this cycle, and not of later settings
    output edge_choice_t edge_choice,
    // verilator lint_off UNUSEDSIGNAL
    input  chosen_edge_t chosen_edge,
    // verilator lint_on UNUSEDSIGNAL
    input  logic         line_own,     // our transmitter is busy, or was a moment ago, in terms of `now`
    // a byte, and later the end of its frame; the edge that ended a break: both a cycle further back than an edge of the line, two with
    // S > 1
    input  logic         byte_stb,
    input  logic [7:0]   byte_data,
    // verilator lint_off UNUSEDSIGNAL
    input  line_events_t line_events,
    // verilator lint_on UNUSEDSIGNAL
    // litepulse_lin: the end of this frame is a trigger, of a launch with this byte; it must not be launched any more
    input  logic         lin_hit,
    input  logic         lin_overtaken,
    input  logic         lin_data_set,
    input  logic [7:0]   lin_data_next,
    output logic [7:0]   lin_data,
    output logic         lin_enable,
    output logic         lin_counting,
    output logic         lin_launched,
    // arbiter
    output logic         due,
    output launch_t      launch,
    input  logic         width_zero,   // of the pulse, which litepulse_launch_memory has
    input  logic         grant,
    input  logic         refuse,
    output logic [S-1:0] lead,
    output logic         be_ok,
    output logic         armed,
    // event request
    output logic         ev_req,
    input  logic         ev_ack,
    output event_request_t ev
);
  localparam int SL = $clog2(S);
  localparam int B = 32;     // bits of delay and holdoff
  localparam int C = B - SL; // of them, whole cycles
  localparam int D = 7;      // bits of the delay of a filter
  localparam int SHOWN = (S > 1) ? 2 : 0;   // cycles by which an edge may be known before litepulse_capture shows it

  logic         by_edge, by_byte, by_break, by_lin;   // triggers; none of them: off
  logic [3:0]   sel_channel;
  logic         sel_rise, sel_fall, sel_enable;
  assign edge_choice.channel = sel_channel;
  assign edge_choice.enable  = sel_enable;
  assign edge_choice.rise    = sel_rise;
  assign edge_choice.fall    = sel_fall;
  assign edge_choice.of_line = S > 1 && !by_edge;

  logic [2:0]   off, ev_off;
  logic [1:0]   kind, profile;
  logic [7:0]   data, ev_flags, ev_lo;
  logic [3:0]   ev_kind;
  logic [31:0]  ev_data;
  assign launch.kind    = kind;
  assign launch.profile = profile;
  assign launch.data    = data;
  assign launch.off     = off;
  assign ev.data   = ev_data;
  assign ev.kind   = ev_kind;
  assign ev.source = litepulse_map_pkg::SRC_RESPONDER;
  assign ev.flags  = ev_flags;
  assign ev.lo     = ev_lo;
  assign ev.off    = ev_off;

  logic         ready, ready_next, count, in_flight, report, hold;   // states
  logic         late, reported, arm, arms, disarm;
  logic         landed;        // now is T

  // configuration -------------------------------------------------------------------------------------------------------
  logic [2:0]   trigger;
  logic         rearm, exclusive, ignore_own;
  logic [15:0]  left;                    // launches of the burst that are still to come
  logic         bursts, ongoing;         // there is a burst; `left` was not 0 in the last cycle
  logic [1:0]   fresh;                   // the burst goes on since one cycle, two: a record of `late` would be too close to the last
  logic [7:0]   match_value, match_mask;
  logic         turned, turned_next, wish, take, invalid;
  logic         load, again, preset, negative;  // of the countdown below; behind this report the burst goes on
  logic         launched;                // of the answer below

  // a word is carried out when disarmed; what is decided already is finished before that
  assign trigger = cfg_data[litepulse_map_pkg::RESP_TRIGGER_TRIGGER_LSB +: 3];
  assign take    = wish && !armed && !turned;
  assign disarm  = wish && armed && !(count && negative) && !in_flight && (!report || (reported && ongoing));
  assign arm     = take && cfg_addr == 3'd6;
  assign arms    = arm && cfg_data[litepulse_map_pkg::RESP_ARM_ARM_LSB] && !invalid;
  assign turned_next = (load && !report) || (turned && armed && !(report && !ongoing));

  always_ff @(posedge clk) begin
    cfg_done <= take;
    // what is looked at a cycle later, when the word is carried out
    wish     <= cfg_req && !cfg_done && !take;
    invalid  <= !(by_edge || by_byte || by_break || by_lin) || kind == 2'd3 || !prof_valid[profile]
        || (by_lin && !(rearm && kind == litepulse_map_pkg::LAUNCH_FRAME && !bursts))
        || (kind == litepulse_map_pkg::LAUNCH_PULSE && width_zero) || (kind == litepulse_map_pkg::LAUNCH_BREAK && data == 8'd0);
    cfg_err  <= arm && cfg_data[litepulse_map_pkg::RESP_ARM_ARM_LSB] && invalid;
    if (take) begin
      case (cfg_addr)
        3'd0: begin
          by_edge     <= trigger == litepulse_map_pkg::TRIGGER_EDGE;
          by_byte     <= trigger == litepulse_map_pkg::TRIGGER_BYTE;
          by_break    <= trigger == litepulse_map_pkg::TRIGGER_BREAK;
          by_lin      <= LIN && trigger == litepulse_map_pkg::TRIGGER_LIN;
          sel_channel <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_CHANNEL_LSB +: 4];
          sel_rise    <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_RISE_LSB];
          sel_fall    <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_FALL_LSB];
          rearm       <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_REARM_LSB];
          exclusive   <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_EXCLUSIVE_LSB];
          ignore_own  <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_IGNORE_OWN_LSB];
          bursts      <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_BURST_LSB +: 16] != 16'd0;
        end
        3'd1: begin
          match_value <= cfg_data[litepulse_map_pkg::RESP_MATCH_VALUE_LSB +: 8];
          match_mask  <= cfg_data[litepulse_map_pkg::RESP_MATCH_MASK_LSB +: 8];
        end
        3'd4: {kind, profile, data} <= cfg_data[11:0];
        default: ;
      endcase
    end
    if (lin_data_set && lin_enable) data <= lin_data_next;
    turned <= turned_next;
    if (rst) begin
      {by_edge, by_byte, by_break, by_lin} <= 4'b0000;
      sel_rise <= 1'b0;
      sel_fall <= 1'b0;
      cfg_done <= 1'b0;
      wish     <= 1'b0;
      turned   <= 1'b0;
    end
  end

  // trigger -------------------------------------------------------------------------------------------------------------
  logic byte_hit, waits;
  logic conditioned;       // the trigger comes through more than the fixed part allows for: ...
  logic [D-1:0] behind;    // ... so many cycles
  logic comes;   // a trigger that is no edge
  logic no_hit;    // ready and no trigger; stored so that the carry chain below begins at a flip-flop

  always_ff @(posedge clk) begin
    if (byte_stb) byte_hit <= line_events.byte_ok && !(line_events.byte_own && ignore_own)
        && ((byte_data ^ match_value) & match_mask) == 8'd0;
    no_hit <= !(chosen_edge.found || (waits && comes));
    if (rst || disarm) no_hit <= 1'b1;
  end
  assign conditioned = (S > 1) ? !(chosen_edge.quick && by_edge) : by_edge ? chosen_edge.filtered : chosen_edge.line_filtered;
  assign behind      = (S > 1) ? chosen_edge.late : chosen_edge.delay;
  assign waits = preset || (ready && no_hit);
  assign sel_enable = waits && by_edge && !(chosen_edge.is_line && line_own && ignore_own);
  assign comes = (by_byte && line_events.byte_end && byte_hit) || (by_lin && line_events.byte_end && lin_hit)
      || (by_break && line_events.break_end && !(line_events.break_own && ignore_own));

  // countdown -----------------------------------------------------------------------------------------------------------
  // `remaining` is, while it counts, T - (now + KE + 2)*S: -1 cycle when due. In a holdoff it is end - (now + 2)*S - 1: negative one cycle
  // before a load, so that the first cycle whose triggers count again is the first one not before the end.
  // `negative`: it has passed 0. On top of it, it keeps the last carry, which comes late, in the chain.
  logic [B-1:0] remaining;      // ticks
  logic [B+1:0] sum;            // with its carry, and a bit between the low part and the cycles above, which `stay`
  logic         counts, clear, stay;
  logic [B-1:0] next_wait;      // out of the memory
  localparam logic [1:0] STEP_WAIT = 2'd0, STEP_FIXED = 2'd1, STEP_FILTER = 2'd2, STEP_CYCLE = 2'd3;
  logic [D-1:0] step;           // what is added to the low part; above it -1 (STEP_*)
  logic [D-1:0] fixed_part;     // cycles from the pin to the counter, and from the counter to the pin
  (* keep *) logic [1:0] step_from;  // keep: as written these make one cell per bit
  logic         top_zero;       // of `remaining`, of a cycle ago: while it counts the lower ones borrow long before they matter
  logic         meets, top;     // it begins, if these bits are 0, too
  logic         down, goes_on;  // it counts down; within the window
  logic         none;           // of whole cycles: negative in the next one
  logic         no_lead, more;  // the lead has no whole cycle; its cycle is one earlier when its part of a cycle is more than T's
  logic         opens;          // where there are none: the window has begun or does so with the launch
  logic         opened, open;   // the de lead window has begun, and before this cycle; without it the launch would be late ...
  logic         overtaken;      // in place of `due`: as if the arbiter had refused it
  logic         excused;        // ... unless the lead has changed since the trigger: then the launch comes without

  assign load   = !counts;
  assign again  = report && ongoing;
  assign clear  = !armed || landed || (hold && negative);   // the low part, in the cycle before a load, which adds to it
  assign stay   = ready && no_hit;
  assign ready_next = (preset || stay) && !disarm && !rst;
  assign down   = count && !negative && !wish;
  assign goes_on = down && opened;
  assign none   = top_zero && remaining[SL+15:SL] == '0;
  assign opens  = opened || (no_lead && !more) || excused;
  assign late   = count && negative && !due && !overtaken && fresh == 2'b00;
  assign fixed_part = again ? D'(-KE - 5) : report ? D'(-6) : by_edge ? D'(SHOWN - KE - 3) : (S == 1) ? D'(-KE - 4) : D'(-KE - 3);
  assign step_from = clear ? STEP_WAIT : load ? STEP_FIXED : (conditioned && (preset || ready)) ? STEP_FILTER : STEP_CYCLE;

  // Delay, holdoff and, in its upper half, burst. What is needed in the next cycle is read: the burst while it waits for a trigger, else
  // the holdoff from the first load of an answer on until the last one, else the delay.
  // verilator lint_off UNUSEDPARAM
  localparam RAM_STYLE = (LARGE_RAM == "huge") ? "block" : "auto";
  // verilator lint_on UNUSEDPARAM
  localparam logic [1:0] BURST = 2'd0, DELAY = 2'd1, HOLDOFF = 2'd2;   // bits of cfg_addr
  (* ram_style = RAM_STYLE, no_rw_check *) logic [B-1:0] stored[0:2];
  initial for (int i = 0; i < 3; i++) stored[i] = '0;
  always_ff @(posedge clk) begin
    if (take && (cfg_addr == 3'd0 || cfg_addr == 3'd2 || cfg_addr == 3'd5)) stored[{cfg_addr[0], cfg_addr[1]}] <= cfg_data;
    next_wait <= stored[(preset || stay) ? BURST : turned_next ? HOLDOFF : DELAY];
  end

  // registers without a reset: one unknown bit makes all of a sum unknown in a simulator, forever
  initial {preset, report, bursts, step, negative, due, overtaken, remaining, ready, no_hit, counts} = '0;
`ifndef SYNTHESIS  // the output of a block RAM, which has no initial value without more cells
  initial next_wait = '0;
`endif
  always_ff @(posedge clk) begin
    counts <= !(arms || (hold && negative && !wish) || (landed && (launched || ongoing)));
    preset <= load && !report && !wish;
    step   <= step_from == STEP_WAIT ? next_wait[SL +: D]
        : step_from == STEP_FIXED ? fixed_part : step_from == STEP_FILTER ? ~behind : '1;
    if (!no_hit) step <= '1;
    if (!stay) remaining[SL+D-1:0] <= clear ? '0 : sum[SL+D-1:0];
    remaining[B-1:SL+D] <= load ? next_wait[B-1:SL+D] : sum[B:SL+D+1];
    negative <= counts && (negative || !sum[B+1]);
    top_zero <= remaining[B-1:SL+16] == '0;
    // while it counts down a wish disarms
    opened <= goes_on || (meets && top && down);
    due    <= none && down && opens && !lin_overtaken;
    overtaken <= none && down && opens && lin_overtaken;
    excused <= lead_changes || (excused && (count || !no_hit));
    landed <= in_flight && remaining[SL +: 4] == 4'(-KE - 1) && !rst;
    no_lead <= nde_lead[15:SL] == '1;
    open   <= goes_on;
    if (rst) begin
      counts <= 1'b1;
      preset <= 1'b0;
    end
  end

  generate
    if (S == 1) begin : gen_samples
      assign sum  = {negative, remaining[B-1:D], ready, remaining[D-1:0]} + {1'b0, {(C - D){counts}}, no_hit, step};
      assign off  = 3'd0;
      assign more = 1'b0;
      assign lead = open;
      assign ev_off = 3'd0;
      (* keep *) logic [7:0] same;
      genvar i;
      for (i = 0; i < 8; i = i + 1) begin : gen_same
        assign same[i] = remaining[2*i +: 2] == ~nde_lead[2*i +: 2];
      end
      assign top   = remaining[B-1:16] == '0;
      assign meets = same == '1;
    end else begin : gen_samples
      logic [SL-1:0]  from;
      logic [SL-1:0]  adds;              // to the samples: what is loaded, or what a trigger, or the end of a launch, adds to it
      logic [15:0]    nlead;
      (* keep *) logic [15:0] equal;
      logic [S-1:0]   leads;
      logic           settle;            // a holdoff begins at the launch's sample
      initial adds = '0;
      assign sum  = {negative, remaining[B-1:SL+D], ready, remaining[SL+D-1:0]} + {1'b0, {(C - D){counts}}, no_hit, step, adds};
      assign off  = 3'(remaining[SL-1:0]);
      assign from = remaining[SL-1:0] + nde_lead[SL-1:0] + 1'b1;   // the sample at which the lead window begins
      assign lead = leads;
      assign more = ~nde_lead[SL-1:0] > remaining[SL-1:0];
      assign nlead = {{SL{1'b1}}, nde_lead[15:SL]};
      // the cycles that remain == lead + more
      assign top   = top_zero;
      assign equal = litepulse_sum_pkg::zero_bits(remaining[SL +: 16], nlead, !more);
      assign meets = equal == '1;
      always_ff @(posedge clk) begin
        settle <= load && report;
        if (landed || late) ev_off <= late ? 3'd0 : off;
        adds <= clear ? next_wait[SL-1:0] : ready_next ? (by_edge ? chosen_edge.off[SL-1:0]
                : (by_byte || by_lin) ? line_events.byte_end_off[SL-1:0] : line_events.break_off[SL-1:0])
            : settle ? ev_off[SL-1:0] : (load && report && !ongoing) ? SL'(S - 1) : '0;
        if (rst) {settle, adds} <= '0;
        for (int s = 0; s < S; s++) begin
          leads[s] <= count && (open || (opened && SL'(s) >= from)) && !(negative && SL'(s) >= remaining[SL-1:0]);
        end
      end
    end
  endgenerate

  // answer and report ---------------------------------------------------------------------------------------------------
  logic        busy, acked;
  logic [15:0] number;

  assign lin_data     = data;
  assign lin_enable   = armed && by_lin;
  assign lin_counting = count || !no_hit;
  assign lin_launched = in_flight && launched;
  assign be_ok    = !armed || (!count && !exclusive && !ongoing);
  assign ev_req   = report && !acked;
  assign ev_kind  = launched ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_RESPONDER_MISSED;
  assign ev_flags = busy ? litepulse_map_pkg::REASON_BUSY : launched ? 8'd0 : litepulse_map_pkg::REASON_LATE;
  assign ev_data  = {number, 4'd0, kind, profile, data};
  always_ff @(posedge clk) begin
    acked <= report && (acked || ev_ack);
    // 13 cycles always, more than litepulse_events may take: so no record of others moves what comes next
    reported <= acked && now[1:0] == ev_lo[1:0] && now[2] != ev_lo[2] && now[3] != (ev_lo[3] ^ ev_lo[2]);
    if (landed || late) ev_lo <= now[7:0];
    // with S > 1 a cycle later
    if (count || (S > 1 && in_flight)) {launched, busy} <= {grant, refuse || overtaken} | ({launched, busy} & {2{!count}});
    if (reported) number <= number + 16'd1;
    if (!armed || (!no_hit && bursts)) number <= 16'd0;
    if (!no_hit) left <= next_wait[litepulse_map_pkg::RESP_TRIGGER_BURST_LSB +: 16];
    else if (reported) left <= left - {15'd0, ongoing};
    if (!armed || late) left <= 16'd0;
    ongoing <= left != 16'd0 && !late;

    armed  <= arms || (armed && !(reported && !rearm && !ongoing));
    ready  <= ready_next;
    fresh  <= {fresh[0], reported && ongoing};
    count  <= !no_hit || (reported && ongoing) || (count && !(due || overtaken || late));
    in_flight    <= due || overtaken || (in_flight && !landed);
    report <= landed || late || (report && !reported);
    hold   <= (reported && rearm && !ongoing) || (hold && !negative);
    if (disarm) {armed, count, hold} <= 3'd0;
    if (rst) {armed, count, in_flight, report, reported, hold, fresh} <= 8'd0;
  end

`ifdef FORMAL
`include "litepulse_responder.svh"  // sim/formal
`endif
endmodule
