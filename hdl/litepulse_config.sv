// SPDX-License-Identifier: BSD-2-Clause
// Takes configuration words in the pulse domain: keeps the simple settings and the profiles, hands the words of train and responder on,
// carries out commands. Every word is answered; one that is refused changes nothing and is told of by an event.
// Latency: a setting acts the cycle after its answer; commands and train words are answered when they are decided.
module litepulse_config #(
    parameter int S = 1
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
    output logic         cfg_done,
    output logic         cfg_err,
    // blocks that take their own words
    output logic         train_req,
    input  logic         train_done,
    input  logic         train_err,
    output logic         resp_req,
    input  logic         resp_done,
    input  logic         resp_err,
    // profiles: memory read by the arbiter, profile 0 also as wires
    input  logic         prof_ren,
    input  logic [1:0]   prof_raddr,
    output logic [35:0]  prof_period,
    output logic [1:0]   prof_data_bits,
    output logic [2:0]   prof_parity,
    output logic [1:0]   prof_stop,
    output logic         prof_inv,
    output logic [3:0]   prof_valid,
    output logic [3:0]   prof_invert,
    output logic [35:0]  prof0_period,
    output logic [1:0]   prof0_data_bits,
    output logic [2:0]   prof0_parity,
    output logic [1:0]   prof0_stop,
    output logic         prof0_changed,
    // settings
    output logic         loopback,
    output logic         hold_tty,
    output logic         break_hold,
    output logic         rx_enable,
    output logic [15:0]  de_lead,
    output logic [15:0]  de_lag,
    output logic [15:0]  rise_en,
    output logic [15:0]  fall_en,
    output logic [15:0]  filt_en,
    output logic [5:0]   filt_len,
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
    output logic [3:0]   ev_kind,
    output logic [7:0]   ev_flags,
    output logic [7:0]   ev_lo,
    output logic [31:0]  ev_data
);

  typedef enum logic [1:0] {IDLE, COMMAND, EVENT, LAST} state_t;
  state_t state;

  (* ram_style = "block", no_rw_check *) logic [43:0] profiles[0:3];
  logic [31:0] period_lo;
  logic [35:0] period;
  logic        is_profile, is_train, is_resp, format_ok;
  logic        wait_queue, wait_tty, snapshot;
  logic        write_profile, refused;

  assign is_profile = cfg_addr < litepulse_map_pkg::CFG_LINE;
  assign is_train   = cfg_addr[5:4] == 2'd1;
  assign is_resp    = cfg_addr[5:3] == 3'd4;
  assign train_req  = cfg_req && !cfg_done && is_train && state == IDLE;
  assign resp_req   = cfg_req && !cfg_done && is_resp && state == IDLE;
  assign period     = {cfg_data[litepulse_map_pkg::PROFILE_FORMAT_PERIOD_HI_LSB +: litepulse_map_pkg::PROFILE_FORMAT_PERIOD_HI_BITS],
                       period_lo};
  assign format_ok  = period[35:8] >= 28'(4 * S)
      && cfg_data[litepulse_map_pkg::PROFILE_FORMAT_PARITY_LSB +: 3] <= litepulse_map_pkg::PARITY_SPACE
      && cfg_data[litepulse_map_pkg::PROFILE_FORMAT_STOP_LSB +: 2] != 2'd3;
  // not while the arbiter reads, so that what it reads is whole
  assign write_profile = cfg_req && !cfg_done && state == IDLE && is_profile && cfg_addr[0] && format_ok && !prof_ren;

  always_ff @(posedge clk) begin
    if (write_profile) profiles[cfg_addr[2:1]] <= {cfg_data[11:4], period};
    if (prof_ren) {prof_inv, prof_stop, prof_parity, prof_data_bits, prof_period} <= profiles[prof_raddr];
  end

  // the word is held still until it is answered, so the event can tell of it
  always_comb begin
    case (ev_kind)
      litepulse_map_pkg::KIND_REFUSED:  ev_data = {26'd0, cfg_addr};
      litepulse_map_pkg::KIND_SNAPSHOT: ev_data = 32'd0;
      default: ev_data = {cfg_data[litepulse_map_pkg::COMMAND_FLUSH_QUEUE_LSB] ? flush_count : 16'd0, cfg_data[15:0]};
    endcase
  end
  assign ev_req   = state == EVENT || state == LAST;
  assign refused  = (is_profile && cfg_addr[0] && !format_ok) || (!is_profile && !is_train && !is_resp && cfg_addr > litepulse_map_pkg::CFG_COMMAND);

  always_ff @(posedge clk) begin
    cfg_done <= 1'b0;
    cfg_err  <= 1'b0;
    prof0_changed <= 1'b0;
    flush_queue <= 1'b0;
    flush_tty <= 1'b0;
    case (state)
      IDLE: if (cfg_req && !cfg_done) begin
        ev_lo    <= now[7:0];
        ev_kind  <= litepulse_map_pkg::KIND_REFUSED;
        ev_flags <= litepulse_map_pkg::REASON_INVALID;
        if (is_train) begin
          cfg_done <= train_done;
          cfg_err  <= train_err;
        end else if (is_resp) begin
          cfg_err  <= resp_err;
          if (resp_done && resp_err) state <= LAST;
          else cfg_done <= resp_done;
        end else if (refused) begin
          state <= LAST;
        end else if (is_profile) begin
          if (!cfg_addr[0]) begin
            cfg_done  <= 1'b1;
            period_lo <= cfg_data;
          end else if (write_profile) begin
            cfg_done <= 1'b1;
            prof_valid[cfg_addr[2:1]]  <= 1'b1;
            prof_invert[cfg_addr[2:1]] <= cfg_data[litepulse_map_pkg::PROFILE_FORMAT_INVERT_LSB];
            if (cfg_addr[2:1] == 2'd0) begin
              prof0_changed <= 1'b1;
              {prof0_stop, prof0_parity, prof0_data_bits, prof0_period} <= {cfg_data[10:4], period};
            end
          end
        end else begin
          cfg_done <= 1'b1;
          case (cfg_addr)
            litepulse_map_pkg::CFG_LINE: begin
              loopback   <= cfg_data[litepulse_map_pkg::LINE_LOOPBACK_LSB];
              hold_tty   <= cfg_data[litepulse_map_pkg::LINE_HOLD_TTY_LSB];
              break_hold <= cfg_data[litepulse_map_pkg::LINE_BREAK_HOLD_LSB];
              rx_enable  <= cfg_data[litepulse_map_pkg::LINE_RX_ENABLE_LSB];
            end
            litepulse_map_pkg::CFG_DRIVER_ENABLE: begin
              de_lead <= cfg_data[litepulse_map_pkg::DRIVER_ENABLE_LEAD_LSB +: 16];
              de_lag  <= cfg_data[litepulse_map_pkg::DRIVER_ENABLE_LAG_LSB +: 16];
            end
            litepulse_map_pkg::CFG_CAPTURE_EDGES: begin
              rise_en <= cfg_data[litepulse_map_pkg::CAPTURE_EDGES_RISE_LSB +: 16];
              fall_en <= cfg_data[litepulse_map_pkg::CAPTURE_EDGES_FALL_LSB +: 16];
            end
            litepulse_map_pkg::CFG_FILTER: begin
              filt_en  <= cfg_data[litepulse_map_pkg::FILTER_ENABLE_LSB +: 16];
              filt_len <= cfg_data[litepulse_map_pkg::FILTER_LENGTH_LSB +: 6];
            end
            litepulse_map_pkg::CFG_EVENT_MASK: event_mask <= cfg_data[10:0];
            default: begin  // CFG_COMMAND
              cfg_done    <= 1'b0;
              flush_queue <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_QUEUE_LSB];
              wait_queue  <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_QUEUE_LSB];
              flush_tty   <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_TTY_LSB];
              wait_tty    <= cfg_data[litepulse_map_pkg::COMMAND_FLUSH_TTY_LSB];
              snapshot    <= cfg_data[litepulse_map_pkg::COMMAND_SNAPSHOT_LSB];
              state       <= COMMAND;
            end
          endcase
        end
      end
      COMMAND: begin
        if (queue_flushed) wait_queue <= 1'b0;
        if (tty_flushed) wait_tty <= 1'b0;
        if (!wait_queue && !wait_tty) begin
          ev_lo    <= now[7:0];
          ev_kind  <= snapshot ? litepulse_map_pkg::KIND_SNAPSHOT : litepulse_map_pkg::KIND_APPLIED;
          ev_flags <= 8'd0;
          state    <= snapshot ? EVENT : LAST;
        end
      end
      EVENT: if (ev_ack) begin
        snapshot <= 1'b0;
        state <= COMMAND;
      end
      LAST: if (ev_ack) begin
        cfg_done <= 1'b1;
        cfg_err  <= ev_kind == litepulse_map_pkg::KIND_REFUSED;
        state    <= IDLE;
      end
    endcase
    if (rst) begin
      state <= IDLE;
      cfg_done <= 1'b0;
      prof_valid <= 4'd0;
      prof_invert <= 4'd0;
      loopback <= 1'b0;
      hold_tty <= 1'b0;
      break_hold <= 1'b0;
      rx_enable <= 1'b0;
      de_lead <= 16'd0;
      de_lag <= 16'd0;
      rise_en <= 16'd0;
      fall_en <= 16'd0;
      filt_en <= 16'd0;
      filt_len <= 6'd1;
      event_mask <= 11'd0;
    end
  end

`ifdef FORMAL
`include "litepulse_config.svh"  // sim/formal
`endif
endmodule
