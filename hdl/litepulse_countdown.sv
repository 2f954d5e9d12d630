// SPDX-License-Identifier: BSD-2-Clause
// Counts down to the launch of one source, in ticks: cnt = T - now*S + S at all times, T being the launch tick.
// The owner clears it, adds or subtracts; in every other cycle S is taken off. A cycle that adds has not taken S off: the owner allows for
// that in the addend, or has it taken off `twice` in another cycle.
// Latencies: `due` is high in the cycle before the launch's first cycle in litepulse_line_tx. `late`, `distant`, `clear_of` are true of the
// cycle before, so ask two cycles after the last addition. `lead` lies in the engine's cycle.
//   W   bits of the counter, which takes a sign: T may pass     KE  cycles from `now` to the pin (input plus output latency)
module litepulse_countdown #(
    parameter int S = 1,
    parameter int W = 32,
    parameter int KE = 2
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         clear,       // cnt becomes 0
    input  logic         add,         // cnt grows by addend instead of shrinking by S
    input  logic         sub,         // cnt shrinks by addend
    input  logic         twice,       // cnt shrinks by 2*S
    input  logic [W-1:0] addend,
    input  logic         hi_zero,     // nothing of T - now lies above the counter
    input  logic         armed,
    // complements, which cost nothing in front of an adder
    input  logic [15:0]  nde_lead,    // de lead, ticks
    input  logic [31:0]  nslack,      // best-effort frame length + margin, ticks
    output logic [W-1:0] cnt,
    output logic         due,
    output logic         late,        // T cannot be kept
    output logic [S-1:0] lead,        // samples of the engine's cycle that lie in the de lead window
    output logic         slack_ok,    // a best-effort frame that starts now ends in time
    output logic         distant,     // at least 64 cycles and the de lead are left
    output logic         clear_of     // at least 32 cycles and the de lead are left
);
  localparam int SL = $clog2(S);
  localparam int K = KE + 3;

  logic         near, high, negative, due_next, soon;
  logic [S-1:0] in_lead;
  logic [W:0]   slack;
  logic [17:0]  rest;  // ticks to the start of the lead window, one cycle ago

  assign near     = hi_zero && !high;
  assign soon     = rest[16:5+SL] == '0;  // within 32 cycles
  assign late     = hi_zero && (negative || (near && (rest[17] || (soon && rest[4+SL:0] < (5 + SL)'((KE + 5) * S)))));
  assign distant  = !hi_zero || (high && !negative) || (near && !rest[17] && rest[16:SL+6] != '0);
  assign clear_of = distant || (near && !rest[17] && rest[SL+5]);
  assign slack    = {1'b0, cnt} + {1'b0, {(W - 32) {1'b1}}, nslack} + 1'b1;
  // verilator lint_off UNSIGNED
  always_comb begin
    for (int s = 0; s < S; s++) begin
      in_lead[s] = near && (rest[17] || (soon && rest[4+SL:0] <= (5 + SL)'((KE + 3) * S + s)))
          && !(due_next && 3'(s) >= (cnt[2:0] & 3'(S - 1)));  // up to T, not beyond
    end
  end
  // verilator lint_on UNSIGNED
  assign due      = due_next && armed;  // whoever disarms in this very cycle is obeyed

  always_ff @(posedge clk) begin
    if (clear) cnt <= '0;
    else cnt <= cnt + (add ? addend : sub ? ~addend : twice ? W'(-2 * S) : W'(-S)) + W'(sub);
    rest     <= {1'b0, cnt[16:0]} + {2'b11, nde_lead} + 18'd1;
    high     <= cnt[W-1:17] != '0;
    negative <= cnt[W-1];
    due_next <= armed && hi_zero && cnt[W-1:SL] == (W - SL)'(K);
    lead     <= armed ? in_lead : '0;
    slack_ok <= armed && (!hi_zero || slack[W]);
    if (rst) begin
      cnt      <= '0;
      due_next <= 1'b0;
      lead     <= '0;
      slack_ok <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_countdown.svh"  // sim/formal
`endif
endmodule
