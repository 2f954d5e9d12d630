// SPDX-License-Identifier: BSD-2-Clause
// The launch queue beside litepulse_sequencer, whose thread 0 (hdl/program/launch_queue.asm) takes timed launches from the queue memory one
// by one, checks, launches and reports them: the entry count, the flush.
// Latency: an entry must be LMIN_CYCLES*S + de lead ticks ahead in the cycle in which it is at the head and the queue idle (docs/core.md).
//   LQ_AW     log2 of the entries
//   SEQUENCE  there are waits and relative entries. While a wait listens, the first edge that it names is kept with its age; nothing
//             best-effort starts from there on.
`include "litepulse_types.svh"
module litepulse_launch_queue #(
    parameter int LQ_AW = 6,
    parameter bit SEQUENCE = 1'b0
) (
    input  logic           clk,
    input  logic           rst,
    // sequencer
    input  logic           act,
    // verilator lint_off UNUSEDSIGNAL
    input  operation_t     operation,
    // verilator lint_on UNUSEDSIGNAL
    output logic [15:10]   cond,
    output logic [7:0]     age,       // minus the cycles from the edge to this cycle
    output logic [2:0]     age_off,   // its sample
    output logic           eventful,
    // litepulse_capture
    output edge_choice_t   wait_choice,
    // verilator lint_off UNUSEDSIGNAL
    input  chosen_edge_t   wait_edge,
    // timed source
    input  launch_t        launch,
    // verilator lint_on UNUSEDSIGNAL
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

  logic           popped, edge_seen, holds;   // nothing best-effort starts
  assign popped   = act_do && argument == litepulse_program_pkg::Q_DO_POP;
  assign disarm   = (act_do && argument == litepulse_program_pkg::Q_DO_DISARM) || (SEQUENCE && popped);
  assign drop     = act_do && argument == litepulse_program_pkg::Q_DO_DROP;
  assign flushed  = act_do && argument == litepulse_program_pkg::Q_DO_FLUSHED;
  assign forget   = drop || popped;
  assign idle     = polling && !some;
  assign be_ok    = (armed ? slack_ok : !some) && !holds;
  assign eventful = flushing || edge_seen;
  assign flush_count = 16'(dropped);

  logic flag;   // of a wait that is reported: it stops the queue; else the entry is relative
  always @* begin
    cond = '0;
    cond[litepulse_program_pkg::Q_COND_FLUSH] = flushing;
    cond[litepulse_program_pkg::Q_COND_SOME]  = some || flushing;
    cond[litepulse_program_pkg::Q_COND_ENTRY] = some;
    if (SEQUENCE) begin
      cond[litepulse_program_pkg::S_COND_FLAG] = flag;
      cond[litepulse_program_pkg::S_COND_WAIT] = launch.kind == litepulse_map_pkg::LAUNCH_WAIT;
      cond[litepulse_program_pkg::S_COND_EDGE] = edge_seen;
    end
  end

  generate
    if (SEQUENCE) begin : gen_waits
      logic listening;
      assign holds = listening && (edge_seen || launch.data[litepulse_map_pkg::WAIT_EXCLUSIVE_LSB]);
      assign wait_choice.channel = launch.data[3:0];
      assign wait_choice.enable  = listening && !edge_seen;
      assign wait_choice.rise    = launch.data[litepulse_map_pkg::WAIT_RISE_LSB];
      assign wait_choice.fall    = launch.data[litepulse_map_pkg::WAIT_FALL_LSB];
      assign wait_choice.of_line = 1'b0;
      always_ff @(posedge clk) begin
        if (act && action == litepulse_program_pkg::ACT_LATCH) flag <= operation.result[litepulse_map_pkg::WAIT_RELATIVE_LSB];
        if (act && action == litepulse_program_pkg::ACT_EMIT)  flag <= operation.result[litepulse_map_pkg::WAIT_STOP_LSB];
        if (act_do && argument == litepulse_program_pkg::S_DO_LISTEN) listening <= 1'b1;
        else if (forget) listening <= 1'b0;
        if (wait_choice.enable) begin
          edge_seen <= wait_edge.found;
          age       <= wait_edge.filtered ? ~{1'b0, wait_edge.delay} : '1;
          age_off   <= wait_edge.off;
        end else begin
          edge_seen <= edge_seen && listening;
          age       <= age - 8'd1;
        end
        if (rst) {listening, edge_seen} <= 2'b00;
      end
    end else begin : gen_no_waits
      assign {flag, holds, edge_seen, age, age_off} = '0;
      assign wait_choice = '0;
    end
  endgenerate

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
