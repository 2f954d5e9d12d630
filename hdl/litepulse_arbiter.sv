// SPDX-License-Identifier: BSD-2-Clause
// Decides who has the line. Each source says `due` in the cycle before its launch's first cycle (with S > 1 one earlier), with the
// sample in it; the answer, grant or refuse, comes in the same cycle (S > 1: in the next), and the granted launch is handed to
// litepulse_line_tx one cycle later. For one tick the order is responder, queue, train. A best-effort launch is granted only when no
// timed one is answered in that cycle; a refused one tries again.
// Pulses that begin and end within one cycle (S > 1) are handed over as sample masks, so several launches may share a cycle. What would
// follow from each sample from which on the line may be free is worked out before it is known which.
//
//   cycle   S = 1                                      S > 1
//    -1     `due_soon`, if not before                  the same; for any two sources: does the one leave room for the other
//     0     `due`: granted or refused, the memory      `due`: for each sample v, who is granted if the line is free from v on
//           is read
//     1     `start`: the launch is handed over         v is known: granted or refused, the memory is read
//     2                                                `start`
//
//   S  samples per cycle
`include "litepulse_types.svh"
module litepulse_arbiter #(
    parameter int S = 1
) (
    input  logic          clk,
    input  logic          rst,
    // timed sources: 0 responder, 1 queue, 2 train
    input  logic [2:0]    due,
    input  logic [2:1]    due_soon,    // of queue and train: set in the cycle before `due`, and known early
    // S > 1: what they were in the cycle before `due`
    input  launch_t       responder_launch,
    input  launch_t       queue_launch,
    input  launch_t       train_launch,
    // verilator lint_off UNUSEDSIGNAL
    input  pulse_width_t  responder_width,
    input  pulse_width_t  queue_width,
    input  pulse_width_t  train_width,
    // verilator lint_on UNUSEDSIGNAL
    output logic [2:0]    grant,
    output logic [2:0]    refuse,
    // best effort
    input  logic          be_due,
    input  logic          be_asks,     // set whenever be_due is, and known early
    input  logic [7:0]    be_data,
    output logic          be_started,  // it was granted in the last cycle
    input  logic          break_hold,
    input  logic          break_stays, // also in the next cycle
    input  logic [3:0]    prof_invert,
    // launch memory: read when something is granted that goes beyond its cycle, with S > 1 also without use while the line is free
    output logic          ren,
    output logic [2:0]    raddr,
    output logic          read_soon,   // early, a cycle before, or ...
    output logic          may_read,    // ... now: else nothing that matters is read in this cycle
    // line
    input  line_state_t   line,
    input  logic [S-1:0]  free_from,
    output logic          start,
    output start_t        launch,
    output logic [S-1:0]  start_from,  // samples of this cycle that belong to it; else none
    output logic [S-1:0]  sub_mask,
    output logic [S-1:0]  sub_level,
    output logic          start_timed,  // `start`, not by best effort
    output logic          hold_start
);

  // of each source, the responder lowest
  logic [8:0]   off;
  logic [5:0]   kind, profile;
  logic [23:0]  data;
  logic [2:0]   width_short;
  logic [3*($clog2(S)+2)-1:0] width_low;
  assign kind    = {train_launch.kind, queue_launch.kind, responder_launch.kind};
  assign profile = {train_launch.profile, queue_launch.profile, responder_launch.profile};
  assign data    = {train_launch.data, queue_launch.data, responder_launch.data};
  assign off     = {train_launch.off, queue_launch.off, responder_launch.off};
  assign width_short = {train_width.brief, queue_width.brief, responder_width.brief};
  assign width_low   = {train_width.low[$clog2(S)+1:0], queue_width.low[$clog2(S)+1:0], responder_width.low[$clog2(S)+1:0]};

  logic         start_ends1, start_ends2, start_invert;
  logic [1:0]   start_kind;
  logic [2:0]   start_off, start_ends_off;
  logic [7:0]   start_data;
  assign launch.off      = start_off;
  assign launch.kind     = start_kind;
  assign launch.data     = start_data;
  assign launch.invert   = start_invert;
  assign launch.ends1    = start_ends1;
  assign launch.ends2    = start_ends2;
  assign launch.ends_off = start_ends_off;

  logic         go;
  logic [1:0]   who, who_next, kind_next;
  logic [2:0]   go_off;
  logic [8:0]   wanted;
  logic [S-1:0] mask_next, level_next, from_next;
  logic         ends1_next, ends2_next, hold_free, hold_next;
  logic [2:0]   ends_off_next;
  logic [2:0]   inverts;        // of each source's profile, as of the last cycle
  logic         inverts_be;

  logic         be_may_read;
  assign be_may_read = be_asks && !break_hold && !line.settled;

  // a pulse is kind 2; what each source would have read is known long before it is due
  always @* begin
    for (int i = 0; i < 3; i++) wanted[3*i+:3] = {kind[2*i+1], kind[2*i+1] ? 2'(i) : profile[2*i+:2]};
  end

  generate
    if (S == 1) begin : gen_one  // the same, where nothing ends within its cycle, with fewer levels of logic
      logic go_timed, be_free;
      logic unused;
      assign unused = &{1'b0, off, line.free_off, free_from, width_short, width_low};
      always @* begin
        grant[0]   = due[0] && line.free_next;
        grant[1]   = due[1] && !due[0] && line.free_next;
        grant[2]   = due[2] && !due[1] && !due[0] && line.free_next;
        refuse[0]  = due[0] && !line.free_next;
        refuse[1]  = due[1] && (due[0] || !line.free_next);
        refuse[2]  = due[2] && (due[1] || due[0] || !line.free_next);
        go_timed   = due != 3'd0 && line.free_next;
        be_free    = due == 3'd0 && line.free_rest && !start;  // a byte waits a cycle behind a pulse of one cycle
        hold_free  = due == 3'd0 && line.free_next;
        read_soon  = due_soon != 2'd0;   // the responder's is known when it is due
        may_read   = due[0] || be_may_read;
        who_next   = due[0] ? 2'd0 : due[1] ? 2'd1 : due[2] ? 2'd2 : 2'd3;
        raddr      = due[0] ? wanted[2:0] : due[1] ? wanted[5:3] : due[2] ? wanted[8:6] : 3'd0;
        case (who_next)
          2'd0:    kind_next = kind[1:0];
          2'd1:    kind_next = kind[3:2];
          2'd2:    kind_next = kind[5:4];
          default: kind_next = litepulse_map_pkg::LAUNCH_FRAME;
        endcase
        go_off     = 3'd0;
        mask_next  = '0;
        level_next = '0;
        ends1_next = 1'b0;
        ends2_next = 1'b0;
        ends_off_next = 3'd0;
        go         = go_timed || (be_due && !break_hold && be_free);
        from_next  = go;
        // what a byte needs is read in any case: whether it may go is known late
        ren        = go_timed || (be_asks && !break_hold && be_free);
      end
    end else begin : gen_more
      localparam int SL = $clog2(S);
      localparam int WB = SL + 2;
      logic unused;
      assign unused = &{1'b0, line.free_rest, line.free_next, line.free_off, wanted[8], wanted[5], wanted[2]};   // those are `kind`

      // `width <= limit` as a table of few bits: a comparison becomes a carry chain, which takes longer.
      function automatic logic at_most(input logic [WB-1:0] width, input int limit);
        at_most = 1'b0;
        for (int w = 0; w <= limit; w++) at_most = at_most || width == WB'(w);
      endfunction

      // Between any two sources, whatever the line does and whichever is due: known a cycle earlier.
      logic [3*SL-1:0]  ends_off, ends_off_in;  // sample at which a short pulse ends
      logic [9*S-1:0]   over;           // bit 3*S*i + s: it has ended by sample s of this cycle and the next two
      logic [2:0]       brief, brief_in, later, later_in;   // it ends within its cycle, in the one after the next
      logic [3*S-1:0]   soon, soon_in;  // it ends in the next one, and leaves this sample of it free
      logic [3*S-1:0]   mask, mask_in;  // the samples of one that ends within its cycle
      logic [3*S-1:0]   from, from_in;  // of one that goes on beyond it
      logic [5:0]       place;          // low bits of `wanted`
      logic [8:0]       hinders;        // bit 3*i + j: i, granted, leaves no room for j
      // for a line that is free from sample v on, bit 3*v + i: it can be granted if it asks alone; if the next one (after 2 comes 0)
      // does, too; if the one after that does; if both do
      logic [3*S-1:0]   alone, alone_in, next, next_in, other, other_in, both, both_in;
      logic [2:0]       under;          // which others leave no room for it: the next, the one after that, both
      always @* begin
        for (int i = 0; i < 3; i++) begin
          ends_off_in[SL*i+:SL] = width_low[WB*i+:SL] + off[3*i+:SL];
          for (int s = 0; s < 3 * S; s++) begin   // not by the sum, which is deep
            over[3*S*i+s] = 1'b0;
            for (int o = 0; o < S && o <= s; o++) begin
              over[3*S*i+s] = over[3*S*i+s] || (off[3*i+:SL] == SL'(o) && at_most(width_low[WB*i+:WB], s - o));
            end
            over[3*S*i+s] = over[3*S*i+s] && kind[2*i+1] && width_short[i];
          end
          brief_in[i] = over[3*S*i+S-1];
          later_in[i] = over[3*S*i+3*S-1] && !over[3*S*i+2*S-1];
          for (int s = 0; s < S; s++) begin
            from_in[S*i+s] = SL'(s) >= off[3*i+:SL];
            mask_in[S*i+s] = from_in[S*i+s] && !over[3*S*i+s] && over[3*S*i+S-1];
            soon_in[S*i+s] = over[3*S*i+S+s] && !over[3*S*i+S-1];
          end
        end
        for (int i = 0; i < 3; i++) begin
          for (int j = 0; j < 3; j++) begin
            hinders[3*i+j] = 1'b0;
            for (int o = 0; o < S; o++) begin      // of i; of the other:
              for (int p = o + (i < j ? 0 : 1); p < S; p++) begin
                hinders[3*i+j] = hinders[3*i+j] || (i != j && off[3*i+:SL] == SL'(o) && off[3*j+:SL] == SL'(p)
                    && !(kind[2*i+1] && width_short[i] && at_most(width_low[WB*i+:WB], p - o)));
              end
            end
          end
        end
        for (int v = 0; v < S; v++) begin
          for (int i = 0; i < 3; i++) alone_in[3*v+i] = off[3*i+:SL] >= SL'(v);
          for (int j = 0; j < 3; j++) begin
            under[0] = alone_in[3*v+(j+1)%3] && hinders[3*((j+1)%3)+j];
            under[1] = alone_in[3*v+(j+2)%3] && hinders[3*((j+2)%3)+j];
            under[2] = (under[0] && !(alone_in[3*v+(j+2)%3] && hinders[3*((j+2)%3)+(j+1)%3]))
                || (under[1] && !(alone_in[3*v+(j+1)%3] && hinders[3*((j+1)%3)+(j+2)%3]));
            {both_in[3*v+j], other_in[3*v+j], next_in[3*v+j]} = ~under & {3{alone_in[3*v+j]}};
          end
        end
      end
      always_ff @(posedge clk) begin
        {brief, later, ends_off, soon, mask, from} <= {brief_in, later_in, ends_off_in, soon_in, mask_in, from_in};
        {alone, next, other, both} <= {alone_in, next_in, other_in, both_in};
        place <= {wanted[7:6], wanted[4:3], wanted[1:0]};
      end

      // Granted if the line is free from sample v on, bit 3*v + i; goes on beyond its cycle: a cycle before v is known.
      logic [3*S-1:0] grants, grants_next, goes, goes_next;
      logic           room, nobody;     // no source was due in the last cycle
      logic           may_be_due;       // queue or train
      logic           begins;           // `start` or `hold_start`, in one register
      logic           be_may;           // a byte begins if the line is wholly free
      logic [2:0]     asked;
      always @* begin
        for (int v = 0; v < S; v++) begin
          for (int j = 0; j < 3; j++) begin
            room = due[(j+1)%3] ? (due[(j+2)%3] ? both[3*v+j] : next[3*v+j]) : (due[(j+2)%3] ? other[3*v+j] : alone[3*v+j]);
            grants_next[3*v+j] = room && due[j];
            goes_next[3*v+j]   = room && (due[j] && !brief[j]);
          end
        end
      end

      // What is to be done then, for each v; all zero: nothing.
      typedef struct packed {
        logic [2:0]    grant;
        logic [1:0]    nwho, kind;      // of what goes on beyond its cycle (nwho: 3 less the source)
        logic [2:0]    off, raddr;
        logic          later;
        logic [SL-1:0] ends_off;
        logic [S-1:0]  soon;
        logic [S-1:0]  from;            // samples of what goes on beyond its cycle
        logic [S-1:0]  mask, level;     // of what does not
      } plan_t;
      localparam int PW = 14 + SL + 4 * S;
      plan_t           plan_v, chosen;
      logic [PW*S-1:0] plan;
      logic [S-1:0]    plan_go;
      logic [S-1:0]    free_soon;        // what begins in this cycle leaves this sample of the next one free
      logic [S-1:0]    free_at;          // the line is free from this sample on, or from an earlier one
      always @* begin
        for (int v = 0; v < S; v++) begin
          plan_v = '0;
          plan_v.grant = grants[3*v+:3];
          plan_v.nwho = {goes[3*v] || goes[3*v+1], goes[3*v] || goes[3*v+2]};
          for (int i = 0; i < 3; i++) begin
            plan_v.kind     = plan_v.kind | (kind[2*i+:2] & {2{goes[3*v+i]}});
            plan_v.off      = plan_v.off | (off[3*i+:3] & {3{goes[3*v+i]}});
            plan_v.raddr    = plan_v.raddr | ({kind[2*i+1], place[2*i+:2]} & {3{goes[3*v+i]}});
            plan_v.later    = plan_v.later | (later[i] && goes[3*v+i]);
            plan_v.ends_off = plan_v.ends_off | (ends_off[SL*i+:SL] & {SL{goes[3*v+i]}});
            plan_v.soon     = plan_v.soon | (soon[S*i+:S] & {S{goes[3*v+i]}});
            plan_v.from     = plan_v.from | (from[S*i+:S] & {S{goes[3*v+i]}});
            plan_v.mask     = plan_v.mask | (mask[S*i+:S] & {S{grants[3*v+i]}});
            plan_v.level    = plan_v.level | (mask[S*i+:S] & {S{grants[3*v+i] && inverts[i]}});
          end
          // nothing that begins before v is granted
          {plan_v.mask, plan_v.level} = {plan_v.mask, plan_v.level} & {2{{S{1'b1}} << v}};
          if (v == S - 1) plan_v.off = 3'(S - 1);
          plan[PW*v+:PW] = plan_v;
          plan_go[v] = goes[3*v+:3] != 3'd0;
        end
      end

      initial {grants, goes, asked, free_soon} = '0;
      initial nobody = 1'b1;
      always_ff @(posedge clk) begin
        {grants, goes} <= {grants_next, goes_next};
        asked <= due;
        nobody <= due == 3'd0;
        may_be_due <= due_soon != 2'd0;
        free_soon <= chosen.soon;
        begins <= go || hold_next;
        if (rst) {grants, goes, asked, free_soon, begins} <= '0;
        if (rst) nobody <= 1'b1;
      end
      always @* begin
        // what only says how something begins may be anything where nothing does
        chosen = plan[PW*(S-1)+:PW];
        for (int v = S - 1; v >= 0; v--) begin
          free_at[v] = free_soon[v] || (!begins && free_from[v]);
          if (v == S - 1 && !free_at[v]) {chosen.grant, chosen.soon, chosen.from, chosen.mask} = '0;
          if (v < S - 1 && free_at[v]) chosen = plan[PW*v+:PW];
        end
        grant = chosen.grant;
        refuse = asked & ~grant;
        {who_next, kind_next, go_off, raddr} = {~chosen.nwho, chosen.kind, chosen.off, chosen.raddr};
        {ends1_next, ends2_next, ends_off_next} = {chosen.soon[S-1], chosen.later, 3'(chosen.ends_off)};
        {mask_next, level_next} = {chosen.mask, chosen.level};
        // for every sample, too: which it is comes late
        be_may = nobody && !start && !break_hold && be_due;
        go  = 1'b0;
        for (int v = S - 1; v >= 0; v--) begin
          if (free_at[v]) go = plan_go[v] || (v == 0 && be_may);
        end
        from_next = chosen.from | {S{free_at[0] && be_may}};
        ren = free_at[S-1];
        hold_free = nobody && free_at[0];
        read_soon = may_be_due || due[0];
        may_read = be_may_read;
      end
    end
  endgenerate

  // only on a line that is wholly free, and behind whatever is due
  assign hold_next   = break_stays && !hold_start && !line.active && hold_free;
  assign start_timed = start && who != 2'd3;
  assign be_started  = start && who == 2'd3;

  always @* begin
    // only now; a profile's polarity as it was when the memory was read
    case (who)
      2'd0:    {start_invert, start_data} = {inverts[0], data[7:0]};
      2'd1:    {start_invert, start_data} = {inverts[1], data[15:8]};
      2'd2:    {start_invert, start_data} = {inverts[2], data[23:16]};
      default: {start_invert, start_data} = {inverts_be, be_data};
    endcase
  end

  always_ff @(posedge clk) begin
    start <= go;
    start_off <= go_off;
    start_from <= from_next & {S{!rst}};
    who <= who_next;
    start_kind <= kind_next;
    for (int i = 0; i < 3; i++) inverts[i] <= prof_invert[profile[2*i+:2]];
    inverts_be <= prof_invert[0];
    sub_mask <= mask_next;
    sub_level <= level_next;
    start_ends1 <= ends1_next;
    start_ends2 <= ends2_next;
    start_ends_off <= ends_off_next;
    hold_start <= hold_next;
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
