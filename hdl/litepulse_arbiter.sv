// SPDX-License-Identifier: BSD-2-Clause
// Decides who has the line. Each source says `due` in the cycle before its launch's first cycle (with S > 1 one earlier), with the
// sample in it; the answer, grant or refuse, comes in the same cycle (S > 1: in the next), and the granted launch is handed to
// litepulse_line_tx one cycle later. For one tick the order is responder, queue, train. A best-effort launch is granted only when no
// timed one is answered in that cycle; a refused one tries again.
// Pulses that begin and end within one cycle (S > 1) are handed over as sample masks, so several launches may share a cycle. What would
// follow from each sample from which on the line may be free is worked out before it is known which.
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
    // of a pulse: less than 4 cycles, namely this many ticks (both for S > 1 only, and then `off` and what describes the launch are
    // what they were in the cycle before `due`)
    input  logic [2:0]    width_short,
    input  logic [3*($clog2(S)+2)-1:0] width_low,
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
    input  logic          free_whole,
    input  logic          free_part,
    input  logic [2:0]    rest_off,
    input  logic          line_settled,
    input  logic          line_active,
    output logic          start,
    output logic [2:0]    start_off,
    output logic          start_short, // a pulse of less than 4 cycles, ...
    output logic [$clog2(S)+2:0] start_ends,  // ... and how many ticks behind sample 0 of this cycle it ends (both for S > 1 only)
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
  logic         short_next, hold_free;
  logic [2:0]   may_be_asked;
  logic [$clog2(S)+2:0] ends_next;

  // a pulse is kind 2; what each source would have read is known long before it is due
  always @* begin
    for (int i = 0; i < 3; i++) wanted[3*i+:3] = {kind[2*i+1], kind[2*i+1] ? 2'(i) : profile[2*i+:2]};
  end

  generate
    if (S == 1) begin : gen_one  // the same, where nothing ends within its cycle, with fewer levels of logic
      logic unused;
      assign unused = &{1'b0, off, free_off, free_whole, free_part, rest_off, width_short, width_low};
      always @* begin
        grant[0]   = due[0] && free_next;
        grant[1]   = due[1] && !due[0] && free_next;
        grant[2]   = due[2] && !due[1] && !due[0] && free_next;
        refuse[0]  = due[0] && !free_next;
        refuse[1]  = due[1] && (due[0] || !free_next);
        refuse[2]  = due[2] && (due[1] || due[0] || !free_next);
        go_timed   = due != 3'd0 && free_next;
        be_free    = due == 3'd0 && free_rest && !start;  // a byte waits a cycle behind a pulse of one cycle
        hold_free  = due == 3'd0 && free_next;
        may_be_asked = may_be_due;
        who_next   = due[0] ? 2'd0 : due[1] ? 2'd1 : due[2] ? 2'd2 : 2'd3;
        raddr      = due[0] ? wanted[2:0] : due[1] ? wanted[5:3] : due[2] ? wanted[8:6] : 3'd0;
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
        go_off     = 3'd0;
        mask_next  = '0;
        level_next = '0;
        short_next = 1'b0;
        ends_next  = '0;
      end
    end else begin : gen_more
      localparam int WB = $clog2(S) + 2;
      logic unused;
      assign unused = &{1'b0, free_rest, free_next, free_off};

      // Between any two sources, whatever the line does and whoever is due: known a cycle before they are.
      logic [3*WB+2:0] ends, ends_in;   // of a short pulse, ticks behind sample 0
      logic [2:0]      brief, brief_in; // it ends within its cycle
      logic [3*S-1:0]  soon, soon_in;   // it ends in the next one, and leaves this sample of it free
      logic [3*S-1:0]  mask, mask_in;   // its samples in this cycle
      logic [8:0]      hinders;         // bit 3*i + j: i, granted, leaves no room for j
      // for a line that is free from sample v on, bit 3*v + i: it can be granted; the next one (after 2 comes 0), the one after that,
      // asking too, or both, leave no room for it
      logic [3*S-1:0]  can, can_in, next, next_in, other, other_in, both, both_in;
      always @* begin
        for (int i = 0; i < 3; i++) begin
          ends_in[(WB+1)*i+:WB+1] = {1'b0, width_low[WB*i+:WB]} + (WB + 1)'(off[3*i+:3]);
          brief_in[i] = kind[2*i+1] && width_short[i] && ends_in[(WB+1)*i+:WB+1] < (WB + 1)'(S);
          for (int s = 0; s < S; s++) begin
            mask_in[S*i+s] = 3'(s) >= off[3*i+:3] && (WB + 1)'(s) < ends_in[(WB+1)*i+:WB+1];
            soon_in[S*i+s] = kind[2*i+1] && width_short[i] && ends_in[(WB+1)*i+:WB+1] >= (WB + 1)'(S)
                && ends_in[(WB+1)*i+:WB+1] <= (WB + 1)'(S + s);
          end
        end
        for (int i = 0; i < 3; i++) begin
          for (int j = 0; j < 3; j++) begin
            hinders[3*i+j] = i != j && (off[3*i+:3] < off[3*j+:3] || (off[3*i+:3] == off[3*j+:3] && i < j))
                && !(brief_in[i] && ends_in[(WB+1)*i+:WB+1] <= (WB + 1)'(off[3*j+:3]));
          end
        end
        for (int v = 0; v < S; v++) begin
          for (int i = 0; i < 3; i++) can_in[3*v+i] = off[3*i+:3] >= 3'(v);
          for (int j = 0; j < 3; j++) begin
            next_in[3*v+j]  = can_in[3*v+(j+1)%3] && hinders[3*((j+1)%3)+j];
            other_in[3*v+j] = can_in[3*v+(j+2)%3] && hinders[3*((j+2)%3)+j];
            both_in[3*v+j]  = (next_in[3*v+j] && !(can_in[3*v+(j+2)%3] && hinders[3*((j+2)%3)+(j+1)%3]))
                || (other_in[3*v+j] && !(can_in[3*v+(j+1)%3] && hinders[3*((j+1)%3)+(j+2)%3]));
          end
        end
      end
      always_ff @(posedge clk) begin
        {brief, ends, soon, mask} <= {brief_in, ends_in, soon_in, mask_in};
        {can, next, other, both} <= {can_in, next_in, other_in, both_in};
      end

      // What is to be done if the line is free from sample v on, for each v: a cycle before it is known which. All zero: nothing.
      typedef struct packed {
        logic [2:0]   grant;
        logic         go;               // one of them goes on beyond its cycle: ...
        logic [1:0]   nwho, profile, kind;  // (nwho: 3 less the source)
        logic [2:0]   off, raddr;
        logic         brief;            // ... a pulse of less than 4 cycles, ...
        logic [WB:0]  ends;             // ... so many ticks behind sample 0; ...
        logic [S-1:0] soon;             // ... it leaves this sample of the next cycle free
        logic [S-1:0] mask, level;
      } plan_t;
      localparam int PW = 3 + 1 + 2 + 2 + 2 + 3 + 3 + 1 + WB + 1 + 3 * S;
      plan_t           plan_v, chosen;
      logic [PW*S-1:0] plan, plan_next;
      logic [2:0]      grants, goes, shows, asked;
      always @* begin
        plan_next = '0;
        for (int v = 0; v < S; v++) begin
          for (int j = 0; j < 3; j++) begin
            grants[j] = due[j] && can[3*v+j] && !(due[(j+1)%3] && due[(j+2)%3] ? both[3*v+j]
                : (due[(j+1)%3] && next[3*v+j]) || (due[(j+2)%3] && other[3*v+j]));
          end
          goes = grants & ~brief;
          shows = grants & brief;
          plan_v = '0;
          plan_v.grant = grants;
          plan_v.go = goes != 3'd0;
          plan_v.nwho = {goes[0] || goes[1], goes[0] || goes[2]};
          plan_v.brief = (goes & width_short & {kind[5], kind[3], kind[1]}) != 3'd0;
          for (int i = 0; i < 3; i++) begin
            plan_v.profile = plan_v.profile | (profile[2*i+:2] & {2{goes[i]}});
            plan_v.kind    = plan_v.kind | (kind[2*i+:2] & {2{goes[i]}});
            plan_v.off     = plan_v.off | (off[3*i+:3] & {3{goes[i]}});
            plan_v.raddr   = plan_v.raddr | (wanted[3*i+:3] & {3{goes[i]}});
            plan_v.ends    = plan_v.ends | (ends[(WB+1)*i+:WB+1] & {(WB + 1){goes[i]}});
            plan_v.soon    = plan_v.soon | (soon[S*i+:S] & {S{goes[i]}});
            plan_v.mask    = plan_v.mask | (mask[S*i+:S] & {S{shows[i]}});
            plan_v.level   = plan_v.level | (mask[S*i+:S] & {S{shows[i] && prof_invert[profile[2*i+:2]]}});
          end
          plan_next[PW*v+:PW] = plan_v;
        end
      end

      logic [S-1:0] free_soon;          // what begins in this cycle leaves this sample of the next one free
      logic [S-1:0] free_at;            // the line is free from this sample on, or from an earlier one
      initial {plan, asked, free_soon} = '0;
      always_ff @(posedge clk) begin
        plan <= plan_next;
        asked <= due;
        free_soon <= chosen.soon;
        if (rst) {asked, free_soon} <= '0;
        if (rst) plan <= '0;
      end
      always @* begin
        chosen = '0;
        for (int v = S - 1; v >= 0; v--) begin
          free_at[v] = free_soon[v] || (!start && (free_whole || (free_part && !hold_start && rest_off <= 3'(v))));
          if (free_at[v]) chosen = plan[PW*v+:PW];
        end
        grant = chosen.grant;
        refuse = asked & ~grant;
        go_timed = chosen.go;
        {who_next, profile_next, kind_next} = {~chosen.nwho, chosen.profile, chosen.kind};
        {go_off, raddr, short_next, ends_next} = {chosen.off, chosen.raddr, chosen.brief, chosen.ends};
        {mask_next, level_next} = {chosen.mask, chosen.level};
        be_free = asked == 3'd0 && free_at[0] && !start;
        hold_free = asked == 3'd0 && free_at[0];
        may_be_asked = may_be_due | asked;
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
    may_read = may_be_asked != 3'd0 || (be_asks && !break_hold && !line_settled);
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
    start_short <= short_next;
    start_ends <= ends_next;
    // only on a line that is wholly free, and behind whatever is due
    hold_start <= break_hold && !hold_start && !line_active && hold_free;
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
