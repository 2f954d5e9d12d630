// SPDX-License-Identifier: BSD-2-Clause
// Promises 1 and 7 at the marker port. Included at the end of the module. It has no input from the line and none of its outputs goes
// there: what is proved of its answers holds whatever the line does.

  logic f_past = 1'b0;
  initial assume (rst);
  logic [2:0]  f_due, f_mark;        // S = 1: of this cycle, else of the last one
  logic [7:0]  f_data;               // of the mark that must be granted
  logic        f_any;
  logic [2:0]  f_due_was, f_mark_was;
  logic [23:0] f_data_was;
  logic        f_rst_was;
  assign f_due  = (S == 1) ? due : f_due_was;
  assign f_mark = (S == 1) ? mark : f_mark_was;
  logic [23:0] f_all;
  assign f_all  = (S == 1) ? {train_launch.data, queue_launch.data, responder_launch.data} : f_data_was;
  always_comb begin
    f_any = (f_due & f_mark) != 3'd0 && (S == 1 || !f_rst_was);
    f_data = f_mark[0] && f_due[0] ? f_all[7:0] : f_mark[1] && f_due[1] ? f_all[15:8] : f_all[23:16];
  end
  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    f_rst_was <= rst;
    {f_due_was, f_mark_was, f_data_was} <= {due, mark, train_launch.data, queue_launch.data, responder_launch.data};
  end
  logic [2:0] f_kinds;
  always_comb begin
    f_kinds[0] = responder_launch.kind == litepulse_map_pkg::LAUNCH_FRAME && prof_port[responder_launch.profile];
    f_kinds[1] = queue_launch.kind == litepulse_map_pkg::LAUNCH_FRAME && prof_port[queue_launch.profile];
    f_kinds[2] = train_launch.kind == litepulse_map_pkg::LAUNCH_FRAME && prof_port[train_launch.profile];
  end

  // Every mark is answered, and no other launch; the first in the order of sources is granted.
  always_comb if (f_past && (S == 1 || !f_rst_was)) begin
    assert ((grant & refuse) == 3'd0 && (grant | refuse) == (f_due & f_mark));
    assert (f_any == (grant != 3'd0));
    for (int i = 0; i < 3; i++) if (grant[i]) begin
      assert (f_due[i] && f_mark[i]);
      for (int j = 0; j < i; j++) assert (!(f_due[j] && f_mark[j]));
    end
  end
  always_ff @(posedge clk) if (f_past) assert (mark == $past(f_kinds));

  // What is shown: the code that was granted in the last cycle but one, for the width in whole cycles; then 0.
  logic        f_begins, f_tty, f_stays;
  logic [7:0]  f_code, f_shown;
  logic [31:0] f_width;              // as it was written; 0 after a reset
  logic [32:0] f_cycles, f_left;     // whole cycles of it; still to be shown of a code, with this one
  assign f_cycles = ({1'b0, f_width} + 33'(S - 1)) >> SL;
  always_ff @(posedge clk) begin
    f_begins <= (f_any || (tty_due && !f_tty)) && !rst;
    f_tty    <= !f_any && tty_due && !f_tty && !rst;
    f_code   <= f_any ? f_data : tty_data;
    if (width_we) f_width <= width_data;
    if (f_begins) begin
      f_shown <= f_code;
      f_left  <= f_cycles;
      f_stays <= f_width == 32'd0;
    end else if (!f_stays) begin
      if (f_left <= 33'd1) f_shown <= 8'd0;
      if (f_left != 33'd0) f_left <= f_left - 33'd1;
    end
    if (rst) {f_begins, f_shown, f_left, f_stays, f_width} <= '0;
  end
  // the source's byte stands until it is taken over
  always_ff @(posedge clk) if (f_past && $past(tty_due)) assume (tty_data == $past(tty_data));
  always_comb if (f_past) begin
    assert (shown == f_shown && begins == f_begins);
    if (begins) assert (tty_started == f_tty && (tty_started ? tty_data : code) == f_code);
    else assert (!tty_started);
    // invariants
    assert (runs == (!f_stays && f_left != 33'd0));
    if (runs) assert ({1'b0, 32'(left)} == f_left - 33'd1 && f_left <= 33'd1 << (32 - SL));
    assert (stays == (f_width == 32'd0));
    if (!stays) assert (33'(less) == f_cycles - 33'd1 && brief == (f_cycles <= 33'd16));
    if (runs) assert (!upper_zero || left <= CW'(16));
    if (runs && left < CW'(15)) assert (upper_zero);
    if (runs && left[LOW-1:0] == '0) assert (upper_zero == (left[CW-1:LOW] == '0));
    if (!runs && !f_stays) assert (f_shown == 8'd0);
  end
  always_ff @(posedge clk) begin
    cover (f_past && grant[2] && refuse == 3'd0 && tty_due);
    cover (f_past && grant == 3'd1 && refuse == 3'd6);
    cover (f_past && ends && f_code == 8'h2a && $past(shown) == 8'h2a && f_width == 32'(3 * S));
    cover (f_past && begins && runs && shown != f_code && $past(begins));
  end
