// SPDX-License-Identifier: BSD-2-Clause
// Serialises one launch: frame, break or pulse. Edge k of a frame lies at start + floor(k * period); the fraction restarts
// with every start bit, so equal bytes give equal waveforms.
// Latency: samples of the cycle in which `start` is high leave on `tx` one cycle later. Accepts a launch in every cycle in which the
// line is free from start_off on (see free_next, free_off, which speak of the next cycle).
//   S  samples per cycle, sample 0 first
module litepulse_line_tx #(
    parameter int S = 1
) (
    input  logic         clk,
    input  logic         rst,
    input  logic         prepare,    // the cycle before a start
    // the launch that begins in this cycle; the profile stays until the next start
    input  logic         start,
    input  logic [2:0]   start_off,
    input  logic [1:0]   kind,
    input  logic [7:0]   data,
    input  logic [31:0]  width,      // ticks; start_off + width >= S
    input  logic [35:0]  period,     // ticks, Q28.8, at least 4*S
    input  logic [1:0]   data_bits,  // less 5
    input  logic [2:0]   parity,
    input  logic [1:0]   stop,
    input  logic         invert,
    // pulses that begin and end within this cycle
    input  logic [S-1:0] sub_mask,
    input  logic [S-1:0] sub_level,
    input  logic         rest_level,
    input  logic         hold_start,  // space level from this cycle on ...
    input  logic         hold,        // ... for as long as this is set
    output logic         free_next,   // the line is free in the next cycle from sample free_off on
    output logic [2:0]   free_off,
    output logic         active,      // a launch or a hold is on the line in this cycle, from sample 0 on
    output logic [S-1:0] busy,        // samples of this cycle that belong to a launch
    output logic [S-1:0] tx           // one cycle later
);
  localparam int SL = $clog2(S);

  // Where the next boundary lies, in ticks from sample 0 of the cycle in which the launch began, and which cycle comes next
  logic [40:0]    target;     // Q33.8
  logic [32-SL:0] cycle;
  logic [2:0]     bnd_off;    // its sample, while bnd
  logic           bnd;        // it lies in this cycle
  logic           last;       // it ends the launch
  logic           holding;
  logic           level;      // at sample 0 of this cycle
  logic [8:0]     shift;
  logic [7:0]     left;       // bits before the first stop bit
  logic           stops;      // a second stop interval is still to begin
  logic           half;       // which is half a bit

  logic           step;       // a boundary inside the launch
  logic           pulse;
  logic [40:0]    interval;
  logic [2:0]     width_off;
  logic           width_next; // the pulse that starts ends in the next cycle
  logic           bnd_next, last_next, active_next;
  logic [7:0]     bits;
  logic           parity_bit;
  logic [8:0]     frame_bits;
  logic           next_level;
  logic [S-1:0]   tx_next;
  // verilator lint_off UNUSEDSIGNAL
  logic [3:0]     width_sum;
  // verilator lint_on UNUSEDSIGNAL

  assign pulse = kind == litepulse_map_pkg::LAUNCH_PULSE;
  assign step  = active && bnd && !last && !holding;

  assign bits = data & (8'hff >> (2'd3 - data_bits));
  always_comb begin
    case (parity)
      litepulse_map_pkg::PARITY_ODD:  parity_bit = ~^bits;
      litepulse_map_pkg::PARITY_EVEN: parity_bit = ^bits;
      litepulse_map_pkg::PARITY_MARK: parity_bit = 1'b1;
      default: parity_bit = 1'b0;
    endcase
    case (data_bits)
      2'd0:    frame_bits = {3'b000, parity_bit, bits[4:0]};
      2'd1:    frame_bits = {2'b00, parity_bit, bits[5:0]};
      2'd2:    frame_bits = {1'b0, parity_bit, bits[6:0]};
      default: frame_bits = {parity_bit, bits};
    endcase
    if (start && pulse) interval = {1'b0, width, 8'd0};
    else interval = {5'd0, (half && !start) ? {1'b0, period[35:1]} : period};
    // start_off + width, as far as it ends in the next cycle
    width_sum  = {1'b0, width[2:0]} + {1'b0, start_off & 3'(S - 1)};
    width_next = width[31:3] == '0 && (4'(width_sum) >> SL) == 4'd1;
    width_off  = width_sum[2:0] & 3'(S - 1);
  end

  assign active_next = start || hold_start || (active && !(bnd && last) && !(holding && !hold));
  assign bnd_next    = start ? (pulse && width_next) : (!hold_start && target[40:8+SL] == cycle);
  assign last_next   = start ? pulse : (step && left == 8'd0) ? !stops : last;
  assign free_next   = !active_next || (bnd_next && last_next);
  assign free_off    = !active_next ? 3'd0 : start ? width_off : target[10:8] & 3'(S - 1);

  assign next_level  = (left == 8'd0) ? !invert : shift[0] ^ invert;

  always_comb begin
    for (int s = 0; s < S; s++) begin
      tx_next[s] = rest_level;
      busy[s]    = 1'b0;
      if (active && !(bnd && last && 3'(s) >= bnd_off) && !(holding && !hold)) begin
        tx_next[s] = (step && 3'(s) >= bnd_off) ? next_level : level;
        busy[s]    = 1'b1;
      end
      if (sub_mask[s]) begin
        tx_next[s] = sub_level[s];
        busy[s]    = 1'b1;
      end
      if (start && 3'(s) >= start_off) begin
        tx_next[s] = invert;
        busy[s]    = 1'b1;
      end
      if (hold_start) begin
        tx_next[s] = !rest_level;
        busy[s]    = 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    tx      <= tx_next;
    active  <= active_next;
    bnd     <= bnd_next;
    bnd_off <= start ? width_off : target[10:8] & 3'(S - 1);
    last    <= last_next;
    cycle   <= cycle + 1'b1;
    if (start || step) target <= {target[40:11], start ? {start_off & 3'(S - 1), 8'd0} : target[10:0]} + interval;
    if (prepare) begin
      target <= '0;
      cycle  <= (33 - SL)'(1);
    end
    if (start) begin
      level <= invert;
      half  <= 1'b0;
      shift <= (kind == litepulse_map_pkg::LAUNCH_BREAK) ? 9'd0 : frame_bits;
      left  <= (kind == litepulse_map_pkg::LAUNCH_BREAK) ? data - 8'd1
          : 8'd5 + {6'd0, data_bits} + {7'd0, parity != litepulse_map_pkg::PARITY_NONE};
      stops <= stop != litepulse_map_pkg::STOP_1;
      holding <= 1'b0;
    end else if (hold_start) begin
      level   <= !rest_level;
      last    <= 1'b0;
      holding <= 1'b1;
    end else if (step) begin
      level <= next_level;
      shift <= {1'b0, shift[8:1]};
      if (left != 8'd0) begin
        left <= left - 8'd1;
      end else begin
        stops <= 1'b0;
        half  <= stop == litepulse_map_pkg::STOP_1_5;
      end
    end
    if (holding && !hold) holding <= 1'b0;
    if (rst) begin
      active  <= 1'b0;
      bnd     <= 1'b0;
      last    <= 1'b0;
      holding <= 1'b0;
      half    <= 1'b0;
      tx      <= '1;
    end
  end

`ifdef FORMAL
`include "litepulse_line_tx.svh"  // sim/formal
`endif
endmodule
