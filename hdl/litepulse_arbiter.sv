// SPDX-License-Identifier: BSD-2-Clause
// Decides who has the line. Each source says `due` in the cycle before its launch's first cycle, with the sample in it; the
// answer, grant or refuse, comes in the same cycle, and the granted launch is handed to litepulse_line_tx one cycle later. For one tick the
// order is responder, queue, train. A best-effort launch is granted only when no timed one is due in that cycle; a refused one
// tries again.
// Pulses that begin and end within one cycle (S > 1) are handed over as sample masks, so several launches may share a cycle.
//   S  samples per cycle
module litepulse_arbiter #(
    parameter int S = 1
) (
    input  logic          clk,
    input  logic          rst,
    // timed sources: 0 responder, 1 queue, 2 train
    input  logic [2:0]    due,
    input  logic [2:0]    may_be_due,  // set whenever due is, and known early
    input  logic [8:0]    off,         // sample, 3 bits each
    input  logic [5:0]    kind,
    input  logic [5:0]    profile,
    input  logic [23:0]   data,
    input  logic [2:0]    width_short, // of a pulse: less than 8 ticks, ...
    input  logic [8:0]    width_low,   // ... namely this many (both for S > 1 only)
    output logic [2:0]    grant,
    output logic [2:0]    refuse,
    // best effort
    input  logic          be_due,
    input  logic          be_asks,     // set whenever be_due is, and known early
    input  logic [7:0]    be_data,
    output logic          be_started,  // it was granted in the last cycle
    input  logic          break_hold,
    input  logic [3:0]    prof_invert,
    // launch memory: read when something is granted that goes beyond its cycle
    output logic          ren,
    output logic [2:0]    raddr,
    output logic          may_read,    // known early: else nothing is read in this cycle
    // line
    input  logic          free_next,
    input  logic [2:0]    free_off,
    input  logic          free_rest,
    input  logic          line_settled,
    input  logic          line_active,
    output logic          start,
    output logic [2:0]    start_off,
    output logic [1:0]    start_kind,
    output logic [7:0]    start_data,
    output logic          start_invert,
    output logic [S-1:0]  sub_mask,
    output logic [S-1:0]  sub_level,
    output logic          start_timed,  // `start`, not by best effort
    output logic          hold_start
);

  logic         go, go_timed, be_free, be_grant;
  logic [1:0]   who, who_next, profile_next, start_profile, kind_next;
  logic [2:0]   go_off;
  logic [8:0]   wanted;
  logic [S-1:0] mask_next, level_next;

  // a pulse is kind 2; what each source would have read is known long before it is due
  always @* begin
    for (int i = 0; i < 3; i++) wanted[3*i+:3] = {kind[2*i+1], kind[2*i+1] ? 2'(i) : profile[2*i+:2]};
  end

  generate
    if (S == 1) begin : gen_one  // the same, where nothing ends within its cycle, with fewer levels of logic
      logic unused;
      assign unused = &{1'b0, off, free_off, width_short, width_low};
      always @* begin
        grant[0]   = due[0] && free_next;
        grant[1]   = due[1] && !due[0] && free_next;
        grant[2]   = due[2] && !due[1] && !due[0] && free_next;
        refuse[0]  = due[0] && !free_next;
        refuse[1]  = due[1] && (due[0] || !free_next);
        refuse[2]  = due[2] && (due[1] || due[0] || !free_next);
        go_timed   = due != 3'd0 && free_next;
        be_free    = due == 3'd0 && free_rest && !start;  // a byte waits a cycle behind a pulse of one cycle
        who_next   = due[0] ? 2'd0 : due[1] ? 2'd1 : due[2] ? 2'd2 : 2'd3;
        raddr      = due[0] ? wanted[2:0] : due[1] ? wanted[5:3] : due[2] ? wanted[8:6] : 3'd0;
        go_off     = 3'd0;
        mask_next  = '0;
        level_next = '0;
      end
    end else begin : gen_more
      logic unused;
      assign unused = free_rest;
      logic [3:0] from;   // the line is free from this sample of the next cycle on; S: not at all
      logic [2:0] fits;   // a pulse that ends within its cycle
      logic       chosen, turn, brief;
      logic [3:0] after;
      always @* begin
        from = free_next ? {1'b0, free_off} : 4'(S);
        go_timed = 1'b0;
        chosen = 1'b0;
        who_next = 2'd3;
        go_off = 3'd0;
        grant = 3'b000;
        refuse = 3'b000;
        mask_next = '0;
        level_next = '0;
        for (int i = 0; i < 3; i++) begin
          fits[i] = kind[2*i+:2] == litepulse_map_pkg::LAUNCH_PULSE && width_short[i]
              && {1'b0, width_low[3*i+:3]} + {1'b0, off[3*i+:3]} < 4'(S);
        end
        for (int s = 0; s < S; s++) begin
          for (int i = 0; i < 3; i++) begin
            turn  = due[i] && off[3*i+:3] == 3'(s);
            brief = turn && fits[i] && from <= 4'(s);
            after = 4'(s) + {1'b0, width_low[3*i+:3]};
            for (int t = s; t < S; t++) begin
              if (brief && 4'(t) < after) begin
                mask_next[t]  = 1'b1;
                level_next[t] = prof_invert[profile[2*i+:2]];
              end
            end
            if (turn && !chosen) who_next = 2'(i);
            if (turn && from > 4'(s)) begin
              refuse[i] = 1'b1;
            end else if (turn) begin
              grant[i] = 1'b1;
              from     = brief ? after : 4'(S);
              if (!brief) begin
                go_timed = 1'b1;
                chosen   = 1'b1;
                go_off   = 3'(s);
              end
            end
          end
        end
        be_free = from == 4'd0;  // so nothing timed is due
        raddr = (who_next == 2'd3) ? 3'd0 : wanted[3*who_next+:3];
      end
    end
  endgenerate

  assign be_grant = be_due && !break_hold && be_free;
  assign go       = go_timed || be_grant;
  // what a byte needs is read in any case: whether it may go is known late
  assign ren      = go_timed || (be_asks && !break_hold && be_free);
  assign start_invert = prof_invert[start_profile];   // only now: the memory was read a cycle ago
  assign start_timed = start && who != 2'd3;
  assign be_started  = start && who == 2'd3;

  always @* begin
    case (who_next)
      2'd0:    profile_next = profile[1:0];
      2'd1:    profile_next = profile[3:2];
      2'd2:    profile_next = profile[5:4];
      default: profile_next = 2'd0;
    endcase
    case (who_next)
      2'd0:    kind_next = kind[1:0];
      2'd1:    kind_next = kind[3:2];
      2'd2:    kind_next = kind[5:4];
      default: kind_next = litepulse_map_pkg::LAUNCH_FRAME;
    endcase
    may_read = may_be_due != 3'd0 || (be_asks && !break_hold && !line_settled);
    case (who)
      2'd0:    start_data = data[7:0];
      2'd1:    start_data = data[15:8];
      2'd2:    start_data = data[23:16];
      default: start_data = be_data;
    endcase
  end

  always_ff @(posedge clk) begin
    start <= go;
    start_off <= go_off;
    who <= who_next;
    start_kind <= kind_next;
    start_profile <= profile_next;
    sub_mask <= mask_next;
    sub_level <= level_next;
    // only on a line that is wholly free, and behind whatever is due
    hold_start <= break_hold && !hold_start && !line_active && due == 3'b000 && free_next && free_off == 3'd0;
    if (rst) begin
      start <= 1'b0;
      sub_mask <= '0;
      hold_start <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_arbiter.svh"  // sim/formal
`endif
endmodule
