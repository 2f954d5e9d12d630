// SPDX-License-Identifier: BSD-2-Clause
// Promise 2 at the source of best-effort bytes. Included at the end of the module.

  logic f_past = 1'b0;
  initial assume (rst);

  logic [5:0]  g_halves, g_rest; // half bit periods in a frame of profile 0; of those not in g_frame yet
  logic [41:0] g_frame;        // 1/512 tick, with one cycle more
  logic        g_told;         // prof0_changed since reset
  logic [31:0] g_asked, g_asked2;  // the slack that the sources compared with to say sources_ok, sources_were_ok
  logic        g_free;         // nothing keeps a byte from starting
  logic [3:0]  g_waited;
  logic [35:0] g_late;         // the period, of which the upper half is still to be added
  always_ff @(posedge clk) g_late <= period;
  always_comb begin
    g_halves = 6'd2 * (6'd6 + 6'(data_bits) + 6'(parity));   // start bit, data, parity
    g_halves = g_halves + (stop == litepulse_map_pkg::STOP_1 ? 6'd2 : stop == litepulse_map_pkg::STOP_1_5 ? 6'd3 : 6'd4);
    g_free   = txb_valid && !hold && !flush && !flushing && known && prof0_valid && !prof0_changed && sources_ok
        && lead_rest == 16'd0 && nde_lead == '1
        && state != WAIT && state != LEAD && !grant && !started && !rst;
    assume (stop != 2'd3);
    if (!due || started) assume (!grant);
    assume (started == f_granted);
    if (prof0_valid) assume (g_told || prof0_changed);
  end
  always_ff @(posedge clk) begin
    f_past   <= 1'b1;
    if (prof0_changed) begin
      g_frame <= 42'(S) << 9;
      g_rest  <= g_halves;
    end else if (g_rest != 6'd0) begin
      g_frame <= g_frame + 42'(period);
      g_rest  <= g_rest - 6'd1;
    end
    g_told   <= (g_told || prof0_changed) && !rst;
    g_asked  <= ~nslack;
    g_asked2 <= g_asked;
    g_waited <= !g_free ? 4'd0 : g_waited == '1 ? g_waited : g_waited + 4'd1;
    if (f_past && !prof0_changed) assume ({period, data_bits, parity, stop} == $past({period, data_bits, parity, stop}));
    if (f_past && $past(rst)) assume (!prof0_changed && !prof0_valid);
  end
  always_comb begin
    if (f_past) begin
      // a granted byte starts KE + 1 cycles of the tick count on. The sources compared with a slack of two cycles ago what was left
      // three cycles ago beyond KE + 3 cycles (slot.sby), so the frame ends in time if that slack was the frame and a cycle
      if (due && grant) assert (g_rest == 6'd0 && !prof0_changed && {10'd0, g_asked2} >= (g_frame >> 9));
      assert (asks || !due);
      if (due) assert (sources_were_ok && f_could);
      // it must start: 7 cycles after the last obstacle it asks for the line
      if (g_waited >= 4'd7 && g_free) assert (due);
      // and takes no more than that slack
      if (state != IDLE && f_far && g_told) assert ({10'd0, ~nslack} == (g_frame >> 9));

      // invariants
      if (g_told) assert (sum + (adding_was ? {g_late[35:20], 20'd0} + {20'd0, carry, 20'd0} : 41'd0) == g_frame[40:0]
          && {1'b0, halves} == g_rest && {4'd0, g_frame[41:36]} + {4'd0, g_rest} <= 10'd24);
      if (known) assert (halves == 5'd0 && !adding_was);
      assert (state <= FLUSH && (state != FLUSH || flushing));
      if (known && g_told && f_steady) assert ({10'd0, g_asked} >= (g_frame >> 9));
      if (known && g_told && f_since == 2'd3 && !prof0_changed) assert ({10'd0, g_asked2} >= (g_frame >> 9));
    end
  end
  // the threshold that holds now was computed from this profile
  logic f_steady, f_far;
  (* anyseq *) logic grant;  // the arbiter's; what it starts is told a cycle later
  logic f_granted = 1'b0, f_could = 1'b0;   // a cycle ago nothing forbade a byte
  always_ff @(posedge clk) f_could <= !hold && prof0_valid && known && !rst;
  always_ff @(posedge clk) f_granted <= grant && !rst;
  logic [1:0] f_since;       // cycles with `known`
  always_ff @(posedge clk) f_since <= (!known || prof0_changed || rst) ? 2'd0 : f_since == 2'd3 ? 2'd3 : f_since + 2'd1;
  always_comb begin
    f_steady = f_since >= 2'd2 && !prof0_changed;
    f_far    = f_since >= 2'd2 && !prof0_changed && f_state1 != IDLE && f_state2 != IDLE;
    if (f_past) begin
      if (known && f_since == 2'd0) assert (pause[0] || state != IDLE);
    end
  end
  state_t f_state1, f_state2;
  always_ff @(posedge clk) {f_state2, f_state1} <= {f_state1, state};

  always_ff @(posedge clk) begin
    cover (f_past && grant && stop == litepulse_map_pkg::STOP_1_5 && period[0]);
    cover (f_past && grant && nde_lead == 16'hfffb);
    cover (f_past && $past(due) && !due && !hold);
  end
