// SPDX-License-Identifier: BSD-2-Clause
// Stands in for a slot where one step of the clock is one instruction, 4 cycles: due as slot.sby proves of the slot, at the step's end.
// verilog_lint: waive module-filename
module litepulse_slot #(
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         load,
    input  logic [31:0]  value,
    input  logic         arm,
    input  logic         beyond,
    input  logic         take_back,
    input  logic         forget,
    input  logic [15:0]  de_lead,
    input  logic [31:0]  nslack,
    output logic         due,
    output logic         due_soon,
    output logic [2:0]   off,
    output logic [S-1:0] lead,
    output logic         armed,
    output logic         slack_ok,
    output logic         fired,
    output logic         is_far,
    output logic         wrapped
);
  localparam int SL = $clog2(S);
  (* anyseq *) logic         any_slack;
  (* anyseq *) logic [S-1:0] any_lead;
  logic signed [34:0] rest;     // cycles to the one in which it is due, from the second cycle of the instruction
  logic [2:0]         low;
  logic               ends;

  // a strobe of this step acts in the second cycle of the next
  assign ends     = armed && rest <= 35'sd4;
  assign due      = ends && !is_far && !(take_back && rest == 35'sd4);
  assign due_soon = 1'b1;
  assign off      = low;
  assign slack_ok = any_slack;
  assign lead     = any_lead;
  initial assume (!(armed && !is_far) || rest > 35'sd0);
  always_ff @(posedge clk) begin
    rest <= rest - 35'sd4;
    if (load) begin
      rest   <= $signed({3'd0, value}) / S + 35'sd3;
      low    <= value[2:0] & 3'(S - 1);
      armed  <= arm;
      is_far <= beyond;
      // a launch that is about to begin is never loaded over
      assert (!armed || is_far || rest > 35'sd5);
    end else if (due || take_back) armed <= 1'b0;
    fired   <= (fired || due) && !load && !forget;
    wrapped <= (wrapped || (ends && is_far)) && !load && !forget;
  end
endmodule
