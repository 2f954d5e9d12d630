// SPDX-License-Identifier: BSD-2-Clause
// The periodic generator beside litepulse_sequencer, whose thread 1 (hdl/program/train.asm) keeps A, places and reports the pulses and
// decides on changes: the host's words and commands, what state the train is in.
// Latency: a start tick must be TRAIN_LMIN*S + de lead ticks ahead; the period is at least TRAIN_MIN_PERIOD*S + de lead (docs/core.md).
// With less than CHANGE_MIN_PERIOD*S + de lead the program has no time for a command: all but a stop are refused here.
`include "litepulse_types.svh"
module litepulse_train (
    input  logic         clk,
    input  logic         rst,
    // configuration: request with stable address and data until done
    input  logic         cfg_req,    // for a word of the train
    input  logic [3:0]   cfg_addr,   // index less 16
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0]  cfg_data,
    // verilator lint_on UNUSEDSIGNAL
    output logic         cfg_done,
    output logic         cfg_err,
    output logic         cfg_untold, // while cfg_err: the program does not report it
    output logic         host_we,    // into the sequencer's memory
    input  logic         host_done,
    // sequencer
    // verilator lint_off UNUSEDSIGNAL
    input  operation_t   operation,
    // verilator lint_on UNUSEDSIGNAL
    output logic [15:10] cond,
    output logic         eventful,
    output logic         width_set,  // strobe: the word of the width was written ...
    output logic         width_none, // ... as 0
    // timed source
    input  logic         act_do,
    input  logic         armed,
    input  logic         slack_ok,
    input  logic         is_far,
    input  logic         wrapped,
    output logic         disarm,
    output logic         forget,
    output logic         be_ok,      // as far as the train knows a best-effort frame may start
    output logic         running,
    output logic         pending     // a change waits for its pulse
);
  logic [4:0] argument;
  assign argument = operation.argument;

  logic is_command, is_width, command, word_ok, answer, refuse, stopped;
  logic fast;      // the start that was checked last is of a train that is too fast for commands
  logic closed;    // such a train runs, and its start was answered
  logic is_stop, shut;
  logic stopping;  // a stop is looked at: no further pulse comes, or a fast train could keep the program from it

  assign is_command = cfg_addr == 4'(litepulse_map_pkg::CFG_TRAIN_COMMAND - 6'd16);
  assign is_width   = cfg_addr == 4'(litepulse_map_pkg::CFG_TRAIN_WIDTH - 6'd16);
  assign is_stop    = cfg_data[litepulse_map_pkg::TRAIN_COMMAND_COMMAND_LSB +: 2] == litepulse_map_pkg::TRAIN_CMD_STOP;
  assign shut       = is_command && closed && !is_stop;
  // start words only while no train runs, rate words and the width only while no change waits
  assign word_ok    = (cfg_addr[3] || is_width) ? (cfg_addr <= 4'(litepulse_map_pkg::CFG_TRAIN_STEP - 6'd16) && !pending)
      : (cfg_addr <= 4'(litepulse_map_pkg::CFG_TRAIN_LAUNCH - 6'd16) && !running);
  assign width_set  = host_done && is_width;
  assign host_we    = cfg_req && !cfg_done && !is_command && word_ok;
  assign refuse     = act_do && argument == litepulse_program_pkg::T_DO_REFUSE;
  assign answer     = refuse || (act_do && argument == litepulse_program_pkg::T_DO_DONE);
  assign stopped    = act_do && argument == litepulse_program_pkg::T_DO_STOPPED;
  assign disarm     = stopped || stopping || (act_do && argument == litepulse_program_pkg::T_DO_DISARM);
  assign forget     = stopped;
  assign be_ok      = armed ? slack_ok : !running;
  assign eventful   = command;

  always @* begin
    cond[litepulse_program_pkg::T_COND_CMD0]    = cfg_data[litepulse_map_pkg::TRAIN_COMMAND_COMMAND_LSB];
    cond[litepulse_program_pkg::T_COND_CMD1]    = cfg_data[litepulse_map_pkg::TRAIN_COMMAND_COMMAND_LSB + 1];
    cond[litepulse_program_pkg::T_COND_ASAP]    = cfg_data[litepulse_map_pkg::TRAIN_COMMAND_ASAP_LSB];
    cond[litepulse_program_pkg::T_COND_PENDING] = pending;
    cond[litepulse_program_pkg::T_COND_WRAPPED] = wrapped;
    cond[litepulse_program_pkg::T_COND_FAR]     = is_far;
  end

  always_ff @(posedge clk) begin
    command  <= cfg_req && !cfg_done && is_command && !shut && !answer;  // what the program asks for is deep in logic
    cfg_done <= answer || host_done || (cfg_req && !cfg_done && (is_command ? shut : !word_ok));
    cfg_err  <= refuse || (is_command ? shut : !word_ok);
    cfg_untold <= is_command && shut;
    width_none <= cfg_data == 32'd0;   // it stands since the cycle before
    if (act_do) begin
      case (argument)
        litepulse_program_pkg::T_DO_RUN:     running <= 1'b1;
        litepulse_program_pkg::T_DO_STOPPED: {running, pending, fast, closed, stopping} <= 5'b00000;
        litepulse_program_pkg::T_DO_FAST:    fast <= 1'b1;
        litepulse_program_pkg::T_DO_REFUSE:  fast <= 1'b0;
        litepulse_program_pkg::T_DO_DONE:    closed <= fast;
        litepulse_program_pkg::T_DO_DISARM:  stopping <= 1'b1;
        litepulse_program_pkg::T_DO_PEND:    pending <= 1'b1;
        litepulse_program_pkg::T_DO_UNPEND:  pending <= 1'b0;
        default: ;
      endcase
    end
    if (rst) begin
      command  <= 1'b0;
      cfg_done <= 1'b0;
      running  <= 1'b0;
      pending  <= 1'b0;
      fast     <= 1'b0;
      closed   <= 1'b0;
      stopping <= 1'b0;
    end
  end
endmodule
