// SPDX-License-Identifier: BSD-2-Clause
// litepulse_lin from its reset on, seen from its ports alone: an entry is written, then come a header, its answer and maybe another header,
// at fixed cycles. Free are what is written and heard: data, length and options; one mistake in a header; a byte that comes
// back wrong or was not launched; another device's frame that begins at any time.
//
//   HEADERS        1 or 2
//   LENGTH         the most bytes of data
`include "litepulse_types.svh"
module litepulse_lin_frame #(
    parameter int HEADERS = 2,
    parameter int LENGTH = 2
) (
    input logic clk
);
  localparam int APART = 16;                  // cycles from record to record
  localparam int ENDS = 13;                   // from a record to the end of its frame
  localparam int BEGIN = 52;                  // the first break
  localparam int QUIET = 34;                  // from the last byte to another break
  localparam logic [3:0] BREAK = 4'd1, SYNC = 4'd2, PID = 4'd3, LAST = 4'(4 + LENGTH);

  logic [9:0] t = 10'd0;
  wire        rst = t < 10'd2;
  always_ff @(posedge clk) t <= t + 10'd1;

  // What is written -------------------------------------------------------------------------------------------------------
  localparam logic [2:0] ID = 3'd2;           // one will do: the induction has them all
  (* anyconst *) logic [63:0] f_data;
  (* anyconst *) logic [3:0]  f_length;
  (* anyconst *) logic        f_enhanced, f_once, f_own;
  (* anyconst *) logic [7:0]  f_checksum;
  logic [2:0] words;
  logic       cfg_req, cfg_done, cfg_err;
  wire [1:0]  cfg_addr = words[1:0];
  logic [31:0] cfg_data;
  always_comb begin
    case (words)
      3'd0:    cfg_data = f_data[31:0];
      3'd1:    cfg_data = f_data[63:32];
      default: cfg_data = {f_checksum, 1'b0, f_own, f_once, f_enhanced, f_length, 13'd0, ID};
    endcase
  end
  always_ff @(posedge clk) begin
    cfg_req <= !cfg_done && (cfg_req || (t > 10'd4 && words < 3'd3));
    if (cfg_done) words <= words + 3'd1;
    if (rst) {cfg_req, words} <= '0;
  end

  // What is heard: a break, then records APART cycles from each other ------------------------------------------------------------
  (* anyconst *) logic [2:0] f_mistake;       // in header f_which: 1 no break, 2 sync byte, 3 its stop bit, 4 parity, 5 its stop bit
  (* anyconst *) logic       f_which;
  (* anyconst *) logic [7:0] f_sync;
  (* anyconst *) logic [1:0] f_parity;
  (* anyconst *) logic       f_other;         // the headers are of an identifier without an entry
  (* anyconst *) logic [1:0] f_fault;         // of what is heard as record f_record: 1 its value, 2 its stop bit, 3 it was not launched
  (* anyconst *) logic [3:0] f_record;
  (* anyconst *) logic [7:0] f_value;
  (* anyconst *) logic [9:0] f_foreign;       // the cycle in which another device's frame has begun
  logic [3:0] record;                         // the last one
  logic [5:0] phase;                          // cycles since then
  logic       second, open, spent, was_launched, foreign, counting, counted;
  logic [7:0] sum, data;
  logic       hit, overtaken, data_set;
  logic [7:0] data_next;

  wire [5:0]  requested = {3'd0, ID ^ {2'b00, f_other}};
  wire        mistake = f_mistake != 3'd0 && f_which == second;
  wire        fault = !second && record == f_record;
  wire        next_fault = !second && record + 4'd1 == f_record;
  wire        begins = phase == 6'd0;
  wire        hears = begins && record > BREAK;
  wire [7:0]  pid = {
      ~(requested[1] ^ requested[3] ^ requested[4] ^ requested[5]),
      requested[0] ^ requested[1] ^ requested[2] ^ requested[4],
      requested
  };
  wire        break_stb = begins && record == BREAK && !(mistake && f_mistake == 3'd1);
  wire        byte_end = record > BREAK && phase == 6'(ENDS);
  wire        launched = record >= PID && counted && !(next_fault && f_fault == 2'd3);
  wire        receiving = t == f_foreign;
  logic       byte_ok;
  logic [7:0] byte_data;
  always_comb begin
    byte_ok   = 1'b1;
    byte_data = data;
    if (record == SYNC) begin
      byte_ok   = !(mistake && f_mistake == 3'd3);
      byte_data = (mistake && f_mistake == 3'd2) ? f_sync : 8'h55;
    end else if (record == PID) begin
      byte_ok   = !(mistake && f_mistake == 3'd5);
      byte_data = (mistake && f_mistake == 3'd4) ? pid ^ {f_parity, 6'd0} : pid;
    end else if (fault) begin
      byte_ok   = f_fault != 2'd2;
      byte_data = (f_fault == 2'd1) ? f_value : data;
    end
  end

  line_events_t line_events;
  assign line_events.byte_ok      = byte_ok;
  assign line_events.byte_own     = 1'b0;
  assign line_events.byte_end     = byte_end;
  assign line_events.byte_end_off = 3'd0;
  assign line_events.break_end    = 1'b0;
  assign line_events.break_off    = 3'd0;
  assign line_events.break_own    = 1'b0;

  // What has to be answered ---------------------------------------------------------------------------------------------------
  wire        answered = !f_other && f_length != 4'd0 && !spent;
  wire [3:0]  number = record - PID;          // of the byte to be launched behind this record
  wire [8:0]  next_sum = {1'b0, sum} + {1'b0, data};
  wire [7:0]  wanted = (number < f_length) ? f_data[8*number[2:0] +: 8] : f_checksum ^ (f_own ? 8'd0 : 8'd255 - sum);
  always_ff @(posedge clk) begin
    phase <= phase + 6'd1;
    if (record == 4'd0) phase <= 6'd0;
    if (record == 4'd0 && t == 10'(BEGIN)) record <= BREAK;
    if (record != 4'd0 && phase == 6'((record == BREAK) ? 16 : (record == LAST) ? QUIET : APART - 1)
        && (record != LAST || HEADERS == 2)) begin
      phase  <= 6'd0;
      record <= (record == LAST) ? BREAK : record + 4'd1;
      second <= second || record == LAST;
    end
    if (hears) begin
      was_launched <= 1'b0;
      if (record == PID) begin
        open  <= answered && !mistake;
        spent <= spent || (answered && !mistake && f_once);
        sum   <= f_enhanced ? pid : 8'd0;
      end else if (record > PID) begin
        open <= open && byte_ok && was_launched && byte_data == data && number <= f_length;
        sum  <= (next_sum > 9'd255) ? 8'(next_sum - 9'd255) : next_sum[7:0];
      end
    end
    if (launched) was_launched <= 1'b1;
    if (begins || phase == 6'd1) foreign <= 1'b0;
    else if (receiving) foreign <= 1'b1;
    counting <= byte_end && hit;
    counted  <= counting && !overtaken;
    if (data_set) data <= data_next;
    if (rst) {record, second, open, spent, was_launched, foreign, counting, counted} <= '0;
  end

  litepulse_lin #(.ENTRIES(8)) lin (
      .clk, .rst, .cfg_req, .cfg_addr, .cfg_data, .cfg_done, .cfg_err, .byte_stb(hears), .byte_data,
      .line_events, .receiving, .break_stb, .enable(1'b1), .counting, .launched, .hit,
      .overtaken, .data_set, .data_next, .data
  );

  always_comb begin
    assume (f_mistake <= 3'd5);
    assume (f_length <= LENGTH);
    assume (f_parity != 2'd0 && f_sync != 8'h55);
    assume (f_record > PID && f_value != data);
    if (!rst) begin
      // words
      if (t == 10'(BEGIN)) assert (words == 3'd3);
      if (cfg_done) assert (cfg_req && !cfg_err);
      // answers
      if (hit) assert (open && phase > 6'd1 && phase <= 6'(ENDS));
      if (byte_end && record >= PID) assert (hit == open);
      if (hit) assert (data == wanted);
      // another device
      if (counting) assert (overtaken == foreign);
    end
  end
  always_ff @(posedge clk) begin
    cover (!rst && hit && number == f_length && !f_own && second == (HEADERS == 2));
    cover (!rst && counting && overtaken);
    cover (!rst && record == LAST && begins && was_launched && f_own);
  end
endmodule
