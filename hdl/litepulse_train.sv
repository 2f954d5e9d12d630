// SPDX-License-Identifier: BSD-2-Clause
// The periodic generator: pulse k at floor(A), then A += I + N/D, without rounding. An accumulator machine: the settings and the state
// of A lie in a small memory, a sequencer places the next pulse after each one. A change that names the pulse waited for takes its
// interval back and places it anew.
// Latency: a start tick must be TRAIN_LMIN*S + de lead ticks ahead; the period is at least TRAIN_MIN_PERIOD*S + de lead (docs/core.md).
//   KE  cycles from `now` to the pin
module litepulse_train #(
    parameter int S = 1,
    parameter int KE = 2
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [63-$clog2(S):0] now,
    input  logic                  near_wrap,
    input  logic [3:0]            prof_valid,
    input  logic [15:0]           nde_lead,
    input  logic [31:0]           nslack,
    // configuration: request with stable address and data until done
    input  logic                  cfg_req,    // for a word of the train
    input  logic [3:0]            cfg_addr,   // index less 16
    input  logic [31:0]           cfg_data,
    output logic                  cfg_done,
    output logic                  cfg_err,
    // arbiter
    output logic                  due,
    output logic [2:0]            off,
    output logic [1:0]            kind,
    output logic [1:0]            profile,
    output logic [7:0]            data,
    output logic [31:0]           width,
    input  logic                  grant,
    input  logic                  refuse,
    output logic [S-1:0]          lead,
    output logic                  be_ok,
    output logic                  running,
    output logic                  pending,
    // event requests: pulses, and changes
    output logic                  ev_req,
    input  logic                  ev_ack,
    output logic [3:0]            ev_kind,
    output logic [7:0]            ev_flags,
    output logic [7:0]            ev_lo,
    output logic [2:0]            ev_off,
    output logic [31:0]           ev_data,
    output logic                  ch_req,
    input  logic                  ch_ack,
    output logic [3:0]            ch_kind,
    output logic [7:0]            ch_flags,
    output logic [7:0]            ch_lo,
    output logic [31:0]           ch_data
);
  localparam int SL = $clog2(S);
  localparam int REPORT_CYCLES = 12;  // more than litepulse_events may take
  localparam int W = 34;

  // The memory. Start words and own state in the lowest 8, the rate words of bank 0 from 8, of bank 1 from 16; the host writes
  // those of the bank not in use.
  localparam logic [4:0] M_START_LO = 5'd0, M_START_HI = 5'd1, M_COUNT = 5'd2, M_WIDTH = 5'd3, M_LAUNCH = 5'd4;
  localparam logic [4:0] M_NUMBER = 5'd5;  // of the pulse waited for
  localparam logic [4:0] M_FRAC = 5'd6;    // fraction of A at that pulse, in 1/D
  localparam logic [4:0] M_BASE = 5'd7;    // fraction of A at the pulse before
  localparam logic [4:0] M_LAST = 5'd24;   // interval between the two, in ticks
  localparam logic [4:0] M_ZERO = 5'd25;   // never written: 0
  localparam logic [4:0] M_SOON = 5'd26;   // never written: 64*S
  localparam logic [4:0] M_PERIOD = 5'd8, M_NUM = 5'd9, M_DEN = 5'd10, M_AT = 5'd11, M_STEP = 5'd12;

  // In each state `mdata` is the word that the state before asked for, named at the right.
  typedef enum logic [5:0] {
    IDLE,          // launch
    START_LAUNCH,  // launch
    START_WIDTH,   // width
    V_PERIOD,      // other period
    V_LONG,        // other den
    V_NUM,         // other num
    V_DEN,         // den
    V_AT,          // other at
    V_NUMBER,      // number
    V_DECIDE,      // other at
    START_LO,      // start_lo
    START_HI,      // start_hi
    START_CHECK,   // zero
    START_DECIDE,  // width
    WAIT,          // width
    FIRED,         // width
    REPORT,        // number
    NEXT,          // number
    NEXT_BASE,     // frac
    COUNT,         // count
    COUNT_NUMBER,  // number
    AT,            // other at
    AT_NUMBER,     // number
    AT_DECIDE,     // (base)
    BASE,          // base
    DEN,           // den
    NUM,           // num
    DEN_AGAIN,     // den
    PERIOD,        // period
    STEP,          // other step
    PLACE,         // width
    PLACED,        // width
    DECIDE,        // width
    UNDO,          // last
    UNDO_SUB,
    UNDO_TWICE,    // count
    TELL,          // the word that CHANGE shows
    CHANGE,        // the same
    PARK
  } state_t;
  state_t state, after;

  (* ram_style = "block", no_rw_check *) logic [31:0] mem[0:31];
  logic [4:0]   word, next_word, maddr, waddr, own_word;
  logic         mren, mwe, own_we;
  logic [31:0]  mdata;

  logic         bank;          // the rate words in use
  logic         other;         // of the other bank
  logic         apply;         // this placing uses the other bank
  logic         same_den;      // both banks have the same denominator
  logic         starting;      // the V_ states belong to a start
  logic         redo;          // the pulse waited for is placed anew
  logic         asap, ending, reloading, none, invalid, bad_step, step_down, was_far;
  logic [4:0]   told;          // what CHANGE shows
  logic [31:0]  acc;
  logic [32:0]  sum;
  logic [31:0]  operand;
  logic         use_acc, use_thr, negate, use_now, use_hi, cin, cin_carry, zero, carry;
  logic [W-1:0] cnt;
  logic         clear, add, sub, twice, hi_zero, past;
  logic         distant, clear_of, slack_ok, armed;
  logic [4:0]   wait_cnt;
  logic         acked;
  logic [63:0]  now_tick;
  logic         wrapped, too_near, is_command, word_ok, bad_launch, has_command, period_long, reported;
  logic [1:0]   command;

  assign now_tick    = 64'(now) << SL;
  assign is_command  = cfg_addr == 4'(litepulse_map_pkg::CFG_TRAIN_COMMAND - 6'd16);
  assign command     = cfg_data[1:0];
  assign has_command = cfg_req && !cfg_done && is_command;
  assign armed       = state == WAIT;
  assign width       = mdata;  // the memory's output rests on this word while a pulse is waited for
  assign off         = cnt[2:0] & 3'(S - 1);
  assign wrapped     = !hi_zero && cnt[W-1];
  assign too_near    = !clear_of || past;  // to tell of it takes a while before the source is armed

  litepulse_countdown #(.S(S), .W(W), .KE(KE)) countdown (
      .clk, .rst, .clear, .add, .sub, .twice, .addend({2'b00, acc}), .hi_zero,
      .armed, .nde_lead, .nslack,
      // verilator lint_off PINCONNECTEMPTY
      .late(),
      // verilator lint_on PINCONNECTEMPTY
      .cnt, .due, .lead, .slack_ok, .distant, .clear_of
  );
  assign clear  = state == START_LO;
  assign be_ok  = !running || (armed && slack_ok);
  assign ev_req = state == REPORT && !acked;
  assign ev_data = mdata;
  assign ch_req = state == CHANGE && !acked;
  assign ch_data = mdata;

  // Memory: the host writes start words only while stopped and rate words only while no change waits ------------------------

  always_comb begin
    if (cfg_addr[3]) word_ok = cfg_addr <= M_STEP[3:0] && !pending;
    else word_ok = cfg_addr <= M_LAUNCH[3:0] && !running;

    own_we   = 1'b1;
    own_word = M_NUMBER;
    case (state)
      START_DECIDE: begin own_word = M_NUMBER; own_we = !reloading && !too_near; end
      TELL:         begin own_word = M_FRAC; own_we = starting; end
      NEXT_BASE:    own_word = M_NUMBER;
      COUNT:        begin own_word = M_BASE; own_we = !redo; end
      PERIOD:       own_word = M_FRAC;
      PLACE:        own_word = M_LAST;
      default:      own_we = 1'b0;
    endcase
    waddr = own_we ? own_word : cfg_addr[3] ? {!bank, bank, cfg_addr[2:0]} : {2'b00, cfg_addr[2:0]};
    mwe   = own_we || (cfg_req && !cfg_done && !is_command && word_ok);

    case (after)
      UNDO:    next_word = M_LAST;
      REPORT:  next_word = M_NUMBER;
      IDLE:    next_word = M_LAUNCH;
      default: next_word = M_WIDTH;
    endcase
    mren  = 1'b1;
    other = 1'b1;
    word  = M_WIDTH;
    case (state)
      IDLE:         word = M_LAUNCH;
      START_LAUNCH: word = M_WIDTH;
      START_WIDTH:  word = M_PERIOD;
      V_PERIOD:     word = M_DEN;
      V_LONG:       word = M_NUM;
      V_NUM:        begin word = M_DEN; other = 1'b0; end
      V_DEN:        word = !starting ? M_AT : asap ? M_SOON : M_START_LO;
      V_AT:         word = M_NUMBER;
      V_NUMBER:     word = M_AT;
      V_DECIDE:     word = M_LAST;
      START_LO:     word = (near_wrap && !asap) ? M_START_LO : M_START_HI;
      START_HI:     word = M_ZERO;
      START_CHECK:  word = M_WIDTH;
      WAIT:         begin word = wrapped ? M_START_LO : M_PERIOD; mren = !due && (wrapped || (has_command && clear_of)); end
      FIRED:        word = M_NUMBER;
      REPORT:       word = M_NUMBER;
      NEXT:         word = M_FRAC;
      NEXT_BASE:    word = M_COUNT;
      COUNT:        word = M_NUMBER;
      COUNT_NUMBER: word = M_AT;
      AT:           word = M_NUMBER;
      AT_NUMBER:    word = M_BASE;
      AT_DECIDE:    word = M_BASE;
      BASE:         begin word = M_DEN; other = apply; end
      DEN:          begin word = M_NUM; other = apply; end
      NUM:          begin word = M_DEN; other = apply; end
      DEN_AGAIN:    begin word = M_PERIOD; other = apply; end
      PERIOD:       word = M_STEP;
      STEP:         word = M_WIDTH;
      DECIDE:       word = M_LAST;
      UNDO_SUB:     word = M_COUNT;
      TELL:         word = told;
      CHANGE:       begin mren = reported; word = next_word; end
      PARK:         word = M_WIDTH;
      default:      mren = 1'b0;
    endcase
    if (state == DECIDE && !apply) mren = 1'b0;
    if (word[3] && !word[4]) maddr = {bank ^ other, !(bank ^ other), word[2:0]};
    else maddr = word;
  end

`ifndef FORMAL  // there the words may be anything
  initial for (int i = 0; i < 32; i++) mem[i] = (i == int'(M_SOON)) ? 32'(64 * S) : 32'd0;
`endif
  always_ff @(posedge clk) begin
    if (mwe) mem[waddr] <= own_we ? acc : cfg_data;
    if (mren) mdata <= mem[maddr];
  end

  // Accumulator: the word read, plus or minus what is in the accumulator, or minus the time -----------------------------------

  always_comb begin
    if (use_acc) operand = acc ^ {32{negate}};
    else if (use_thr) operand = {16'hffff, nde_lead} ^ {32{!negate}};
    else if (use_now) operand = use_hi ? ~now_tick[63:32] : ~(now_tick[31:0] | 32'(S - 1));
    else operand = 32'd0;
    sum = {1'b0, mdata} + {1'b0, operand} + {32'd0, cin || (cin_carry && carry)};
  end
  // What the next state does to acc and cnt is decided one cycle ahead, so that no decoding lies before the adders. Where the next state
  // is not certain, whoever does not want it keeps its acc.
  always_ff @(posedge clk) begin
    use_acc   <= 1'b0;
    use_thr   <= 1'b0;
    use_now   <= 1'b0;
    use_hi    <= 1'b0;
    negate    <= 1'b0;
    cin       <= 1'b0;
    cin_carry <= 1'b0;
    add       <= 1'b0;
    sub       <= 1'b0;
    twice     <= 1'b0;
    case (state)
      START_WIDTH: {use_thr, negate, cin} <= 3'b111;                        // V_PERIOD: less the least
      WAIT: begin
        use_now <= wrapped;                                                 // START_LO
        {use_thr, negate, cin} <= {!wrapped, 2'b11};                        // V_PERIOD
      end
      V_NUM: {use_acc, negate, cin} <= 3'b111;                              // V_DEN: less the other one
      V_DEN: begin                                                          // START_LO: less the time, or V_AT
        use_now <= starting && !asap;
        use_thr <= starting && asap;
      end
      V_LONG, V_AT, COUNT, AT, BASE, DEN: {use_acc, negate, cin} <= 3'b111; // the word less acc
      START_LO: begin                                                       // START_HI, or once more START_LO
        use_now <= !asap;
        use_thr <= asap;
        use_hi  <= !near_wrap || asap;
        cin_carry <= !near_wrap || asap;
        add     <= !near_wrap || asap;
      end
      REPORT: cin <= 1'b1;                                                  // NEXT: the number plus 1
      NUM:    use_acc <= 1'b1;                                              // DEN_AGAIN: the word plus acc
      DEN_AGAIN: cin <= carry;                                              // PERIOD: plus a whole tick
      PERIOD: use_acc <= 1'b1;                                              // STEP
      STEP:   add <= 1'b1;                                                  // PLACE
      PLACE:  twice <= 1'b1;                                                // PLACED
      UNDO:   sub <= 1'b1;                                                  // UNDO_SUB
      UNDO_SUB: twice <= 1'b1;                                              // UNDO_TWICE
      default: ;
    endcase
  end
  assign zero = acc == 32'd0;
  assign bad_launch = kind == 2'd3 || !prof_valid[profile] || (kind == litepulse_map_pkg::LAUNCH_PULSE && mdata == 32'd0)
      || (kind == litepulse_map_pkg::LAUNCH_BREAK && data == 8'd0);

  assign reported = wait_cnt == 5'(KE + REPORT_CYCLES) && (acked || ev_ack || ch_ack);
  assign period_long = (acc >> (SL + 7)) != 32'd0 || (acc[SL+6] && acc[SL+5]);  // 96 cycles

  always_ff @(posedge clk) begin
    cfg_done <= 1'b0;
    cfg_err  <= 1'b0;
    if (state == FIRED || ((state == REPORT || state == CHANGE) && wait_cnt != 5'(KE + REPORT_CYCLES))) wait_cnt <= wait_cnt + 5'd1;
    else if ((state == REPORT || state == CHANGE) && !reported) wait_cnt <= wait_cnt;
    else wait_cnt <= (state == AT_DECIDE) ? 5'(KE) : (state == TELL || state == CHANGE) ? 5'(KE + 1) : 5'd0;
    acked <= (acked || ev_ack || ch_ack) && (state == REPORT || state == CHANGE) && !reported;
    // a plain word is answered when it was written or refused
    if (cfg_req && !cfg_done && !is_command && !own_we) begin
      cfg_done <= 1'b1;
      cfg_err  <= !word_ok;
    end
    case (state)
      START_DECIDE, V_NUM, WAIT, FIRED, REPORT, AT_DECIDE, PLACE, PLACED, DECIDE, V_DECIDE, UNDO_SUB, UNDO_TWICE, TELL, CHANGE, PARK,
      IDLE: ;
      BASE:      acc <= (apply && !same_den) ? 32'd0 : sum[31:0];
      DEN_AGAIN: if (!carry) acc <= sum[31:0];
      STEP:      if (apply) acc <= sum[31:0];
      START_HI:  if (!asap) acc <= sum[31:0];
      default:   acc <= sum[31:0];
    endcase
    case (state)
      V_PERIOD, START_LO, START_HI: carry <= sum[32];
      NUM:     carry <= sum[32] && !zero;  // D - base = 0 only if it stands for 2^32
      default: ;
    endcase

    case (state)
      IDLE: begin
        after   <= IDLE;
        ch_lo   <= now[7:0];
        running <= 1'b0;
        if (has_command) begin
          asap <= cfg_data[litepulse_map_pkg::TRAIN_COMMAND_ASAP_LSB];
          case (command)
            litepulse_map_pkg::TRAIN_CMD_START: begin
              starting <= 1'b1;
              state    <= START_LAUNCH;
            end
            litepulse_map_pkg::TRAIN_CMD_STOP: begin
              cfg_done <= 1'b1;
              ch_kind  <= litepulse_map_pkg::KIND_APPLIED;
              ch_flags <= litepulse_map_pkg::EVENT_FLAG_STOP;
              told     <= M_NUMBER;
              state    <= TELL;
            end
            litepulse_map_pkg::TRAIN_CMD_ADJUST: begin
              cfg_done <= 1'b1;
              cfg_err  <= 1'b1;
              ch_kind  <= litepulse_map_pkg::KIND_REFUSED;
              ch_flags <= litepulse_map_pkg::REASON_INVALID;
              told     <= M_AT;
              state    <= TELL;
            end
            default: begin
              cfg_done <= 1'b1;
              cfg_err  <= 1'b1;
            end
          endcase
        end
      end

      START_LAUNCH: begin
        {kind, profile, data} <= mdata[11:0];
        state <= START_WIDTH;
      end
      START_WIDTH: begin
        invalid <= bad_launch;
        state   <= V_PERIOD;
      end
      V_PERIOD: begin
        invalid <= (starting && invalid) || (&mdata);
        state   <= V_LONG;
      end
      V_LONG: begin
        if (!carry || !period_long) invalid <= 1'b1;
        state <= V_NUM;
      end
      V_NUM: begin
        if (sum[32] && !zero) invalid <= 1'b1;  // N >= D; a D of 0 stands for 2^32
        state <= V_DEN;
      end
      V_DEN: begin
        state <= starting ? START_LO : V_AT;
        if (starting && invalid) begin
          starting <= 1'b0;
          cfg_done <= 1'b1;
          cfg_err  <= 1'b1;
          ch_lo    <= now[7:0];
          ch_kind  <= litepulse_map_pkg::KIND_REFUSED;
          ch_flags <= litepulse_map_pkg::REASON_INVALID;
          told     <= M_ZERO;
          after    <= IDLE;
          state    <= TELL;
        end
      end
      V_AT: begin
        same_den <= zero;
        state    <= V_NUMBER;
      end
      V_NUMBER: begin
        none  <= zero;
        state <= V_DECIDE;
      end
      V_DECIDE: begin
        cfg_done <= 1'b1;
        ch_lo    <= now[7:0];
        ch_kind  <= litepulse_map_pkg::KIND_REFUSED;
        told     <= M_AT;
        after    <= WAIT;
        // passed, or the very pulse waited for and too late to place it anew
        if (invalid || (!none && (zero ? !was_far : !acc[31]))) begin
          cfg_err  <= 1'b1;
          ch_flags <= invalid ? litepulse_map_pkg::REASON_INVALID : litepulse_map_pkg::REASON_LATE;
          state    <= TELL;
        end else begin
          pending <= 1'b1;
          // pulse 0 has no interval that could be taken back
          redo  <= was_far && zero != none;
          state <= (was_far && zero != none) ? UNDO : PARK;
        end
      end

      START_LO: if (!near_wrap || asap) state <= START_HI;
      START_HI: state <= START_CHECK;
      START_CHECK: begin
        hi_zero <= asap || zero;
        past    <= !asap && !carry;
        state   <= START_DECIDE;
      end
      START_DECIDE: begin
        past      <= 1'b0;
        reloading <= 1'b0;
        if (reloading) begin
          state <= WAIT;
        end else begin
          cfg_done <= 1'b1;
          cfg_err  <= too_near;
          ch_lo    <= now[7:0];
          ch_kind  <= too_near ? litepulse_map_pkg::KIND_REFUSED : litepulse_map_pkg::KIND_APPLIED;
          ch_flags <= too_near ? litepulse_map_pkg::REASON_LATE : 8'd0;
          told     <= M_ZERO;
          after    <= too_near ? IDLE : WAIT;
          starting <= !too_near;
          state    <= TELL;
          if (!too_near) begin
            running <= 1'b1;
            bank    <= !bank;
          end
        end
      end

      WAIT: begin
        was_far  <= distant;
        ending   <= 1'b0;
        ch_lo    <= now[7:0];
        after    <= WAIT;
        if (due) begin
          ev_lo    <= now[7:0] + 8'(KE + 1);
          ev_off   <= off;
          ev_kind  <= grant ? litepulse_map_pkg::KIND_TX : litepulse_map_pkg::KIND_REFUSED;
          ev_flags <= refuse ? litepulse_map_pkg::REASON_BUSY : 8'd0;
          state    <= FIRED;
        end else if (wrapped) begin
          reloading <= 1'b1;  // 2^32 ticks went by: count the upper half anew
          state     <= START_LO;
        end else if (has_command && command == litepulse_map_pkg::TRAIN_CMD_STOP) begin
          cfg_done <= 1'b1;
          running  <= 1'b0;
          pending  <= 1'b0;
          ch_kind  <= litepulse_map_pkg::KIND_APPLIED;
          ch_flags <= litepulse_map_pkg::EVENT_FLAG_STOP;
          told     <= M_NUMBER;
          after    <= IDLE;
          state    <= TELL;
        end else if (has_command && clear_of) begin
          if (command == litepulse_map_pkg::TRAIN_CMD_ADJUST && !pending) begin
            state <= V_PERIOD;
          end else begin
            cfg_done <= 1'b1;
            cfg_err  <= 1'b1;
            ch_kind  <= litepulse_map_pkg::KIND_REFUSED;
            ch_flags <= litepulse_map_pkg::REASON_BUSY;
            told     <= (command == litepulse_map_pkg::TRAIN_CMD_ADJUST) ? M_AT : M_ZERO;
            state    <= TELL;
          end
        end
      end
      FIRED: begin  // a stamp may not lie ahead of `now`
        if (wait_cnt == 5'(KE)) state <= REPORT;
      end
      // a constant time, so that no record of others moves what comes next; so does CHANGE
      REPORT: if (reported) begin
        redo  <= 1'b0;
        state <= ending ? IDLE : NEXT;
      end

      NEXT:         state <= NEXT_BASE;
      NEXT_BASE:    state <= COUNT;
      COUNT:        state <= COUNT_NUMBER;
      COUNT_NUMBER: begin
        none  <= zero;
        state <= AT;
      end
      AT: begin
        ending <= zero && !none;
        state  <= AT_NUMBER;
      end
      AT_NUMBER: begin
        none  <= zero;
        state <= AT_DECIDE;
      end
      AT_DECIDE: begin
        apply <= pending && (none || zero);
        state <= BASE;
        if (ending) begin
          pending  <= 1'b0;
          apply    <= 1'b0;
          ev_lo    <= now[7:0];
          ev_off   <= 3'd0;
          ev_kind  <= litepulse_map_pkg::KIND_TRAIN_DONE;
          ev_flags <= 8'd0;
          ch_lo    <= now[7:0];
          ch_kind  <= litepulse_map_pkg::KIND_REFUSED;
          ch_flags <= litepulse_map_pkg::REASON_INVALID;
          told     <= M_AT;
          after    <= REPORT;
          state    <= pending ? TELL : FIRED;
        end
      end
      BASE:      state <= DEN;
      DEN:       state <= NUM;
      NUM:       state <= DEN_AGAIN;
      DEN_AGAIN: state <= PERIOD;
      PERIOD:    state <= STEP;
      STEP: begin
        bad_step  <= apply && (sum[32] != mdata[31]);  // below 0, or beyond 32 bits
        step_down <= mdata[31];
        state     <= PLACE;
      end
      PLACE:  state <= PLACED;
      PLACED: state <= DECIDE;
      DECIDE: begin
        ch_lo <= now[7:0];
        state <= WAIT;
        if (apply) begin
          apply   <= 1'b0;
          pending <= 1'b0;
          redo    <= 1'b1;
          state   <= TELL;
          if (bad_step || too_near) begin
            ch_kind  <= litepulse_map_pkg::KIND_REFUSED;
            ch_flags <= (bad_step && !step_down) ? litepulse_map_pkg::REASON_INVALID : litepulse_map_pkg::REASON_LATE;
            told     <= M_AT;
            after    <= UNDO;
          end else begin
            ch_kind  <= litepulse_map_pkg::KIND_APPLIED;
            ch_flags <= 8'd0;
            told     <= M_NUMBER;
            after    <= WAIT;
            bank     <= !bank;
          end
        end
      end
      UNDO:       state <= UNDO_SUB;
      UNDO_SUB:   state <= UNDO_TWICE;
      UNDO_TWICE: state <= COUNT;

      TELL: begin
        starting <= 1'b0;
        state    <= CHANGE;
      end
      CHANGE: if (reported) state <= after;
      PARK:   state <= WAIT;
      default: state <= IDLE;
    endcase

    if (rst) begin
      state <= IDLE;
      running <= 1'b0;
      pending <= 1'b0;
      starting <= 1'b0;
      reloading <= 1'b0;
      apply <= 1'b0;
      redo <= 1'b0;
      past <= 1'b0;
      hi_zero <= 1'b0;
      bank <= 1'b0;
      cfg_done <= 1'b0;
    end
  end

`ifdef FORMAL
`include "litepulse_train.svh"  // sim/formal
`endif
endmodule
