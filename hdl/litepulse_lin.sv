// SPDX-License-Identifier: BSD-2-Clause
// The slave task of LIN. It follows the breaks that litepulse_lin_break sees and the bytes that litepulse_line_rx receives, and gives
// litepulse_responder the byte to launch behind the end of another: behind a header (a break, 0x55, an identifier with good parity) that an
// entry of its table answers, and behind each byte of the answer that came back as it was sent. The responder does all that concerns time.
//
//   state    what it waits for                                                  then
//   NONE     a break                                                            SYNC
//   SYNC     the byte 0x55                                                      HEADER, else NONE
//   HEADER   an identifier with good parity                                     ANSWER, else NONE
//   ANSWER   the entry's byte in `data` (`hit`), the end of the byte before,    ANSWER behind the same byte, if there are more;
//            its launch (`sent`) and its echo                                   else NONE
//   In each state a break leads to SYNC; while `enable` is low the state is NONE.
//
// One state machine has the only port of the memory. What it has begun it ends before it begins something else, so an entry is never seen
// half old and half new. A state is one cycle, a _READ three, and * a write:
//
//   operation              states
//   clear, after a reset   CLEAR* for each entry
//   a data word            IDLE  STAGE_LOW* STAGE_HIGH*
//   an entry word          IDLE  4 x (STAGE_READ ENTRY_WRITE*) CONTROL_WRITE*
//   a header               IDLE  CONTROL_READ CONTROL*, then if the entry answers: SPEND* if it does so once, 4 x (COPY_READ COPY_WRITE*),
//                          the first of which gives the first byte
//   the next byte          IDLE  BYTE_READ BYTE
//   the checksum           IDLE  SUM_READ SUM
//
// What goes into the memory and what comes out of it passes a register: large memories are slow, and lie far away.
//
//   cycle of a _READ   0                      1              2              the state behind it
//                      `word` is its place    the address    the memory     `rdata`
//
// Latency: `hit` rises at most 12 cycles after the record of a header, and 7 after that of another byte. While an entry word is being
// written it takes up to 17 cycles more. With a bit of 64 cycles half a bit is longer than that; if it were not, there would be no answer.
//
//   ENTRIES    8, 16, 32 or 64: identifiers below it have an entry
//   LARGE_RAM  as of litepulse
`include "litepulse_types.svh"
module litepulse_lin #(
    parameter int ENTRIES = 64,
    // verilator lint_off UNUSEDPARAM
    parameter LARGE_RAM = "auto"
    // verilator lint_on UNUSEDPARAM
) (
    input  logic         clk,
    input  logic         rst,
    // configuration: request with stable address and data until done
    input  logic         cfg_req,
    input  logic [1:0]   cfg_addr,     // index less that of lin_data_lo, not 3
    // verilator lint_off UNUSEDSIGNAL
    input  logic [31:0]  cfg_data,
    // verilator lint_on UNUSEDSIGNAL
    output logic         cfg_done,
    output logic         cfg_err,
    // line
    input  logic         byte_stb,
    input  logic [7:0]   byte_data,
    // verilator lint_off UNUSEDSIGNAL
    input  line_events_t line_events,
    // verilator lint_on UNUSEDSIGNAL
    input  logic         receiving,    // a frame has begun, its start bit was right
    input  logic         break_stb,    // litepulse_lin_break
    // litepulse_responder
    input  logic         enable,       // armed with the trigger `lin`
    input  logic         counting,     // triggered, and not yet launched
    input  logic         launched,     // the launch has begun
    output logic         hit,          // trigger at the end of the byte that was received last
    output logic         overtaken,    // do not launch: somebody else has begun a frame since then
    output logic         data_set,     // what to launch:
    output logic [7:0]   data_next,
    input  logic [7:0]   data          // the same, kept
);
  localparam int EW = $clog2(ENTRIES);
  localparam int AW = EW + 3;
  localparam int CONTROL_LSB = 16;     // the upper half of an entry word is kept
  localparam int LENGTH = litepulse_map_pkg::LIN_ENTRY_LENGTH_LSB - CONTROL_LSB;
  localparam int ENHANCED = litepulse_map_pkg::LIN_ENTRY_ENHANCED_LSB - CONTROL_LSB;
  localparam int ONCE = litepulse_map_pkg::LIN_ENTRY_ONCE_LSB - CONTROL_LSB;
  localparam int OWN_CHECKSUM = litepulse_map_pkg::LIN_ENTRY_OWN_CHECKSUM_LSB - CONTROL_LSB;
  localparam logic [2:0] CONTROL_WORD = 3'd4;   // behind the four words of data

  // a record, a cycle later: whether its stop bit is right is known late
  logic       heard, is_ok;
  logic       is_echo;                 // it is what was launched: `data` has not changed since
  logic       is_sync, is_identifier;  // the latter: its parity is good
  logic [7:0] value;
  logic       parity0, parity1;
  assign parity0 = byte_data[0] ^ byte_data[1] ^ byte_data[2] ^ byte_data[4] ^ byte_data[6];
  assign parity1 = byte_data[1] ^ byte_data[3] ^ byte_data[4] ^ byte_data[5] ^ byte_data[7];
  always_ff @(posedge clk) begin
    {heard, is_ok, is_echo, value} <= {byte_stb && !rst, line_events.byte_ok, byte_data == data, byte_data};
    {is_sync, is_identifier} <= {byte_data == 8'h55, !parity0 && parity1};
  end

  // Line ------------------------------------------------------------------------------------------------------------------
  // `waiting` from the record of a byte to the end of its frame; then the responder counts. A start edge in this time is somebody else's.
  typedef enum logic [1:0] {NONE, SYNC, HEADER, ANSWER} state_t;
  state_t     state;
  logic [7:0] pid;
  logic       waiting, sent;           // sent: the byte that is expected back has been launched
  logic       is_last;                 // it is the checksum
  logic       has_entry, answers, goes_on;
  logic       unpublished;             // the header that was looked up has no answer
  typedef enum logic [3:0] {
    IDLE, CLEAR, STAGE_LOW, STAGE_HIGH, STAGE_READ, ENTRY_WRITE, CONTROL_WRITE, CONTROL_READ,
    CONTROL, SPEND, COPY_READ, COPY_WRITE, BYTE_READ, BYTE, SUM_READ, SUM
  } operation_t;
  operation_t operation;               // of the memory

  assign has_entry = ENTRIES == 64 || value[5:0] < 6'(ENTRIES);
  // an answer that is still counted down to would be launched with the new one's data
  assign answers   = state == HEADER && heard && is_ok && is_identifier && has_entry && !counting;
  assign goes_on   = state == ANSWER && heard && is_ok && sent && !is_last && is_echo;

  always_ff @(posedge clk) begin
    if (heard) begin
      if (state == SYNC && is_ok && is_sync) state <= HEADER;
      else state <= (answers || goes_on) ? ANSWER : NONE;
    end else if (unpublished || (line_events.byte_end && waiting && !hit)) begin
      if (state == ANSWER) state <= NONE;
    end
    if (break_stb) state <= SYNC;
    waiting   <= answers || goes_on || (waiting && !line_events.byte_end && !heard);
    overtaken <= (overtaken || ((waiting || counting) && receiving)) && !(answers || goes_on);
    sent      <= (sent || launched) && !heard;
    hit       <= (hit || (data_set && state == ANSWER && waiting)) && !line_events.byte_end && !heard;
    if (rst || !enable || operation == CLEAR) begin
      state     <= NONE;
      waiting   <= 1'b0;
      overtaken <= 1'b0;
      hit       <= 1'b0;
    end
  end

  // Memory ----------------------------------------------------------------------------------------------------------------
  // Address 4*e + w is word w of entry e's data. Then comes a control word for each entry. Then come two areas of five words, data and
  // control: the working copy of the entry that answers, and what is staged for an entry (data only).
  (* ram_style = LARGE_RAM *) logic [15:0] entry_memory[0:(1 << AW) - 1];
  logic [AW-1:0] addr, addr_next;
  logic [15:0]   wdata, wdata_next, fetched, rdata;
  logic          we, we_next, at_entry, by_host;
  logic [2:0]    word;
  logic [2:0]    index;                // of the next byte of data
  logic          reads;
  logic [1:0]    cycle;                // of a _READ, as a bar: 00, 01, 11

  assign at_entry = operation == CLEAR || operation == ENTRY_WRITE || operation == CONTROL_WRITE || operation == CONTROL_READ
      || operation == SPEND || operation == COPY_READ;
  assign by_host  = operation == ENTRY_WRITE || operation == CONTROL_WRITE;
  assign reads    = operation == STAGE_READ || operation == CONTROL_READ || operation == COPY_READ || operation == BYTE_READ
      || operation == SUM_READ;
  always @* begin
    if (!at_entry) addr_next = {2'b11, operation == STAGE_LOW || operation == STAGE_HIGH || operation == STAGE_READ, {(EW-3){1'b0}}, word};
    else if (word[2]) addr_next = {3'b100, by_host ? cfg_data[EW-1:0] : pid[EW-1:0]};
    else addr_next = {1'b0, by_host ? cfg_data[EW-1:0] : pid[EW-1:0], word[1:0]};
    case (operation)
      CLEAR, SPEND:              {we_next, wdata_next} = {1'b1, 16'd0};
      STAGE_LOW:                 {we_next, wdata_next} = {1'b1, cfg_data[15:0]};
      STAGE_HIGH, CONTROL_WRITE: {we_next, wdata_next} = {1'b1, cfg_data[31:16]};
      ENTRY_WRITE, CONTROL, COPY_WRITE: {we_next, wdata_next} = {1'b1, rdata};
      default:                   {we_next, wdata_next} = {1'b0, rdata};
    endcase
  end
  always_ff @(posedge clk) begin
    {addr, wdata, we} <= {addr_next, wdata_next, we_next && !rst};
    if (we) entry_memory[addr] <= wdata;
    else fetched <= entry_memory[addr];
    rdata <= fetched;
    cycle <= (reads && !cycle[1] && !rst) ? {cycle[0], 1'b1} : 2'b00;
  end

  // Checksum --------------------------------------------------------------------------------------------------------------
  // `sum` is the sum of the bytes that came back, its carry still to be added. The control word's checksum is what is sent, or what is
  // turned over in the right one.
  logic [8:0] sum;
  logic       fold;                    // its carry alone is added
  assign unpublished = operation == CONTROL && rdata[LENGTH +: 4] == 4'd0;
  assign data_set    = operation == BYTE || operation == SUM || (operation == COPY_WRITE && index == 3'd0);
  assign data_next   = ((operation == SUM || index[0]) ? rdata[15:8] : rdata[7:0])
      ^ (~sum[7:0] & {8{operation == SUM && !rdata[OWN_CHECKSUM]}});

  // Operations ------------------------------------------------------------------------------------------------------------
  logic       asks_entry, asks_byte;   // a header is to be looked up; the next byte is to be fetched
  logic       wish, fits;
  logic [3:0] left;                    // bytes of data from there on

  always_ff @(posedge clk) begin
    wish     <= cfg_req && !cfg_done;
    fits     <= cfg_data[litepulse_map_pkg::LIN_ENTRY_LENGTH_LSB +: 4] <= 4'd8
        && (ENTRIES == 64 || cfg_data[litepulse_map_pkg::LIN_ENTRY_ID_LSB +: 6] < 6'(ENTRIES));
    cfg_done <= operation == STAGE_HIGH || operation == CONTROL_WRITE;
    cfg_err  <= 1'b0;
    if (answers) asks_entry <= 1'b1;
    if (goes_on) asks_byte <= 1'b1;
    if (answers) pid <= value;
    if (goes_on || fold) sum <= {1'b0, sum[7:0]} + {1'b0, data & {8{!fold}}} + 9'(sum[8]);
    fold <= operation == IDLE && !asks_entry && asks_byte && left == 4'd0;
    case (operation)
      CLEAR: begin
        pid[5:0] <= pid[5:0] + 6'd1;
        if (pid[EW-1:0] == '1) operation <= IDLE;
      end
      IDLE: begin
        if (asks_entry) begin
          asks_entry <= 1'b0;
          operation  <= CONTROL_READ;
          word       <= CONTROL_WORD;
        end else if (asks_byte) begin
          asks_byte <= 1'b0;
          operation <= (left == 4'd0) ? SUM_READ : BYTE_READ;
          word      <= (left == 4'd0) ? CONTROL_WORD : {1'b0, index[2:1]};
        end else if (wish && !cfg_done) begin
          operation <= cfg_addr[1] ? STAGE_READ : STAGE_LOW;
          word      <= {1'b0, cfg_addr[0], 1'b0};
          if (cfg_addr[1] && !fits) begin
            operation <= IDLE;
            cfg_done  <= 1'b1;
            cfg_err   <= 1'b1;
          end
        end
      end
      STAGE_LOW: begin
        operation <= STAGE_HIGH;
        word[0]   <= 1'b1;
      end
      STAGE_READ: if (cycle[1]) operation <= ENTRY_WRITE;
      ENTRY_WRITE: begin
        operation <= (word[1:0] == 2'd3) ? CONTROL_WRITE : STAGE_READ;
        word      <= word + 3'd1;
      end
      CONTROL_READ: if (cycle[1]) operation <= CONTROL;
      CONTROL: begin
        operation <= unpublished ? IDLE : rdata[ONCE] ? SPEND : COPY_READ;
        if (!rdata[ONCE]) word <= 3'd0;
        index <= 3'd0;
        left  <= rdata[LENGTH +: 4];
        sum   <= {1'b0, pid & {8{rdata[ENHANCED]}}};
      end
      SPEND: begin
        operation <= COPY_READ;
        word      <= 3'd0;
      end
      COPY_READ: if (cycle[1]) operation <= COPY_WRITE;
      COPY_WRITE: begin
        operation <= (word[1:0] == 2'd3) ? IDLE : COPY_READ;
        word      <= word + 3'd1;
      end
      BYTE_READ: if (cycle[1]) operation <= BYTE;
      SUM_READ: if (cycle[1]) operation <= SUM;
      default: operation <= IDLE;   // STAGE_HIGH, CONTROL_WRITE, BYTE, SUM
    endcase
    if (data_set) begin
      is_last <= operation == SUM;
      if (operation != SUM) {index, left} <= {index + 3'd1, left - 4'd1};
    end
    if (rst) begin
      operation  <= CLEAR;
      word       <= CONTROL_WORD;
      pid        <= 8'd0;
      asks_entry <= 1'b0;
      asks_byte  <= 1'b0;
      wish       <= 1'b0;
      cfg_done   <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_lin.svh"  // sim/formal
`endif
endmodule
