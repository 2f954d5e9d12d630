// SPDX-License-Identifier: BSD-2-Clause
// Promises 3 and 5 as the receiver sees them: a frame begins at the first fall of the line that is looked for and has that sample's
// tick; bits are taken at the cycles floor((k + 1/2)*P) behind it, at its place in the cycle; the
// frame's end is reported at floor(N*P) ticks, and a break's at its first mark, for every period.
// Where the next half bit ends is kept as a number of cycles and a fraction that is never rounded.
// Included at the end of litepulse_line_rx.

  litepulse_line_rx_environment #(.S(S)) environment (.*);
`ifndef LITEPULSE_CHECK
  localparam int F_W = HW + 3;
  localparam int SL1 = (S == 1) ? 1 : SL;
  logic          f_past = 1'b0;
  logic [3:0]    f_bits;                // data bits
  logic [39:0]   f_half;                // cycles and fraction
  assign f_bits = 4'd5 + {2'd0, format.data_bits};
  assign f_half = {{(40-HW-FW){1'b0}}, half_cyc, half_frac};
  initial assume (rst);
  logic [1:0] f_inverts;         // `invert` of the last two cycles
  always_ff @(posedge clk) f_inverts <= rst ? 2'b00 : {f_inverts[0], invert};
  always_ff @(posedge clk) f_past <= 1'b1;
  // arithmetic: a frame is longer than its stop bits; the profile of a receiver that is off is of no account
  always_comb assume (!(tail_begin && tail) && half_cyc >= HW'(2) && format.stop != 2'd3 && format.parity <= litepulse_map_pkg::PARITY_SPACE);
  // a reset begins with the receiver off
  always_comb if (rst) assume (!enable);

  // Where frames begin: x1 is the line in the engine's cycle, mark is 1
  logic [S-1:0] f_falls, f_seek, f_behind;
  logic [2:0]   f_off, f_first;         // sample in which the frame began; of the first fall
  logic         f_found;
  logic [63:0]  f_start;                // its tick
  logic [6:0]   f_delay;                // line_delay of the cycle before
  always_comb begin
    f_first = 3'd0;
    for (int n = S - 1; n >= 0; n--) begin
      f_falls[n]  = !x1[n] && (n == 0 ? x2[S-1] : x1[n == 0 ? 0 : n - 1]);
      f_behind[n] = 3'(n) > f_off;
    end
    f_seek = run ? f_behind & {S{done}} : {S{ready}};
    for (int n = S - 1; n >= 0; n--) if (f_falls[n] && f_seek[n]) f_first = 3'(n);
    f_found = (f_falls & f_seek) != '0;
  end
  always_ff @(posedge clk) begin
    f_delay <= line_delay;
    if (f_found) begin
      f_off <= f_first;
      f_start <= ({now, {SL{1'b0}}} - ((64'(line_delay) + 64'd1) << SL)) + 64'(f_first);
    end
  end

  // A bit is what two of three samples are
  logic [2:0] f_three;
  assign f_three = {x2[f_off[SL1-1:0]], x1[f_off[SL1-1:0]], x[f_off[SL1-1:0]]};

  // Where breaks end
  logic         f_break, f_break_ends;  // waiting for it; it is in the engine's cycle ...
  logic [2:0]   f_mark;                 // ... at this sample
  logic [S-1:0] f_marks_now;
  logic         f_busy, f_own, f_break_own;     // our transmitter, in the cycle before; since the frame, or the break, began
  always_comb begin
    f_marks_now = f_break ? x1 : (stored && rec_flags[2]) ? x1 & f_behind : '0;
    f_mark = 3'd0;
    for (int n = S - 1; n >= 0; n--) if (f_marks_now[n]) f_mark = 3'(n);
    f_break_ends = f_marks_now != '0;
  end
  always_ff @(posedge clk) begin
    f_busy <= line_own;
    f_own <= line_own || (f_found ? f_busy : f_own);
    f_break_own <= line_own || (f_break ? f_break_own : f_own);
    f_break <= (f_break || (stored && rec_flags[2])) && !f_break_ends && enable && !rst;
  end

  // The grid of half bits behind the start edge
  logic [F_W-1:0] f_left;               // cycles until the next one: 0 in the cycle it lies in
  logic [FW-1:0]  f_frac;
  logic [4:0]     f_k;                  // its number; even ones are centres
  logic [3:0]     f_c;                  // centres before this cycle
  logic [39:0]    f_next;
  logic [8:0]     f_seen;               // bits taken as data and parity, the first one lowest
  logic           f_marks, f_noise, f_vote;
  assign f_next = {{(40-FW){1'b0}}, f_frac} + f_half;
  assign f_c    = f_k[4:1] + {3'd0, f_k[0]};
  always_ff @(posedge clk) begin
    if (found) begin
      f_left <= F_W'(half_cyc) - 1'b1;
      f_frac <= half_frac;
      f_k    <= 5'd0;
      f_seen <= 9'd0;
      f_marks <= 1'b0;
      f_noise <= 1'b0;
    end else if (f_left == '0) begin
      f_left <= F_W'(f_next[39:FW]) - 1'b1;
      f_frac <= f_next[FW-1:0];
      f_k    <= f_k + 5'd1;
      if (!f_k[0]) begin
        if (f_c != 4'd0 && f_c < 4'd10) f_seen[f_c - 4'd1] <= vote;
        f_marks <= f_marks || vote;
        f_noise <= f_noise || !unanimous;
      end
    end else begin
      f_left <= f_left - 1'b1;
    end
  end

  // The end of the frame
  logic           f_tail;
  logic [F_W-1:0] f_end;                // cycles until it
  logic [1:0]     f_gone;               // cycles since the centre of the first stop bit, 3 or more
  logic [39:0]    f_end_at, f_at2, f_at3;
  logic           f_c2, f_c3;           // carries behind the first and the second half bit
  assign f_at2    = {{(40-FW){1'b0}}, f_next[FW-1:0]} + f_half;
  assign f_at3    = {{(40-FW){1'b0}}, f_at2[FW-1:0]} + f_half;
  assign f_end_at = f_next + (format.stop == 2'd0 ? 40'd0 : f_half) + (format.stop == 2'd2 ? f_half : 40'd0);
  always_ff @(posedge clk) begin
    f_gone <= stored ? 2'd1 : (f_gone == 2'd3) ? 2'd3 : f_gone + 2'd1;
    if (stored) begin
      f_end <= F_W'(f_end_at[39:FW]) - 1'b1;
      f_c2 <= f_at2[39:FW] != 31'(half_cyc);
      f_c3 <= f_at3[39:FW] != 31'(half_cyc);
    end else begin
      f_end <= f_end - 1'b1;
    end
    f_tail <= (stored || (f_tail && f_end != '0)) && enable && !rst;
  end

  // How it is reported, and the end of a break: with more samples per cycle a cycle later
  logic [2:0] f_enabled;                // in the last cycles, the latest first
  logic       f_outputs_right;        // byte_end, brk_stb and what belongs to them are right
  logic       f_inside;                 // so is what byte_end is made of
  logic       f_shifted;                // the sample in which the frame began makes its end a cycle later
  always_ff @(posedge clk) f_enabled <= {f_enabled[1:0], enable && !rst};
  generate
    if (S == 1) begin : gen_f_end
      assign f_inside = 1'b1;
      assign f_shifted = 1'b0;
      assign f_outputs_right = byte_end == (f_tail && f_end == '0) && byte_end_off == 3'd0
          && brk_stb == f_break_ends && (!brk_stb || (brk_off == f_mark && brk_own == (f_break_own || line_own)));
    end else begin : gen_f_end
      logic [39:0]    f_ticks;          // from the first sample of the cycle, whole cycles and fraction
      logic           f_until_on, f_over, f_brk_stb, f_brk_own;
      logic [F_W-1:0] f_until;          // cycles until it is reported
      logic [2:0]     f_where, f_brk_off;
      logic [FW-1:0]  f_frac1, f_frac2, f_frac3;    // of the ends of the half bits behind the centre
      logic [FW-1:0]  f_last;           // of the frame's end
      logic [SL:0]    f_sample;         // where it is, from the cycle's first sample
      assign f_ticks = f_end_at + (40'(f_off) << 9);
      always_ff @(posedge clk) begin
        if (stored) begin
          f_until <= F_W'(f_ticks[39:FW]);
          f_where <= 3'(f_ticks[FW-1:9]);
          f_over  <= f_ticks[39:FW] != f_end_at[39:FW];
          f_frac1 <= f_next[FW-1:0];
          f_frac2 <= f_at2[FW-1:0];
          f_frac3 <= f_at3[FW-1:0];
        end else begin
          f_until <= f_until - 1'b1;
        end
        f_until_on <= (stored || (f_until_on && f_until != '0)) && enable && !rst;
        {f_brk_stb, f_brk_off, f_brk_own} <= {f_break_ends && !rst, f_mark, line_own || (f_break ? f_break_own : f_own)};
      end
      assign f_last    = (format.stop == 2'd0) ? f_frac1 : (format.stop == 2'd1) ? f_frac2 : f_frac3;
      assign f_sample  = {1'b0, f_last[FW-1:9]} + {1'b0, gen_end.from};
      assign f_shifted = f_over;
      always_comb begin
        f_outputs_right = 1'b1;
        if (f_enabled == 3'b111) f_outputs_right = byte_end == (f_until_on && f_until == '0) && (!byte_end || byte_end_off == f_where);
        if (f_enabled[1:0] == 2'b11 && brk_stb != f_brk_stb) f_outputs_right = 1'b0;
        if (f_enabled[1:0] == 2'b11 && brk_stb && {brk_off, brk_own} != {f_brk_off, f_brk_own}) f_outputs_right = 1'b0;
        f_inside = 1'b1;
        if (f_tail && enable) begin
          f_inside = f_until_on && f_until == f_end + F_W'(1) + F_W'(f_over)
              && f_sample == {f_over, f_where[SL-1:0]} && 32'(f_where) < S
              && (f_gone != 2'd1 || gen_end.last == f_frac2)
              && (f_gone != 2'd2 || format.stop == 2'd0 || gen_end.last == f_frac3)
              && (f_gone <= format.stop || {gen_end.over, gen_end.where_end} == f_sample);
        end
        if (!f_tail && f_enabled == 3'b111) begin
          f_inside = gen_end.late == (f_until_on && f_until == F_W'(1))
              && (!f_until_on || (f_until <= F_W'(1) && gen_end.where_end == f_where[SL-1:0]));
        end
      end
    end
  endgenerate

  // Records come at least 16 cycles apart, as litepulse_lin takes for granted; litepulse_receive needs 10
  logic [3:0] f_apart;                  // cycles until the next one may come
  always_ff @(posedge clk) f_apart <= rst ? 4'd0 : rec_valid ? 4'd15 : f_apart - 4'(f_apart != 4'd0);
  always_comb begin
    if (f_past && !rst && rec_valid) assert (f_apart == 4'd0);
    if (f_past && !rst) assert (!run || enable_was);
    if (f_past && !rst && run) assert (f_apart == 4'd0 || 7'(f_apart) + {1'b0, f_k, f_left == '0} <= 7'd15);
  end

  logic f_small, f_rested;              // the last cycle was without a frame, too
  always_ff @(posedge clk) f_rested <= !run && !rst;
  logic [F_W-1:0] f_rest;
  logic [F_W-1:0] f_to_go;      // in the half bits still to be counted behind this one; in all
  assign f_small = half_cyc < HW'(4);
  always_comb begin
    f_rest = '0;
    if (halves == 2'd2) f_rest = F_W'(half_cyc) + F_W'(half_cyc) + F_W'(f_c2) + F_W'(f_c3);
    if (halves == 2'd1) f_rest = F_W'(half_cyc) + F_W'(format.stop == 2'd1 ? f_c2 : f_c3);
    f_to_go = !down ? f_rest : F_W'(tail_left) + 1'b1 - F_W'(!not_two) - F_W'({!not_three, 1'b0}) + f_rest;
  end
  always_comb begin
    if (f_past && !rst) begin
      // what is promised
      if (enable) begin
        assert (point == (run && f_left == F_W'(1)));
        assert (centre == (run && f_left == '0 && !f_k[0]));
        assert (stored == (centre && f_c == f_bits + 4'd1 + 4'(format.parity != litepulse_map_pkg::PARITY_NONE)));
        assert (f_outputs_right);
        assert (done == (stored || (centre && f_c == 4'd0 && vote)));
      end
      assert (found == f_found);
      if (found) assert (found_off == f_first);
      assert (f_break == in_break && (!f_break || break_own == f_break_own) && line_own_was == f_busy);
      assert (f_inside);
      // inside: where the frame began
      if (run) begin
        assert (own == f_own && off == f_off && (f_start & 64'(S - 1)) == 64'(off));
        assert (start_cyc[15:0] == f_start[SL +: 16]);
        if (!found_was) assert (start_cyc[47-SL:16] == f_start[47:16+SL]);
      end
      if (found_was && run) assert (f_start == ({now, {SL{1'b0}}} - ((64'(f_delay) + 64'd2) << SL)) + 64'(f_off) && f_delay < 7'd64);
      if (run && f_enabled[0] && enable && f_left == '0 && !f_k[0]) begin
        assert (vote == (f_three == 3'b011 || f_three == 3'b101 || f_three == 3'b110 || f_three == 3'b111));
        assert (unanimous == (f_three == 3'b000 || f_three == 3'b111));
      end
      if (rec_valid && enable) begin
        assert (rec_tick == f_start[47:0]);
        assert (rec_data[7:0] == (f_seen[7:0] & (8'hff >> (4'd8 - f_bits))));
        assert (rec_data[8] == (format.parity != litepulse_map_pkg::PARITY_NONE && f_seen[f_bits]));
        assert (rec_flags[4] == (f_own || line_own) && byte_own == rec_flags[4]);
        assert (rec_flags[2:1] == {!f_marks && !vote, !vote});
        assert (rec_flags[5] == (f_noise || !unanimous) && !rec_flags[3] && !rec_flags[6]);
        case (format.parity)
          litepulse_map_pkg::PARITY_NONE: begin assert (!rec_flags[0]); end
          litepulse_map_pkg::PARITY_ODD: begin assert (rec_flags[0] == ((^rec_data) != 1'b1)); end
          litepulse_map_pkg::PARITY_EVEN: begin assert (rec_flags[0] == ((^rec_data) != 1'b0)); end
          litepulse_map_pkg::PARITY_MARK: begin assert (rec_flags[0] == !rec_data[8]); end
          default: begin assert (rec_flags[0] == rec_data[8]); end
        endcase
        assert (byte_ok == !(rec_flags[0] || rec_flags[1]));
      end
      // inside: the grid
      assert (x1 == (line1 ^ {S{f_inverts[0]}}) && x2 == (line2 ^ {S{f_inverts[1]}}));
      if (ready) assert (f_inverts[0] == f_inverts[1]);
      if (ready && enable) assert (f_inverts[0] == invert);
      if (f_inverts[0] != f_inverts[1]) assert (!enable_was);
      assert (run || state == SEARCH);
      if (ready && enable && !run) assert (!steps && (cnt == half_cyc || !f_rested));
      if (ready && enable) assert (tiny == f_small);
      if (run && enable_was && enable) begin
        assert (ready && centred == (f_k[0] != (f_left == '0)));
        assert (f_left <= F_W'(half_cyc));
        if (S > 1) assert (goes_on == (step && f_left != '0) && first_centre == (centre && state == START));
        if (f_left == '0) begin
          assert (defer == (f_next[39:FW] != 31'(half_cyc)) && step == defer && cnt == HW'(1));
          assert (frac == f_next[FW-1:0]);
        end else begin
          assert (frac == f_frac && !defer);
          if (!step) assert (f_left == F_W'(half_cyc) && cnt == (S > 1 ? half_cyc : HW'(0)));
          else assert (F_W'(cnt) == f_left + 1'b1 && f_left < F_W'(half_cyc));
          if (step) assert (low == ((cnt == half_cyc) ? f_small : cnt < HW'(3)));
        end
        // ... the frame
        assert (f_c <= f_bits + 4'd2);
        case (state)
          START: begin assert (f_c == 4'd0); end
          DATA: begin assert (f_c != 4'd0 && f_c <= f_bits && {1'b0, left} == f_bits - f_c); end
          PARITY: begin assert (format.parity != litepulse_map_pkg::PARITY_NONE && f_c == f_bits + 4'd1); end
          STOP: begin assert (f_c == f_bits + 4'd1 + 4'(format.parity != litepulse_map_pkg::PARITY_NONE)); end
          default: ;
        endcase
        assert (f_k <= 5'd22);
        assert (any_mark == f_marks && noise == f_noise);
        if (f_c <= 4'd1) assert (shift == 8'd0 && f_seen == 9'd0 && !parity_acc);
        if (state == DATA) assert (shift == 8'(f_seen[7:0] << (f_bits - (f_c - 4'd1))) && (f_seen >> (f_c - 4'd1)) == 9'd0);
        if (state == PARITY || state == STOP) assert (shift == (f_seen[7:0] & (8'hff >> (4'd8 - f_bits))));
        if (state == PARITY) assert ((f_seen >> f_bits) == 9'd0);
        if (state == STOP && format.parity != litepulse_map_pkg::PARITY_NONE) assert (parity_bit == f_seen[f_bits]);
        if (state == STOP) begin
          assert ((f_seen >> (f_bits + 4'(format.parity != litepulse_map_pkg::PARITY_NONE))) == 9'd0);
          case (format.parity)
            litepulse_map_pkg::PARITY_NONE: begin assert (!perr && !parity_bit); end
            litepulse_map_pkg::PARITY_ODD: begin assert (perr == !(^f_seen)); end
            litepulse_map_pkg::PARITY_EVEN: begin assert (perr == (^f_seen)); end
            litepulse_map_pkg::PARITY_MARK: begin assert (perr == !parity_bit); end
            default: begin assert (perr == parity_bit); end
          endcase
        end else assert (!perr && !parity_bit);
        if (state == DATA || state == PARITY) assert (parity_acc == (^f_seen));
      end
      if (centre || stored) assert (run);
      if (run && enable_was && enable) assert (centre == (f_left == '0 && !f_k[0]));
      if (stored && enable) assert (tail && enable_was && state == STOP);
      if (run && enable_was && enable) assert (stored == (centre && state == STOP));
      // ... the end
      assert (tail == (f_tail || (stored && tail)));
      if (enable_was && enable) assert (tail || !down);
      if (f_tail && enable_was && enable) begin
        assert (f_end == f_to_go);
        assert (f_gone != 2'd0 && halves <= format.stop);
        assert (!down || tail_left <= half_cyc);
        assert (adds == (f_gone == 2'd1 ? format.stop : (f_gone == 2'd2 && format.stop == 2'd2) ? 2'd1 : 2'd0));
        assert (not_two || not_three);
        if (f_gone == 2'd1) begin
          assert (halves == format.stop && down && not_two && not_three && carried == f_c2);
          assert (carry == f_c3 || format.stop != 2'd2);
        end
        if (f_gone == 2'd2) assert (halves == format.stop && not_two && not_three);
        if (f_gone == 2'd2 && format.stop == 2'd2) assert (carried == f_c3);
        if (f_gone >= 2'd2 && format.stop == 2'd1) assert (carries[0] == f_c2);
        if (f_gone >= 2'd2 && format.stop == 2'd2) assert (carries[1] == f_c2);
        if (f_gone == 2'd3 && format.stop == 2'd2) assert (carries[0] == f_c3);
        if (!not_two || !not_three) assert (f_gone == 2'd3 && down && tail_left == half_cyc && halves != format.stop);
      end
      if (stored && enable_was && enable) assert (down && tail_left == half_cyc && not_three && not_two == (f_next[39:FW] != 31'(half_cyc)));
    end
  end
  always_ff @(posedge clk) begin
    if (f_past && !rst) begin
      cover (rec_valid && rec_flags == 7'd0 && rec_data[7:0] == 8'h15);
      cover (byte_end && format.stop == 2'd2 && run);
      cover (rec_valid && rec_flags[2]);
      cover (brk_stb);
      // with more samples per cycle: the next frame begins, the break ends in the same cycle; the
      // frame's end is reported a cycle later
      if (S > 1) cover (stored && found && enable);
      if (S > 1) cover (stored && rec_flags[2] && f_break_ends);
      if (S > 1) cover (byte_end && f_shifted);
    end
  end
`endif
