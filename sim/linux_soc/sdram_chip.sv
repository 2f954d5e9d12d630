// SPDX-License-Identifier: BSD-2-Clause
// A single data rate SDRAM, 4 banks of 8192 rows of 512 columns of 16 bits, with JEDEC's commands and the times of a -75 part.
// It carries out its commands, and `fault` shows what was not allowed: bits in the order of Fault.
// Latency: CAS latency as set, 2 or 3.
//   PERIOD_PS  of clk      dead_address, dead_data  lines that are cut: read as 0 at the other end
module sdram_chip #(
    parameter int PERIOD_PS = 20000
) (
    input  logic        clk,
    input  logic        cke,
    input  logic        cs_n,
    input  logic        ras_n,
    input  logic        cas_n,
    input  logic        we_n,
    input  logic [ 1:0] ba,
    input  logic [12:0] a,
    input  logic [ 1:0] dm,
    input  logic [15:0] dq_in,
    input  logic [14:0] dead_address,   // bank, row or column
    input  logic [15:0] dead_data,
    output logic [15:0] dq_out,
    output logic        dq_oe,
    output logic [ 9:0] fault
);
  typedef enum int {
    POWER_UP,           // set up less than 100 us after the clock
    NOT_SET_UP,         // used before a valid mode, a precharge and two refreshes
    ROW_CLOSED,         // read or written
    ROW_OPEN,           // activated, refreshed or set up meanwhile
    T_RCD,
    T_RP,
    T_RC_RFC,
    T_RAS,
    T_MRD,
    REFRESH_LATE        // read though more than 8 refreshes were postponed, since it was last set up
  } fault_t;

  // cycles that ps last
  function automatic int cycles(input int ps);
    return (ps + PERIOD_PS - 1) / PERIOD_PS;
  endfunction
  localparam int PowerUp = cycles(100_000_000), Rcd = cycles(20_000), Rp = cycles(20_000), Rfc = cycles(66_000), Ras = cycles(44_000);
  localparam int Mrd = 2, Late = 9 * 7_812_500 / PERIOD_PS;

  logic [15:0] mem[1 << 24];
  logic [12:0] row[4];
  logic [3:0]  open = '0;
  int since_activate[4], since_precharge[4];
  int since_start = 0, since_refresh = 0, since_mode = 0, refreshes = 0;
  logic precharged = 1'b0, mode_set = 1'b0, cl3 = 1'b0, was_cke = 1'b0, lost = 1'b0;

  wire [14:0] lines = {ba, a} & ~dead_address;
  wire [1:0]  bank = lines[14:13];
  wire [23:0] place = {bank, row[bank], lines[8:0]};
  wire [2:0]  command = cs_n || !was_cke ? 3'b111 : {ras_n, cas_n, we_n};
  localparam logic [2:0] Mode = 3'b000, Refresh = 3'b001, Precharge = 3'b010, Activate = 3'b011, Write = 3'b100, Read = 3'b101;

  logic [15:0] data[3];
  logic [2:0]  valid = '0;
  logic [1:0]  masked[2];

  initial begin
    fault = '0;
    for (int b = 0; b < 4; b++) begin
      since_activate[b]  = 1 << 20;
      since_precharge[b] = 1 << 20;
    end
  end

  always_ff @(posedge clk) begin
    was_cke <= cke;
    since_start <= since_start + 1;
    since_refresh <= since_refresh + 1;
    since_mode <= since_mode + 1;
    for (int b = 0; b < 4; b++) begin
      since_activate[b]  <= since_activate[b] + 1;
      since_precharge[b] <= since_precharge[b] + 1;
    end
    valid <= {valid[1:0], 1'b0};
    data[1] <= data[0];
    data[2] <= data[1];
    masked[0] <= dm;
    masked[1] <= masked[0];

    if (command != 3'b111 && since_refresh < Rfc - 1) fault[T_RC_RFC] <= 1'b1;
    if (command != 3'b111 && since_mode < Mrd - 1 && mode_set) fault[T_MRD] <= 1'b1;
    if (since_refresh > Late) lost <= 1'b1;

    case (command)
      Mode: begin
        if (open != 0) fault[ROW_OPEN] <= 1'b1;
        if (since_start < PowerUp) fault[POWER_UP] <= 1'b1;
        // burst of 1, in sequence, latency 2 or 3, bits above reserved; anything else is no mode
        mode_set   <= lines[14:7] == 0 && lines[3:0] == 0 && lines[6:5] == 2'b01;
        cl3        <= lines[4];
        since_mode <= 0;
        lost       <= 1'b0;
      end
      Refresh: begin
        if (open != 0) fault[ROW_OPEN] <= 1'b1;
        for (int b = 0; b < 4; b++) if (since_precharge[b] < Rp - 1) fault[T_RP] <= 1'b1;
        since_refresh <= 0;
        if (precharged && refreshes < 2) refreshes <= refreshes + 1;
      end
      Precharge: begin
        for (int b = 0; b < 4; b++) begin
          if (lines[10] || bank == 2'(b)) begin
            if (open[b] && since_activate[b] < Ras - 1) fault[T_RAS] <= 1'b1;
            open[b] <= 1'b0;
            since_precharge[b] <= 0;
          end
        end
        if (lines[10]) precharged <= 1'b1;
      end
      Activate: begin
        if (!mode_set || refreshes < 2) fault[NOT_SET_UP] <= 1'b1;
        if (open[bank]) fault[ROW_OPEN] <= 1'b1;
        if (since_precharge[bank] < Rp - 1) fault[T_RP] <= 1'b1;
        if (since_activate[bank] < Rfc - 1) fault[T_RC_RFC] <= 1'b1;
        open[bank] <= 1'b1;
        row[bank] <= lines[12:0];
        since_activate[bank] <= 0;
      end
      Read, Write: begin
        if (!mode_set || refreshes < 2) fault[NOT_SET_UP] <= 1'b1;
        if (!open[bank]) fault[ROW_CLOSED] <= 1'b1;
        if (since_activate[bank] < Rcd - 1) fault[T_RCD] <= 1'b1;
        if (command == Read) begin
          if (lost) fault[REFRESH_LATE] <= 1'b1;
          data[0]  <= mem[place];
          valid[0] <= 1'b1;
        end else begin
          if (!dm[0]) mem[place][7:0] <= dq_in[7:0] & ~dead_data[7:0];
          if (!dm[1]) mem[place][15:8] <= dq_in[15:8] & ~dead_data[15:8];
        end
        if (lines[10]) begin
          open[bank] <= 1'b0;
          since_precharge[bank] <= 0;
        end
      end
      default: ;
    endcase
  end

  // a read's mask works two cycles later; one without a latency drives nothing
  always_comb begin
    dq_oe  = mode_set && (cl3 ? valid[2] : valid[1]);
    dq_out = (cl3 ? data[2] : data[1]) & {{8{!masked[1][1]}}, {8{!masked[1][0]}}};
  end
endmodule
