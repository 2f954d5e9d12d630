// SPDX-License-Identifier: BSD-2-Clause
// When to interrupt, in `sys`. All outputs but irq_fault are levels, registered (one cycle). A setting of 0 is off.
//   irq_ev, irq_rx  records are waiting and: at least `level` of them, or the stream has not been empty for `age`, or none has
//                   arrived for `idle`. As none waits longer than the stream has not been empty, neither does the oldest record.
//                   Age and idle count units of 32 cycles with a prescaler that runs freely: a timer may end up to one unit early,
//                   never late (the output follows within 3 cycles). It takes its setting when it restarts (age: while the stream
//                   is empty; idle: also at an arrival), one that was off ends as soon as it is switched on.
//   irq_tx          at most `low` bytes are waiting to be sent (so 0 means all sent to the line)
//   irq_lq          at least `space` launches fit
//   irq_drained     nothing best-effort waits or is on the line
//   irq_fault       one cycle
module litepulse_irq #(
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6
) (
    input  logic           clk,
    input  logic           rst,
    input  logic [EV_AW:0] ev_ready,
    input  logic           ev_arrived,
    input  logic [RX_AW:0] rx_ready,
    input  logic           rx_arrived,
    input  logic [TX_AW:0] tx_free,
    input  logic [LQ_AW:0] lq_free,
    input  logic           tx_idle,
    input  logic           fault,
    input  logic [EV_AW:0] irq_ev_level,
    input  logic [RX_AW:0] irq_rx_level,
    input  logic [15:0]    irq_ev_age,
    input  logic [15:0]    irq_ev_idle,
    input  logic [15:0]    irq_rx_age,
    input  logic [15:0]    irq_rx_idle,
    input  logic [TX_AW:0] irq_tx_low,
    input  logic [LQ_AW:0] irq_lq_space,
    output logic           irq_ev,
    output logic           irq_rx,
    output logic           irq_tx,
    output logic           irq_lq,
    output logic           irq_drained,
    output logic           irq_fault
);
  localparam int STREAMS = 2;
  localparam int TIMERS = 2 * STREAMS;

  logic [4:0] scale;
  logic unit;
  assign unit = &scale;

  // Timers 0, 1: age and idle of the events; 2, 3: of the received bytes. They stand still when they have ended.
  logic [STREAMS-1:0] some, arrived;  // registered for speed
  logic [TIMERS-1:0] restart, ended;
  logic [16*TIMERS-1:0] setting;
  assign restart = {!some[1] || arrived[1], !some[1], !some[0] || arrived[0], !some[0]};
  assign setting = {irq_rx_idle, irq_rx_age, irq_ev_idle, irq_ev_age};

  for (genvar k = 0; k < TIMERS; k++) begin : g_timer
    // counts down; adding ones or nothing lets one cell per bit both load and count, and the carry says that it is not 0
    logic [15:0] left;
    logic [16:0] sum;
    assign sum      = {1'b0, left} + {1'b0, {16{!restart[k]}}};
    assign ended[k] = !restart[k] && !sum[16] && setting[16*k+:16] != '0;
    always_ff @(posedge clk) if (restart[k] || (unit && sum[16])) left <= restart[k] ? setting[16*k+:16] : sum[15:0];
  end

  logic [EV_AW+1:0] ev_sum;
  logic [RX_AW+1:0] rx_sum;
  logic [TX_AW+1:0] tx_sum;
  logic [LQ_AW+1:0] lq_sum;
  assign ev_sum = {1'b0, irq_ev_level} + {1'b0, ~ev_ready};  // carry: level > ready
  assign rx_sum = {1'b0, irq_rx_level} + {1'b0, ~rx_ready};
  assign tx_sum = {1'b0, irq_tx_low} + {1'b0, tx_free};  // at least the depth: used <= low
  assign lq_sum = {1'b0, irq_lq_space} + {1'b0, ~lq_free};

  always_ff @(posedge clk) begin
    scale       <= scale + 1'b1;
    some        <= {rx_ready != '0, ev_ready != '0};
    arrived     <= {rx_arrived, ev_arrived};
    irq_ev      <= (irq_ev_level != '0 && !ev_sum[EV_AW+1]) || (some[0] && |ended[1:0]);
    irq_rx      <= (irq_rx_level != '0 && !rx_sum[RX_AW+1]) || (some[1] && |ended[3:2]);
    irq_tx      <= |tx_sum[TX_AW+1:TX_AW];
    irq_lq      <= irq_lq_space != '0 && !lq_sum[LQ_AW+1];
    irq_drained <= tx_idle;
    irq_fault   <= fault;
    if (rst) begin
      scale       <= '0;
      some        <= '0;
      arrived     <= '0;
      irq_ev      <= 1'b0;
      irq_rx      <= 1'b0;
      irq_tx      <= 1'b0;
      irq_lq      <= 1'b0;
      irq_drained <= 1'b0;
      irq_fault   <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, ev_sum[EV_AW:0], rx_sum[RX_AW:0], tx_sum[TX_AW-1:0], lq_sum[LQ_AW:0]};
endmodule
