// SPDX-License-Identifier: BSD-2-Clause
// Properties of litepulse_irq, included at its end: each output rises when it must and not otherwise. Time is counted in cycles since
// the timer's span began, without prescaler or units: a span of n units of U cycles ends after more than (n - 1) U cycles and within
// n U + 3, whatever the prescaler does when it begins.
  localparam int CW = TW + SCALE + 2;  // counts the longest span, and some more
  logic f_past = 1'b0;
  logic f_timed_was;  // new settings only with irq_timed
  logic [TW*TIMERS-1:0] f_setting_was;
  logic [UW-1:0] f_unit_was;
  initial assume (rst);
  always_ff @(posedge clk) begin
    f_past        <= 1'b1;
    f_setting_was <= setting;
    f_unit_was    <= irq_unit;
  end
  always_comb begin
    if (f_past && !irq_timed) assume (setting == f_setting_was && irq_unit == f_unit_was);
    assume ((EV_AW + 1)'(~ev_nready) <= {1'b1, {EV_AW{1'b0}}} && (RX_AW + 1)'(~rx_nready) <= {1'b1, {RX_AW{1'b0}}});
    assume (tx_free <= {1'b1, {TX_AW{1'b0}}});
  end

  // Cycles since a span began: as the user sees it, from the cycle after a record was there (age), after one came (idle), or after the
  // settings were written. f_age: how long it has been.
  wire [4:0] f_log = 5'(BASE) + 5'(STEP) * 5'(irq_unit);
  wire [CW-1:0] f_unit = {{(CW - 1) {1'b0}}, 1'b1} << f_log;
  wire [CW-1:0] f_phase = CW'(scale) & (f_unit - 1'b1);
  // An age begins with the first record; what is idle begins again with each.
  wire f_no_ev = !ev_some || irq_timed, f_no_rx = !rx_some || irq_timed;
  always_comb assert (restart == {f_no_rx || rx_arrived, f_no_rx, f_no_ev || ev_arrived, f_no_ev});
  logic [CW-1:0] f_age[TIMERS], f_began[TIMERS];  // f_began: phase of the prescaler then, 1 to U
  for (genvar k = 0; k < TIMERS; k++) begin : g_span
    wire [TW-1:0] f_n = setting[TW*k+:TW];
    wire [CW-1:0] f_span = CW'(f_n) << f_log;
    always_ff @(posedge clk) begin
      if (restart[k] || rst) f_age[k] <= '0;
      else if (f_age[k] != '1) f_age[k] <= f_age[k] + 1'b1;
      if (restart[k] || rst) f_began[k] <= f_phase + 1'b1;
    end
    wire [TW-1:0] f_ticks = f_n - g_timer[k].left;
    wire [CW-1:0] f_sum = f_began[k] + f_age[k] - 1'b1;
    always_comb if (f_past && f_ready && !restart[k] && !rst) begin
      // promised
      if (ended[k]) assert (f_n != '0 && f_age[k] > f_span - f_unit);
      if (f_n != '0 && f_age[k] > f_span) assert (ended[k]);
      // what makes it so: the units that have passed since, by the prescaler's phase at the beginning
      assert (g_timer[k].left <= f_n && f_began[k] >= 1 && f_began[k] <= f_unit);
      if (g_timer[k].left != '0) assert (f_age[k] <= f_span && f_ticks == TW'(f_sum >> f_log) && (f_sum >> f_log) < CW'(f_n));
      if (f_age[k] == '0) assert (g_timer[k].left == f_n && !g_timer[k].counting && !ended[k]);
      if (f_age[k] != '1) assert (((f_began[k] + f_age[k]) & (f_unit - 1'b1)) == f_phase);
      if (f_age[k] > CW'(1)) assert (g_timer[k].counting || g_timer[k].left == '0);
      if (g_timer[k].counting) assert (f_n != '0);
      if (g_timer[k].left == '0 && !g_timer[k].counting && f_n != '0) assert (ended[k]);
      if (g_timer[k].left == '0 && f_n != '0) assert (f_age[k] > f_span - f_unit);
      if (ended[k]) assert (g_timer[k].left == '0);
    end
  end
  logic f_ready = 1'b0;  // there has been a reset
  always_ff @(posedge clk) f_ready <= f_ready || rst;

  // Outputs: one cycle behind what asks for them, and nothing else does.
  logic f_ev_due, f_rx_due;
  assign f_ev_due = (irq_ev_level != '0 && (EV_AW + 1)'(~ev_nready) >= irq_ev_level) || (ev_some && (ended[0] || ended[1]));
  assign f_rx_due = (irq_rx_level != '0 && (RX_AW + 1)'(~rx_nready) >= irq_rx_level) || (rx_some && (ended[2] || ended[3]));
  always_ff @(posedge clk) begin
    if (f_past && !$past(rst)) begin
      assert (irq_ev == $past(f_ev_due) && irq_rx == $past(f_rx_due));
      assert (ev_some == $past((EV_AW + 1)'(~ev_nready) != '0) && rx_some == $past((RX_AW + 1)'(~rx_nready) != '0));
      assert (irq_tx == $past({1'b1, {TX_AW{1'b0}}} - tx_free <= irq_tx_low));
      assert (irq_lq == $past(irq_lq_space != '0 && (LQ_AW + 1)'(~lq_nfree) >= irq_lq_space));
      assert (irq_drained == $past(tx_idle) && irq_fault == $past(fault));
    end else if (f_past) assert (!irq_ev && !irq_rx && !irq_tx && !irq_lq && !irq_drained && !irq_fault);
    if (f_past && f_ready && !$past(irq_timed) && !irq_timed && !$past(rst)) assert (top_was == f_top);
    cover (f_past && f_ready && irq_ev && ended[0] && !ended[1] && irq_ev_age == 2 && f_age[0] < 3 * f_unit && !rst);
    cover (f_past && f_ready && irq_rx && ended[3] && !ended[2] && irq_rx_age != '0 && !rst);
    cover (f_past && f_ready && irq_ev && irq_ev_level == '0 && irq_unit != '0 && !rst);
    cover (f_past && f_ready && irq_tx && irq_lq && irq_drained && irq_fault && !rst);
  end
  wire [SCALE-1:0] f_scale_was = scale - 1'b1;
  wire f_top = f_scale_was[f_log-1];
