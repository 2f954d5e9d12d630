// SPDX-License-Identifier: BSD-2-Clause
// What litepulse_line_tx counts: the bit period and format of each profile, and the pulse width of each timed source, in one memory,
// so that whatever is granted comes over one bus. Entries 0 to 3 are the profiles, 4 the responder, 5 the queue, 6 the train.
// Latency: what is read shows one cycle later and stays until the next read; a width of queue or train can be read three cycles after
// `width_we`, the bits of it that are known before the grant are there four cycles after.
//   S  samples per cycle
`include "litepulse_types.svh"
module litepulse_launch_memory #(
    parameter int S = 1
) (
    input  logic        clk,
    input  logic        rst,
    // the launch that is granted
    input  logic        ren,
    input  logic [2:0]  raddr,
    input  logic        read_soon,    // a cycle before what is read matters, or ...
    input  logic        may_read,     // ... in that cycle
    output logic [35:0] interval,     // bit period, ticks, Q28.8; of a pulse 4'd0 and the width, ticks
    output logic        few,          // less than 8 cycles; of a pulse: less than 4
    output frame_format_t format,
    // a width of queue or train: at most every other cycle, and not while its launch may be granted
    input  logic        width_we,
    input  logic        width_train,
    input  logic [31:0] width_data,
    // configuration, written while `cfg_ready`; requested when it has been stable for three cycles
    output logic        cfg_ready,
    input  profile_write_t cfg_write,
    input  logic [31:0] cfg_data,     // period, low word; width
    output logic        cfg_long,     // one and two cycles before `cfg_ready`: the period is at least 4 cycles
    output pulse_width_t responder_width,
    output pulse_width_t queue_width,
    output pulse_width_t train_width
);
  localparam int SL = $clog2(S);

  logic [2:0]  width_zero, width_short;     // of each source, the responder lowest
  logic [3*(SL+2)-1:0] width_low;
  assign responder_width.zero  = width_zero[0];
  assign responder_width.brief = width_short[0];
  assign responder_width.low   = 5'(width_low[0+:SL+2]);
  assign queue_width.zero      = width_zero[1];
  assign queue_width.brief     = width_short[1];
  assign queue_width.low       = 5'(width_low[SL+2+:SL+2]);
  assign train_width.zero      = width_zero[2];
  assign train_width.brief     = width_short[2];
  assign train_width.low       = 5'(width_low[2*(SL+2)+:SL+2]);

  (* no_rw_check *) logic [31:0] low[0:7];
  (* no_rw_check *) logic [11:0] high[0:7];
  logic        we, few_in, above, between;
  logic        rests;         // no such width is on its way, and no read was announced: one register, as `we` follows it
  logic [2:0]  wrote;         // of a width: the last cycle wrote it
  logic [SL+1:0] low_in;
  logic        zero_in, short_in;
  logic [3:0]  timed;         // such a width was taken over, is written now, may still be what `cfg_long` spoke of two cycles ago
  logic [1:0]  is_train;      // that one is the train's
  logic [2:0]  waddr;
  logic [31:0] wdata;

  assign cfg_ready = !may_read && rests;
  assign we        = timed[1] || (cfg_write.we && cfg_ready);
  assign waddr     = timed[1] ? (is_train[1] ? 3'd6 : 3'd5) : {!cfg_write.is_profile, cfg_write.entry};
  assign cfg_long  = above || cfg_write.period_high != 4'd0 || wdata[10+SL];
  assign few_in    = !above && ((!timed[1] && cfg_write.is_profile) ? cfg_write.period_high == 4'd0 : !between);

  // nothing but `few` is ever written to the upper half of a width, so its interval has no more than 32 bits
  initial begin
    for (int i = 0; i < 8; i++) begin
      low[i]  = '0;
      high[i] = '0;
    end
  end
  always_ff @(posedge clk) begin
    if (!timed[0]) wdata <= width_we ? width_data : cfg_data;
    timed   <= {timed[2:0], width_we};
    is_train <= {is_train[0], width_train};
    rests   <= {timed, width_we} == 5'd0 && !read_soon;
    above   <= wdata[31:11+SL] != '0;
    between <= wdata[10+SL:2+SL] != '0;
  end
  always_ff @(posedge clk) begin
    if (we) low[waddr] <= wdata;
    if (we) high[waddr][11] <= few_in;
    if (cfg_write.we && cfg_ready && cfg_write.is_profile) high[waddr][10:0] <= {cfg_write.format, cfg_write.period_high};
    if (ren) {few, format, interval} <= {high[raddr], low[raddr]};
  end

  always_ff @(posedge clk) begin
    for (int i = 0; i < 3; i++) begin
      wrote[i] <= we && waddr == 3'(4 + i);
      if (wrote[i]) begin
        width_zero[i]       <= zero_in;
        width_short[i]      <= S > 1 && short_in;
        width_low[(SL+2)*i+:SL+2] <= (S > 1) ? low_in : '0;
      end
    end
    zero_in  <= few_in && wdata[SL+1:0] == '0;
    short_in <= wdata[31:SL+2] == '0;
    low_in   <= wdata[SL+1:0];
    if (rst) {width_zero, wrote} <= 6'b111000;
  end

`ifdef FORMAL
`include "litepulse_launch_memory.svh"  // sim/formal
`endif
endmodule
