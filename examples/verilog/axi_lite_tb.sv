// SPDX-License-Identifier: BSD-2-Clause
// What a driver does first, over AXI4-Lite: finds the core, sets a bit rate, has two bytes sent at ticks of its choice, and sees them
// begin there and come back over a wire from tx to rx.
`timescale 1ns / 1ps
module axi_lite_tb;
  import litepulse_map_pkg::*;
  import litepulse_csr_pkg::*;
  localparam logic [15:0] REGISTERS = 16'h8000;

  logic clk = 1'b0, pulse_clk = 1'b0, resetn = 1'b0;
  always #4 clk = !clk;
  always #5 pulse_clk = !pulse_clk;

  logic [15:0] awaddr = '0, araddr = '0;
  logic awvalid = 1'b0, awready, wvalid = 1'b0, wready, bvalid, bready = 1'b0, arvalid = 1'b0, arready, rvalid, rready = 1'b0;
  logic [31:0] wdata = '0, rdata;
  logic [1:0] bresp, rresp;
  logic irq, tx, tx_oe, de;

  axi_lite #(
      .SIMULATED(1'b1)
  ) dut (
      .pulse_clk(pulse_clk),
      .s_axi_aclk(clk),
      .s_axi_aresetn(resetn),
      .s_axi_awaddr(awaddr),
      .s_axi_awprot(3'b000),
      .s_axi_awvalid(awvalid),
      .s_axi_awready(awready),
      .s_axi_wdata(wdata),
      .s_axi_wstrb(4'b1111),
      .s_axi_wvalid(wvalid),
      .s_axi_wready(wready),
      .s_axi_bresp(bresp),
      .s_axi_bvalid(bvalid),
      .s_axi_bready(bready),
      .s_axi_araddr(araddr),
      .s_axi_arprot(3'b000),
      .s_axi_arvalid(arvalid),
      .s_axi_arready(arready),
      .s_axi_rdata(rdata),
      .s_axi_rresp(rresp),
      .s_axi_rvalid(rvalid),
      .s_axi_rready(rready),
      .irq(irq),
      .line_tx(tx),
      .line_tx_oe(tx_oe),
      .line_de(de),
      .line_rx(tx),
      .line_aux(4'b0000)
  );

  task automatic write(input logic [15:0] address, input logic [31:0] word);
    @(negedge clk);
    awaddr  = address;
    wdata   = word;
    awvalid = 1'b1;
    wvalid  = 1'b1;
    bready  = 1'b1;
    do @(posedge clk); while (!(awready && wready));
    @(negedge clk);
    awvalid = 1'b0;
    wvalid  = 1'b0;
    while (!bvalid) @(negedge clk);
    if (bresp != 2'b00) $fatal(1, "the write to %h failed", address);
    @(negedge clk);
    bready = 1'b0;
  endtask

  task automatic read(input logic [15:0] address, output logic [31:0] word);
    @(negedge clk);
    araddr  = address;
    arvalid = 1'b1;
    rready  = 1'b1;
    do @(posedge clk); while (!arready);
    @(negedge clk);
    arvalid = 1'b0;
    while (!rvalid) @(negedge clk);
    word = rdata;
    if (rresp != 2'b00) $fatal(1, "the read of %h failed", address);
    @(negedge clk);
    rready = 1'b0;
  endtask

  function automatic logic [15:0] csr(input logic [4:0] index);
    return REGISTERS + {9'd0, index, 2'd0};
  endfunction

  function automatic logic [15:0] configuration(input logic [5:0] index);
    return REGION_CONFIG + {8'd0, index, 2'd0};
  endfunction

  // When a byte began, in ns: the line fell after it had rested for longer than it ever does within one.
  realtime began[2];
  int bytes = 0;
  realtime changed = 0;
  always @(tx) begin
    if (!tx && $realtime - changed > 1200 && bytes < 2) begin
      began[bytes] = $realtime;
      bytes = bytes + 1;
    end
    changed = $realtime;
  end

  logic [31:0] word, low, high, at;
  initial begin
    repeat (10) @(negedge clk);
    resetn = 1'b1;
    repeat (40) @(negedge clk);

    read(csr(CSR_ID_MAGIC), word);
    if (word != RESET_ID_MAGIC) $fatal(1, "no LitePulse here: %h", word);
    read(csr(CSR_ID_CLOCK_NUM), word);
    if (word != 100_000_000) $fatal(1, "the clock is told as %0d Hz", word);

    write(configuration(CFG_PROFILE0_FORMAT), 32'd3 << PROFILE_FORMAT_DATA_BITS_LSB);  // 8 data bits
    write(configuration(CFG_PROFILE0_PERIOD), 32'd10 << 8);                            // of 10 ticks: 10 Mbaud
    write(configuration(CFG_LINE), 32'd1 << LINE_RX_ENABLE_LSB);

    // Two bytes, 500 ticks apart, the first 1000 ticks from now.
    read(REGION_EVENTS, word);
    read(REGION_EVENTS + 16'd8, low);
    read(REGION_EVENTS + 16'd12, high);
    at = low + 1000;
    for (int k = 0; k < 2; k++) begin
      write(REGION_LAUNCH, at + 500 * k);
      write(REGION_LAUNCH + 16'd4, high);
      write(REGION_LAUNCH + 16'd8, 32'd0);
      write(REGION_LAUNCH + 16'd12, 32'h55 + k);
    end
    do read(csr(CSR_READY), word); while (word[READY_RECEIVE_LSB+:16] != 16'd2);

    if (bytes != 2 || began[1] - began[0] != 5000.0) $fatal(1, "%0d bytes, %0t apart", bytes, began[1] - began[0]);
    for (int k = 0; k < 2; k++) begin
      read(REGION_RECEIVE + 16'd16 + 16'(8 * k), low);
      read(REGION_RECEIVE + 16'd20 + 16'(8 * k), word);
      if (low != at + 500 * k + 1 || word[7:0] != 8'h55 + 8'(k)) $fatal(1, "byte %0d: %h at tick %0d", k, word[7:0], low);
    end
    $display("passed: two bytes sent at their ticks and received one tick later");
    $finish;
  end

  logic unused;
  assign unused = &{1'b0, irq, tx_oe, de};
endmodule
