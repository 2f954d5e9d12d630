// SPDX-License-Identifier: BSD-2-Clause
// The marker port: eight pins that show the byte of a mark, all of them from one cycle on, for the width of marks. A mark is a launch of
// kind frame whose profile says so (`prof_port`), or a best-effort byte by such a profile 0. It is granted whatever the line does. Of
// timed marks in one cycle one is granted, in the order responder, queue, train; best effort waits. A mark replaces the one before it.
// Latency: the code leaves the core's last register in the cycle in which a launch on the line, due in the same cycle, is at its pin.
//
//   cycle   S = 1                                     S > 1
//     0     `due`: granted or refused                 `due`
//     1     `begins`                                  granted or refused; a best-effort mark is due
//     2     the code is shown                         `begins`
//
//   S            samples per cycle
//   LATENCY_OUT  as in litepulse.sv
`include "litepulse_types.svh"
module litepulse_port #(
    parameter int S = 1,
    parameter int LATENCY_OUT = 1
) (
    input  logic         clk,
    input  logic         rst,
    // configuration: the width of marks, ticks; 0: until the next one
    input  logic         width_we,
    input  logic [31:0]  width_data,
    input  logic [3:0]   prof_port,
    // timed sources: 0 responder, 1 queue, 2 train
    // verilator lint_off UNUSEDSIGNAL
    input  launch_t      responder_launch,
    input  launch_t      queue_launch,
    input  launch_t      train_launch,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [2:0]   due,
    output logic [2:0]   mark,         // the source's launch is one: known a cycle before `due`
    output logic [2:0]   grant,        // as litepulse_arbiter answers
    output logic [2:0]   refuse,
    // best effort
    input  logic         tty_due,
    input  logic [7:0]   tty_data,     // also in the cycle behind it
    output logic         tty_started,  // it was granted in the last cycle
    output logic [7:0]   port
);
  localparam int SL = $clog2(S);
  localparam int CW = 32 - SL;
  localparam int LOW = 4;
  localparam int DELAY = LATENCY_OUT - 1;

  logic [2:0]    asked, first, answered, granted;
  logic [7:0]    code, code_next;     // of the timed mark that is granted
  logic          begins, tty_begins;
  logic [7:0]    shown;
  logic [CW-1:0] less, left;          // cycles behind the first: of any mark; of this one
  logic          stays, brief;        // the width is 0; it has at most 2^LOW cycles
  logic          upper_zero;          // of `left`, of a cycle ago, as in litepulse_slot
  logic          runs, ends;

  assign asked = due & mark;
  assign first = {asked[2] && asked[1:0] == 2'd0, asked[1] && !asked[0], asked[0]};
  assign code_next = (responder_launch.data & {8{first[0]}}) | (queue_launch.data & {8{first[1]}}) | (train_launch.data & {8{first[2]}});

  generate
    if (S == 1) begin : gen_one
      assign {answered, granted} = {asked, first};
      always_ff @(posedge clk) code <= code_next;
    end else begin : gen_more
      logic [7:0] code_soon;
      always_ff @(posedge clk) begin
        {answered, granted} <= rst ? 6'd0 : {asked, first};
        {code, code_soon} <= {code_soon, code_next};
      end
    end
  endgenerate
  assign tty_begins = tty_due && !tty_started && granted == 3'd0;   // it is still due in the cycle behind its grant
  assign grant  = granted;
  assign refuse = answered & ~granted;

  assign ends = runs && upper_zero && left[LOW-1:0] == '0;
  always_ff @(posedge clk) begin
    mark[0] <= responder_launch.kind == litepulse_map_pkg::LAUNCH_FRAME && prof_port[responder_launch.profile];
    mark[1] <= queue_launch.kind == litepulse_map_pkg::LAUNCH_FRAME && prof_port[queue_launch.profile];
    mark[2] <= train_launch.kind == litepulse_map_pkg::LAUNCH_FRAME && prof_port[train_launch.profile];
    begins      <= granted != 3'd0 || tty_begins;
    tty_started <= tty_begins;
    if (width_we) begin
      less  <= CW'((width_data - 32'd1) >> SL);
      stays <= width_data == 32'd0;
      brief <= width_data[31:SL+LOW] == '0 || width_data == 32'd1 << (SL + LOW);
    end
    left       <= begins ? less : left - 1'b1;
    upper_zero <= begins ? brief : left[CW-1:LOW] == '0;
    if (begins) begin
      shown <= tty_started ? tty_data : code;
      runs  <= !stays;
    end else if (ends) begin
      shown <= 8'd0;
      runs  <= 1'b0;
    end
    if (rst) begin
      begins      <= 1'b0;
      tty_started <= 1'b0;
      stays       <= 1'b1;
      shown       <= 8'd0;
      runs        <= 1'b0;
    end
  end

  generate
    if (DELAY == 0) begin : gen_at_once
      assign port = shown;
    end else begin : gen_later
      logic [8*DELAY-1:0] late;
      assign port = late[7:0];
      always_ff @(posedge clk) late <= rst ? '0 : (8 * DELAY)'({shown, late} >> 8);
    end
  endgenerate

`ifdef FORMAL
`include "litepulse_port.svh"  // sim/formal
`endif
endmodule
