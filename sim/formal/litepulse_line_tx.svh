// SPDX-License-Identifier: BSD-2-Clause
// Promise 3: every sample that litepulse_line_tx sends, compared with a launch that is followed in ticks from its start. The ends
// of the bit intervals are added up in 1/512 tick and never rounded. Included at the end of the module.

  logic        f_free;          // free_next, free_off of the last cycle
  logic [2:0]  f_free_off;
  logic        f_late = 1'b0;   // late_next of the last cycle
  always_ff @(posedge clk) f_late <= late_next && !rst;
  litepulse_line_tx_environment #(.S(S)) environment (.free_was(f_free), .free_off_was(f_free_off), .*);
`ifndef LITEPULSE_CHECK
  logic        f_past = 1'b0;
  initial assume (rst);
  always_ff @(posedge clk) f_past <= 1'b1;

  logic [31:0] width;
  assign width = interval[31:0];
  logic f_prepared = 1'b0, f_stepped = 1'b0;
  always_ff @(posedge clk) begin
    f_prepared <= prepare;
    f_stepped  <= step;
  end
  // cleared long before it is added to
  always_comb if (f_past && (!active || holding || (last && !f_stepped))) assert (frac[8:0] == 9'd0);
  // The launch on the line -----------------------------------------------------------------------------------------------
  logic [35:0] g_period;        // its profile
  logic [1:0]  g_data_bits, g_stop;
  logic [2:0]  g_par;
  logic        g_inv;
  logic [31:0] g_width;
  logic        g_on, g_pulse, g_break, g_hold;
  logic [7:0]  g_data;
  logic [39:0] g_age;           // ticks from its start to sample 0 of this cycle
  logic [8:0]  g_k;             // interval at sample 0 (before a boundary that lies there)
  logic [47:0] g_end;           // end of that interval, 1/512 tick after the start
  logic [47:0] g_half;          // end of the half bit that runs
  logic        g_mid;           // its second half
  logic        g_half_here;     // its end lies in this cycle
  logic [39:0] g_half_bound;
  logic [2:0]  g_off;           // sample in which it began
  logic [3:0]  g_nd;            // data bits
  logic        g_np;            // parity bits
  logic [8:0]  g_mark;          // first interval of the stop bits
  logic [8:0]  g_intervals;
  logic        g_parity;
  logic        g_final;
  logic [39:0] g_bound;         // ticks from sample 0 to the interval's end
  logic        g_here;          // which lies in this cycle

  always_comb begin
    g_nd = 4'd5 + 4'(g_data_bits);
    g_np = g_par != litepulse_map_pkg::PARITY_NONE;
    g_mark = g_break ? 9'(g_data) : 9'd1 + 9'(g_nd) + 9'(g_np);
    g_intervals = g_mark + (g_stop == litepulse_map_pkg::STOP_1 ? 9'd1 : 9'd2);
    // odd parity: the number of ones with the parity bit is odd
    g_parity = g_par == litepulse_map_pkg::PARITY_ODD || g_par == litepulse_map_pkg::PARITY_MARK;
    if (g_par == litepulse_map_pkg::PARITY_ODD || g_par == litepulse_map_pkg::PARITY_EVEN)
      for (int i = 0; i < 8; i++) if (4'(i) < g_nd && g_data[i]) g_parity = !g_parity;
    g_final = g_pulse || g_k + 9'd1 == g_intervals;
    g_bound = (g_pulse ? 40'(g_width) : 40'(g_end >> 9)) - g_age;
    g_here  = g_bound < 40'(S);
    g_half_bound = (g_pulse ? 40'(g_width) : 40'(g_half >> 9)) - g_age;
    g_half_here  = g_half_bound < 40'(S);
  end

  // level of interval k: 1 is mark
  function automatic logic f_mark(input logic [8:0] k);
    if (g_pulse) f_mark = 1'b0;
    else if (k >= g_mark) f_mark = 1'b1;
    else if (g_break || k == 9'd0) f_mark = 1'b0;
    else if (k <= 9'(g_nd)) f_mark = g_data[3'(k - 9'd1)];
    else f_mark = g_parity;
  endfunction

  logic [S-1:0] g_busy, g_tx, g_old;  // g_old: busy by what began in an earlier cycle
  always_comb begin
    for (int s = 0; s < S; s++) begin
      g_busy[s] = 1'b0;
      g_tx[s]   = rest_level;
      if (g_on && !(g_final && 40'(s) >= g_bound)) begin
        g_busy[s] = 1'b1;
        g_tx[s]   = f_mark(40'(s) >= g_bound ? g_k + 9'd1 : g_k) ^ g_inv;
      end
      if (g_hold) begin
        g_busy[s] = 1'b1;
        g_tx[s]   = hold ? space_level : rest_level;
      end
      g_old[s] = g_busy[s];
      if (sub_mask[s]) begin
        g_busy[s] = 1'b1;
        g_tx[s]   = sub_level[s];
      end
      if (start && 3'(s) >= launch.off) begin
        g_busy[s] = 1'b1;
        g_tx[s]   = launch.invert;
      end
      if (hold_start) begin
        g_busy[s] = 1'b1;
        g_tx[s]   = space_level;
      end
    end
  end
  logic [S-1:0] g_tx_last;

  always_ff @(posedge clk) begin
    g_age   <= g_age + 40'(S);
    if (g_on && g_half_here && !g_here) begin
      g_half <= g_half + 48'(g_period);
      g_mid  <= 1'b1;
    end
    if (g_on && g_here) begin
      if (g_final) begin
        g_on <= 1'b0;
      end else begin
        g_k     <= g_k + 9'd1;
        g_half  <= g_half + 48'(g_period);
        g_mid   <= 1'b0;
        g_end   <= g_end + ((g_stop == litepulse_map_pkg::STOP_1_5 && g_k + 9'd2 == g_intervals) ? 48'(g_period)
            : {11'd0, g_period, 1'b0});
      end
    end
    if (g_hold && !hold) g_hold <= 1'b0;
    if (hold_start) g_hold <= 1'b1;
    if (start) begin
      g_on    <= 1'b1;
      g_pulse <= launch.kind == litepulse_map_pkg::LAUNCH_PULSE;
      g_break <= launch.kind == litepulse_map_pkg::LAUNCH_BREAK;
      g_data  <= launch.data;
      g_width <= width;
      g_age   <= 40'(S) - 40'(launch.off);
      g_k     <= 9'd0;
      g_end   <= {11'd0, interval, 1'b0};
      g_half  <= {12'd0, interval};
      g_mid   <= 1'b0;
      {g_period, g_data_bits, g_par, g_stop, g_inv} <= {interval, format.data_bits, format.parity, format.stop, launch.invert};
      g_off   <= launch.off;
    end
    if (rst) begin
      g_on   <= 1'b0;
      g_hold <= 1'b0;
    end
    g_tx_last <= rst ? '1 : g_tx;
  end

  always_comb begin
    if (f_past) begin
      assert (tx == g_tx_last);
      assert (busy == g_busy);
      // what arbiter.sby takes for granted
      if (S > 1) assert (free_next == (start ? launch.ends1 : free_rest));
      if (S > 1 && hold_start) assert (!free_rest);
      if (S > 1 && start && launch.ends1) assert (free_off == launch.ends_off);
      if (S > 1 && !start && !hold_start) for (int s = 0; s < S; s++) assert (free_from[s] == (free_next && free_off <= 3'(s)));
      if (settled && !hold_start) assert (!free_next);
      if (hold_start) assert (!settled);
      // free_next, free_off tell exactly what the launches of earlier cycles leave of this one
      for (int s = 0; s < S; s++) begin
        if (f_free) assert (g_old[s] == (3'(s) < f_free_off));
        else assert (g_old[s]);
      end

      // invariants
      if (settled) assert (active && !holding && !near && !bnd);
      assert (!(g_on && g_hold));
      assert (active == (g_on || g_hold));
      assert (holding == g_hold);
      assert (step == (active && !holding && bnd && !last));
      for (int s = 0; s < S; s++) assert (on[s] == (holding || (active && !(bnd && last && bnd_off <= 3'(s)))));
      if (f_free) assert (f_free_off <= 3'(S - 1));
      if (g_on) begin
        assert (bnd == g_half_here);
        if (f_free) assert (last);
        if (f_late) assert (last && near);
        if (bnd) assert (40'(bnd_off) == g_half_bound);
        assert (pulse == g_pulse && g_off <= 3'(S - 1));
        assert (tx[S-1] == (f_mark(g_k) ^ g_inv));
        if (!start && !f_prepared) begin  // else the launch memory shows the next launch, and `frac` was cleared
          assert (near == (g_half_bound >= 40'(S) && g_half_bound < 40'(2 * S)));
          assert ((g_age + 40'(g_off)) % 40'(S) == 40'd0);
          if (g_half_bound < 40'(3 * S)) assert (zero_upper);
          if (zero_upper) assert (g_half_bound < 40'(16 * S));
          // counting two cycles ahead; the upper half borrows late
          assert (40'(g_pulse ? g_cnt : g_cnt >> 9) + 40'(stretch) == (g_half_bound >> SL) + 40'd1 || (g_half_bound < 40'(S)));
          assert (counting == !(bnd || stretch) && (carry || (cnt[17:9] == '1 && (!g_pulse || cnt[8:0] == '1))));
          assert ({g_par, g_stop, g_inv} == {format.parity, format.stop, inverted} && g_data_bits == format.data_bits && format.stop != 2'd3);
          assert (format.parity <= litepulse_map_pkg::PARITY_SPACE);
          if (!g_pulse) begin
            assert (g_period >= 36'(4 * S * 256) && interval == g_period && few == (g_period < 36'(8 * S * 256)));
            assert (few_halves == (g_period >> FW < 36'd3));
            assert (g_end < ((48'(g_k) + 48'd1) << 37) && g_age <= 40'(g_half >> 9));
            assert (g_k < g_intervals && g_half_bound <= 40'(g_period >> 9) + 40'd1);
            assert (last == (halves == 2'd0) && last == (g_final && g_half == g_end));
            // a half bit is the first or the second of its bit; the last one may be all there is
            if (g_final && g_stop == litepulse_map_pkg::STOP_1_5) assert (g_half == g_end && !g_mid);
            else assert (g_half == (g_mid ? g_end : g_end - 48'(g_period)));
            assert (mid == g_mid && g_half >= 48'(g_period) && g_half <= g_end);
            // in 1/512 tick from sample 0 of the cycle in which the launch began
            assert (FW'(g_half + 48'({g_off, 9'd0})) >> 9 == frac >> 9);
            if (!last || f_stepped) assert (9'(g_half) == frac[8:0]);
            assert (ending == (g_k >= g_mark));
            assert (halves == (g_stop == litepulse_map_pkg::STOP_1 ? 2'd1 : g_stop == litepulse_map_pkg::STOP_1_5 ? 2'd2 : 2'd3)
                - (ending ? {g_k != g_mark, g_mid} : 2'd0));
            assert (no_parity == (g_break || !g_np || g_k >= g_mark - 9'd1));
            // left, none_left follow a bit's beginning; half a bit is long enough
            assert (g_bit != 2'd0 && (g_mid ? g_bit == 2'd3 : 40'(g_bit) + (g_half_bound >> SL) >= 40'd2));
            assert (wide == g_break && run);
            if (g_bit == 2'd1) assert ((left[3:0] - 4'(drop)) == g_left[3:0] && (!g_break || left - 8'(drop) == g_left));
            else assert (!drop && left[3:0] == g_left[3:0] && (!g_break || left == g_left));
            if (g_bit == 2'd3) assert (none_left == (g_left == 8'd1));
            if (g_break) begin
              assert (shift == 8'd0 && g_data != 8'd0);
            end else begin
              if (g_k <= 9'(g_nd)) begin
                assert (acc == g_acc);
                for (int i = 0; i < 8; i++) if (9'(i) + g_k < 9'(g_nd)) assert (shift[i] == g_data[3'(i + g_k)]);
              end
            end
          end else begin
            assert (g_age <= 40'(g_width) && width == g_width && last);
            if (S > 1) assert (frac[FW-1:0] >> 9 == FW'(g_width + 32'(g_off)) % FW'(S));
          end
        end
      end
    end
  end
  logic [W-1:0] g_cnt;          // the counter with its borrow
  assign g_cnt = cnt - ((W)'(!carry) << 18);
  logic [7:0] g_left;           // bits of a break with this one; data bits and 1 with the start bit
  logic [1:0] g_bit;            // cycles since its first, up to 3
  always_comb begin
    if (g_break) g_left = g_k + 9'd1 >= g_mark ? 8'd1 : 8'(g_mark - g_k);
    else g_left = g_k >= 9'(g_nd) ? 8'd1 : 8'(9'(g_nd) + 9'd1 - g_k);
  end
  always_ff @(posedge clk) begin
    if (start || (g_on && g_here && !g_final)) g_bit <= 2'd1;
    else if (g_bit != 2'd3) g_bit <= g_bit + 2'd1;
  end
  logic g_acc;                  // parity of the data bits before the one that follows
  always_comb begin
    g_acc = g_par[0];
    if (g_par == litepulse_map_pkg::PARITY_ODD || g_par == litepulse_map_pkg::PARITY_EVEN)
      for (int i = 0; i < 8; i++) if (9'(i) < g_k && 4'(i) < g_nd && g_data[i]) g_acc = !g_acc;
  end

`ifdef COVER
  // a launch of a given shape, else the search takes minutes
  always_comb begin
    assume (launch.kind == litepulse_map_pkg::LAUNCH_PULSE || interval == 36'(4 * S * 256 + 128));
    assume (format.parity == litepulse_map_pkg::PARITY_ODD && format.data_bits == 2'd0);
    if (start && launch.kind == litepulse_map_pkg::LAUNCH_PULSE) assume (width == 32'(5 * S));
    assume (launch.data == (launch.kind == litepulse_map_pkg::LAUNCH_BREAK ? 8'd2 : 8'h15));
  end
  always_ff @(posedge clk) begin
    cover (f_past && g_on && g_final && g_here && g_break && format.stop == litepulse_map_pkg::STOP_2);
    cover (f_past && g_on && g_final && g_here && !g_break && !g_pulse && format.stop == litepulse_map_pkg::STOP_1_5 && start);
    cover (f_past && g_on && g_final && g_here && g_pulse && g_age > 2 * S && start);  // T = end of the last
    cover (f_past && g_hold && hold && $past(g_hold));
    cover (f_past && g_hold && hold && !space_level && $past(hold && space_level) && tx[0]);
    if (S > 1) cover (f_past && sub_mask != '0 && start);
  end
`endif
`endif
