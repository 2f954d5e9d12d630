// SPDX-License-Identifier: BSD-2-Clause
// Settings change only by an answered word, and only those it names; a refused word changes nothing. Included at the end of the
// module.

  litepulse_config_environment #(.S(S)) environment (.*);
`ifndef LITEPULSE_CHECK
  litepulse_capture_environment #(.ASSUMED(1'b0)) filter_words (.settings(capture), .*);
  logic f_past = 1'b0;
  initial assume (rst);
  logic [42:0]  f_profile0;      // the copy of profile 0
  logic [115:0] f_rest;          // every other setting than a held break
  logic [4:0]   f_line;          // of the line word, but a held break
  logic         f_ends;          // the watchdog's command ends it in this cycle
  assign f_ends = state == SET && cfg_addr == litepulse_map_pkg::CFG_COMMAND && cfg_stop;
  logic         f_wrote, f_written;  // the launch memory was written in the last cycle, the one before that ...
  logic         f_write_profile; // ... a profile
  logic         f_seen;          // the responder accepted the word
  (* anyconst *) logic [1:0] g_which;
  assign f_rest = {prof_valid, loopback, xoff, rest_wanted, rest_wanted_level, rx_enable, nde_lead, de_lag, rise_en, fall_en,
      filt_en, filt_len, echo_tail, event_mask};
  assign f_line = {loopback, xoff, rest_wanted, rest_wanted_level, rx_enable};
  assign f_profile0 = {prof0_format, prof0_period};
  // litepulse_launch_memory
  logic f_long, f_long2;
  always_ff @(posedge clk) f_long <= mem_long;
  always_ff @(posedge clk) f_long2 <= f_long;
  // what is known of the address is that of the last cycle
  logic [5:0] f_addr;
  always_ff @(posedge clk) f_addr <= cfg_addr;
  // so is what is known of a lead and of a tail
  logic [31:0] f_data, f_cycles;        // whole cycles of the tail, of the word as it is now
  logic [15:0] f_lead;
  assign f_cycles = ({16'd0, cfg_data[15:0]} + 32'(S - 1)) / 32'(S);
  always_ff @(posedge clk) {f_data, f_lead} <= {cfg_data, ~nde_lead};
  always_comb if (f_past) assert (lead_differs == (f_data[15:0] != f_lead)
      && tail_fits == (({16'd0, f_data[15:0]} + 32'(S - 1)) / 32'(S) < 32'd1024));
  always_comb if (f_past && state != IDLE) assert (f_data == cfg_data);
  always_comb if (f_past && state == SET) assert (f_lead == ~nde_lead);
  always_comb if (f_past) begin
    assert (is_profile == (f_addr < litepulse_map_pkg::CFG_LINE) && is_train == (f_addr[5:4] == 2'd1) && is_resp == (f_addr[5:3] == 3'd4 && f_addr[2:0] != 3'd7)
        && is_width == (f_addr == litepulse_map_pkg::CFG_RESP_WIDTH)
        && is_lin == (LIN && f_addr >= litepulse_map_pkg::CFG_LIN_DATA_LO && f_addr <= litepulse_map_pkg::CFG_LIN_ENTRY)
        && is_command == (f_addr == litepulse_map_pkg::CFG_COMMAND) && unknown == (f_addr > (PORT ? litepulse_map_pkg::CFG_PORT : litepulse_map_pkg::CFG_ECHO)));
    assert (at_port == (PORT && f_addr == litepulse_map_pkg::CFG_PORT) && (PORT || prof_port == 4'd0));
    assert (at_line == (f_addr == litepulse_map_pkg::CFG_LINE) && at_driver_enable == (f_addr == litepulse_map_pkg::CFG_DRIVER_ENABLE)
        && at_capture_edges == (f_addr == litepulse_map_pkg::CFG_CAPTURE_EDGES) && at_filter == (f_addr == litepulse_map_pkg::CFG_FILTER)
        && at_event_mask == (f_addr == litepulse_map_pkg::CFG_EVENT_MASK) && at_echo == (f_addr == litepulse_map_pkg::CFG_ECHO));
    for (int i = 0; i < 4; i++) assert (which[i] == (f_addr[5:1] == 5'(i)));
    if (asked || state != IDLE) assert (f_addr == cfg_addr);
  end
  // a word of a profile never gets as far as an event unless it is refused
  always_comb if (f_past) assert (state == IDLE || (cfg_req && state <= LAST));
  always_comb if (f_past && state == WRITE) assert (is_profile ? cfg_addr[0] : f_seen && is_width && is_resp);
  always_comb if (f_past && state == SET) assert (!is_train && !is_resp && !is_lin);
  // a LIN word goes to litepulse_lin alone, which answers it
  always_comb if (f_past && lin_req) assert (is_lin && !train_req && !resp_req && state == IDLE);
  always_comb if (f_past && PORT && state == LAST) assert (f_addr != litepulse_map_pkg::CFG_PORT);
  always_comb if (f_past && (state == COMMAND || state == EVENT)) assert (is_command);
  always_comb if (f_past && waited != 2'd0) assert (state == WRITE && (waited != 2'd2));
  always_comb if (f_past && (decided || wrote)) assert (state == WRITE && waited == 2'd3);
  always_comb if (f_past) assert (!(decided && wrote) && (!store || decided) && (store_profile == 4'd0 || store_profile == which)
      && (store_profile != 4'd0) == (store && is_profile));
  always_comb if (f_past && wrote) assert (state == WRITE && good == f_wrote);
  // waited long enough: what was decided is for this word and this format
  always_comb if (f_past && waited[1]) assert (fits == (f_long && format[8:6] <= litepulse_map_pkg::PARITY_SPACE
      && format[10:9] != 2'd3));
  always_comb if (f_past && decided) assert (store == (!is_profile || (f_long2 && format[8:6] <= litepulse_map_pkg::PARITY_SPACE
      && format[10:9] != 2'd3)));
  always_comb if (f_past && writes && is_profile) assert (store == ({format[3:0], cfg_data} >= 36'(4 * S * 256)
      && format[8:6] <= litepulse_map_pkg::PARITY_SPACE && format[10:9] != 2'd3));
  always_comb if (f_past && is_profile && state > WRITE) assert (state == LAST
      && ev_kind == litepulse_map_pkg::KIND_REFUSED);
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_wrote <= mem_we && mem_ready && !rst;
    f_written <= f_wrote && !rst;
    f_write_profile <= mem_profile;
    f_seen <= (resp_done && !resp_err) || (f_seen && state == WRITE);
    if (f_past) begin
      if (!$past(rst)) begin
        if (prof_invert != $past(prof_invert) || prof_port != $past(prof_port)) assert (f_wrote && f_write_profile);
        if ($past(port_we)) assert (cfg_done && !cfg_err && $past(cfg_addr) == litepulse_map_pkg::CFG_PORT);
        if (cfg_done && $past(cfg_addr) == litepulse_map_pkg::CFG_PORT) assert (cfg_err ? !PORT : $past(port_we));
        // but for a held break, which the watchdog's command ends in its second cycle
        if (f_rest != $past(f_rest)) assert (cfg_done && !cfg_err && $past(cfg_req));
        if (break_hold != $past(break_hold)) assert ($past(cfg_req) && ($past(f_ends) ? !break_hold : cfg_done && !cfg_err));
        if ($past(f_ends)) assert (!break_hold);
        assert ($past(break_stays) == (break_hold && $past(break_hold)));
        // the launch memory is written by an answered word only: a profile that may be sent, with the format written before
        // its period, or the width that the responder took
        if (f_written) assert (cfg_done && !cfg_err);
        if (f_written && f_write_profile) assert ($past(cfg_addr) == {3'd0, $past(mem_entry), 1'b1}
            && {$past(format[3:0]), $past(cfg_data)} >= 36'(4 * S * 256) && $past(format[8:6]) <= litepulse_map_pkg::PARITY_SPACE
            && $past(format[10:9]) != 2'd3
            && prof_valid[$past(mem_entry)] && prof_invert[$past(mem_entry)] == $past(format[11])
            && prof_port[$past(mem_entry)] == $past(PORT && format_port));
        if (f_written && !f_write_profile) assert ($past(f_seen) && $past(cfg_addr) == litepulse_map_pkg::CFG_RESP_WIDTH
            && $past(mem_entry) == 2'd0);
        // and every such word does so
        if (cfg_done && !cfg_err && ($past(cfg_addr) == litepulse_map_pkg::CFG_RESP_WIDTH || ($past(is_profile) && $past(cfg_addr[0]))))
          assert (f_written);
        if (format != $past(format)) assert (cfg_done && !cfg_err && $past(is_profile) && !$past(cfg_addr[0])
            && format == $past(cfg_data[11:0]));
        if (prof_valid[g_which] != $past(prof_valid[g_which])) assert (prof_valid[g_which]
            && $past(cfg_addr) == {3'd0, g_which, 1'b1});
        if ({nde_lead, de_lag} != $past({nde_lead, de_lag})) assert ($past(cfg_addr) == litepulse_map_pkg::CFG_DRIVER_ENABLE);
        assert ((loopback != $past(loopback)) == $past(loop_changes));
        assert (nloopback == !loopback);
        // a lead that changes is announced in the cycle before, and does not while a train runs; then, and only then, a word is refused
        assert ((nde_lead != $past(nde_lead)) == $past(lead_changes));
        if ($past(lead_changes)) assert (!$past(train_running) && nde_lead == ~$past(cfg_data[15:0]));
        if (ev_req && cfg_addr == litepulse_map_pkg::CFG_DRIVER_ENABLE) assert (cfg_data[15:0] != ~nde_lead
            && ev_flags == litepulse_map_pkg::REASON_BUSY && ev_kind == litepulse_map_pkg::KIND_REFUSED);
        if ($past(state == SET && at_driver_enable && train_running && cfg_data[15:0] != ~nde_lead)) assert (state == LAST);
        // a command that the train refuses without a record of its own gets one, and no other word of the train
        if ($past(train_req && train_done)) assert ((state == LAST) == $past(train_untold));
        if (ev_req && is_train) assert (ev_flags == litepulse_map_pkg::REASON_INVALID && ev_kind == litepulse_map_pkg::KIND_REFUSED
            && ev_data == 32'd0);
        if (ev_req) assert (ev.source == (is_train ? litepulse_map_pkg::SRC_TRAIN_CHANGE : litepulse_map_pkg::SRC_CONTROL));
        // the tail in whole cycles, or refused; it and the filter are new with a strobe
        if ({echo_tail, filt_en, filt_len} != $past({echo_tail, filt_en, filt_len})) assert (echo_changed);
        if (echo_tail != $past(echo_tail)) assert ($past(cfg_addr) == litepulse_map_pkg::CFG_ECHO);
        if (cfg_done && $past(cfg_addr) == litepulse_map_pkg::CFG_ECHO) assert (cfg_err ? $past(f_cycles) > 32'd1023
            : {22'd0, echo_tail} == $past(f_cycles) && echo_changed);
        if (ev_req && cfg_addr == litepulse_map_pkg::CFG_ECHO) assert (ev_flags == litepulse_map_pkg::REASON_INVALID && f_cycles > 32'd1023);
        if (f_line != $past(f_line) || break_hold != $past(break_hold))
          assert ($past(cfg_addr) == litepulse_map_pkg::CFG_LINE || ($past(f_ends) && f_line == $past(f_line)));
        // the level at rest is the last one that was named, and no byte begins from when it was
        if (!$past(asked)) assert ({rest_named, rest_named_level} == $past({rest_wanted, rest_wanted_level}));
        if (rest_named != $past(rest_named) || (rest_named && rest_named_level != $past(rest_named_level)))
          assert (rest_level == !prof_invert[0] || $past(hold_tty || prof_port[0], 2));
        // the copy follows a cycle later, and prof0_changed is high in both
        if (f_wrote && f_write_profile && $past(mem_entry) == 2'd0) assert (prof0_changed);
        assert (load0 == (f_wrote && f_write_profile && $past(mem_entry) == 2'd0));
        if ($past(load0)) assert (prof0_changed && f_profile0 == {$past(format[10:0]), $past(cfg_data)});
        else assert (f_profile0 == $past(f_profile0) && prof0_changed == load0);
        // a profile whose bits would be too short is not valid
        if (cfg_done && $past(cfg_addr) < litepulse_map_pkg::CFG_LINE && $past(cfg_addr[0])
            && {$past(format[3:0]), $past(cfg_data)} < 36'(4 * S * 256)) assert (cfg_err);
        if (cfg_done && $past(is_lin)) assert (cfg_err || $past(lin_req && lin_done && !lin_err));
        // a refusal is reported
        if (cfg_done && cfg_err && !$past(is_train)) assert ($past(ev_req) && $past(ev_kind) == litepulse_map_pkg::KIND_REFUSED);
      end else begin
        assert (prof_valid == 4'd0 && !break_hold && !loopback && !rx_enable && !cfg_done && !ev_req && nde_lead == '1
            && de_lag == 16'd0 && echo_tail == 10'd16 && !echo_changed && filt_en == 16'd0 && filt_len == 6'd1 && !filt_new);
      end
      cover (cfg_done && cfg_err && prof_valid == 4'd2);
      cover (cfg_done && !cfg_err && nde_lead == 16'hfffa);
      cover (cfg_done && !cfg_err && de_lag == 16'd9 && nde_lead == 16'hfffa && train_running);
      cover (cfg_done && cfg_err && $past(cfg_addr) == litepulse_map_pkg::CFG_DRIVER_ENABLE);
      cover (cfg_done && !cfg_err && $past(is_lin));
      cover (cfg_done && cfg_err && $past(is_lin));
      cover (echo_changed && echo_tail == 10'd1023);
      cover (!break_hold && $past(break_hold && f_ends) && rx_enable);
      cover (f_written && !f_write_profile);
      cover (cfg_done && cfg_err && $past(is_train && state == LAST));
      cover (f_written && f_write_profile && $past(prof_valid) == 4'd3 && $past(!mem_ready, 3));
    end
  end
`endif
