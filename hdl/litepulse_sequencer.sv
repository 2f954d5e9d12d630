// SPDX-License-Identifier: BSD-2-Clause
// Runs the two programs that prepare timed launches: thread 0 the launch queue's, thread 1 the train's (hdl/program/). Each has 32 words
// of a common memory and an instruction every 4 cycles, 2 cycles apart, so neither ever waits for the other.
// An instruction: read A and B, add, write back, do an action, go on as a condition of the operation before says.
//
//   cycle  the instruction in it
//     0    is looked up, where the condition of the one before led, in that one's cycle 2
//     1    B is looked up, the time is taken
//     2    B comes out and is kept, A is looked up, the condition decides
//     3    A comes out and is kept
//     4    sum
//     5    the sum is written back, the action is done: strobes, with the sum on `sum` in 5 and 6
//
// With S > 2, whose clock is fast beside the memories of the chips for it, an instruction is looked up in -1 and kept in 0, and a word
// of the queue's launch is kept once more, in 3: no logic lies behind these memories.
//
// B may not be the word that the instruction before wrote: it is looked up in that one's cycle 5.
// The slots' constants follow from this: a load comes 4 instructions after the time was taken (2 in the train's `place`).
// The reset must last until the block RAMs can be read (litepulse_reset). An instruction that is read as 0 leads to address 0: it would
// leave thread 1 in the queue's program. No check of its own repairs that here, because what the host has written is read as 0, too.
// The constants in the memory are set by the configuration of the FPGA, not by `rst`; no program writes them.
//   KE        cycles from `now` to the pin
//   SEQUENCE  thread 0 runs the program with waits and relative entries, which has 256 instructions of its own: the ninth bit of its
//             addresses is the thread, so an instruction has 32 bits as ever
`include "litepulse_types.svh"
module litepulse_sequencer #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter bit SEQUENCE = 1'b0
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [63-$clog2(S):0]  now,
    input  logic                   near_wrap,     // see litepulse_timebase
    output logic                   wrap_near,     // the low half of the tick count wraps before the next operation takes the time
    input  logic [15:0]            nde_lead,      // complement of the de lead, ticks
    // a word the host writes into the train's memory: held until host_done, low in the cycle behind it
    input  logic                   host_we,
    input  logic [3:0]             host_addr,
    input  logic [31:0]            host_data,
    output logic                   host_done,
    // the launch at the head of the queue
    output logic [1:0]             lq_word,
    output logic                   lq_ren,
    input  logic [31:0]            lq_rdata,
    // minus the cycles from the edge of a wait to this cycle, and its sample (litepulse_launch_queue)
    // verilator lint_off UNUSEDSIGNAL
    input  logic [7:0]             age,
    input  logic [2:0]             age_off,
    // verilator lint_on UNUSEDSIGNAL
    // conditions 5 to 15 of each thread
    input  logic [15:5]            queue_cond,
    input  logic [15:5]            train_cond,
    output logic [1:0]             act,           // strobe of each thread
    output operation_t             operation,
    // what is to be reported: in two cycles of four, of one thread at a time
    output logic                   emit,
    output logic                   thread,        // whose `emit`, `act` it is, and whose instruction is out
    // verilator lint_off UNUSEDSIGNAL
    input  launch_result_t         queue_result,
    input  launch_result_t         train_result,
    // verilator lint_on UNUSEDSIGNAL
    output logic [2:0]             told_outcome,  // of `thread`: what it is to tell, decided long before
    output logic                   told_granted
);
  localparam int SL = $clog2(S);
  localparam int F_ASEL = litepulse_program_pkg::F_ASEL;
  localparam int TRAIN_MIN_PERIOD = 120;   // a stop that is looked at, and a pulse
  localparam int CHANGE_MIN_PERIOD = 320;  // a command, a pulse and a change that is refused, one after the other

  logic [2:0]  action;
  logic [4:0]  argument;
  logic [31:0] sum;
  logic        taken, zero;
  assign operation.action   = action;
  assign operation.argument = argument;
  assign operation.taken    = taken;
  assign operation.result   = sum;
  assign operation.zero     = zero;
  logic [5:0]  outcome;          // of both threads
  logic [1:0]  granted;
  assign outcome = {train_result.outcome, queue_result.outcome};
  assign granted = {train_result.granted, queue_result.granted};

  logic [1:0]  phase;
  logic        odd;
  logic [7:0]  pc;
  logic [31:0] code;
  logic [4:0]  a, b;
  logic [2:0]  asel;
  logic [31:0] rdata_a, rdata_b, time_word, op_a, op_b;   // rdata_a counts in an odd cycle, rdata_b in the one before
  logic [32:0] result;
  logic        condition, carry, carry_was, carry_in;
  logic        is_word, negate_a, negate_b, is_lq, write, write_1, taken_1;
  logic [1:0]  cin;
  logic [4:0]  a_1;
  logic [2:0]  action_1;
  logic [63:0] now_tick;
  logic [31:0] cond;
  logic [7:0]  group, met;       // of four conditions: the one it is about (registers); it is met there
  logic [1:0]  which;            // of the four

  assign odd      = phase[0];
  assign now_tick = 64'(now) << SL;

  // The instruction, and operand B. The threads' first instructions lie at 1 (thread 1, whose turn it is when the reset ends) and 0.
  logic [7:0] next_pc;
  assign next_pc = {pc[7:1], pc[0] || taken_1 || rst};
  logic        lookup;           // an instruction is looked up
  logic [31:0] looked_up, word_b;
  assign lookup = (S > 2) ? odd : !odd || rst;
  generate
    if (SEQUENCE) begin : gen_sequence
      logic next_thread;
      assign next_thread = (S > 2) ? rst || !phase[1] : phase[1];
      litepulse_program_sequence program_memory (.clk, .en(lookup), .address({!next_thread, next_pc}), .instruction(looked_up));
      // in the cycle in which the time is taken; of the queue's words AGE alone has bit 4
      logic [7+SL:0] age_mask;
      always_ff @(posedge clk) begin
        if (odd) age_mask <= (!thread && b[4]) ? (8+SL)'(age) << SL | (8+SL)'(age_off & 3'(S - 1)) : '1;
      end
      assign word_b = rdata_b & {{(24-SL){1'b1}}, age_mask};
    end else begin : gen_plain
      litepulse_program program_memory (.clk, .en(lookup), .address(next_pc), .instruction(looked_up));
      assign word_b = rdata_b;
    end
    if (S > 2) begin : gen_kept
      logic [31:0] fetched, lq_kept;
      logic        lq_late, negate_late;
      assign fetched = looked_up;
      always_ff @(posedge clk) begin
        if (!odd || rst) code <= fetched;
        if (!odd) {lq_kept, lq_late, negate_late} <= {lq_rdata, is_lq, negate_b};
        if (!odd || lq_late) op_b <= (odd ? lq_kept : word_b) ^ {32{odd ? negate_late : negate_b}};
      end
    end else begin : gen_at_once
      logic from_queue, negate;  // decoded a cycle before: a memory's output is late
      assign code = looked_up;
      always_ff @(posedge clk) begin
        if (odd) {from_queue, negate} <= {is_lq, negate_b};
        else op_b <= (from_queue ? lq_rdata : word_b) ^ {32{negate}};
      end
    end
  endgenerate
  assign a    = code[litepulse_program_pkg::F_A +: 5];
  assign b    = code[litepulse_program_pkg::F_B +: 5];
  assign asel = code[F_ASEL +: 3];

  // memory
  (* ram_style = "block", no_rw_check *) logic [31:0] mem[0:63];
`ifndef FORMAL  // there the words may be anything
  initial begin
    for (int i = 0; i < 64; i++) mem[i] = 32'd0;
    mem[{1'b0, litepulse_program_pkg::Q_WORD_HEAD_START}] = 32'(-(KE + 24) * S);
    if (SEQUENCE) begin
      mem[{1'b0, litepulse_program_pkg::S_WORD_OVER}] = 32'(((62 + S - 1) / S - 27) * S);
      mem[{1'b0, litepulse_program_pkg::S_WORD_AGE}] = 32'hffffffff;
    end
    mem[{1'b1, litepulse_program_pkg::T_WORD_HEAD_START}] = 32'(-(KE + 24) * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_HEAD_SHORT}] = 32'(-(KE + 16) * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_START_LEAST}] = 32'(-(KE + 24 + 60) * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_REDO_LEAST}] = 32'(-(KE + 180) * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_SOON}] = 32'((KE + 24 + 60 + 24) * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_CHANGE_LEAST}] = 32'(-(KE + 24 + 8) * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_MINIMUM}] = 32'(1 - CHANGE_MIN_PERIOD * S);
    mem[{1'b1, litepulse_program_pkg::T_WORD_FASTEST}] = 32'(1 - TRAIN_MIN_PERIOD * S);
  end
`endif
  logic        we;
  logic [5:0]  waddr;
  logic [31:0] wdata;
  logic        host_asks;   // host_we is deep in logic
  assign host_done = host_asks && !odd;
  assign we    = odd ? (write && !rst) : host_asks;
  assign waddr = odd ? {phase[1], argument} : {2'b10, host_addr};
  assign wdata = odd ? sum : host_data;
  always_ff @(posedge clk) begin
    if (we) mem[waddr] <= wdata;
  end
  // In LUTs, where many samples per cycle are for, two ports for reading cost little and spare the address a selector.
  generate
    if (S > 2) begin : gen_read_both
      always_ff @(posedge clk) {rdata_a, rdata_b} <= {mem[{thread, a}], mem[{thread, b}]};
    end else begin : gen_read_one
      logic [31:0] rdata;
      always_ff @(posedge clk) rdata <= mem[{thread, odd ? b : a}];
      assign {rdata_a, rdata_b} = {rdata, rdata};
    end
  endgenerate
  assign lq_word  = b[1:0];
  assign lq_ren   = phase == 2'd1;
  assign is_lq    = !thread && b[4:2] == litepulse_program_pkg::LQ_WORD[4:2];
  assign negate_b = code[litepulse_program_pkg::F_BNEG];

  // operands; the complement of the time is what litepulse_timebase holds
  always_ff @(posedge clk) begin
    if (odd) begin
      case (asel[2:1])
        2'd1:    time_word <= {16'hffff, nde_lead};
        2'd2:    time_word <= ~now_tick[31:0];
        2'd3:    time_word <= ~now_tick[63:32];
        default: time_word <= 32'd0;
      endcase
    end
    op_a <= ((rdata_a & {32{is_word}}) | time_word) ^ {32{negate_a}};
    carry_in <= cin == 2'd1 || (cin == 2'd2 && carry_was);
  end
  assign result = {1'b0, op_a} + {1'b0, op_b} + {32'd0, carry_in};

  // conditions: of the thread's operation before. Thread and group stand in registers, one for each, as what is left is deep enough.
  logic [4:0] of_sum;
  assign of_sum    = {sum[31], zero, !carry, carry, 1'b0};
  assign cond      = {train_cond, of_sum, queue_cond, of_sum};
  assign condition = met != 8'd0;
  always @* begin
    for (int g = 0; g < 8; g++) met[g] = group[g] && cond[{g[2:0], which}];
  end

  always_ff @(posedge clk) begin
    // decoded a cycle before: a memory's output is late
    which <= code[litepulse_program_pkg::F_COND +: 2];
    for (int g = 0; g < 8; g++) group[g] <= g[2] == phase[1] && g[1:0] == code[litepulse_program_pkg::F_COND + 2 +: 2];
    zero <= sum == 32'd0;
    host_asks <= host_we && !host_done && !rst;
    wrap_near <= near_wrap && now[3:2] == 2'd3;
    phase <= phase + 2'd1;
    thread <= phase[1];
    told_outcome <= phase[1] ? outcome[5:3] : outcome[2:0];
    told_granted <= granted[phase[1]];
    act   <= {phase == 2'd2, phase == 2'd0};
    if (!odd) begin
      pc       <= code[7:0];   // and as the condition says
      // kept for the cycles in which the other thread's instruction is out
      taken_1  <= condition;
      is_word  <= asel == 3'd1;
      negate_a <= asel[0] && asel[2:1] != 2'd0;
      cin      <= code[litepulse_program_pkg::F_CIN +: 2];
      write_1  <= code[litepulse_program_pkg::F_WE];
      a_1      <= a;
      action_1 <= code[litepulse_program_pkg::F_ACTION +: 3];
      // the result
      sum       <= result[31:0];
      carry     <= result[32] && !rst;   // a gate, so that the flip-flop lies at the end of the chain and not a hop behind it
      carry_was <= carry;
      taken     <= taken_1;
      argument  <= a_1;
      action    <= action_1;
      emit      <= action_1 == litepulse_program_pkg::ACT_EMIT;
      write     <= write_1;
    end
    if (rst) begin
      phase    <= 2'd3;
      thread   <= 1'b1;
      act      <= 2'b00;
      pc       <= 8'd0;
      taken_1  <= 1'b0;
      write_1  <= 1'b0;
      write    <= 1'b0;
      action_1 <= litepulse_program_pkg::ACT_NONE;
      action   <= litepulse_program_pkg::ACT_NONE;
      emit     <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_sequencer.svh"  // sim/formal
`endif
endmodule
