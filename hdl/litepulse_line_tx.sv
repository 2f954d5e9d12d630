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

  // position of the next boundary, from sample 0 of this cycle: whole cycles, and the sample within that cycle
  logic [32-SL:0] pos_cyc;
  logic [2:0]     pos_off;
  logic           bnd;        // it lies in this cycle
  logic           last;       // it ends the launch
  logic           holding;
  logic           level;      // at sample 0 of this cycle
  logic [7:0]     frac;       // of the last boundary, 1/256 tick
  logic [27:0]    len;        // whole ticks from the next boundary to the one after it
  logic [8:0]     shift;
  logic [7:0]     left;       // bits before the first stop bit
  logic [1:0]     stops;      // stop intervals still to begin
  logic           half;       // the interval after the next boundary is half a bit

  logic           step;       // a boundary inside the launch
  logic           pulse;
  logic [8:0]     frac_sum;
  logic [31:0]    add_len;
  logic [32:0]    sum;
  // verilator lint_off UNUSEDSIGNAL
  logic [32:0]    width_sum;
  // verilator lint_on UNUSEDSIGNAL
  logic           bnd_next, last_next, active_next;
  logic [7:0]     bits;
  logic           parity_bit;
  logic [8:0]     frame_bits;
  logic [1:0]     frame_stops;
  logic           next_level;
  logic [S-1:0]   tx_next;

  assign pulse = kind == litepulse_map_pkg::LAUNCH_PULSE;
  assign step  = active && bnd && !last && !holding;

  // the interval after the next boundary: its fraction now, its whole part one cycle later
  assign frac_sum = {1'b0, frac} + {1'b0, half ? period[8:1] : period[7:0]};

  assign bits = data & (8'hff >> (2'd3 - data_bits));
  always_comb begin
    case (parity)
      litepulse_map_pkg::PARITY_ODD:  parity_bit = ~^bits;
      litepulse_map_pkg::PARITY_EVEN: parity_bit = ^bits;
      litepulse_map_pkg::PARITY_MARK: parity_bit = 1'b1;
      default:     parity_bit = 1'b0;
    endcase
    case (data_bits)
      2'd0:    frame_bits = {3'b000, parity_bit, bits[4:0]};
      2'd1:    frame_bits = {2'b00, parity_bit, bits[5:0]};
      2'd2:    frame_bits = {1'b0, parity_bit, bits[6:0]};
      default: frame_bits = {parity_bit, bits};
    endcase
    frame_stops = (stop == litepulse_map_pkg::STOP_1) ? 2'd1 : 2'd2;
  end

  // start and step both begin an interval at a sample of this cycle
  assign add_len   = start ? (pulse ? width : {4'd0, period[35:8]}) : {4'd0, len};
  assign sum       = {1'b0, add_len} + {30'd0, (start ? start_off : pos_off) & 3'(S - 1)};
  assign width_sum = {1'b0, width} + {30'd0, start_off & 3'(S - 1)};

  assign active_next = start || hold_start || (active && !(bnd && last) && !(holding && !hold));
  assign bnd_next = start ? (pulse && width_sum[32:SL] == 1) : hold_start ? 1'b0 : step ? 1'b0 : (pos_cyc == 1);
  assign last_next = start ? pulse : (step && left == 8'd0) ? (stops == 2'd1) : last;
  assign free_next = !active_next || (bnd_next && last_next);
  assign free_off  = active_next ? ((start || step) ? sum[2:0] & 3'(S - 1) : pos_off) : 3'd0;

  assign next_level = (left == 8'd0) ? !invert : shift[0] ^ invert;

  always_comb begin
    for (int s = 0; s < S; s++) begin
      tx_next[s] = rest_level;
      busy[s]    = 1'b0;
      if (active && !(bnd && last && 3'(s) >= pos_off) && !(holding && !hold)) begin
        tx_next[s] = (step && 3'(s) >= pos_off) ? next_level : level;
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
    len <= (half ? {1'b0, period[35:9]} : period[35:8]) + {27'd0, frac_sum[8]};
    active <= active_next;
    bnd <= bnd_next;
    last <= last_next;
    if (start || step) begin
      pos_cyc <= sum[32:SL] - 1'b1;
      pos_off <= sum[2:0] & 3'(S - 1);
    end else begin
      pos_cyc <= pos_cyc - 1'b1;
    end
    if (start) begin
      level <= invert;
      frac  <= period[7:0];
      half  <= 1'b0;
      shift <= (kind == litepulse_map_pkg::LAUNCH_BREAK) ? 9'd0 : frame_bits;
      left  <= (kind == litepulse_map_pkg::LAUNCH_BREAK) ? data - 8'd1 : 8'd5 + {6'd0, data_bits} + {7'd0, parity != litepulse_map_pkg::PARITY_NONE};
      stops <= frame_stops;
      holding <= 1'b0;
    end else if (hold_start) begin
      level <= !rest_level;
      last <= 1'b0;
      holding <= 1'b1;
    end else if (step) begin
      level <= next_level;
      frac  <= frac_sum[7:0];
      shift <= {1'b0, shift[8:1]};
      if (left != 8'd0) begin
        left <= left - 8'd1;
      end else begin
        stops <= stops - 2'd1;
        half <= stop == litepulse_map_pkg::STOP_1_5;  // only ever the interval after the first stop bit
      end
    end
    if (holding && !hold) holding <= 1'b0;
    tx <= tx_next;
    if (rst) begin
      active <= 1'b0;
      bnd <= 1'b0;
      last <= 1'b0;
      holding <= 1'b0;
      half <= 1'b0;
      tx <= '1;
    end
  end
endmodule
