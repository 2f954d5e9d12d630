// SPDX-License-Identifier: BSD-2-Clause
// Decides who has the line. Each source says `due` in the cycle before its launch's first cycle, with the sample in it; the
// answer, grant or refuse, comes in the same cycle, and the granted launch is handed to litepulse_line_tx one cycle later. For one tick the
// order is responder, queue, train. A best-effort launch is granted only when no timed one is due in that cycle; a refused one
// tries again.
// Pulses that begin and end within one cycle (S > 1) are handed over as sample masks, so several launches may share a cycle.
//   S  samples per cycle
module litepulse_arbiter #(
    parameter int S = 1
) (
    input  logic          clk,
    input  logic          rst,
    // timed sources: 0 responder, 1 queue, 2 train
    input  logic [2:0]    due,
    input  logic [8:0]    off,         // sample, 3 bits each
    input  logic [5:0]    kind,
    input  logic [5:0]    profile,
    input  logic [23:0]   data,
    input  logic [95:0]   width,
    output logic [2:0]    grant,
    output logic [2:0]    refuse,
    // best effort
    input  logic          be_due,
    input  logic [2:0]    be_off,
    input  logic [7:0]    be_data,
    output logic          be_grant,
    input  logic          break_hold,
    input  logic [3:0]    prof_invert,
    // profile memory: read when something is granted
    output logic          prof_ren,
    output logic [1:0]    prof_raddr,
    // line
    input  logic          free_next,
    input  logic [2:0]    free_off,
    input  logic          line_active,
    output logic          start,
    output logic [2:0]    start_off,
    output logic [1:0]    start_kind,
    output logic [7:0]    start_data,
    output logic [31:0]   start_width,
    output logic [S-1:0]  sub_mask,
    output logic [S-1:0]  sub_level,
    output logic          start_timed,  // `start`, not by best effort
    output logic          hold_start
);

  logic [3:0]   from;       // the line is free from this sample of the next cycle on; S: not at all
  logic         go;
  logic [1:0]   who, who_next;
  logic [2:0]   go_off;
  logic [S-1:0] mask_next, level_next;
  logic [2:0]   fits;       // a pulse that ends within its cycle

  always_comb begin
    from = free_next ? {1'b0, free_off} : 4'(S);
    go = 1'b0;
    who_next = 2'd3;
    go_off = 3'd0;
    grant = 3'b000;
    refuse = 3'b000;
    mask_next = '0;
    level_next = '0;
    for (int i = 0; i < 3; i++) begin
      fits[i] = S > 1 && kind[2*i+:2] == litepulse_map_pkg::LAUNCH_PULSE && width[32*i+3+:29] == 29'd0
          && {1'b0, width[32*i+:3]} + {1'b0, off[3*i+:3]} < 4'(S);
    end
    for (int s = 0; s < S; s++) begin
      for (int i = 0; i < 3; i++) begin
        if (due[i] && off[3*i+:3] == 3'(s)) begin
          if (from > 4'(s)) begin
            refuse[i] = 1'b1;
          end else begin
            grant[i] = 1'b1;
            if (fits[i]) begin
              for (int t = 0; t < S; t++) begin
                if (t >= s && 4'(t) < 4'(s) + {1'b0, width[32*i+:3]}) begin
                  mask_next[t]  = 1'b1;
                  level_next[t] = prof_invert[profile[2*i+:2]];
                end
              end
              from = 4'(s) + {1'b0, width[32*i+:3]};
            end else begin
              go = 1'b1;
              who_next = 2'(i);
              go_off = 3'(s);
              from = 4'(S);
            end
          end
        end
      end
    end
    be_grant = be_due && due == 3'b000 && !break_hold && from <= {1'b0, be_off};
    if (be_grant) begin
      go = 1'b1;
      who_next = 2'd3;
      go_off = be_off;
    end
  end

  assign start_timed = start && who != 2'd3;

  always_comb begin
    prof_ren = go;
    case (who_next)
      2'd0:    prof_raddr = profile[1:0];
      2'd1:    prof_raddr = profile[3:2];
      2'd2:    prof_raddr = profile[5:4];
      default: prof_raddr = 2'd0;
    endcase
    case (who)
      2'd0: begin
        start_kind = kind[1:0];
        start_data = data[7:0];
        start_width = width[31:0];
      end
      2'd1: begin
        start_kind = kind[3:2];
        start_data = data[15:8];
        start_width = width[63:32];
      end
      2'd2: begin
        start_kind = kind[5:4];
        start_data = data[23:16];
        start_width = width[95:64];
      end
      default: begin
        start_kind = litepulse_map_pkg::LAUNCH_FRAME;
        start_data = be_data;
        start_width = 32'd1;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    start <= go;
    start_off <= go_off;
    who <= who_next;
    sub_mask <= mask_next;
    sub_level <= level_next;
    // only on a line that is wholly free, and behind whatever is due
    hold_start <= break_hold && !hold_start && !line_active && due == 3'b000 && free_next && free_off == 3'd0;
    if (rst) begin
      start <= 1'b0;
      sub_mask <= '0;
      hold_start <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_arbiter.svh"  // sim/formal
`endif
endmodule
