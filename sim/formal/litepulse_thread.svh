// SPDX-License-Identifier: BSD-2-Clause
// One thread of litepulse_sequencer, an instruction in each step of the clock: what sequencer.sby proves of it. Included in the
// benches of the programs, which give THREAD, `entry` (where it begins), `cond` and the words that come from elsewhere.

  localparam int SL = $clog2(S);
  (* anyconst *) logic [15:0] g_lead;
  logic         begins = 1'b1;            // the first instruction is fetched
  logic         run, halt;                // the run is over
  logic [7:0]   pc, entry, next;
  logic [31:0]  code, a_word, b_word, op_a, op_b, sum_was, host_data, lq_data;
  logic [32:0]  result;
  logic         carry_was, taken, write, host_we;
  logic [3:0]   host_addr;
  logic [15:0]  cond;
  logic [63:0]  now;                      // cycles: in the instruction's second cycle
  logic [63:0]  now_tick;
  logic [4:0]   a, b, argument;
  logic [2:0]   asel, action;
  logic         near;                     // condition: registered in litepulse_timebase, so it speaks of the cycle in which the time is taken
  logic [31:0]  mem[0:31];

  litepulse_program program_memory (.clk, .en(1'b1), .address(begins ? entry : next), .instruction(code));
  assign run      = !begins && !halt;
  assign now_tick = now << SL;
  assign near     = &now[31-SL:2];
  assign a        = code[litepulse_program_pkg::F_A +: 5];
  assign b        = code[litepulse_program_pkg::F_B +: 5];
  assign asel     = code[litepulse_program_pkg::F_ASEL +: 3];
  assign action   = run ? code[litepulse_program_pkg::F_ACTION +: 3] : litepulse_program_pkg::ACT_NONE;
  assign argument = a;
  assign write    = run && code[litepulse_program_pkg::F_WE];
  assign a_word   = mem[a];
  assign b_word   = (THREAD == 0 && b[4:2] == litepulse_program_pkg::LQ_WORD[4:2]) ? lq_data : mem[b];
  always_comb begin
    case (asel)
      3'd0:    op_a = 32'd0;
      3'd1:    op_a = a_word;
      3'd2:    op_a = {16'hffff, ~g_lead};
      3'd3:    op_a = {16'd0, g_lead};
      3'd4:    op_a = ~now_tick[31:0];
      3'd5:    op_a = now_tick[31:0];
      3'd6:    op_a = ~now_tick[63:32];
      default: op_a = now_tick[63:32];
    endcase
  end
  assign op_b   = b_word ^ {32{code[litepulse_program_pkg::F_BNEG]}};
  assign result = {1'b0, op_a} + {1'b0, op_b} + {32'd0, code[litepulse_program_pkg::F_CIN +: 2] == 2'd1
      || (code[litepulse_program_pkg::F_CIN +: 2] == 2'd2 && carry_was)};
  assign taken  = cond[code[litepulse_program_pkg::F_COND +: 4]];
  assign next   = code[7:0] | {7'd0, taken};
  assign cond[4:0] = {sum_was[31], sum_was == 32'd0, !carry_was, carry_was, 1'b0};

  always_ff @(posedge clk) begin
    begins <= 1'b0;
    if (!halt) pc <= begins ? entry : next;
    if (run) {carry_was, sum_was} <= result;
    if (run) now <= now + 64'd4;
    if (write) mem[a] <= result[31:0];
    if (host_we) mem[{1'b0, host_addr}] <= host_data;
  end
  always_comb assume (now[63:58] == 6'd0);

  // what it does, what became of it, and its report, taken apart
  operation_t   operation;
  launch_t      launch;
  launch_result_t launch_result;
  event_request_t r_event;
  logic [2:0]   off, outcome, ev_off, r_off;
  logic [1:0]   kind, profile;
  logic [7:0]   data, ev_lo, r_lo, r_flags;
  logic [31:0]  r_data;
  logic         granted, zero;
  logic [3:0]   r_kind, r_source;
  always_ff @(posedge clk) zero <= result[31:0] == 32'd0;   // of the instruction before
  assign operation.action   = action;
  assign operation.argument = argument;
  assign operation.taken    = taken;
  assign operation.result   = result[31:0];
  assign operation.zero     = zero;
  assign {kind, profile, data, off} = launch;
  assign {ev_lo, ev_off, outcome, granted} = launch_result;
  assign {r_data, r_kind, r_source, r_flags, r_lo, r_off} = r_event;
