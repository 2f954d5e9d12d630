// SPDX-License-Identifier: BSD-2-Clause
// When to interrupt, in `sys`. All outputs but irq_fault are levels, registered. A setting of 0 is off.
//   irq_ev, irq_rx  records are waiting and: at least `level` of them, or the stream has not been empty for `age`, or none has
//                   arrived for `idle`. As none waits longer than the stream has not been empty, neither does the oldest record.
//                   Age and idle count units of 2^(BASE + STEP * irq_unit) cycles of a prescaler that runs freely: a timer may end
//                   up to one unit early, never late (the output follows within 4 cycles). irq_timed marks new settings, in the cycle in
//                   which they are first there: then all timers restart.
//   irq_tx          at most `low` bytes are waiting to be sent (so 0 means all sent to the line)
//   irq_lq          at least `space` launches fit
//   irq_drained     nothing best-effort waits or is on the line
//   irq_fault       one cycle
//   TW, UW          bits of a timer, of irq_unit
//   BASE, STEP      log2 of the smallest unit, and of how many times longer the next one is
module litepulse_irq #(
    parameter int EV_AW = 8,
    parameter int RX_AW = 9,
    parameter int TX_AW = 9,
    parameter int LQ_AW = 6,
    parameter int TW    = 12,
    parameter int UW    = 2,
    parameter int BASE  = 5,
    parameter int STEP  = 3
) (
    input  logic           clk,
    input  logic           rst,
    input  logic [EV_AW:0] ev_nready,    // complements
    input  logic           ev_arrived,
    input  logic [RX_AW:0] rx_nready,
    input  logic           rx_arrived,
    input  logic [TX_AW:0] tx_free,
    input  logic [LQ_AW:0] lq_nfree,
    input  logic           tx_idle,
    input  logic           fault,
    input  logic [EV_AW:0] irq_ev_level,
    input  logic [RX_AW:0] irq_rx_level,
    input  logic [TW-1:0]  irq_ev_age,
    input  logic [TW-1:0]  irq_ev_idle,
    input  logic [TW-1:0]  irq_rx_age,
    input  logic [TW-1:0]  irq_rx_idle,
    input  logic [UW-1:0]  irq_unit,
    input  logic           irq_timed,
    input  logic [TX_AW:0] irq_tx_low,
    input  logic [LQ_AW:0] irq_lq_space,
    output logic           irq_ev,
    output logic           irq_rx,
    output logic           irq_tx,
    output logic           irq_lq,
    output logic           irq_drained,
    output logic           irq_fault
);
  localparam int TIMERS = 4;  // 0, 1: age and idle of the events; 2, 3: of the received bytes
  localparam int UNITS = 1 << UW;
  localparam int SCALE = BASE + STEP * (UNITS - 1);

  // A unit ends when the top bit of its part of the prescaler falls.
  logic [SCALE-1:0] scale;
  logic [UNITS-1:0] tops;
  logic top, top_was, tick;
  for (genvar u = 0; u < UNITS; u++) begin : g_top
    assign tops[u] = scale[BASE+STEP*u-1];
  end
  assign top  = tops[irq_unit];
  assign tick = top_was && !top;

  logic ev_some, rx_some;  // registered for speed
  logic [TIMERS-1:0] restart, ended;
  logic [TW*TIMERS-1:0] setting;
  assign restart = {{2{!rx_some}}, {2{!ev_some}}} | {rx_arrived, 1'b0, ev_arrived, 1'b0} | {TIMERS{irq_timed}};
  assign setting = {irq_rx_idle, irq_rx_age, irq_ev_idle, irq_ev_age};

  for (genvar k = 0; k < TIMERS; k++) begin : g_timer
    // Counts down. Adding ones or nothing lets one cell per bit both load and count, and the carry says that it is not 0. It has
    // ended when it is 0 and was not: one that starts at 0 never ends.
    logic [TW-1:0] left;
    logic [TW:0] sum;
    logic counting;
    assign sum = {1'b0, left} + {1'b0, {TW{!restart[k]}}};
    always_ff @(posedge clk) begin
      if (restart[k] || (tick && sum[TW])) left <= restart[k] ? setting[TW*k+:TW] : sum[TW-1:0];
      counting <= sum[TW];
      ended[k] <= !restart[k] && (ended[k] || (counting && !sum[TW]));
    end
  end

  // Carries: level > ready, used <= low (a sum of at least the depth), space > free
  logic [EV_AW+1:0] ev_sum;
  logic [RX_AW+1:0] rx_sum;
  logic [TX_AW+1:0] tx_sum;
  logic [LQ_AW+1:0] lq_sum;
  assign ev_sum = {1'b0, irq_ev_level} + {1'b0, ev_nready};
  assign rx_sum = {1'b0, irq_rx_level} + {1'b0, rx_nready};
  assign tx_sum = {1'b0, irq_tx_low} + {1'b0, tx_free};
  assign lq_sum = {1'b0, irq_lq_space} + {1'b0, lq_nfree};

  always_ff @(posedge clk) begin
    scale       <= scale + 1'b1;
    top_was     <= top;
    ev_some     <= ev_nready != '1;
    rx_some     <= rx_nready != '1;
    irq_ev      <= (irq_ev_level != '0 && !ev_sum[EV_AW+1]) || (ev_some && |ended[1:0]);
    irq_rx      <= (irq_rx_level != '0 && !rx_sum[RX_AW+1]) || (rx_some && |ended[3:2]);
    irq_tx      <= |tx_sum[TX_AW+1:TX_AW];
    irq_lq      <= irq_lq_space != '0 && !lq_sum[LQ_AW+1];
    irq_drained <= tx_idle;
    irq_fault   <= fault;
    if (rst) begin
      scale       <= '0;
      ev_some     <= 1'b0;
      rx_some     <= 1'b0;
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

`ifdef FORMAL
`include "litepulse_irq.svh"
`endif
endmodule
