// SPDX-License-Identifier: BSD-2-Clause
// Takes configuration words in the pulse domain: keeps the simple settings and profile 0, has the profiles and the responder's pulse width
// written to litepulse_launch_memory, hands the words of train and responder on, carries out commands. Every word is answered; one that is
// refused changes nothing; an event reports it.
// Latency: a setting is there the cycle after its answer (most act a cycle or two later); commands and train words are answered when
// they are decided.
//
//   state     what happens in it                                                then
//   IDLE      a word comes; other blocks answer theirs themselves               SET; WRITE for the responder's width, LAST if it is refused
//   SET       a setting is taken over, or refused                               IDLE; WRITE for a profile, COMMAND, LAST
//   WRITE     waits until the launch memory is not read, and writes             IDLE, or LAST
//   COMMAND   waits for the flushes                                             EVENT for a snapshot, then LAST
//   EVENT     asks for the SNAPSHOT record                                      COMMAND
//   LAST      asks for the record APPLIED or REFUSED                            IDLE
//
//   INPUTS  aux inputs
//   LIN     there is a litepulse_lin
//   PORT    there is a litepulse_port
`include "litepulse_types.svh"
module litepulse_config #(
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter bit LIN = 1'b0,
    parameter bit PORT = 1'b0
) (
    input  logic         clk,
    input  logic         rst,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63-$clog2(S):0] now,   // its low byte
    // verilator lint_on UNUSEDSIGNAL
    // word, with stable address and data until done
    input  logic         cfg_req,
    input  logic [5:0]   cfg_addr,
    input  logic [31:0]  cfg_data,
    input  logic         cfg_stop,     // COMMAND is the watchdog's: a held break ends, too
    output logic         cfg_done,
    output logic         cfg_err,
    // blocks that take their own words
    output logic         train_req,
    input  logic         train_done,
    input  logic         train_err,
    input  logic         train_untold,   // while train_err: no record of the train's reports it
    input  logic         train_running,
    output logic         resp_req,
    input  logic         resp_done,
    input  logic         resp_err,
    output logic         lin_req,
    input  logic         lin_done,
    input  logic         lin_err,
    // launch memory: profiles, pulse width of the responder
    input  logic         mem_ready,
    output profile_write_t mem_write,
    input  logic         mem_long,       // the period to be written is at least 4 cycles
    // profiles; profile 0 also as wires
    output logic [3:0]   prof_valid,
    output logic [3:0]   prof_invert,
    output logic [3:0]   prof_port,      // launches of kind frame go to the marker port
    output logic [35:0]  prof0_period,
    output frame_format_t prof0_format,
    output logic         prof0_changed,
    // settings
    output logic         nloopback,      // complement, in a register of its own: it may lie where the line's samples are
    output logic         loop_changes,   // from the next cycle on it has another value
    output logic         hold_tty,       // XOFF, or a byte's start bit would have no edge
    output logic         rest_level,     // of the line between launches
    output logic         break_hold,
    output logic         break_stays,    // it is set, and in the next cycle, too
    output logic         rx_enable,
    output logic [15:0]  nde_lead,       // its complement costs nothing in front of an adder
    output logic         lead_changes,   // from the next cycle on it has another value
    output logic [15:0]  de_lag,
    output capture_settings_t capture,
    output logic [9:0]   echo_tail,      // cycles
    output logic         echo_changed,   // strobe: the tail, the filter or its length was written
    output logic         port_we,        // strobe: the word is the width of marks
    output logic [10:0]  event_mask,
    // commands
    output logic         flush_queue,
    input  logic         queue_flushed,
    input  logic [15:0]  flush_count,
    output logic         flush_tty,
    input  logic         tty_flushed,
    // event request
    output logic         ev_req,
    input  logic         ev_ack,
    output event_request_t ev
);
  logic         loopback;
  logic         mem_we, mem_profile;
  logic [1:0]   mem_entry;
  assign mem_write.we          = mem_we;
  assign mem_write.is_profile  = mem_profile;
  assign mem_write.entry       = mem_entry;

  logic [15:0]  rise_en, fall_en, filt_en;
  logic [5:0]   filt_len;
  logic         filt_new, filt_len_new;
  assign capture.rise_en      = rise_en;
  assign capture.fall_en      = fall_en;
  assign capture.filt_en      = filt_en;
  assign capture.filt_len     = filt_len;
  assign capture.filt_new     = filt_new;
  assign capture.filt_len_new = filt_len_new;

  logic [3:0]   ev_kind;
  logic [7:0]   ev_flags, ev_lo;
  logic [31:0]  ev_data;
  assign ev.data   = ev_data;
  assign ev.kind   = ev_kind;
  assign ev.flags  = ev_flags;
  assign ev.lo     = ev_lo;
  assign ev.off    = 3'd0;

  localparam int C = INPUTS + 1;

  typedef enum logic [2:0] {IDLE, SET, WRITE, COMMAND, EVENT, LAST} state_t;
  state_t state;

  logic [11:0] format;         // held until the period word applies both
  logic        format_port;    // likewise
  assign mem_write.format      = format[10:4];
  assign mem_write.period_high = format[3:0];
  logic [C-1:0] rise, fall, filt;
  logic        is_profile, is_train, is_resp, is_lin, is_width, is_command, fits, unknown, idle;
  logic        at_line, at_driver_enable, at_capture_edges, at_filter, at_event_mask, at_echo, at_port;
  logic        wait_queue, wait_tty, snapshot;
  localparam int TAIL_BITS = 10;  // of echo_tail
  localparam logic [TAIL_BITS-1:0] TAIL_AT_RESET = 16;  // cycles
  logic [16:0] tail_cycles;
  logic        deciding, writes;
  logic        wrote, good;    // it had its turn in the last cycle, and was written
  logic [1:0]  waited;         // until litepulse_launch_memory has looked at the word
  logic        decided;        // so has this module: if the memory is ready the word is written or refused now, else tried again ...
  logic        store;          // ... namely written
  logic [3:0]  store_profile;  // ... this profile
  logic        asked;          // cfg_req of the last cycle: what follows is about the word
  logic [3:0]  which;          // profile
  logic [3:0]  set_profile;    // in this cycle it is written
  logic        lead_differs, may_set_lead, tail_fits, len_differs, refuses;
  logic        load0;          // it was, and is profile 0: the copy follows
  logic        xoff;
  // The rest level as it was written; as it is, when no best-effort byte can begin any more that was not held.
  logic        rest_wanted, rest_wanted_level, rest_named, rest_named_level;

  assign idle       = asked && !cfg_done && state == IDLE;
  always_ff @(posedge clk) begin
    asked      <= cfg_req && !cfg_done && !rst;
    is_profile <= cfg_addr < litepulse_map_pkg::CFG_LINE;
    is_train   <= cfg_addr[5:4] == 2'd1;
    is_resp    <= cfg_addr[5:3] == 3'd4 && cfg_addr[2:0] != 3'd7;   // a word that is not the responder's must not disarm it
    is_lin     <= LIN && cfg_addr[5:2] == litepulse_map_pkg::CFG_LIN_DATA_LO[5:2] && cfg_addr[1:0] != 2'd3;
    is_width   <= cfg_addr == litepulse_map_pkg::CFG_RESP_WIDTH;
    is_command <= cfg_addr == litepulse_map_pkg::CFG_COMMAND;
    at_line    <= cfg_addr == litepulse_map_pkg::CFG_LINE;
    at_driver_enable <= cfg_addr == litepulse_map_pkg::CFG_DRIVER_ENABLE;
    at_capture_edges <= cfg_addr == litepulse_map_pkg::CFG_CAPTURE_EDGES;
    at_filter  <= cfg_addr == litepulse_map_pkg::CFG_FILTER;
    at_event_mask <= cfg_addr == litepulse_map_pkg::CFG_EVENT_MASK;
    at_echo    <= cfg_addr == litepulse_map_pkg::CFG_ECHO;
    at_port    <= PORT && cfg_addr == litepulse_map_pkg::CFG_PORT;
    unknown    <= cfg_addr > (PORT ? litepulse_map_pkg::CFG_PORT : litepulse_map_pkg::CFG_ECHO);   // of those that no other block takes
    for (int i = 0; i < 4; i++) which[i] <= cfg_addr[5:1] == 5'(i);
    // in the cycle of SET; a register, since much follows it
    loop_changes <= idle && at_line && cfg_data[litepulse_map_pkg::LINE_LOOPBACK_LSB] != loopback && !rst;
    lead_differs <= cfg_data[litepulse_map_pkg::DRIVER_ENABLE_LEAD_LSB +: 16] != ~nde_lead;
    tail_fits <= tail_cycles[16:TAIL_BITS] == '0;
    len_differs <= cfg_data[litepulse_map_pkg::FILTER_LENGTH_LSB +: 6] != filt_len;
  end
  // a train's period leaves room for the lead with which it was started
  assign may_set_lead = !(lead_differs && train_running);
  assign lead_changes = state == SET && at_driver_enable && lead_differs && !train_running;
  assign break_stays  = break_hold && !(state == SET
      && ((at_line && !cfg_data[litepulse_map_pkg::LINE_BREAK_HOLD_LSB]) || (is_command && cfg_stop)));
  assign refuses      = unknown || (at_driver_enable && !may_set_lead) || (at_echo && !tail_fits);
  assign tail_cycles  = ({1'b0, cfg_data[litepulse_map_pkg::ECHO_TAIL_LSB +: 16]} + 17'(S - 1)) >> $clog2(S);
  assign port_we    = PORT && state == SET && at_port;
  assign train_req  = idle && is_train;
  assign resp_req   = idle && is_resp;
  assign lin_req    = idle && is_lin;

  // A start bit has an edge only if the line rests at profile 0's idle level. A mark needs none.
  assign rest_level = rest_named ? rest_named_level : !prof_invert[0];
  assign hold_tty   = xoff
      || (!prof_port[0] && (rest_level == prof_invert[0] || (rest_wanted && rest_wanted_level == prof_invert[0])));

  assign deciding    = state == WRITE && waited[1] && !wrote && !rst;
  assign writes      = decided && mem_ready;
  assign set_profile = store_profile & {4{mem_ready}};
  assign mem_profile = is_profile;
  assign mem_entry   = is_profile ? cfg_addr[2:1] : 2'd0;
  assign mem_we      = store;

  assign rise_en = 16'(rise);
  assign fall_en = 16'(fall);
  assign filt_en = 16'(filt);

  // the word is held still until it is answered, so the event can tell of it
  assign ev.source = is_train ? litepulse_map_pkg::SRC_TRAIN_CHANGE : litepulse_map_pkg::SRC_CONTROL;
  assign ev_req   = state == EVENT || state == LAST;
  assign ev_kind  = (state == EVENT) ? litepulse_map_pkg::KIND_SNAPSHOT
      : is_command ? litepulse_map_pkg::KIND_APPLIED : litepulse_map_pkg::KIND_REFUSED;
  assign ev_lo    = now[7:0];
  assign ev_flags = is_command ? 8'd0 : at_driver_enable ? litepulse_map_pkg::REASON_BUSY : litepulse_map_pkg::REASON_INVALID;
  assign ev_data  = !is_command ? {26'd0, cfg_addr & {6{!is_train}}} : (state == EVENT) ? 32'd0
      : {cfg_data[litepulse_map_pkg::COMMAND_FLUSH_QUEUE_LSB] ? flush_count : 16'd0, 13'd0, cfg_data[2:0]};

  always_ff @(posedge clk) begin
    cfg_done <= 1'b0;
    cfg_err  <= 1'b0;
    load0 <= 1'b0;
    filt_new <= 1'b0;
    filt_len_new <= 1'b0;
    prof0_changed <= load0;
    wrote <= writes && !rst;
    good  <= store;
    // every other cycle: whether it is ready is known too late to ask in each
    decided <= deciding && !decided;
    store   <= deciding && !decided && (!is_profile || fits);
    store_profile <= which & {4{deciding && !decided && fits}};
    flush_queue <= 1'b0;
    flush_tty <= 1'b0;
    echo_changed <= 1'b0;
    waited <= {waited[0], 1'b1} & {2{state == WRITE && !wrote && !rst}};
    fits   <= mem_long && format[litepulse_map_pkg::PROFILE_FORMAT_PARITY_LSB +: 3] <= litepulse_map_pkg::PARITY_SPACE
        && format[litepulse_map_pkg::PROFILE_FORMAT_STOP_LSB +: 2] != 2'd3;
    case (state)
      IDLE: if (idle) begin
        if (is_train || is_resp) begin
          cfg_done <= is_train ? train_done : resp_done;
          cfg_err  <= is_train ? train_err : resp_err;
          if (is_train ? train_done && train_untold : resp_done && (resp_err || is_width)) begin
            cfg_done <= 1'b0;
            state    <= (is_train || resp_err) ? LAST : WRITE;
          end
        end else if (is_lin) begin
          cfg_done <= lin_done && !lin_err;
          if (lin_done && lin_err) state <= LAST;
        end else begin
          state <= SET;
        end
      end
      // Addresses exclude each other, so a setting need not ask whether the word is one that is refused.
      SET: begin
        state    <= refuses ? LAST : IDLE;
        cfg_done <= !refuses;
        if (is_profile && cfg_addr[0]) begin
          cfg_done <= 1'b0;
          state    <= WRITE;
        end
        if (is_profile && !cfg_addr[0]) format <= cfg_data[11:0];
        if (is_profile && !cfg_addr[0]) format_port <= PORT && cfg_data[litepulse_map_pkg::PROFILE_FORMAT_TO_PORT_LSB];
        if (at_line) begin
          loopback   <= cfg_data[litepulse_map_pkg::LINE_LOOPBACK_LSB];
          nloopback  <= !cfg_data[litepulse_map_pkg::LINE_LOOPBACK_LSB];
          xoff       <= cfg_data[litepulse_map_pkg::LINE_HOLD_TTY_LSB];
          rest_wanted       <= cfg_data[litepulse_map_pkg::LINE_REST_LSB];
          rest_wanted_level <= cfg_data[litepulse_map_pkg::LINE_REST_LEVEL_LSB];
          break_hold <= cfg_data[litepulse_map_pkg::LINE_BREAK_HOLD_LSB];
          rx_enable  <= cfg_data[litepulse_map_pkg::LINE_RX_ENABLE_LSB];
        end
        if (at_driver_enable && may_set_lead) begin
          nde_lead <= ~cfg_data[litepulse_map_pkg::DRIVER_ENABLE_LEAD_LSB +: 16];
          de_lag   <= cfg_data[litepulse_map_pkg::DRIVER_ENABLE_LAG_LSB +: 16];
        end
        if (at_capture_edges) begin
          rise <= cfg_data[litepulse_map_pkg::CAPTURE_EDGES_RISE_LSB +: C];
          fall <= cfg_data[litepulse_map_pkg::CAPTURE_EDGES_FALL_LSB +: C];
        end
        if (at_filter) begin
          filt     <= cfg_data[litepulse_map_pkg::FILTER_ENABLE_LSB +: C];
          filt_len <= cfg_data[litepulse_map_pkg::FILTER_LENGTH_LSB +: 6];
          filt_new <= 1'b1;
          filt_len_new <= len_differs;
        end
        if (at_echo && tail_fits) echo_tail <= tail_cycles[TAIL_BITS-1:0];
        if (at_filter || (at_echo && tail_fits)) echo_changed <= 1'b1;
        if (at_event_mask) event_mask <= cfg_data[10:0];
        if (is_command) begin
          if (cfg_stop) break_hold <= 1'b0;
          cfg_done    <= 1'b0;
          flush_queue <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_QUEUE_LSB];
          wait_queue  <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_QUEUE_LSB];
          flush_tty   <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_TTY_LSB];
          wait_tty    <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_TTY_LSB];
          snapshot    <= cfg_data[litepulse_map_pkg::COMMAND_SNAPSHOT_LSB];
          state       <= COMMAND;
        end
      end
      WRITE: if (wrote) begin
        cfg_done <= good;
        if (good) prof_valid <= prof_valid | which;
        state    <= good ? IDLE : LAST;
      end
      COMMAND: begin
        if (queue_flushed) wait_queue <= 1'b0;
        if (tty_flushed) wait_tty <= 1'b0;
        if (!wait_queue && !wait_tty) state <= snapshot ? EVENT : LAST;
      end
      EVENT: if (ev_ack) begin
        snapshot <= 1'b0;
        state <= COMMAND;
      end
      default: if (ev_ack) begin  // LAST
        cfg_done <= 1'b1;
        cfg_err  <= !is_command;
        state    <= IDLE;
      end
    endcase

    if (!asked) {rest_named, rest_named_level} <= {rest_wanted, rest_wanted_level};
    for (int i = 0; i < 4; i++) if (set_profile[i]) prof_invert[i] <= format[litepulse_map_pkg::PROFILE_FORMAT_INVERT_LSB];
    for (int i = 0; i < 4; i++) if (set_profile[i]) prof_port[i] <= PORT && format_port;
    if (set_profile[0]) begin
      load0 <= 1'b1;
      prof0_changed <= 1'b1;
    end
    if (load0) {prof0_format, prof0_period} <= {format[10:0], cfg_data};
    if (rst) begin
      state <= IDLE;
      cfg_done <= 1'b0;
      load0 <= 1'b0;
      prof0_changed <= 1'b0;
      prof_valid <= 4'd0;
      prof_invert <= 4'd0;
      prof_port <= 4'd0;
      loopback <= 1'b0;
      nloopback <= 1'b1;
      xoff <= 1'b0;
      rest_wanted <= 1'b0;
      rest_wanted_level <= 1'b0;
      rest_named <= 1'b0;
      rest_named_level <= 1'b0;
      break_hold <= 1'b0;
      rx_enable <= 1'b0;
      nde_lead <= '1;
      de_lag <= 16'd0;
      rise <= '0;
      fall <= '0;
      filt <= '0;
      filt_len <= 6'd1;
      echo_tail <= TAIL_AT_RESET;
      echo_changed <= 1'b0;
      filt_new <= 1'b0;
      filt_len_new <= 1'b0;
      event_mask <= 11'd0;
    end
  end

`ifdef FORMAL
`include "litepulse_config.svh"  // sim/formal
`endif
endmodule
