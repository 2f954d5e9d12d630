// SPDX-License-Identifier: BSD-2-Clause
// Every instruction does what the header says, for either thread and any words in the program memory: one thread and any two of its words
// are watched. Included at the end of the module.

  litepulse_sequencer_environment environment (.*);
`ifndef LITEPULSE_CHECK
  logic        f_past = 1'b0;
  (* anyconst *) logic       g_thread;
  (* anyconst *) logic [4:0] g_x, g_y;       // the words watched
  logic [31:0] g_xv, g_yv;                   // what they hold: the last sum or host word written there
  logic [1:0]  g_cycle;                      // 1, 2, 3 of the thread's instruction, 0 is 4; then 1 and 2 are 5 and 6 of the one before
  logic        g_valid = 1'b0;               // an instruction is under way in 2, 3, 4
  logic        g_result_valid = 1'b0;        // and one has ended
  logic [31:0] g_code, g_a, g_b;
  logic        g_late;                       // B is a word of the queue: it reaches op_b one cycle later
  logic        g_a_known, g_b_known, g_taken, g_done_taken;
  logic [7:0]  g_next;
  logic [32:0] g_result, g_spec;
  logic        g_result_known = 1'b0;
  logic [2:0]  g_action;
  logic [4:0]  g_argument;
  logic [15:0] g_cond;
  logic        g_writes;
  initial assume (rst && !host_asks);

  assign g_cycle  = phase - {g_thread, 1'b0};
  assign g_late   = S > 2 && !g_thread && g_code[litepulse_program_pkg::F_B + 2 +: 3] == 3'd7;
  generate
    if (S > 2) begin : gen_f_kept
      logic        g_kept = 1'b0;            // the last cycle was 0 of the thread's instruction: the memory gave g_fetched
      logic [31:0] g_fetched;
      always_ff @(posedge clk) begin
        g_kept    <= g_cycle == 2'd0 && !rst;
        g_fetched <= gen_kept.fetched;
      end
      always_comb begin
        if (g_cycle == 2'd1 && !rst && g_kept) assert (code == g_fetched);
        if (g_cycle == 2'd3 && g_valid) assert (gen_kept.lq_late == g_late);
        if (g_cycle == 2'd3 && g_valid && g_late)
          assert (gen_kept.negate_late == g_code[litepulse_program_pkg::F_BNEG] && gen_kept.lq_kept == g_b);
      end
    end
  endgenerate
  // the age of an edge, in place of the low bits of its word: any of the upper half, where the program has no other (assemble.py)
  logic [31:0] g_hides;
  assign g_hides = (SEQUENCE && !g_thread && b[4])
      ? (32'hffffff00 + 32'(age)) * 32'(S) + 32'(age_off & 3'(S - 1)) : '1;
  assign g_writes = g_cycle == 2'd1 && g_result_valid && g_code[litepulse_program_pkg::F_WE] && !rst;  // of the one before
  assign g_cond   = {g_thread ? train_cond : queue_cond, g_result[31], g_result[31:0] == 32'd0, !g_result[32], g_result[32], 1'b0};
  assign g_spec   = {1'b0, g_a} + {1'b0, g_b ^ {32{g_code[litepulse_program_pkg::F_BNEG]}}}
      + {32'd0, g_code[litepulse_program_pkg::F_CIN +: 2] == 2'd1 || (g_code[litepulse_program_pkg::F_CIN +: 2] == 2'd2 && g_result[32])};

  always_ff @(posedge clk) begin
    f_past <= 1'b1;
    // the words: written by the thread's own instructions, those below 16 of the train also by the host
    if (g_writes && g_code[litepulse_program_pkg::F_A +: 5] == g_x) g_xv <= g_result[31:0];
    if (g_writes && g_code[litepulse_program_pkg::F_A +: 5] == g_y) g_yv <= g_result[31:0];
    if (host_we && host_done && g_thread && {1'b0, host_addr} == g_x) g_xv <= host_data;
    if (host_we && host_done && g_thread && {1'b0, host_addr} == g_y) g_yv <= host_data;
    case (g_cycle)
      2'd1: begin
        g_valid <= 1'b1;
        g_code  <= code;
        g_a_known <= 1'b1;
        g_b       <= g_yv & g_hides;
        g_b_known <= code[litepulse_program_pkg::F_B +: 5] == g_y
            && !(g_writes && code[litepulse_program_pkg::F_B +: 5] == g_code[litepulse_program_pkg::F_A +: 5]);
        case (code[litepulse_program_pkg::F_ASEL +: 3])
          3'd2: g_a <= {16'hffff, nde_lead};
          3'd3: g_a <= {16'd0, ~nde_lead};
          3'd4: g_a <= ~now_tick[31:0];
          3'd5: g_a <= now_tick[31:0];
          3'd6: g_a <= ~now_tick[63:32];
          3'd7: g_a <= now_tick[63:32];
          default: g_a <= 32'd0;
        endcase
      end
      2'd2: begin
        if (g_code[litepulse_program_pkg::F_ASEL +: 3] == 3'd1) begin
          g_a       <= g_xv;
          g_a_known <= g_code[litepulse_program_pkg::F_A +: 5] == g_x;
        end
        if (!g_thread && g_code[litepulse_program_pkg::F_B + 2 +: 3] == 3'd7) begin
          g_b       <= lq_rdata;
          g_b_known <= 1'b1;
        end
        g_taken   <= g_cond[g_code[litepulse_program_pkg::F_COND +: 4]];
        g_next    <= g_code[7:0] | {7'd0, g_cond[g_code[litepulse_program_pkg::F_COND +: 4]]};
      end
      2'd3: ;
      default: begin
        g_result       <= result;
        g_result_known <= g_valid && g_a_known && g_b_known;
        g_result_valid <= g_valid;
        g_done_taken   <= g_taken;
        g_action       <= g_code[litepulse_program_pkg::F_ACTION +: 3];
        g_argument     <= g_code[litepulse_program_pkg::F_A +: 5];
        // what it must be, of what is known
        if (g_valid && g_a_known && g_b_known) assert (result == g_spec);
      end
    endcase
    if (rst) begin
      g_valid        <= 1'b0;
      g_result_valid <= 1'b0;
      g_result_known <= 1'b0;
    end
  end

  // a reset lasts three cycles at least
  logic f_rst1 = 1'b0, f_rst2 = 1'b0, f_rst3 = 1'b0;
  always_ff @(posedge clk) {f_rst3, f_rst2, f_rst1} <= {f_rst2, f_rst1, rst};
  always_comb begin
    if (f_rst1 && !(f_rst2 && f_rst3)) assume (rst);
    if (!f_past) assume (mem[{g_thread, g_x}] == g_xv && mem[{g_thread, g_y}] == g_yv);
    assert (mem[{g_thread, g_x}] == g_xv && mem[{g_thread, g_y}] == g_yv);
    if (f_past) begin
      assert (act[g_thread] == (g_cycle == 2'd1 && !f_rst1));
      assert (!host_done || host_we);
      // the strobe in 5, its sum in 5 and 6
      if (g_cycle == 2'd1 || g_cycle == 2'd2) begin
        assert (thread == g_thread);
        if (g_result_valid) begin
          assert ({carry, sum} == g_result);
          if (g_cycle == 2'd2) assert (zero == (g_result[31:0] == 32'd0));
          assert (action == g_action && argument == g_argument && taken == g_done_taken);
          assert (emit == (g_action == litepulse_program_pkg::ACT_EMIT));
        end else assert (action == litepulse_program_pkg::ACT_NONE && !emit);
      end
      // where it goes on, looked up in -1, kept in 0; the first ones are at 0 and 1
      if (g_cycle == (S > 2 ? 2'd3 : 2'd0) && !rst && g_valid) assert ({pc[7:1], pc[0] || taken_1} == g_next);
      if (g_cycle == (S > 2 ? 2'd3 : 2'd0) && !rst && !g_valid && !g_thread) assert (pc == 8'd0 && !taken_1);
      if (g_cycle == 2'd1 && !g_thread) assert (lq_ren && lq_word == code[litepulse_program_pkg::F_B +: 2]);
      // how it does so
      if (g_valid && g_cycle == 2'd2) begin
        assert (code == g_code);
        if (asel != 3'd1) assert ((time_word ^ {32{asel[0] && asel[2:1] != 2'd0}}) == g_a);
        else assert (time_word == 32'd0);
        if (g_b_known) assert (word_b == g_b);
      end
      if (g_valid && (g_cycle == 2'd3 || g_cycle == 2'd0)) begin
        if (g_b_known && !(g_late && g_cycle == 2'd3)) assert (op_b == (g_b ^ {32{g_code[litepulse_program_pkg::F_BNEG]}}));
        if (g_cycle == 2'd3 && g_a_known) assert ((((rdata_a & {32{is_word}}) | time_word) ^ {32{negate_a}}) == g_a);
        if (g_cycle == 2'd0 && g_a_known) assert (op_a == g_a);
        if (!odd) assert (carry_in == (cin == 2'd1 || (cin == 2'd2 && carry_was)));
        assert (cin == g_code[litepulse_program_pkg::F_CIN +: 2]);
        assert (write_1 == g_code[litepulse_program_pkg::F_WE] && a_1 == g_code[litepulse_program_pkg::F_A +: 5]);
        assert (action_1 == g_code[litepulse_program_pkg::F_ACTION +: 3] && taken_1 == g_taken && {pc[7:1], pc[0] || taken_1} == g_next);
        if (g_result_valid && g_cycle == 2'd0) assert (carry_was == g_result[32]);
      end
      if (g_cycle == 2'd3 && g_result_valid) assert (carry_was == g_result[32]);
      if (!g_valid && (g_cycle == 2'd3 || g_cycle == 2'd0)) assert (!write_1);
      if (g_cycle == 2'd1) assert (write == (g_result_valid && g_code[litepulse_program_pkg::F_WE]));
    end
  end
  generate
    if (SEQUENCE) begin : gen_f_sequence
      // whose instruction is looked up; in a reset that of thread 1
      always_comb begin
        if (rst && f_rst1) assert (gen_sequence.next_thread || !lookup);
        if (f_past && !rst && lookup && g_cycle == (S > 2 ? 2'd3 : 2'd0)) assert (gen_sequence.next_thread == g_thread);
      end
    end
  endgenerate
  always_ff @(posedge clk) begin
    cover (f_past && g_cycle == 2'd1 && g_result_valid && g_result_known && g_action == litepulse_program_pkg::ACT_LOAD && taken && g_thread
           && g_code[litepulse_program_pkg::F_CIN +: 2] == 2'd2 && g_argument == g_x && g_x == g_y && g_result == 33'h1_0000_0005);
    cover (f_past && g_cycle == 2'd1 && g_result_valid && g_result_known && !g_thread && g_result[32] && g_action == 3'd1);
  end
`endif
