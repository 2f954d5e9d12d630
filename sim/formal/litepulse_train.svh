// SPDX-License-Identifier: BSD-2-Clause
// Promise 4 in the train, as steps of an induction over pulses: from any state and any words, one count, one placing, one taking back.
// What they leave behind is said with A = floor + fraction/D, without rounding. Included at the end of the module.

  (* anyconst *) logic [1:0] g_step;     // 0 place, 1 take back, 2 count on
  logic [3:0]  f_cycle = 4'd0;
  logic [33:0] g_cnt;                    // at the beginning
  logic        g_apply, g_bank, g_pending;
  logic [31:0] g_base, g_frac, g_number, g_count, g_last, g_n, g_i, g_shift, g_at;
  logic [32:0] g_d, g_d_now;             // a denominator of 0 stands for 2^32
  logic        g_carry;
  logic [33:0] g_sum;                    // base + N, in 1/D
  logic [31:0] g_rest;                   // of it, less than D
  logic signed [34:0] g_interval;
  logic [4:0]  f_bank;                   // where the words of this placing lie
  logic [4:0]  f_bank_now;

  assign f_bank_now = bank ? 5'd16 : 5'd8;
  assign f_bank     = (bank ^ apply) ? 5'd16 : 5'd8;

  initial begin
    assume (g_step != 2'd3 && running && !asap);
    assume (state == (g_step == 2'd0 ? BASE : g_step == 2'd1 ? UNDO : NEXT));
    assume (mdata == mem[g_step == 2'd0 ? M_BASE : g_step == 2'd1 ? M_LAST : M_NUMBER]);
    // what the state before has decided for this one
    assume ({use_acc, use_thr, use_now, use_hi, negate, cin_carry, add, sub, twice} == 9'd0 && cin == (g_step == 2'd2));
    assume (!cfg_done);
    assume (!apply || pending);
    assume (!apply || same_den == (mem[f_bank + 5'd2] == mem[f_bank_now + 5'd2]));
    assume ({1'b0, mem[M_BASE]} < {mem[f_bank_now + 5'd2] == 32'd0, mem[f_bank_now + 5'd2]});
    assume ({1'b0, mem[f_bank + 5'd1]} < {mem[f_bank + 5'd2] == 32'd0, mem[f_bank + 5'd2]});
    assume (mem[f_bank] != 32'hffffffff);  // as V_PERIOD sees to
    assume (g_step != 2'd2 || !redo);
  end
  always_comb assume (!rst);

  always_ff @(posedge clk) begin
    f_cycle <= f_cycle + 4'd1;
    if (f_cycle == 4'd0) begin
      g_cnt     <= cnt;
      g_apply   <= apply;
      g_bank    <= bank;
      g_pending <= pending;
      g_base    <= (apply && !same_den) ? 32'd0 : mem[M_BASE];
      g_frac    <= mem[M_FRAC];
      g_number  <= mem[M_NUMBER];
      g_count   <= mem[M_COUNT];
      g_last    <= mem[M_LAST];
      g_d       <= {mem[f_bank + 5'd2] == 32'd0, mem[f_bank + 5'd2]};
      g_n       <= mem[f_bank + 5'd1];
      g_i       <= mem[f_bank];
      g_shift   <= mem[(bank ? 5'd8 : 5'd16) + 5'd4];
      g_at      <= mem[(bank ? 5'd8 : 5'd16) + 5'd3];
    end
  end

  always_comb begin
    g_sum      = {2'b00, g_base} + {2'b00, g_n};
    g_carry    = g_sum >= {1'b0, g_d};
    g_rest     = 32'(g_carry ? g_sum - {1'b0, g_d} : g_sum);
    g_interval = $signed({3'b000, g_i}) + $signed({34'd0, g_carry}) + (g_apply ? $signed({{3{g_shift[31]}}, g_shift}) : 35'sd0);

    // a placing: fraction and interval are exact, and the counter has moved by the interval and by nothing else
    if (g_step == 2'd0) begin
      if (f_cycle == 4'd4) assert (state == PERIOD && acc == g_rest);
      if (f_cycle == 4'd5) assert (mem[M_FRAC] == g_rest);
      if (f_cycle == 4'd6) begin
        assert (state == PLACE && acc == g_interval[31:0]);
        assert (bad_step == (g_apply && (g_interval < 0 || g_interval > 35'sh0ffffffff)));
      end
      if (f_cycle == 4'd7) assert (mem[M_LAST] == g_interval[31:0]);
      if (f_cycle == 4'd8) assert (state == DECIDE && cnt == g_cnt + {2'b00, g_interval[31:0]} - 34'(8 * S));
      if (f_cycle == 4'd9) begin
        if (!g_apply) assert (state == WAIT && width == mem[M_WIDTH]);
        if (g_apply) assert (state == TELL && !pending);
        if (g_apply) assert ((ch_kind == litepulse_map_pkg::KIND_APPLIED) == (bank != g_bank));
        if (g_apply && bad_step) assert (ch_kind == litepulse_map_pkg::KIND_REFUSED);
        if (!g_apply) assert (bank == g_bank);
      end
      if (f_cycle != 4'd0 && f_cycle < 4'd9) assert (bank == g_bank && !due && !be_ok);
    end
    // taking back: the counter as it was before the interval was added
    if (g_step == 2'd1 && f_cycle == 4'd3) assert (state == COUNT && cnt == g_cnt - {2'b00, g_last} - 34'(3 * S));
    // counting on: the next number, its base, the end by count, whether the change names this pulse
    if (g_step == 2'd2) begin
      if (f_cycle == 4'd3) assert (mem[M_NUMBER] == g_number + 32'd1 && mem[M_BASE] == g_frac);
      if (f_cycle == 4'd6) assert (state == AT_DECIDE && ending == (g_count != 32'd0 && g_count == g_number + 32'd1));
      if (f_cycle == 4'd7 && !ending) begin
        assert (state == BASE && mdata == g_frac);
        assert (apply == (g_pending && (g_at == 32'd0 || g_at == g_number + 32'd1)));
      end
      if (f_cycle == 4'd7 && ending) assert (!pending && !apply && (state == TELL || state == FIRED));
    end
  end

  always_ff @(posedge clk) begin
    cover (g_step == 2'd0 && f_cycle == 4'd9 && g_carry && g_d[32] && g_base != 32'd0);
    cover (g_step == 2'd0 && f_cycle == 4'd9 && g_apply && bank != g_bank && g_shift[31]);
    cover (g_step == 2'd0 && f_cycle == 4'd9 && g_apply && bank == g_bank && !bad_step);
    cover (g_step == 2'd0 && f_cycle == 4'd9 && g_apply && bad_step);
    cover (g_step == 2'd1 && f_cycle == 4'd3);
    cover (g_step == 2'd2 && f_cycle == 4'd7 && ending);
    cover (g_step == 2'd2 && f_cycle == 4'd7 && apply && g_at != 32'd0);
  end
