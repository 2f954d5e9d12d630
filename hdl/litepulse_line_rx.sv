// SPDX-License-Identifier: BSD-2-Clause
// Receives frames by profile 0. Counts half bit periods, so that centre k lies at start + floor((k + 1/2)*P) and the frame ends
// at start + floor(N*P) without an error that grows. A bit is the majority of three samples, one cycle apart, around its centre (a
// whole number of cycles after the start edge). From the centre of the first stop bit on the next start edge is looked for.
// Latency: a record comes line_delay + 1 cycles after the centre of the first stop bit, byte_end and brk_stb as many after the frame's
// or break's end, with S > 1 one more (below: L = line_delay + 1, or + 2).
//
//   state    at the centre of the bit (`centre`)                                then
//   SEARCH   -; a start edge is looked for (`found`)                            START
//   START    a mark is no start bit                                             DATA, or SEARCH
//   DATA     the bit is shifted in                                              DATA, behind the last one PARITY or STOP
//   PARITY   the bit is compared                                                STOP
//   STOP     the record is given out (`stored`); the end of the frame is        SEARCH
//            counted beside the next frame (`tail`)
//
//   cycle   of a bit
//    -1     `point`: half a bit has gone by, the centre lies in the next cycle
//     0     three samples are there: `vote`, the state changes
//
//   S  samples per cycle
`include "litepulse_types.svh"
module litepulse_line_rx #(
    parameter int S = 1
) (
    input  logic                   clk,
    input  logic                   rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63-$clog2(S):0]  now,
    input  logic [2:0]             young,        // see litepulse_timebase
    input  logic [35:0]            period,       // ticks, Q28.8, at least 4*S
    // verilator lint_on UNUSEDSIGNAL
    input  logic [S-1:0]           cond_line,
    input  logic [S-1:0]           cond_next,    // what it will be in the next cycle (for S > 1 only)
    input  logic [6:0]             line_delay,
    // low: not receiving; a frame that has begun is dropped. Must be low for a cycle when the profile changes.
    input  logic                   enable,
    input  frame_format_t          format,
    input  logic                   invert,
    input  logic                   line_own,     // the line may show our own transmission, in terms of `now`
    // records: one strobe
    output logic                   rec_valid,
    output received_t              received,
    output logic                   busy,         // a frame is being received
    output logic                   confirmed,    // as `busy`, but from the centre of the start bit on
    // for the responder, too: the frame of the last record ends at (now - L)*S + byte_end_off, a break at (now - L)*S + break_off
    output line_events_t           events
);
  localparam int SL = $clog2(S);
  localparam int HW = 27 - SL;    // half a period: whole cycles ...
  localparam int FW = 9 + SL;     // ... and fraction

  logic [47:0] rec_tick;
  logic [6:0]  rec_flags;
  logic [8:0]  rec_data;
  assign received.tick  = rec_tick;
  assign received.flags = rec_flags;
  assign received.data  = rec_data;

  logic        byte_ok, byte_own, byte_end, brk_stb, brk_own;
  logic [2:0]  byte_end_off, brk_off;
  assign events.byte_ok      = byte_ok;
  assign events.byte_own     = byte_own;
  assign events.byte_end     = byte_end;
  assign events.byte_end_off = byte_end_off;
  assign events.break_end    = brk_stb;
  assign events.break_off    = brk_off;
  assign events.break_own    = brk_own;

  // bit 2: a frame; the others are 0 in START only
  typedef enum logic [2:0] {SEARCH = 3'd1, START = 3'd4, DATA = 3'd5, PARITY = 3'd6, STOP = 3'd7} state_t;
  state_t state;

  // line ------------------------------------------------------------------------------------------------------------
  // verilator lint_off UNUSEDSIGNAL
  logic [S-1:0]  line1, line2;    // of the cycles before, as x1 and x2, but as they are
  logic [S-1:0]  x, x1, x2;       // mark is 1; this cycle, the one before (the engine's), the one before that
  // verilator lint_on UNUSEDSIGNAL
  logic          found;           // a start edge in the engine's cycle ...
  logic [2:0]    found_off;       // ... at this sample
  logic [2:0]    off;             // of the frame
  logic          a, b, d, majority, vote, unanimous;
  logic          run, done, stored, ready;
  logic          tail_begin;      // the next cycle is the centre of the first stop bit

  assign x  = cond_line ^ {S{invert}};
  generate
    if (S == 1) begin : gen_look
      logic unused;
      assign unused    = &{1'b0, cond_next, off};
      assign found     = !x1[0] && x2[0] && !run && ready;
      assign found_off = 3'd0;
      assign {a, b, d} = {line2[0], line1[0], cond_line[0]};
      assign vote = invert ^ majority;
      assign unanimous = (a == b) && (b == d);
    end else begin : gen_look
      // all of it looked at a cycle before: the sample in which a frame begins stands by the cycle before its first centre
      logic any, behind, any_next, behind_next;
      logic [2:0] first, first_behind, first_next, first_behind_next;
      always @* begin
        any_next = 1'b0;
        first_next = 3'd0;
        behind_next = 1'b0;
        first_behind_next = 3'd0;
        for (int s = S - 1; s >= 0; s--) begin
          if (!x[s] && ((s == 0) ? x1[S-1] : x[(s == 0) ? 0 : s - 1])) begin
            any_next = 1'b1;
            first_next = 3'(s);
            if (3'(s) > off) begin
              behind_next = 1'b1;
              first_behind_next = 3'(s);
            end
          end
        end
      end
      // in the cycle in which a frame ends, edges count behind the sample that ended it
      assign found     = (!run && ready && any) || (done && behind);   // `done`: of a frame only
      assign found_off = run ? first_behind : first;
      always_ff @(posedge clk) begin
        any <= any_next && !rst;
        first <= first_next;
        behind <= behind_next;
        first_behind <= first_behind_next;
        vote <= majority ^ invert;
        unanimous <= (a == b) && (b == d);
      end
      assign {a, b, d} = {line1[off[SL-1:0]], cond_line[off[SL-1:0]], cond_next[off[SL-1:0]]};
    end
  endgenerate
  assign majority = (a && b) || (b && d) || (a && d);   // `d` comes late

  // half bits -------------------------------------------------------------------------------------------------------
  logic [HW-1:0] half_cyc, cnt;
  logic [FW-1:0] half_frac, frac;              // frac: of the next half-bit point
  logic [FW:0]   frac_sum;
  logic          point, step, step_next, steps, no_start, first_centre, defer, upper_zero, low, tiny, enable_was, centre, centred;

  logic counts, goes_on;   // else `cnt` is loaded; goes_on (S > 1): stepping, and not in the cycle behind a point
  // cnt goes down from half_cyc to 2, where a point is; in the next cycle, or if the fractions carry one later, it is loaded again, as it
  // is at rest. `low`: its upper bits are 0; `tiny`: those of half_cyc are.
  assign half_cyc   = period[35:9+SL];
  assign half_frac  = period[FW-1:0];
  assign run        = state[2];
  // the next cycle is a half-bit point
  assign point      = (S > 1 ? step : run) && low && cnt[1:0] == 2'd2;
  assign counts     = (S > 1) ? goes_on : steps;   // registers: the carry chain of `cnt` begins behind them
  assign step_next  = enable && (found || (run && !(S > 1 ? done : stored) && !defer && (!point || frac_sum[FW])));
  assign upper_zero = cnt[HW-1:2] == '0;
  assign frac_sum   = {1'b0, frac} + {1'b0, half_frac};
  assign no_start   = (S > 1 ? first_centre : centre && state == START) && vote;
  assign done       = stored || no_start;
  assign busy       = run;
  assign confirmed  = run && state[1:0] != 2'd0;

  // frame -----------------------------------------------------------------------------------------------------------
  logic [2:0]  left;
  logic [7:0]  shift;
  logic        parity_acc, parity_bit, parity_due, any_mark, noise, own, line_own_was;
  logic        perr, is_break;

  always @* begin
    case (format.parity)
      litepulse_map_pkg::PARITY_ODD:  parity_due = !parity_acc;
      litepulse_map_pkg::PARITY_EVEN: parity_due = parity_acc;
      litepulse_map_pkg::PARITY_MARK: parity_due = 1'b1;
      default:     parity_due = 1'b0;
    endcase
  end

  assign is_break  = !any_mark && !vote;
  assign rec_valid = stored;
  assign rec_data  = {parity_bit, shift};
  assign byte_ok   = vote && !perr;
  assign byte_own  = own || line_own;
  assign rec_flags = {1'b0, noise || !unanimous, byte_own, 1'b0, is_break, !vote, perr};

  always_ff @(posedge clk) begin
    line1 <= cond_line;
    line2 <= line1;
    x1 <= x;
    x2 <= x1;
    line_own_was <= line_own;

    centre <= point && enable && !centred;
    stored <= tail_begin;
    enable_was <= enable;
    ready  <= enable && enable_was;   // not before half_cyc has been looked at
    if (!ready) tiny <= upper_zero;
    low    <= counts ? upper_zero : tiny;
    defer  <= point && frac_sum[FW];
    steps  <= step_next && !done;
    goes_on <= enable && !point && (found || (run && !done && !defer));   // a register: one cell is then enough for a bit of `cnt`
    first_centre <= point && enable && !centred && state[1:0] == 2'd0;   // `centre` and in START, which is known early
    step   <= step_next;
    cnt    <= counts ? cnt + {HW{counts}} : half_cyc;
    if (found) frac <= half_frac;
    else if (point || stored) frac <= frac_sum[FW-1:0];   // stored: for the end of the frame
    centred <= run && !(S > 1 && done) && centred != point;

    if (centre) begin
      case (state)
        START: begin
          state <= vote ? SEARCH : DATA;
          left  <= {1'b1, format.data_bits};
        end
        DATA: begin
          left <= left - 3'd1;
          if (left == 3'd0) state <= (format.parity == litepulse_map_pkg::PARITY_NONE) ? STOP : PARITY;
          for (int i = 0; i < 7; i++) shift[i] <= (i >= 4 && format.data_bits == 2'(i - 4)) ? vote : shift[i+1];
          shift[7] <= vote && format.data_bits == 2'd3;
          parity_acc <= parity_acc ^ vote;
        end
        PARITY: begin
          state <= STOP;
          parity_bit <= vote;
          perr <= vote != parity_due;
        end
        STOP: begin
          state <= SEARCH;
        end
        default: ;
      endcase
      any_mark <= any_mark || vote;
      noise <= noise || !unanimous;
    end
    own <= own || line_own;

    if (found) begin
      state <= START;
      off <= found_off;
      parity_acc <= 1'b0;
      parity_bit <= 1'b0;
      perr <= 1'b0;
      any_mark <= 1'b0;
      noise <= 1'b0;
      shift <= '0;
      own <= line_own || line_own_was;
    end
    if (rst || !enable) state <= SEARCH;
    if (rst) begin
      centre <= 1'b0;
      stored <= 1'b0;
      line1 <= '1;
      line2 <= '1;
      x1 <= '1;
      x2 <= '1;
    end
  end

  // stamp of the start edge: the engine's cycle is now - line_delay - 1 -----------------------------------------------
  logic [15:0]    edge_lo;
  logic [47-SL:0] start_cyc;
  logic           found_was;
  assign edge_lo = now[15:0] + ~{9'd0, line_delay};
  always_ff @(posedge clk) begin
    found_was <= found;
    if (found) start_cyc[15:0] <= edge_lo;
    if (found_was) start_cyc[31:16] <= now[31:16] + {16{start_cyc[7] && young[0]}};
    if (found_was) start_cyc[47-SL:32] <= now[47-SL:32] + {(16-SL){start_cyc[7] && young[1]}};
  end
  generate
    if (S == 1) begin : gen_tick
      assign rec_tick = start_cyc;
    end else begin : gen_tick
      assign rec_tick = {start_cyc, off[SL-1:0]};
    end
  endgenerate

  // end of the frame: `stop` + 1 half bits behind the centre of the first stop bit, maybe within the next frame. Counts as many times
  // from half_cyc to below 0. What loading takes is made up for by larger steps, unless the fractions carry.
  logic          tail, down, less, ended, carried, carry, kept, fire;
  logic          not_two, not_three;      // in steps of one
  logic [HW-1:0] tail_left, tail_next;
  logic [1:0]    adds, carries, halves;
  assign tail_begin = point && state == STOP && !centred && enable;
  assign ended      = tail && !down;
  assign fire       = ended && halves == 2'd0;
  assign kept       = halves[1] ? carries[1] : carries[0];
  // `down` on top keeps the last carry, which comes late, in the chain: while it counts, `less` means one below 0
  assign {less, tail_next} = {down, tail_left} + {1'b0, {(HW-2){down}}, not_three, not_two};
  always_ff @(posedge clk) begin
    carried <= carry;
    adds <= stored ? format.stop : (adds != 2'd0) ? adds - 2'd1 : 2'd0;
    for (int i = 0; i < 2; i++) if (adds[i]) carries[i] <= carried;
    if (stored) halves <= format.stop;
    else if (ended) halves <= halves - 2'd1;
    not_two   <= !((tail_begin && !frac_sum[FW]) || (ended && kept));
    not_three <= !(ended && !kept);
    down <= enable && (down ? !less : tail_begin || (ended && halves != 2'd0));
    tail_left <= down ? tail_next : half_cyc;
    tail <= (tail_begin || tail) && !fire && enable;
    if (rst) begin
      tail <= 1'b0;
      adds <= 2'd0;
    end
  end
  generate
    if (S == 1) begin : gen_end
      assign carry = frac_sum[FW];
      assign byte_end = fire;
      assign byte_end_off = 3'd0;
    end else begin : gen_end
      // the next frame may take `frac` and `off` over at once; the samples add up to a cycle more at most
      logic [FW-1:0] last;
      logic [FW:0]   last_sum;
      logic [SL-1:0] from;
      logic [SL-1:0] where_end;
      logic [SL:0]   where;
      logic          over, late;
      assign last_sum = {1'b0, last} + {1'b0, half_frac};
      assign carry = (adds != 2'd0) ? last_sum[FW] : frac_sum[FW];
      assign where = {1'b0, stored ? off[SL-1:0] : from} + {1'b0, stored ? frac[FW-1:9] : last[FW-1:9]};
      always_ff @(posedge clk) begin
        byte_end <= (late || (fire && !over)) && !rst;
        byte_end_off <= 3'(where_end);
        if (stored) from <= off[SL-1:0];
        last <= stored ? frac_sum[FW-1:0] : last_sum[FW-1:0];
        if (stored || adds != 2'd0) {over, where_end} <= where;
        late <= fire && over;
        if (rst) late <= 1'b0;
      end
    end
  endgenerate

  // end of a break ----------------------------------------------------------------------------------------------------
  logic in_break, begins, began, lasts, break_own, ends, ends_own;
  logic [2:0] ends_off;
  assign begins    = stored && is_break;
  assign in_break  = lasts || began;
  assign ends_own  = (in_break ? break_own : own) || line_own;
  generate
    if (S == 1) begin : gen_break
      assign {ends, ends_off} = {x1[0] && in_break, 3'd0};
      assign {brk_stb, brk_off, brk_own} = {ends, ends_off, ends_own};
    end else begin : gen_break
      // marks in the engine's cycle, and behind the sample in which the frame began
      logic any, behind, any_next, behind_next;
      logic [2:0] first, first_behind, first_next, first_behind_next;
      always @* begin
        {any_next, behind_next, first_next, first_behind_next} = '0;
        for (int s = S - 1; s >= 0; s--) begin
          if (x[s]) begin
            any_next = 1'b1;
            first_next = 3'(s);
            if (3'(s) > off) begin
              behind_next = 1'b1;
              first_behind_next = 3'(s);
            end
          end
        end
      end
      always_ff @(posedge clk) {any, behind, first, first_behind} <= {any_next || rst, behind_next, first_next, first_behind_next};
      assign ends     = in_break ? any : begins && behind;
      assign ends_off = in_break ? first : first_behind;
      always_ff @(posedge clk) {brk_stb, brk_off, brk_own} <= {ends && !rst, ends_off, ends_own};
    end
  endgenerate
  always_ff @(posedge clk) begin
    lasts     <= in_break && !ends && enable;
    began     <= begins && !ends && enable;
    break_own <= ends_own;
    if (rst) {lasts, began} <= 2'b00;
  end

`ifdef FORMAL
`include "litepulse_line_rx.svh"  // sim/formal
`endif
endmodule
