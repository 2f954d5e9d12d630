// SPDX-License-Identifier: BSD-2-Clause
// What the responder answers, when, and when it listens. Included at the end of the module.
// With the trigger `lin`: the end of a frame that litepulse_lin names is one; what it says is overtaken is never due, but `busy`.
// Ghosts: the settings as written, the ticks that are left to T = reference + delay + k * holdoff, k being the launch's number within
// its burst, the outcome as the arbiter gave it.

  litepulse_responder_environment #(.S(S)) environment (.*);
`ifndef LITEPULSE_CHECK
  localparam int GW = 38;
  logic                 f_past = 1'b0;
  logic                 f_past1 = 1'b0, f_stood = 1'b0;
  logic                 g_rst = 1'b0;        // so was the cycle before
  logic [31:0]          g_delay, g_holdoff;
  logic [15:0]          g_burst, g_left;     // launches behind the first; behind this one
  logic                 g_goes_on;           // behind this report comes the next launch
  logic [4:0]           g_since;             // cycles since a record was requested first, 31 and more
  logic signed [GW-1:0] g_next;              // T of the next launch of a burst
  logic [2:0]           g_trigger;
  logic [7:0]           g_data;              // of the launch when it was decided
  logic                 g_overtaken;         // it was not to be launched any more, in the cycle before
  logic                 g_rearm, g_ignore_own, g_byte;
  logic [7:0]           g_value, g_mask;
  logic                 g_listens, g_comes, g_loads;
  logic [2:0]           g_off, g_t_off;
  logic signed [GW-1:0] g_back, g_first;     // from the trigger's cycle back to its sample, on to T
  logic signed [GW-1:0] g_t, g_end, g_lead;  // T, the end of the holdoff: ticks from this cycle on; stops far in the past
  logic signed [GW-1:0] g_tc, g_opens;       // T, the beginning of the lead window: cycles
  logic signed [GW-1:0] g_counter, g_way, g_tick;
  logic                 g_in_time;           // the lead window, or the launch, could still be reached when the trigger came
  logic                 g_reach;             // so could T, with no lead
  logic                 g_excused;           // the lead has changed since
  logic                 g_forgiven;          // ... before it was decided: T alone counts
  logic                 g_answers;
  logic                 g_filtered;          // of the cycle before
  logic [D-1:0]         g_filt_delay;
  logic                 g_young;             // the first cycle of the countdown
  logic signed [GW-1:0] g_hit_back, g_hit_off;   // the trigger of the cycle before
  logic [1:0]           g_outcome;           // 0 none since arming, 1 launched, 2 busy, 3 late
  logic [4:0]           g_rep;               // cycles of the report
  logic [15:0]          g_number;
  logic [5:0]           g_asks;              // cycles that a word has waited
  logic [1:0]           g_shown;             // of the memory's words, ...
  logic                 g_wrote;             // ... and one was written in the last cycle

  (* anyseq *) logic    f_edge;              // what litepulse_capture shows while it is enabled
  always_comb assume (chosen_edge.found == (f_edge && sel_enable));
  assign g_listens = preset || (ready && no_hit);
  assign g_loads   = load && !report;
  always_comb begin
    // a trigger, and the sample it refers to
    g_off  = chosen_edge.off;
    if (S > 1) g_back = (chosen_edge.quick && g_trigger == litepulse_map_pkg::TRIGGER_EDGE) ? GW'(-2) : GW'({1'b0, chosen_edge.late}) - GW'(2);
    else g_back = chosen_edge.filtered ? GW'(chosen_edge.delay) : GW'(0);
    case (g_trigger)
      litepulse_map_pkg::TRIGGER_EDGE:  g_comes = f_edge && !(chosen_edge.is_line && line_own && g_ignore_own);
      litepulse_map_pkg::TRIGGER_BYTE:  g_comes = line_events.byte_end && g_byte;
      litepulse_map_pkg::TRIGGER_BREAK: g_comes = line_events.break_end && !(line_events.break_own && g_ignore_own);
      litepulse_map_pkg::TRIGGER_LIN:   g_comes = line_events.byte_end && lin_hit;
      default: g_comes = 1'b0;
    endcase
    if (g_trigger != litepulse_map_pkg::TRIGGER_EDGE) begin
      g_off  = (g_trigger == litepulse_map_pkg::TRIGGER_BREAK) ? line_events.break_off : line_events.byte_end_off;
      if (S > 1) g_back = g_back + GW'(2);
      else g_back = (chosen_edge.line_filtered ? GW'(chosen_edge.delay) : GW'(0)) + GW'(1);
    end
    if (S == 1) g_off = 3'd0;
    g_first = GW'(g_off) - (g_back <<< SL) + GW'(g_delay);
    g_lead  = GW'({14'd0, ~nde_lead});
    g_tc    = g_t >>> SL;
    g_t_off = g_t[2:0] & 3'(S - 1);
    g_opens = (g_t - g_lead) >>> SL;
    g_end   = g_t + GW'({6'd0, g_holdoff});
    g_next  = g_end;
    g_goes_on = g_left != 16'd0 && g_outcome != 2'd3;
    g_counter = GW'({6'd0, remaining}) - (negative ? GW'(1) <<< 32 : GW'(0));
    g_answers = g_in_time || (g_reach && g_forgiven);
    g_way   = GW'((S > 1) ? KE + 1 : KE + 3) + ((g_trigger != litepulse_map_pkg::TRIGGER_EDGE) ? GW'((S > 1) ? 2 : 1) : GW'(0));
  end

  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_past1 <= f_past;
    f_stood <= f_past1;
    g_rst  <= f_past && rst;
    if (take) begin
      case (cfg_addr)
        3'd0: begin
          g_trigger    <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_TRIGGER_LSB +: 3];
          g_rearm      <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_REARM_LSB];
          g_ignore_own <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_IGNORE_OWN_LSB];
          g_burst      <= cfg_data[litepulse_map_pkg::RESP_TRIGGER_BURST_LSB +: 16];
        end
        3'd1: {g_mask, g_value} <= cfg_data[15:0];
        3'd2: g_delay <= cfg_data;
        3'd5: g_holdoff <= cfg_data;
        default: ;
      endcase
    end
    if (byte_stb) g_byte <= line_events.byte_ok && (byte_data & g_mask) == (g_value & g_mask) && !(line_events.byte_own && g_ignore_own);
    g_hit_back <= g_back;
    g_hit_off  <= GW'(g_off);
    g_young    <= !no_hit || (reported && g_goes_on);
    if (g_listens && g_comes && !disarm) begin
      g_t       <= g_first - GW'(S);
      g_in_time <= ((g_first - g_lead) >>> SL) >= GW'(KE + 4);
      g_reach   <= (g_first >>> SL) >= GW'(KE + 4);
      g_excused <= lead_changes;
      g_forgiven <= lead_changes;
    end else if (reported && g_goes_on) begin
      g_t       <= g_next - GW'(S);
      g_in_time <= ((g_next - g_lead) >>> SL) >= GW'(KE + 3);
      g_reach   <= (g_next >>> SL) >= GW'(KE + 3);
      g_excused <= lead_changes;
      g_forgiven <= lead_changes;
    end else if (g_t > -(GW'(1) <<< 35)) begin
      g_t <= g_t - GW'(S);
    end
    if ((count || !no_hit) && lead_changes) begin
      g_excused <= 1'b1;
      if (g_tc > GW'(KE + 2)) g_forgiven <= 1'b1;
    end
    g_shown <= (preset || stay) ? BURST : turned_next ? HOLDOFF : DELAY;
    g_wrote <= take && (cfg_addr == 3'd0 || cfg_addr == 3'd2 || cfg_addr == 3'd5);
    g_filtered <= conditioned;
    g_filt_delay <= behind;
    if (landed || late) g_rep <= 5'd1;
    else if (report) g_rep <= g_rep + 5'd1;
    g_overtaken <= lin_overtaken;
    if (due || overtaken) g_data <= data;
    if (due) g_outcome <= grant ? 2'd1 : 2'd2;
    else if (overtaken) g_outcome <= 2'd2;
    else if (late) g_outcome <= 2'd3;
    if (reported) g_number <= g_number + 16'd1;
    if (!no_hit && g_burst != 16'd0) g_number <= 16'd0;
    if (!no_hit) g_left <= g_burst;
    else if (reported) g_left <= g_goes_on ? g_left - 16'd1 : 16'd0;
    if (late || disarm) g_left <= 16'd0;
    g_since <= (landed || late) ? 5'd0 : (g_since == 5'd31) ? g_since : g_since + 5'd1;
    g_asks <= (cfg_req && !cfg_done && !rst) ? g_asks + 6'd1 : 6'd0;
    if (arms) begin
      g_outcome <= 2'd0;
      g_number  <= 16'd0;
      g_left    <= 16'd0;
      g_since   <= 5'd31;
    end
    // a reset leaves the other settings as they are
    if (rst) begin
      g_trigger <= litepulse_map_pkg::TRIGGER_OFF;
      {g_delay, g_holdoff, g_burst} <= {stored[DELAY], stored[HOLDOFF], stored[BURST][31:16]};
      {g_rearm, g_ignore_own, g_value, g_mask} <= {rearm, ignore_own, match_value, match_mask};
      g_byte <= byte_hit;
      g_t    <= GW'(0);
    end
  end

  // Assumed: the arbiter answers at once; litepulse_events within 11 cycles; a reset is two cycles long
  always_comb begin
    if (!f_past) assume (rst);
    assume (grant == (due && !refuse) && (due || !refuse));
    if (report && g_rep == 5'd11) assume (acked || ev_ack);
  end
  always_ff @(posedge clk) if (f_past && $past(rst && !g_rst)) assume (rst);

  // What is promised -----------------------------------------------------------------------------------------------------
  always_ff @(posedge clk) begin
    if (f_past && !rst && !$past(rst)) begin
      // each trigger it listens to is counted down from, and nothing else
      assert (!no_hit == $past(g_listens && g_comes && !disarm));
      if (count) assert ($past(count || !no_hit || (reported && g_goes_on)));
      if ($past(!no_hit && !disarm)) assert (count);
      if ($past(count && !due && !overtaken && !late && !disarm)) assert (count);
      // behind each launch of a burst but the last one, and a late one, comes the next
      if ($past(reported && g_goes_on && !wish)) assert (count && armed);
      // without rearm one answer, then it is off; a word that is carried out finds it off
      if ($past(reported && !g_rearm && !g_goes_on)) assert (!armed);
      if (cfg_done) assert ($past(!armed && wish) && armed == $past(arms));
      if (acked) assert ($past(report));
    end
  end
  always_comb begin
    g_tick = GW'(0);
    if (f_past && !rst) begin
      // due at T and only at T, whenever that was in time; late, and soon, whenever it was not. A lead that changes meanwhile makes nothing
      // late; what it would have made late goes out at T if it can.
      if (due) assert (count && g_answers && g_tc == GW'(KE + 1) && off == g_t_off);
      if (late) assert (count && !due && !overtaken && !g_answers);
      if (count && g_tc <= GW'(KE + 1)) assert (due || overtaken || late || fresh != 2'b00);
      // in place of due, if another device has begun a frame before; it is reported as busy
      if (overtaken) assert (count && g_answers && g_tc == GW'(KE + 1) && off == g_t_off && g_overtaken && !due);
      if (due) assert (!g_overtaken);
      // LIN's answers are frames, and more than one, no bursts
      if (armed && g_trigger == litepulse_map_pkg::TRIGGER_LIN)
        assert (g_rearm && kind == litepulse_map_pkg::LAUNCH_FRAME && g_burst == 16'd0);
      // no byte of best effort begins within a burst; records are 16 cycles apart
      if ((in_flight || report) && g_goes_on) assert (!be_ok);
      if (count) assert (!be_ok);
      // the record reports it: what, why, when
      if (ev_req) begin
        assert (ev_kind == ((g_outcome == 2'd1) ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_RESPONDER_MISSED));
        assert (ev_flags == ((g_outcome == 2'd1) ? 8'd0
            : (g_outcome == 2'd2) ? litepulse_map_pkg::REASON_BUSY : litepulse_map_pkg::REASON_LATE));
        assert (ev_data == {g_number, 4'd0, kind, profile, (g_outcome == 2'd3) ? data : g_data});
        if (g_outcome != 2'd3) assert (ev_lo == now[7:0] + g_tc[7:0] && ev_off == g_t_off);
        assert (now[7:0] - ev_lo == 8'(g_rep));
      end
      if (landed || late) assert (g_since >= 5'd15);
      // promise 7: as long whatever happens elsewhere
      assert (reported == (report && g_rep == 5'd13));
      // behind a launch it listens from the first cycle on that does not begin before the end of the holdoff, at the earliest 16
      // cycles behind that of the launch
      if (g_outcome == 2'd1 && armed && !count && !in_flight && no_hit) assert (g_listens == (g_end <= GW'(0) && g_tc <= GW'(-16)));
      // a word is answered soon, whatever runs
      assert (g_asks <= 6'(KE + 18));
      if (!armed) assert (!due && !late && !ev_req && !g_listens && no_hit);
      // de lead: exactly the samples of [T - lead, T), of an answer that is in time, if the lead stands still; else none behind T
      for (int s = 0; s < S; s++) begin
        g_tick = GW'(KE * S + s);    // the sample the engine makes now
        if (count && !g_young && !g_excused) assert (lead[s] == (g_in_time && g_tick >= g_t - g_lead && g_tick < g_t));
        if (in_flight && g_tc == GW'(KE) && !g_excused) assert (lead[s] == (g_tick >= g_t - g_lead && g_tick < g_t));
        if ((in_flight && g_tc != GW'(KE)) || (count && g_young) || g_tick >= g_t) assert (!lead[s] || !(count || in_flight));
      end
    end
  end

  // What makes it inductive ------------------------------------------------------------------------------------------------
  always_comb begin
    assert (bursts == (stored[BURST][31:16] != 16'd0));
    if (g_rst) assert (!armed && !ready && !count && !in_flight && !report && !reported && !hold && !preset && counts && no_hit && !turned);
    if (g_rst) assert (!wish);
    if (f_past && !rst) begin
      assert (3'(g_loads) + 3'(preset) + 3'(ready) + 3'(count) + 3'(in_flight) + 3'(report) + 3'(hold) <= 3'd1);
      assert (armed == (g_loads || preset || ready || count || in_flight || report || hold));
      assert ({by_edge, by_byte, by_break, by_lin} == {g_trigger == litepulse_map_pkg::TRIGGER_EDGE,
          g_trigger == litepulse_map_pkg::TRIGGER_BYTE, g_trigger == litepulse_map_pkg::TRIGGER_BREAK,
          LIN && g_trigger == litepulse_map_pkg::TRIGGER_LIN} && rearm == g_rearm && ignore_own == g_ignore_own);
      assert (match_value == g_value && match_mask == g_mask);
      // what is left of a burst
      if (count || in_flight || report) assert (left == g_left);
      if ((count && !g_young) || in_flight || report) assert (ongoing == (left != 16'd0));
      if (g_loads || preset || (ready && no_hit) || hold) assert (left == 16'd0 && !ongoing);
      if (!armed && !turned) assert (left == 16'd0);
      if (report && g_outcome == 2'd3) assert (left == 16'd0);
      if (count && fresh != 2'b00) assert (g_since == (fresh[0] ? 5'd13 : 5'd14) && fresh != 2'b11 && fresh[0] == g_young);
      if (count && fresh != 2'b00) assert (g_tc >= GW'(-15));
      if (count && fresh == 2'b00) assert (g_since >= 5'd15);
      if (in_flight) assert (g_since >= 5'd15);
      if (hold) assert (g_since >= 5'd13);
      if (g_loads) assert (g_since >= 5'd14);
      if (preset) assert (g_since >= 5'd15);
      if (ready) assert (g_since >= 5'd16);
      if (report) assert (g_since == g_rep - 5'd1);
      assert (byte_hit == g_byte);
      assert (stored[BURST][31:16] == g_burst && stored[DELAY] == g_delay && stored[HOLDOFF] == g_holdoff);
      // what is shown: a word that was written in the last cycle is not; when it was just disarmed, the burst still is
      assert (g_shown != 2'd3 && (g_wrote || next_wait == stored[g_shown]));
      if (g_wrote) assert (cfg_done && !armed);
      if (ready || g_shown == BURST) assert (ready == (g_shown == BURST) || (!armed && turned));
      else assert (g_shown == (turned ? HOLDOFF : DELAY));
      if (g_loads || hold) assert (!turned);
      if (preset || ready || count || in_flight) assert (turned);
      if (report) assert (turned == (g_rep == 5'd1 || ongoing));
      if (cfg_done) assert (!wish);
      assert (load == (g_loads || (report && g_rep == 5'd1 && (g_outcome == 2'd1 || ongoing))));
      assert (g_asks == 6'd0 || wish || cfg_done);
      if ((g_loads && !cfg_done) || preset || ready) assert (g_asks <= 6'd1);
      if (count) assert (g_asks <= 6'd1 || (negative && !g_answers && !g_young && g_asks <= (fresh[1] ? 6'd2 : 6'd3)));
      if (in_flight) assert (g_asks <= 6'(KE + 2) - g_tc[5:0]);
      if (report) assert (g_asks <= 6'(KE + 2) + 6'(g_rep));
      if (hold) assert (g_asks <= 6'(KE + 16));
      if (!armed && turned) assert (g_asks <= 6'(KE + 16));
      if (!armed && !turned && !cfg_done) assert (g_asks <= 6'(KE + 17));
      if (armed) assert (number == g_number && {by_edge, by_byte, by_break, by_lin} != 4'd0);
      if ((in_flight || report) && g_outcome != 2'd3) assert (data == g_data);
      // the counter, state by state
      if (g_loads) assert (remaining[SL+D-1:0] == '0 && step == g_delay[SL +: D]);
      if (preset) assert (!negative && remaining == g_delay && step == D'(-g_way));
      if (ready) assert (g_counter == GW'({6'd0, g_delay}) - (g_way <<< SL) && step == (g_filtered ? ~g_filt_delay : '1));
      if (!no_hit) assert (ready && g_t == g_hit_off - ((g_hit_back + GW'(1)) <<< SL) + GW'({6'd0, g_delay}));
      if (count || in_flight) assert (g_counter == g_t - GW'((KE + 2) * S) && step == '1);
      if (count || !no_hit) assert (excused == g_excused && (g_reach || !g_in_time));
      if (count) assert (g_reach ? g_tc >= (g_answers ? GW'(KE + 1) : GW'(KE - 1)) : g_tc < GW'(KE + 2));
      if (count && negative) assert (due || overtaken || !g_answers);
      if ((count && !negative) || !no_hit) assert (g_forgiven == g_excused);
      if (count && g_young) assert (!open && g_reach == (g_tc >= GW'(KE + 2)));
      if (!no_hit) assert (g_reach == (g_tc >= GW'(KE + 3)));
      if (count && !g_excused) begin
        if (!g_in_time) assert (g_opens < GW'(KE + 2));
        assert (opened == (g_in_time && g_opens <= GW'(KE + 1)));
        assert ((opened && !open) == (!g_young && g_opens == GW'(KE + 1)));
        if (g_young) assert (g_in_time == (g_opens >= GW'(KE + 2)));
        assert (no_lead == (nde_lead[15:SL] == '1));
      end
      if (!no_hit && !g_excused) assert (g_in_time == (g_opens >= GW'(KE + 3)));
      if (in_flight) assert (g_answers && negative && g_tc >= GW'(0) && g_tc <= GW'(KE));
      if (in_flight) assert (g_outcome == 2'd1 || g_outcome == 2'd2);
      if (in_flight || report) assert (launched == (g_outcome == 2'd1) && busy == (g_outcome == 2'd2));
      if (report) begin
        assert (g_outcome != 2'd0 && g_rep >= 5'd1 && g_rep <= 5'd13 && now[7:0] == 8'(ev_lo + g_rep));
        if (g_rep >= 5'd12) assert (acked);
        if (g_outcome != 2'd1 && !ongoing) assert (negative);
        else if (ongoing) begin
          if (g_rep == 5'd1) assert (remaining[SL+D-1:0] == '0 && step == g_holdoff[SL +: D]);
          else if (g_rep == 5'd2) assert (!negative && remaining == g_holdoff && step == D'(-KE - 5));
          else if (g_rep == 5'd3) assert (g_counter == GW'({6'd0, g_holdoff}) - GW'((KE + 5) * S) && step == '1);
          else assert (g_counter == g_next - GW'((KE + 2) * S) && step == '1);
        end else begin
          if (g_rep == 5'd1) assert (remaining[SL+D-1:0] == '0 && step == g_holdoff[SL +: D]);
          else if (g_rep == 5'd2) assert (!negative && remaining == g_holdoff && step == D'(-6));
          else if (g_rep == 5'd3) assert (g_counter == GW'({6'd0, g_holdoff}) - GW'(5 * S + 1) && step == '1);
          else assert (g_counter == g_end - GW'(2 * S + 1) && step == '1);
        end
        if (g_outcome != 2'd3) assert (g_tc == GW'(0) - GW'(g_rep) && ev_off == g_t_off);
      end
      if (hold) begin
        assert (g_outcome != 2'd0);
        if (g_outcome != 2'd1) assert (negative);
        else assert (g_counter == g_end - GW'(2 * S + 1) && step == '1);
        if (g_outcome == 2'd1) assert (g_tc == GW'(-14) || (g_tc < GW'(-14) && g_end > GW'(S)));
      end
      if (g_outcome == 2'd1 && g_loads) assert (g_end <= GW'(S) && (g_tc == GW'(-15) || (g_tc < GW'(-15) && g_end > GW'(0))));
      if (g_outcome == 2'd1 && g_listens) assert (g_end <= GW'(0) && g_tc <= GW'(-16));
      if (g_outcome != 2'd0 && (g_loads || preset || ready || hold)) assert (g_rearm);
    end
  end
  generate
    if (S > 1) begin : gen_proof
      always_comb begin
        if (f_past && !rst) begin
          if (!no_hit) assert (gen_samples.adds == g_hit_off[SL-1:0]);
          if (g_loads) assert (gen_samples.adds == g_delay[SL-1:0]);
          else if (report && g_rep == 5'd1 && g_outcome != 2'd3) assert (gen_samples.adds == g_holdoff[SL-1:0]);
          else if (armed && !ready) assert (gen_samples.adds == (!report || (g_outcome != 2'd1 && !ongoing) ? SL'(0) : g_rep == 5'd2 ? (ongoing ? SL'(0) : SL'(S - 1))
              : g_rep == 5'd3 ? ev_off[SL-1:0] : SL'(0)));
          // of settings that stand for longer than this
          assert (f_stood || (!armed && !ready && !count && !in_flight && no_hit));
          assert (gen_samples.settle == (report && g_rep == 5'd2 && (g_outcome == 2'd1 || ongoing)));
        end
      end
    end
  endgenerate

`ifdef F_AGAIN
  // what comes after an answer is many cycles away, so the rest is kept simple: four words, then triggers
  logic [2:0] g_word = 3'd0;
  always_ff @(posedge clk) if (cfg_done) g_word <= g_word + 3'd1;
  always_comb begin
    assume (!byte_stb && !line_events.byte_end && !line_events.break_end && !chosen_edge.filtered && !chosen_edge.line_filtered && nde_lead == '1 && prof_valid == '1);
    assume (cfg_data[31:17] == 15'd0 && cfg_data[15:11] == 5'd0 && (cfg_addr == 3'd0 || !cfg_data[16]) && !lin_hit && !lin_data_set && cfg_data[7:5] == 3'd0 && ev_ack == ev_req);
    assume (cfg_addr == ((g_word == 3'd0) ? 3'd0 : (g_word == 3'd1) ? 3'd2 : (g_word == 3'd2) ? 3'd5 : 3'd6));
    assume (cfg_req == (!rst && g_word < 3'd4));
  end
  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      if (!$past(rst)) assume (!rst);
      cover (preset && g_outcome == 2'd1 && g_tc == GW'(-16));
      cover (preset && g_outcome == 2'd1 && g_tc == GW'(-18));
      cover (preset && g_outcome == 2'd2);
      cover (due && g_number == 16'd1 && g_burst == 16'd0);
      cover (due && g_number == 16'd1 && g_burst == 16'd1 && !g_young && $past(g_young) && g_holdoff == 32'(KE + 16));   // the shortest period
      cover (due && g_number == 16'd1 && g_burst == 16'd1 && g_outcome == 2'd2);                      // behind one that was busy
      cover (late && g_number == 16'd1 && g_burst == 16'd1);
    end
  end
`else
  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (due && grant && !g_young && $past(g_young) && g_lead == GW'(0));   // the shortest delay
      cover (due && grant && g_lead == GW'(3) && lead != '0);
      cover (due && conditioned && chosen_edge.delay == 7'd3);
      cover (due && g_trigger == litepulse_map_pkg::TRIGGER_BYTE && g_mask != 8'd0);
      cover (due && g_trigger == litepulse_map_pkg::TRIGGER_BREAK && g_ignore_own);
      cover (late && g_delay != 32'd0);
      cover (late && g_lead != GW'(0) && g_delay > 32'd8);
      cover (due && g_excused && g_in_time && g_lead > GW'(600) && lead == '0);   // the lead was raised too late
      cover (due && !g_in_time);
      cover (due && g_trigger == litepulse_map_pkg::TRIGGER_EDGE && chosen_edge.delay == 7'd9 && $past(chosen_edge.filtered && chosen_edge.delay == 7'd2, 3 + KE));
      cover (due && g_trigger == litepulse_map_pkg::TRIGGER_LIN);
      cover (overtaken);
      cover (disarm && count);
      cover (reported);
    end
  end
`endif
`endif
