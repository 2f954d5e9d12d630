// SPDX-License-Identifier: BSD-2-Clause
// The periodic generator: pulse k at floor(A), then A += I + N/D, without rounding. Settings lie in a small memory; a sequencer of a few cycles places
// the next pulse after each one. While pulse `num` is waited for, `base_frac` is the fraction of A before it was placed, so a
// change that names this very pulse takes the interval back and places it anew.
// Latency: a start tick must be LMIN_CYCLES*S + de lead ticks ahead; the period is at least MIN_PERIOD cycles.
//   KE  cycles from `now` to the pin
module litepulse_train #(
    parameter int S = 1,
    parameter int KE = 2,
    parameter int MIN_PERIOD = 80
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [63-$clog2(S):0] now,
    input  logic                  near_wrap,
    input  logic [3:0]            prof_valid,
    input  logic [16:0]           thr_lead,
    input  logic [16:0]           thr_late,
    input  logic [31:0]           thr_slack,
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
  import litepulse_map_pkg::*;
  localparam int SL = $clog2(S);
  localparam int W = 34;

  // words of the memory: the start words from 0, the rate words of bank 0 from 8, of bank 1 from 16; the host writes the bank not in use
  localparam logic [4:0] M_START_LO = 5'd0, M_START_HI = 5'd1, M_COUNT = 5'd2, M_WIDTH = 5'd3, M_LAUNCH = 5'd4;
  localparam logic [4:0] M_PERIOD = 5'd8, M_NUM = 5'd9, M_DEN = 5'd10, M_AT = 5'd11, M_STEP = 5'd12;

  typedef enum logic [4:0] {
    IDLE,
    S_LAUNCH, S_WIDTH, S_LO, S_HI, S_LOADED, S_CHECK,          // start
    V_PERIOD, V_DEN, V_NUM, V_OLD_DEN, V_AT,                   // are the rate words usable, when do they act
    WAIT, FIRED, REPORT,                                       // for the pulse, its stamp, its event
    UNDO, UNDONE,                                              // take the interval back
    COUNT, AT, NUM, DEN, PERIOD, STEP, TRY, PLACE, PLACED      // place the next pulse
  } state_t;
  state_t state;

  (* ram_style = "block" *) logic [31:0] mem[0:31];
  logic [4:0]   word, maddr, waddr;
  logic         mren, mwe;
  logic [31:0]  mdata;

  logic         bank;          // the rate words in use
  logic         other;         // read those of the other bank
  logic         apply;         // this placing uses the other bank
  logic         asked_next;    // the change names no pulse
  logic         same_den;      // both banks have the same denominator
  logic         starting;      // the V_ states belong to a start
  logic         in_wait;       // the V_ states interrupt the wait for a pulse
  logic         asap, adjusting, stopping, ending, reloading;
  logic [31:0]  num;           // the pulse waited for
  logic [31:0]  frac;          // of A at that pulse, in 1/D
  logic [31:0]  base_frac;     // of A at the pulse before it
  logic [W-1:0] t;             // sums on the way; afterwards the last interval in ticks
  logic [W-1:0] addend, cnt;
  logic         clear, add;
  logic         hi_zero, past, carry, lo_carry, invalid;
  logic         late, far, slack_ok, armed;
  logic [2:0]   wait_cnt;
  logic [63:0]  now_tick;
  logic [32:0]  lo_sum, hi_sum;
  // verilator lint_off UNUSEDSIGNAL
  logic [33:0]  den_less;
  // verilator lint_on UNUSEDSIGNAL
  logic         match, passed, redo, too_near, wrapped;
  logic         is_command, word_ok, ch_free, bad_launch;
  logic [1:0]   command;

  assign now_tick   = 64'(now) << SL;
  assign is_command = cfg_addr == 4'(CFG_TRAIN_COMMAND - 6'd16);
  assign command    = cfg_data[1:0];
  assign armed      = state == WAIT;
  assign width      = mdata;  // the memory's output rests on this word while a pulse is waited for
  assign off        = cnt[2:0] & 3'(S - 1);
  assign ch_free    = !ch_req;

  litepulse_countdown #(.S(S), .W(W), .KE(KE)) countdown (
      .clk, .rst, .clear, .add, .addend, .hi_zero, .armed, .checking(state == S_CHECK || state == PLACED),
      .thr_lead, .thr_late, .thr_slack({2'b00, thr_slack}), .cnt, .due, .late, .lead, .slack_ok, .far
  );

  // the start words are written only while stopped, the rate words only while no change waits
  always_comb begin
    if (cfg_addr[3]) word_ok = cfg_addr <= M_STEP[3:0] && !pending;
    else word_ok = cfg_addr <= M_LAUNCH[3:0] && !running;
  end
  assign mwe   = cfg_req && !cfg_done && !is_command && word_ok;
  assign waddr = cfg_addr[3] ? {!bank, bank, cfg_addr[2:0]} : {2'b00, cfg_addr[2:0]};

  // which word is read: the answer is there in the next state
  assign wrapped = !hi_zero && cnt[W-1];
  always_comb begin
    mren  = 1'b1;
    other = 1'b1;
    word  = M_LAUNCH;
    case (state)
      IDLE:      word = M_LAUNCH;
      S_LAUNCH:  word = M_WIDTH;
      S_WIDTH:   word = M_PERIOD;
      S_LO:      word = near_wrap ? M_START_LO : M_START_HI;
      S_HI:      word = M_WIDTH;
      V_PERIOD:  word = M_DEN;
      V_DEN:     word = M_NUM;
      V_NUM:     begin word = M_DEN; other = 1'b0; end
      V_OLD_DEN: word = starting ? M_START_LO : M_AT;
      V_AT:      begin word = in_wait ? M_WIDTH : M_COUNT; mren = ch_free; end
      WAIT: begin
        word = wrapped ? M_START_LO : M_PERIOD;
        mren = !due && (wrapped || (adjusting && far));
      end
      REPORT:    word = adjusting ? M_PERIOD : M_COUNT;
      UNDONE:    word = M_COUNT;
      COUNT:     word = M_AT;
      AT:        begin word = M_NUM; other = pending && match; mren = !ending; end
      NUM:       begin word = M_DEN; other = apply; end
      DEN:       begin word = M_PERIOD; other = apply; end
      PERIOD:    word = M_STEP;
      PLACE:     word = M_WIDTH;
      default:   mren = 1'b0;
    endcase
    maddr = (word[3]) ? {bank ^ other, !(bank ^ other), word[2:0]} : word;
  end

  always_ff @(posedge clk) begin
    if (mwe) mem[waddr] <= cfg_data;
    if (mren) mdata <= mem[maddr];
  end

  assign match  = mdata == 32'd0 || mdata == num;
  assign passed = !match && ((mdata - num) & 32'h8000_0000) != 32'd0;
  assign redo   = in_wait && match && num != 32'd0;  // pulse 0 has no interval that could be taken back
  assign bad_launch = kind == 2'd3 || !prof_valid[profile] || (kind == LAUNCH_PULSE && mdata == 32'd0)
      || (kind == LAUNCH_BREAK && data == 8'd0);
  // whole cycles only: T - now - 1, in two halves
  assign lo_sum = {1'b0, mdata & ~32'(S - 1)} + {1'b0, ~now_tick[31:0] & ~32'(S - 1)};
  assign hi_sum = {1'b0, mdata} + {1'b0, ~now_tick[63:32]} + {32'd0, lo_carry};
  // (N + fraction) - D; a denominator of 0 stands for 2^32
  assign den_less = t - {1'b0, mdata == 32'd0, mdata};
  assign too_near = late || past || cnt[W-1];

  assign clear  = state == S_LO;
  assign add    = state == S_HI || state == PLACE || state == UNDONE;
  assign be_ok  = !running || (armed && slack_ok);
  assign ev_req = state == REPORT;
  assign ev_data = num;

  always_ff @(posedge clk) begin
    cfg_done <= 1'b0;
    cfg_err  <= 1'b0;
    lo_carry <= lo_sum[32];
    if (ch_ack) ch_req <= 1'b0;
    if (!ch_req) ch_lo <= now[7:0];  // overwritten below when a change is told of

    // plain words and stop are answered at once, start and adjust when they are decided
    if (cfg_req && !cfg_done) begin
      if (!is_command) begin
        cfg_done <= 1'b1;
        cfg_err  <= !word_ok;
      end else begin
        case (command)
          TRAIN_CMD_STOP: if (!stopping) begin
            cfg_done <= 1'b1;
            stopping <= 1'b1;
          end
          TRAIN_CMD_START: if (running && ch_free && !stopping) begin
            cfg_done <= 1'b1;
            cfg_err  <= 1'b1;
            ch_req   <= 1'b1;
            ch_kind  <= KIND_REFUSED;
            ch_flags <= REASON_BUSY;
            ch_data  <= 32'd0;
          end
          TRAIN_CMD_ADJUST: if ((pending || !running) && !adjusting && ch_free && !stopping) begin
            cfg_done <= 1'b1;
            cfg_err  <= 1'b1;
            ch_req   <= 1'b1;
            ch_kind  <= KIND_REFUSED;
            ch_flags <= pending ? REASON_BUSY : REASON_INVALID;
            ch_data  <= 32'd0;
          end else if (running && !pending) begin
            adjusting <= 1'b1;
          end
          default: begin
            cfg_done <= 1'b1;
            cfg_err  <= 1'b1;
          end
        endcase
      end
    end

    case (state)
      IDLE: begin
        adjusting <= 1'b0;
        if (stopping && ch_free) begin
          stopping <= 1'b0;
          ch_req   <= 1'b1;
          ch_kind  <= KIND_APPLIED;
          ch_flags <= EVENT_FLAG_STOP;
          ch_data  <= num;
        end else if (cfg_req && !cfg_done && is_command && command == TRAIN_CMD_START && ch_free && !stopping) begin
          starting <= 1'b1;
          asap     <= cfg_data[TRAIN_COMMAND_ASAP_LSB];
          state    <= S_LAUNCH;
        end
      end
      S_LAUNCH: begin
        {kind, profile, data} <= mdata[11:0];
        state <= S_WIDTH;
      end
      S_WIDTH: begin
        invalid <= bad_launch;
        state   <= V_PERIOD;
      end
      V_PERIOD: begin
        invalid <= (invalid && starting) || {1'b0, mdata} < {16'd0, thr_lead} + 33'(MIN_PERIOD * S);
        state   <= V_DEN;
      end
      V_DEN: begin
        addend <= {1'b0, mdata == 32'd0, mdata};  // only parked here
        state  <= V_NUM;
      end
      V_NUM: begin
        if ({2'b00, mdata} >= addend) invalid <= 1'b1;
        state <= V_OLD_DEN;
      end
      V_OLD_DEN: begin
        same_den <= mdata == addend[31:0];
        if (!starting) begin
          state <= V_AT;
        end else if (!invalid) begin
          state <= S_LO;
        end else begin
          cfg_done <= 1'b1;
          cfg_err  <= 1'b1;
          ch_req   <= 1'b1;
          ch_kind  <= KIND_REFUSED;
          ch_flags <= REASON_INVALID;
          ch_data  <= 32'd0;
          starting <= 1'b0;
          state    <= IDLE;
        end
      end
      S_LO: begin
        addend <= asap ? {17'd0, thr_late} + W'(8 * S) : {2'b00, lo_sum[31:0] | (mdata & 32'(S - 1))};
        if (!near_wrap) state <= S_HI;
      end
      S_HI: begin
        t     <= {2'b00, hi_sum[31:0]};
        past  <= !asap && !hi_sum[32];
        state <= S_LOADED;
      end
      S_LOADED: begin
        hi_zero <= asap || t[31:0] == 32'd0;
        state   <= S_CHECK;
      end
      S_CHECK: begin
        past      <= 1'b0;
        starting  <= 1'b0;
        reloading <= 1'b0;
        if (reloading) begin
          state <= WAIT;
        end else begin
          cfg_done <= 1'b1;
          cfg_err  <= too_near;
          ch_req   <= 1'b1;
          ch_kind  <= too_near ? KIND_REFUSED : KIND_APPLIED;
          ch_flags <= too_near ? REASON_LATE : 8'd0;
          ch_data  <= 32'd0;
          state    <= too_near ? IDLE : WAIT;
          if (!too_near) begin
            running   <= 1'b1;
            bank      <= !bank;
            num       <= 32'd0;
            frac      <= 32'd0;
            base_frac <= 32'd0;
            ending    <= 1'b0;
          end
        end
      end
      V_AT: if (ch_free) begin
        adjusting  <= 1'b0;
        asked_next <= mdata == 32'd0;
        cfg_done   <= 1'b1;
        state      <= in_wait ? WAIT : COUNT;
        if (invalid || passed) begin
          cfg_err  <= 1'b1;
          ch_req   <= 1'b1;
          ch_kind  <= KIND_REFUSED;
          ch_flags <= invalid ? REASON_INVALID : REASON_LATE;
          ch_data  <= mdata;
        end else begin
          pending <= 1'b1;
          if (redo) state <= UNDO;
        end
      end
      WAIT: begin
        wait_cnt <= 3'd0;
        in_wait  <= 1'b1;
        if (due) begin
          ev_lo    <= now[7:0] + 8'(KE + 1);
          ev_off   <= off;
          ev_kind  <= grant ? KIND_TX : KIND_REFUSED;
          ev_flags <= refuse ? REASON_BUSY : 8'd0;
          state    <= FIRED;
        end else if (stopping && ch_free) begin
          stopping <= 1'b0;
          running  <= 1'b0;
          pending  <= 1'b0;
          ch_req   <= 1'b1;
          ch_kind  <= KIND_APPLIED;
          ch_flags <= EVENT_FLAG_STOP;
          ch_data  <= num;
          state    <= IDLE;
        end else if (wrapped) begin
          reloading <= 1'b1;  // 2^32 ticks went by: count the upper half anew
          state     <= S_LO;
        end else if (adjusting && far) begin
          state <= V_PERIOD;
        end
      end
      FIRED: begin  // a stamp may not lie ahead of `now`
        wait_cnt <= wait_cnt + 3'd1;
        if (wait_cnt == 3'(KE)) state <= REPORT;
      end
      REPORT: begin
        in_wait <= 1'b0;
        if (ev_ack) begin
          if (ending) begin
            running <= 1'b0;
            state   <= IDLE;
          end else begin
            num       <= num + 32'd1;
            base_frac <= frac;
            state     <= adjusting ? V_PERIOD : COUNT;
          end
        end
      end
      UNDO: begin
        addend <= -t - W'(S);
        state  <= UNDONE;
      end
      UNDONE: state <= COUNT;
      COUNT: begin
        ending <= mdata != 32'd0 && mdata == num;
        state  <= AT;
      end
      AT: begin
        apply <= pending && match;
        if (!ending) begin
          state <= NUM;
        end else if (!pending || ch_free) begin
          pending <= 1'b0;
          if (pending) begin
            ch_req   <= 1'b1;
            ch_kind  <= KIND_REFUSED;
            ch_flags <= REASON_INVALID;
            ch_data  <= mdata;
          end
          ev_lo    <= now[7:0];
          ev_off   <= 3'd0;
          ev_kind  <= KIND_TRAIN_DONE;
          ev_flags <= 8'd0;
          state    <= REPORT;
        end
      end
      NUM: begin
        t     <= {2'b00, mdata} + ((apply && !same_den) ? W'(0) : {2'b00, base_frac});
        state <= DEN;
      end
      DEN: begin
        carry <= !den_less[33];
        frac  <= den_less[33] ? t[31:0] : den_less[31:0];
        state <= PERIOD;
      end
      PERIOD: begin
        t     <= {2'b00, mdata} + {33'd0, carry};
        state <= STEP;
      end
      STEP: begin
        if (apply) t <= t + {{2{mdata[31]}}, mdata};
        state <= TRY;
      end
      TRY: begin
        addend <= t - W'(S);
        state  <= PLACE;
      end
      PLACE: state <= PLACED;
      PLACED: if (!apply) begin
        state <= WAIT;
      end else if (ch_free) begin
        apply    <= 1'b0;
        pending  <= 1'b0;
        ch_req   <= 1'b1;
        if (too_near) begin
          ch_kind  <= KIND_REFUSED;
          ch_flags <= REASON_LATE;
          ch_data  <= asked_next ? 32'd0 : num;
          state    <= UNDO;
        end else begin
          ch_kind  <= KIND_APPLIED;
          ch_flags <= 8'd0;
          ch_data  <= num;
          bank     <= !bank;
          state    <= WAIT;
        end
      end
      default: state <= IDLE;
    endcase

    if (rst) begin
      state <= IDLE;
      running <= 1'b0;
      pending <= 1'b0;
      adjusting <= 1'b0;
      stopping <= 1'b0;
      starting <= 1'b0;
      reloading <= 1'b0;
      ending <= 1'b0;
      apply <= 1'b0;
      past <= 1'b0;
      hi_zero <= 1'b0;
      bank <= 1'b0;
      in_wait <= 1'b0;
      num <= 32'd0;
      ch_req <= 1'b0;
      cfg_done <= 1'b0;
    end
  end
endmodule
