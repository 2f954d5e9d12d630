// SPDX-License-Identifier: BSD-2-Clause
// Serialises one launch: frame, break or pulse. Edge k of a frame lies at start + floor(k * period); the fraction restarts
// with every start bit, so equal bytes give equal waveforms. A counter of whole cycles steps in half bits: the fractions of a cycle
// are added up, and their carry makes an interval a cycle longer. A pulse is one interval of the same counter.
// Latency: samples of the cycle in which `start` is high leave on `tx` one cycle later. Accepts a launch in every cycle in which the
// line is free from start_off on (see free_next, free_off, which speak of the next cycle).
//
//   cycle   of a boundary between two intervals
//    -2     all but the lowest bits of the counter are 0
//    -1     `near`: it lies in the next cycle; the fractions' sum says at which sample
//     0     `bnd`; `step` if the launch goes on: the next interval is loaded, the level behind it is chosen
//     1     the level is on `tx`
//
//   S  samples per cycle, sample 0 first
`include "litepulse_types.svh"
module litepulse_line_tx #(
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         prepare,    // a start may follow in the next cycle (on a free line it need not)
    // the launch that begins in this cycle; interval and format but `invert` stay until the next start
    input  logic         start,
    // verilator lint_off UNUSEDSIGNAL
    input  start_t       launch,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [S-1:0] start_from, // samples of this cycle that belong to it
    // ticks, Q28.8, at least 4*S; of a pulse 4'd0 and the width, with start_off + width >= S
    input  logic [35:0]  interval,
    input  logic         few,        // less than 8 cycles; of a pulse: less than 4
    input  frame_format_t format,
    // pulses that begin and end within this cycle
    input  logic [S-1:0] sub_mask,
    input  logic [S-1:0] sub_level,
    input  logic         rest_level,
    input  logic         space_level, // of a hold
    // space level from the cycle of hold_start on for as long as `hold` is set; the cycle behind it still belongs to it
    input  logic         hold_start,
    input  logic         hold,
    input  logic         hold_next,   // while it is set: what it will be in the next cycle
    output line_state_t  line,
    output logic [S-1:0] free_from,   // for S > 1: free from this sample on, unless a launch or a hold begins in this cycle: a register
    output logic [S-1:0] busy,        // samples of this cycle that belong to a launch
    output logic [S-1:0] tx           // one cycle later
);
  localparam int SL = $clog2(S);
  localparam int FW = 9 + SL;   // fraction of a cycle of half a bit
  localparam int W  = 36 - SL;

  logic [2:0]    free_off;
  logic          free_next, free_rest, settled, active;
  assign line.free_next = free_next;
  assign line.free_off  = free_off;
  assign line.free_rest = free_rest;
  assign line.settled   = settled;
  assign line.active    = active;

  // intervals -------------------------------------------------------------------------------------------------------------
  // Cycles to the boundary plus 1, less `stretch`: of a pulse from bit 0 on, of half a bit from bit 9 on. Counted down in two chains,
  // the upper half a cycle behind. A bit is one cell, whose four inputs leave no room for an enable: what holds a chain is its carry.
  logic [W-1:0]  cnt;
  logic [18:0]   lower;       // with a carry that only a pulse lets through to bit 9
  // verilator lint_off UNUSEDSIGNAL
  logic [19:0]   lower_next;
  // verilator lint_on UNUSEDSIGNAL
  logic          counting;    // else the counter is loaded: start, boundary, stretch
  logic          carry;       // the lower half does not borrow
  logic          stretch;     // this interval is a cycle longer, and this is its first cycle
  logic          near;        // the boundary lies in the next cycle
  logic          bnd;         // it lies in this cycle ...
  logic [2:0]    bnd_off, bnd_off_next;  // ... at this sample
  logic [FW-1:0] frac, part;  // where the boundary lies in its cycle
  logic [FW:0]   frac_sum;
  logic [2:0]    frac_off;
  logic          pulse;       // the launch on the line is one
  logic          load, step;  // an interval begins; inside a launch: a boundary that does not end it
  logic          is_pulse, is_break;
  logic          holding;
  logic          last;        // the interval that runs ends the launch
  logic [2:0]    ends_off;
  logic          ends1, ends2, zero_upper, near_now, near_next, bnd_next, stretch_next;
  logic          few_halves;  // half a bit is less than 3 cycles
  logic          active_next, holding_next, last_next;
  // free in the cycle after the next: from sample 0 on; from a boundary on; the same, by a boundary that is known late
  logic          open_next, opens_next, late_next;
  logic          flows, rests;  // level at a sample of what goes on, else
  logic [S-1:0]  on;            // what began earlier has this sample
  logic [S-1:0]  tx_next;

  assign is_pulse = launch.kind[1];  // 0 frame, 1 break, 2 pulse
  assign is_break = launch.kind[0];
  assign load     = start || step;

  generate
    if (S == 1) begin : gen_one
      assign part     = interval[8:0];
      assign frac_sum = {1'b0, frac} + {1'b0, part};
      logic unused;
      assign unused   = &{1'b0, launch.ends1, launch.ends2, launch.ends_off};
      assign ends_off = 3'd0;
      assign ends1    = is_pulse && few && interval[1:0] == 2'd1;
      assign ends2    = is_pulse && few && interval[1:0] == 2'd2;
      assign frac_off = 3'd0;
    end else begin : gen_more
      // What comes out of the launch memory in the cycle of a start comes late; its lower part then has nothing to be added to.
      logic [8:0] low_was;
      always_ff @(posedge clk) low_was <= interval[8:0];
      assign part     = {(start && is_pulse) ? interval[SL-1:0] : interval[FW-1:9], low_was};
      assign frac_sum = {1'b0, start ? launch.off[SL-1:0] : frac[FW-1:9], frac[8:0]} + {1'b0, part};
      // sooner than out of the launch memory
      assign ends_off = launch.ends_off;
      assign ends1    = launch.ends1;
      assign ends2    = launch.ends2;
      assign frac_off = 3'(frac[FW-1:9]);
    end
  endgenerate
  // two cycles to go; all but the lowest four bits are looked at a cycle before
  assign near_now   = zero_upper && ((pulse && cnt[3:1] == 3'd1) || (!pulse && cnt[12:10] == 3'd1))
      && ((pulse ? cnt[0] : cnt[9]) ^ stretch);

  assign lower      = {cnt[17:9], pulse, cnt[8:0]};
  assign lower_next = {1'b0, lower} + {1'b0, {9{counting}}, 1'b0, {9{counting}}};
  assign bnd_next     = start ? ends1 : near && !hold_start;
  assign bnd_off_next = start ? ends_off : frac_off;
  // the carry comes late
  assign near_next    = (start && ends2) || (!start && !step && near_now)
      || (((start && !is_pulse && few && !interval[FW]) || (step && few_halves)) && !frac_sum[FW]);
  assign stretch_next = load && frac_sum[FW];

  always_ff @(posedge clk) begin
    cnt[17:0]   <= counting ? {lower_next[18:10], lower_next[8:0]} : interval[17+SL:SL];
    cnt[W-1:18] <= counting ? cnt[W-1:18] + {(W - 18){counting}} + (W - 18)'(carry) : interval[35:18+SL];
    carry   <= !counting || lower_next[19];
    counting <= !(prepare || bnd_next || stretch_next);
    stretch <= stretch_next;
    zero_upper <= counting ? cnt[W-1:13] == '0 && (!pulse || cnt[12:4] == '0) : few;
    few_halves <= few && !interval[FW];   // of the memory, which is late; there is no step in the cycle behind a start
    near    <= near_next;
    bnd     <= bnd_next;
    bnd_off <= bnd_off_next;
    // 0 at a start: it has none in a pulse, and no use in the last interval
    if (load) frac <= frac_sum[FW-1:0];
    if (S > 1 && start) frac[8:0] <= interval[8:0];
    if ((start && is_pulse) || (last && !load) || rst) frac[8:0] <= 9'd0;
    if (start) pulse <= is_pulse;
  end

  // bits ------------------------------------------------------------------------------------------------------------------
  logic       mid;         // the second half of a bit
  logic [7:0] shift;
  logic [7:0] left;        // bits of a break with this one; data bits and 1 with the start bit
  logic [7:0] first_left;
  logic       run;
  logic       drop, wide, none_left;  // all of them settle before the middle of the bit
  logic       no_parity, acc, flips, inverted;
  logic       ending;      // in the stop bits ...
  logic [1:0] halves;      // ... of which this many halves follow
  logic       bit_step, next_level, begins, goes_on;

  assign bit_step   = step && mid;
  assign flips      = format.parity[1] ^ format.parity[0];  // odd and even
  assign first_left = {launch.data[7:4], is_break ? launch.data[3:0] : 4'd6 + {2'd0, format.data_bits}};

  always_ff @(posedge clk) begin
    run  <= !prepare;  // no start in this cycle; a flip-flop of its own, so that one cell is enough for a bit of `left`
    left <= run ? left + {8{run}} + {7'd0, !drop} : first_left;
    drop <= bit_step && !none_left;
    next_level <= inverted ^ (none_left ? no_parity || acc : shift[0]);   // a bit has at least 4 cycles
    none_left <= left[3:0] == 4'd1 && (left[7:4] == 4'd0 || !wide);  // only a break has more than 4 bits of it
    if (start) wide <= is_break;
    last <= last_next;
    if (start) begin
      mid       <= 1'b0;
      shift     <= is_break ? 8'd0 : launch.data;
      no_parity <= is_break || format.parity == litepulse_map_pkg::PARITY_NONE;
      acc       <= format.parity[0];
      ending    <= 1'b0;
      halves    <= {format.stop != litepulse_map_pkg::STOP_1, format.stop != litepulse_map_pkg::STOP_1_5};
    end else if (step) begin
      mid <= !mid;
      if (ending) halves <= halves - 2'd1;
      if (mid) begin
        shift <= {1'b0, shift[7:1]};
        if (none_left) no_parity <= 1'b1;
        if (flips) acc <= acc ^ shift[0];
        ending <= none_left && no_parity;
      end
    end
  end

  // line ------------------------------------------------------------------------------------------------------------------
  assign active_next = start || hold_start || (active && !(holding ? !hold : bnd && last));
  assign holding_next = !start && (hold_start || (holding && hold));
  assign last_next   = start ? is_pulse : step ? ending && halves == 2'd1 : last;
  assign free_next   = start ? ends1 : free_rest;
  assign free_off    = !active_next ? 3'd0 : bnd_off_next;

  // not active in the next cycle, or at the boundary of its last interval (one in this cycle is followed by none in the next), or at
  // the end of a hold
  always @* begin
    if (start) open_next = ends1;
    else if (hold_start) open_next = !hold_next;
    else if (holding) open_next = !hold || !hold_next;
    else open_next = !active || (last && (bnd || near));
    opens_next = start ? ends2 : last && near_now && !hold_start && !(holding && hold);
    late_next  = step && few_halves && ending && halves == 2'd1 && !frac_sum[FW];
  end
  generate
    if (S == 1) begin : gen_free_one
      logic open, opens, late;   // three, to be shallow
      assign free_rest = !hold_start && (open || opens || late);
      assign free_from = '0;
      always_ff @(posedge clk) begin
        {open, opens, late} <= {open_next, opens_next, late_next};
        if (rst) {open, opens, late} <= 3'b100;
      end
    end else begin : gen_free_more
      assign free_rest = !hold_start && free_from[S-1];
      always_ff @(posedge clk) begin
        for (int v = 0; v < S; v++) free_from[v] <= rst || open_next
            || (opens_next && 3'(v) >= bnd_off_next) || (late_next && SL'(v) >= frac_sum[FW-1:9]);
      end
    end
  endgenerate

  always @* begin
    for (int s = 0; s < S; s++) begin
      // what begins here, and what goes on: side by side, not one behind the other
      begins = hold_start || sub_mask[s] || start_from[s];
      goes_on = on[s] && !holding;
      busy[s] = begins || on[s];
      flows  = (bit_step && 3'(s) >= bnd_off) ? next_level : tx[S-1];  // that is the level on the line
      rests  = (hold_start || (holding && hold)) ? space_level : sub_mask[s] ? sub_level[s] : rest_level;
      tx_next[s] = (goes_on && !begins) ? flows : start_from[s] ? launch.invert : rests;
    end
  end

  always_ff @(posedge clk) begin
    settled <= active && !start && !holding && !zero_upper;
    if (start) inverted <= launch.invert;
    tx      <= tx_next;
    active  <= active_next;
    holding <= holding_next;
    step    <= active_next && !holding_next && bnd_next && !last_next && !rst;
    // verilator lint_off UNSIGNED
    for (int s = 0; s < S; s++) on[s] <= holding_next || (active_next && !(bnd_next && last_next && 3'(s) >= bnd_off_next));
    // verilator lint_on UNSIGNED
    if (rst) begin
      settled <= 1'b0;
      active  <= 1'b0;
      holding <= 1'b0;
      on      <= '0;
      tx      <= '1;
    end
  end

`ifdef FORMAL
`include "litepulse_line_tx.svh"  // sim/formal
`endif
endmodule
