// SPDX-License-Identifier: BSD-2-Clause
// The next launch of one source: counts down to it, opens the de lead window, says whether a best-effort frame would end in time.
// The count is T - now*S - (KE + 2)*S, KE being the cycles from `now` to the pin: at 0 the launch is due in the next cycle.
// Latency: `due` is high in the cycle before the launch's first cycle in litepulse_line_tx, `lead` lies in that module's cycle. A count
// that is loaded must not be less than the lead. A lead that changes later may be missed or be too long, once.
module litepulse_slot #(
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         load,      // strobe; in the cycle after it:
    input  logic [31:0]  value,     // the count in the cycle after that, modulo 2^32
    input  logic         arm,       // loaded for use
    input  logic         beyond,    // more than `value` is left, by a multiple of 2^32
    input  logic         take_back, // strobe: not armed from the cycle after it on
    input  logic         forget,    // fired and wrapped become low, as by a load
    input  logic [15:0]  de_lead,   // ticks
    input  logic [31:0]  nslack,    // complement of a best-effort frame's length, ticks
    output logic         due,
    output logic         due_soon,  // in the cycle before `due`, up to three cycles sooner, and of a launch that is not due after all
    output logic [2:0]   off,       // sample
    output logic [S-1:0] lead,      // samples that lie in the de lead window
    output logic         armed,
    output logic         slack_ok,  // armed, and a best-effort frame that starts now ends in time
    output logic         fired,     // it was due since the load
    output logic         is_far,
    output logic         wrapped    // the count of a far launch has ended: it must be loaded again
);
  localparam int SL = $clog2(S);
  localparam int CW = 32 - SL;
  localparam int LOW = 4;

  logic [CW-1:0] cycles, less;
  logic [2:0]    low;
  logic          upper_zero;        // of `cycles`, of a cycle ago: it has not borrowed since when the lower ones are 0
  logic          none;              // they and the upper ones are
  logic          live;              // armed, not far, not to be disarmed
  logic          ended, lead_opens, lead_on, opens_now;
  logic [31:0]   count;
  // verilator lint_off UNUSEDSIGNAL
  logic [32:0]   slack;
  // verilator lint_on UNUSEDSIGNAL
  logic [S-1:0]  from_open, to_due;

  // adding ones or nothing lets one cell per bit load and count, if that is a register's output
  logic          counting;
  logic          disarm;
  assign less   = cycles + {CW{counting}};
  assign none   = upper_zero && cycles[LOW-1:0] == '0;
  assign due_soon = armed && upper_zero && cycles[LOW-1:2] == '0;
  assign off    = low;
  // `is_far` on top makes the last carry a bit of the sum, which needs no cell to leave the chain
  assign slack  = {is_far, count} + {1'b0, nslack} + 33'd1;

  generate
    if (S == 1) begin : gen_one
      assign low       = 3'd0;
      assign count     = cycles;
      assign opens_now = cycles == {16'd0, de_lead};
      assign from_open = 1'b1;
      assign to_due    = 1'b0;
    end else begin : gen_more
      // T - lead: its cycle is one earlier when the lead's part of a cycle is more than T's. Neither changes while that matters.
      logic [2:0]    kept;
      logic          more;
      logic          top_zero;   // of `cycles`, as upper_zero
      logic [15:0]   nlead;
      (* keep *) logic [15:0] equal;   // keep: a cell each, so that those behind them stay shallow
      assign low     = kept;
      assign count   = {cycles, kept[SL-1:0]};
      assign more    = de_lead[SL-1:0] > kept[SL-1:0];
      assign nlead   = {{SL{1'b1}}, ~de_lead[15:SL]};
      // cycles == lead + more
      assign equal   = litepulse_sum_pkg::zero_bits(cycles[15:0], nlead, !more);
      assign opens_now = top_zero && equal == '1;
      always_ff @(posedge clk) begin
        top_zero <= counting ? cycles[CW-1:16] == '0 : value[31:SL+16] == '0;
        if (!counting) kept <= value[2:0] & 3'(S - 1);
      end
      always @* begin
        for (int s = 0; s < S; s++) begin
          from_open[s] = SL'(s) >= SL'(kept[SL-1:0] - de_lead[SL-1:0]);
          to_due[s]    = 3'(s) < kept;
        end
      end
    end
  endgenerate

  always_ff @(posedge clk) begin
    counting   <= !load;
    disarm     <= take_back;
    cycles     <= counting ? less : value[31:SL];
    upper_zero <= counting ? cycles[CW-1:LOW] == '0 : value[31:SL+LOW] == '0;
    ended      <= armed && none && counting;
    due        <= armed && none && counting && live && !due && !take_back;   // `ended` and `live`
    lead_opens <= armed && !is_far && opens_now && counting;
    lead_on    <= (lead_on || lead_opens) && armed && !disarm && !due;
    lead       <= {S{armed && !disarm}} & ({S{lead_on}} | (from_open & {S{lead_opens}})) & ({S{!due}} | to_due);
    slack_ok   <= armed && (is_far || slack[32]);
    if (!counting) begin
      armed  <= arm;
      is_far <= beyond;
    end else if (due || disarm) begin
      armed <= 1'b0;
    end
    live    <= (counting ? live && !due : arm && !beyond) && !take_back;
    fired   <= (fired || due) && !load && !forget;
    wrapped <= (wrapped || (ended && armed && is_far && counting)) && !load && !forget;
    if (rst) begin
      counting   <= 1'b1;
      disarm     <= 1'b0;
      armed      <= 1'b0;
      live       <= 1'b0;
      ended      <= 1'b0;
      due        <= 1'b0;
      lead_opens <= 1'b0;
      lead_on    <= 1'b0;
      lead       <= '0;
      slack_ok   <= 1'b0;
      fired      <= 1'b0;
      is_far     <= 1'b0;
      wrapped    <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_slot.svh"  // sim/formal
`endif
endmodule
