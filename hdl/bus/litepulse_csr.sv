// SPDX-License-Identifier: BSD-2-Clause
// The registers (CSRs) of a core whose SoC does not make them: identification, session, counters, interrupts. In `sys`.
// docs/registers.md says what each is, litepulse_csr_pkg where it lies.
//
// Latency: dat_r shows the register the cycle after `stb`; a written value acts from that cycle on.
// A read changes nothing. An unassigned address reads 0 and ignores writes.
//   S to SEQUENCE  as of litepulse, to which the ports below go
//   CLOCK_NUM, CLOCK_DEN  frequency of the pulse clock in Hz, an exact fraction; the host computes times with it
//   WINDOW     byte address of the core's window on the host's bus, for id_window; 0: the usual one
//   SIMULATED  this is a simulation
module litepulse_csr #(
    parameter int S = 1,
    parameter int INPUTS = 4,
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6,
    parameter int LIN_ENTRIES = 0,
    parameter bit PORT = 1'b0,
    parameter bit SEQUENCE = 1'b0,
    parameter logic [31:0] CLOCK_NUM = 32'd48_000_000,
    parameter logic [31:0] CLOCK_DEN = 32'd1,
    parameter logic [31:0] WINDOW = 32'd0,
    parameter bit SIMULATED = 1'b0
) (
    input  logic           clk,
    input  logic           rst,
    input  logic           stb,
    input  logic           we,
    input  logic [6:2]     adr,
    input  logic [31:0]    dat_w,
    output logic [31:0]    dat_r,
    output logic           irq,
    // litepulse
    input  logic [EV_AW:0] ev_ready,
    input  logic [RX_AW:0] rx_ready,
    input  logic [TX_AW:0] tx_free,
    input  logic [LQ_AW:0] lq_free,
    input  logic [7:0]     launch_accepted,
    input  logic [7:0]     launch_refused,
    input  logic [15:0]    tx_dropped,
    input  logic [7:0]     config_applied,
    input  logic [7:0]     config_refused,
    input  logic [7:0]     status,
    input  logic [INPUTS:0] pin_levels,
    output logic           watch_written,
    output logic [14:0]    watch_limit,
    output logic           watch_keep,
    input  logic           watch_fired,
    output logic [EV_AW:0] irq_ev_level,
    output logic [RX_AW:0] irq_rx_level,
    output logic [11:0]    irq_ev_age,
    output logic [11:0]    irq_ev_idle,
    output logic [11:0]    irq_rx_age,
    output logic [11:0]    irq_rx_idle,
    output logic [1:0]     irq_unit,
    output logic           irq_timed,
    output logic [TX_AW:0] irq_tx_low,
    output logic [LQ_AW:0] irq_lq_space,
    input  logic           irq_ev,
    input  logic           irq_rx,
    input  logic           irq_tx,
    input  logic           irq_lq,
    input  logic           irq_drained,
    input  logic           irq_fault
);
  // What is stored.

  logic [15:0] session;
  logic [litepulse_csr_pkg::EV_COUNT-1:0] enable, levels, pending;
  logic fault;
  logic write, times, clears;
  assign write  = stb && we;
  assign clears = adr == litepulse_csr_pkg::CSR_EV_PENDING;
  always @* begin
    case (adr)
      litepulse_csr_pkg::CSR_IRQ_EVENT_TIME, litepulse_csr_pkg::CSR_IRQ_RECEIVE_TIME, litepulse_csr_pkg::CSR_IRQ_UNIT: times = 1'b1;
      default: times = 1'b0;
    endcase
  end

  always_ff @(posedge clk) begin
    watch_written <= write && adr == litepulse_csr_pkg::CSR_SESSION;
    irq_timed     <= write && times;
    fault         <= irq_fault || (fault && !(write && clears && dat_w[litepulse_csr_pkg::EV_PENDING_FAULT_LSB]));
    if (write) begin
      case (adr)
        litepulse_csr_pkg::CSR_SESSION: begin
          session     <= dat_w[litepulse_csr_pkg::SESSION_SESSION_LSB+:16];
          watch_limit <= dat_w[litepulse_csr_pkg::SESSION_LIMIT_LSB+:15];
          watch_keep  <= dat_w[litepulse_csr_pkg::SESSION_KEEP_LSB];
        end
        litepulse_csr_pkg::CSR_IRQ_LEVEL: begin
          irq_ev_level <= dat_w[litepulse_csr_pkg::IRQ_LEVEL_EVENT_LSB+:EV_AW+1];
          irq_rx_level <= dat_w[litepulse_csr_pkg::IRQ_LEVEL_RECEIVE_LSB+:RX_AW+1];
        end
        litepulse_csr_pkg::CSR_IRQ_EVENT_TIME: begin
          irq_ev_age  <= dat_w[litepulse_csr_pkg::IRQ_EVENT_TIME_AGE_LSB+:12];
          irq_ev_idle <= dat_w[litepulse_csr_pkg::IRQ_EVENT_TIME_IDLE_LSB+:12];
        end
        litepulse_csr_pkg::CSR_IRQ_RECEIVE_TIME: begin
          irq_rx_age  <= dat_w[litepulse_csr_pkg::IRQ_RECEIVE_TIME_AGE_LSB+:12];
          irq_rx_idle <= dat_w[litepulse_csr_pkg::IRQ_RECEIVE_TIME_IDLE_LSB+:12];
        end
        litepulse_csr_pkg::CSR_IRQ_SEND: begin
          irq_tx_low   <= dat_w[litepulse_csr_pkg::IRQ_SEND_TRANSMIT_LOW_LSB+:TX_AW+1];
          irq_lq_space <= dat_w[litepulse_csr_pkg::IRQ_SEND_LAUNCH_SPACE_LSB+:LQ_AW+1];
        end
        litepulse_csr_pkg::CSR_IRQ_UNIT:  irq_unit <= dat_w[litepulse_csr_pkg::IRQ_UNIT_UNIT_LSB+:2];
        litepulse_csr_pkg::CSR_EV_ENABLE: enable <= dat_w[litepulse_csr_pkg::EV_COUNT-1:0];
        default: ;
      endcase
    end
    if (watch_fired) begin  // wins over a write: what ran was stopped, and the host is to see it
      session     <= '0;
      watch_limit <= '0;
      watch_keep  <= 1'b0;
    end
    if (rst) begin
      watch_written <= 1'b0;
      irq_timed     <= 1'b0;
      fault         <= 1'b0;
      session       <= '0;
      watch_limit   <= '0;
      watch_keep    <= 1'b0;
      irq_ev_level  <= (EV_AW + 1)'(litepulse_csr_pkg::RESET_IRQ_LEVEL[litepulse_csr_pkg::IRQ_LEVEL_EVENT_LSB+:16]);
      irq_rx_level  <= (RX_AW + 1)'(litepulse_csr_pkg::RESET_IRQ_LEVEL[litepulse_csr_pkg::IRQ_LEVEL_RECEIVE_LSB+:16]);
      irq_ev_age    <= '0;
      irq_ev_idle   <= '0;
      irq_rx_age    <= '0;
      irq_rx_idle   <= '0;
      irq_tx_low    <= '0;
      irq_lq_space  <= (LQ_AW + 1)'(litepulse_csr_pkg::RESET_IRQ_SEND[litepulse_csr_pkg::IRQ_SEND_LAUNCH_SPACE_LSB+:16]);
      irq_unit      <= '0;
      enable        <= '0;
    end
  end

  // Interrupts: all follow their cause but `fault`, which stays until it is cleared.

  always @* begin
    levels = '0;
    levels[litepulse_csr_pkg::EV_STATUS_EVENT_LSB]    = irq_ev;
    levels[litepulse_csr_pkg::EV_STATUS_RECEIVE_LSB]  = irq_rx;
    levels[litepulse_csr_pkg::EV_STATUS_TRANSMIT_LSB] = irq_tx;
    levels[litepulse_csr_pkg::EV_STATUS_LAUNCH_LSB]   = irq_lq;
    levels[litepulse_csr_pkg::EV_STATUS_DRAINED_LSB]  = irq_drained;
    pending = levels;
    pending[litepulse_csr_pkg::EV_PENDING_FAULT_LSB] = fault;
  end
  assign irq = |(pending & enable);

  // What is read.

  logic [31:0] word;
  always @* begin
    word = '0;
    case (adr)
      litepulse_csr_pkg::CSR_ID_MAGIC:   word = litepulse_csr_pkg::RESET_ID_MAGIC;
      litepulse_csr_pkg::CSR_ID_VERSION: word = litepulse_csr_pkg::RESET_ID_VERSION;
      litepulse_csr_pkg::CSR_ID_GEOMETRY: begin
        word[litepulse_csr_pkg::ID_GEOMETRY_SAMPLES_LSB+:4]        = 4'(S);
        word[litepulse_csr_pkg::ID_GEOMETRY_INPUTS_LSB+:4]         = 4'(INPUTS);
        word[litepulse_csr_pkg::ID_GEOMETRY_EVENT_DEPTH_LSB+:4]    = 4'(EV_AW);
        word[litepulse_csr_pkg::ID_GEOMETRY_RECEIVE_DEPTH_LSB+:4]  = 4'(RX_AW);
        word[litepulse_csr_pkg::ID_GEOMETRY_TRANSMIT_DEPTH_LSB+:4] = 4'(TX_AW);
        word[litepulse_csr_pkg::ID_GEOMETRY_LAUNCH_DEPTH_LSB+:4]   = 4'(LQ_AW);
        word[litepulse_csr_pkg::ID_GEOMETRY_INTERRUPTS_LSB]        = 1'b1;
        word[litepulse_csr_pkg::ID_GEOMETRY_SIMULATED_LSB]         = SIMULATED;
        word[litepulse_csr_pkg::ID_GEOMETRY_LIN_DEPTH_LSB+:3]      = 3'($clog2(LIN_ENTRIES));
        word[litepulse_csr_pkg::ID_GEOMETRY_PORT_LSB]              = PORT;
        word[litepulse_csr_pkg::ID_GEOMETRY_SEQUENCE_LSB]          = SEQUENCE;
      end
      litepulse_csr_pkg::CSR_ID_CLOCK_NUM: word = CLOCK_NUM;
      litepulse_csr_pkg::CSR_ID_CLOCK_DEN: word = CLOCK_DEN;
      litepulse_csr_pkg::CSR_SESSION: begin
        word[litepulse_csr_pkg::SESSION_SESSION_LSB+:16] = session;
        word[litepulse_csr_pkg::SESSION_LIMIT_LSB+:15]   = watch_limit;
        word[litepulse_csr_pkg::SESSION_KEEP_LSB]        = watch_keep;
      end
      litepulse_csr_pkg::CSR_READY: begin
        word[litepulse_csr_pkg::READY_EVENT_LSB+:EV_AW+1]   = ev_ready;
        word[litepulse_csr_pkg::READY_RECEIVE_LSB+:RX_AW+1] = rx_ready;
      end
      litepulse_csr_pkg::CSR_FREE: begin
        word[litepulse_csr_pkg::FREE_TRANSMIT_LSB+:TX_AW+1] = tx_free;
        word[litepulse_csr_pkg::FREE_LAUNCH_LSB+:LQ_AW+1]   = lq_free;
      end
      litepulse_csr_pkg::CSR_LAUNCHES: begin
        word[litepulse_csr_pkg::LAUNCHES_ACCEPTED_LSB+:8] = launch_accepted;
        word[litepulse_csr_pkg::LAUNCHES_REFUSED_LSB+:8]  = launch_refused;
      end
      litepulse_csr_pkg::CSR_CONFIGS: begin
        word[litepulse_csr_pkg::CONFIGS_APPLIED_LSB+:8] = config_applied;
        word[litepulse_csr_pkg::CONFIGS_REFUSED_LSB+:8] = config_refused;
      end
      litepulse_csr_pkg::CSR_DROPPED: word[litepulse_csr_pkg::DROPPED_TRANSMIT_LSB+:16] = tx_dropped;
      litepulse_csr_pkg::CSR_STATUS: begin
        word[7:0] = status;
        word[litepulse_csr_pkg::STATUS_LEVELS_LSB+:INPUTS+1] = pin_levels;
      end
      litepulse_csr_pkg::CSR_IRQ_LEVEL: begin
        word[litepulse_csr_pkg::IRQ_LEVEL_EVENT_LSB+:EV_AW+1]   = irq_ev_level;
        word[litepulse_csr_pkg::IRQ_LEVEL_RECEIVE_LSB+:RX_AW+1] = irq_rx_level;
      end
      litepulse_csr_pkg::CSR_IRQ_EVENT_TIME: begin
        word[litepulse_csr_pkg::IRQ_EVENT_TIME_AGE_LSB+:12]  = irq_ev_age;
        word[litepulse_csr_pkg::IRQ_EVENT_TIME_IDLE_LSB+:12] = irq_ev_idle;
      end
      litepulse_csr_pkg::CSR_IRQ_RECEIVE_TIME: begin
        word[litepulse_csr_pkg::IRQ_RECEIVE_TIME_AGE_LSB+:12]  = irq_rx_age;
        word[litepulse_csr_pkg::IRQ_RECEIVE_TIME_IDLE_LSB+:12] = irq_rx_idle;
      end
      litepulse_csr_pkg::CSR_IRQ_SEND: begin
        word[litepulse_csr_pkg::IRQ_SEND_TRANSMIT_LOW_LSB+:TX_AW+1] = irq_tx_low;
        word[litepulse_csr_pkg::IRQ_SEND_LAUNCH_SPACE_LSB+:LQ_AW+1] = irq_lq_space;
      end
      litepulse_csr_pkg::CSR_IRQ_UNIT:   word[litepulse_csr_pkg::IRQ_UNIT_UNIT_LSB+:2] = irq_unit;
      litepulse_csr_pkg::CSR_EV_STATUS:  word[litepulse_csr_pkg::EV_COUNT-1:0] = levels;
      litepulse_csr_pkg::CSR_EV_PENDING: word[litepulse_csr_pkg::EV_COUNT-1:0] = pending;
      litepulse_csr_pkg::CSR_EV_ENABLE:  word[litepulse_csr_pkg::EV_COUNT-1:0] = enable;
      litepulse_csr_pkg::CSR_ID_WINDOW:  word = WINDOW;
      default: ;
    endcase
  end
  always_ff @(posedge clk) dat_r <= word;
endmodule
