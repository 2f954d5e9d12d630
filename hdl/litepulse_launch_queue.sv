// SPDX-License-Identifier: BSD-2-Clause
// The launch queue beside litepulse_sequencer, whose thread 0 (hdl/program/launch_queue.asm) takes timed launches from the queue memory one
// by one, checks, launches and reports them: the entry count, the flush.
// Latency: an entry must be LMIN_CYCLES*S + de lead ticks ahead in the cycle in which it is at the head and the queue idle (docs/core.md).
//   LQ_AW  log2 of the entries
`include "litepulse_types.svh"
module litepulse_launch_queue #(
    parameter int LQ_AW = 6
) (
    input  logic           clk,
    input  logic           rst,
    // sequencer
    input  logic           act,
    // verilator lint_off UNUSEDSIGNAL
    input  operation_t     operation,
    // verilator lint_on UNUSEDSIGNAL
    output logic [15:10]   cond,
    output logic           eventful,
    // timed source
    input  logic           act_do,
    input  logic           armed,
    input  logic           slack_ok,
    output logic           disarm,
    output logic           forget,
    // queue memory
    input  logic [LQ_AW:0] lq_avail,
    output logic           lq_free1,
    output logic           be_ok,     // as far as the queue knows a best-effort frame may start
    output logic           idle,
    // flush: a strobe, answered by a strobe with the number of entries dropped
    input  logic           flush,
    output logic           flushed,
    output logic [15:0]    flush_count
);
  logic [2:0]     action;
  logic [4:0]     argument;
  logic           taken;
  assign action   = operation.action;
  assign argument = operation.argument;
  assign taken    = operation.taken;

  logic           flushing, some, polling, drop;
  logic [LQ_AW:0] dropped;

  assign disarm   = act_do && argument == litepulse_program_pkg::Q_DO_DISARM;
  assign drop     = act_do && argument == litepulse_program_pkg::Q_DO_DROP;
  assign flushed  = act_do && argument == litepulse_program_pkg::Q_DO_FLUSHED;
  assign forget   = drop || (act_do && argument == litepulse_program_pkg::Q_DO_POP);
  assign idle     = polling && !some;
  assign be_ok    = armed ? slack_ok : !some;
  assign eventful = flushing;
  assign flush_count = 16'(dropped);

  always @* begin
    cond = '0;
    cond[litepulse_program_pkg::Q_COND_FLUSH] = flushing;
    cond[litepulse_program_pkg::Q_COND_SOME]  = some || flushing;
    cond[litepulse_program_pkg::Q_COND_ENTRY] = some;
  end

  always_ff @(posedge clk) begin
    lq_free1 <= forget;  // a register: the count of entries lies behind it
    some <= lq_avail != (LQ_AW + 1)'(lq_free1);  // a cycle late: the program never looks at it sooner after a pop
    if (flush) flushing <= 1'b1;
    else if (flushed) flushing <= 1'b0;
    if (act) polling <= action == litepulse_program_pkg::ACT_LATCH && !taken;  // the program's idle loop
    if (disarm) dropped <= '0;
    else if (drop) dropped <= dropped + 1'b1;
    if (rst) begin
      lq_free1 <= 1'b0;
      some     <= 1'b0;
      flushing <= 1'b0;
      polling  <= 1'b1;
    end
  end
endmodule
