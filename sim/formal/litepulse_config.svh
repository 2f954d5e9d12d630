// SPDX-License-Identifier: BSD-2-Clause
// Settings change only by an answered word, and only those it names; a refused word changes nothing. Included at the end of the
// module.

  logic f_past = 1'b0;
  initial assume (rst);
  logic [135:0] f_all;           // every simple setting
  logic [43:0]  f_profile;       // profile g_which as it lies in the memory
  (* anyconst *) logic [1:0] g_which;
  assign f_all = {prof_valid, prof_invert, loopback, hold_tty, break_hold, rx_enable, de_lead, de_lag, rise_en, fall_en,
      filt_en, filt_len,
      event_mask, prof0_stop, prof0_parity, prof0_data_bits, 32'd0};
  assign f_profile = profiles[g_which];
  // a word of a profile never gets as far as an event unless it is refused
  always_comb if (f_past) assert (state == IDLE || cfg_req);
  always_comb if (f_past && cfg_req && is_profile && state != IDLE) assert (state == LAST
      && ev_kind == litepulse_map_pkg::KIND_REFUSED);
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    if (f_past) begin
      // the crossing holds a word still until it is answered, and rests a cycle between two
      if ($past(cfg_req) && !$past(cfg_done) && !$past(rst)) assume (cfg_req && cfg_addr == $past(cfg_addr)
          && cfg_data == $past(cfg_data));
      if ($past(cfg_done)) assume (!cfg_req);
      if (!$past(rst)) begin
        if (f_all != $past(f_all) || prof0_period != $past(prof0_period)) assert (cfg_done && !cfg_err && $past(cfg_req));
        if (f_profile != $past(f_profile)) assert (cfg_done && !cfg_err && $past(cfg_addr) == {3'd0, g_which, 1'b1});
        if (prof_valid[g_which] != $past(prof_valid[g_which])) assert (prof_valid[g_which]
            && $past(cfg_addr) == {3'd0, g_which, 1'b1});
        if ({de_lead, de_lag} != $past({de_lead, de_lag})) assert ($past(cfg_addr) == litepulse_map_pkg::CFG_DRIVER_ENABLE);
        if ({loopback, hold_tty, break_hold, rx_enable} != $past({loopback, hold_tty, break_hold, rx_enable}))
          assert ($past(cfg_addr) == litepulse_map_pkg::CFG_LINE);
        if (prof0_period != $past(prof0_period)) assert (prof0_changed
            && $past(cfg_addr) == litepulse_map_pkg::CFG_PROFILE0_FORMAT);
        // a profile whose bits would be too short is not valid
        if (cfg_done && $past(cfg_addr) < litepulse_map_pkg::CFG_LINE && $past(cfg_addr[0])
            && $past(period) < 36'(4 * S * 256)) assert (cfg_err);
        // refused is told of
        if (cfg_done && cfg_err && !$past(is_train)) assert ($past(ev_req) && $past(ev_kind) == litepulse_map_pkg::KIND_REFUSED);
      end else begin
        assert (prof_valid == 4'd0 && !break_hold && !loopback && !rx_enable && !cfg_done && !ev_req && de_lead == 16'd0
            && de_lag == 16'd0);
      end
      cover (cfg_done && cfg_err && prof_valid == 4'd2);
      cover (cfg_done && !cfg_err && de_lead == 16'd5);
      cover (f_profile != $past(f_profile) && prof_valid == 4'd3);
    end
  end
