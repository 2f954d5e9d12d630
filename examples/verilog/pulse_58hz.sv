// SPDX-License-Identifier: BSD-2-Clause
// 58 pulses a second, each 1 ms long, from a 12 MHz oscillator, without a CPU and without a host: a dozen words written after the
// reset are all that the core needs. 12 MHz / 58 is 206896 + 16/29 ticks: pulse k begins floor(k * that) ticks after the first one.
//
// Litepulse_wishbone is the only slave on the bus; in your design your interconnect and CPU take the place of the writer below.
module pulse_58hz #(
    parameter int RESET_WAIT = 4095,     // cycles; 0 where block RAM can be read at once
    parameter int PERIOD     = 206_896,  // in cycles, and 16/29
    parameter int WIDTH      = 12_000
) (
    input  logic clk,    // 12 MHz
    output logic pulse
);
  // One clock for both sides. The FPGA begins with all registers at their initial values, so nothing else asks for a reset. It lasts
  // until block RAM can be read, 4,100 cycles: that is not so at once on an iCE40.
  logic sys_rst, pulse_rst;
  litepulse_reset #(
      .WAIT(RESET_WAIT)
  ) resets (
      .rst(1'b0),
      .sys_clk(clk),
      .pulse_clk(clk),
      .sys_rst(sys_rst),
      .pulse_rst(pulse_rst)
  );

  // What is written, in this order: address and word. The core takes a word when it has answered the one before; the bus waits.
  localparam int WORDS = 9;
  logic [3:0] index;
  logic [5:0] register;
  logic [31:0] word;
  always @* begin
    register = litepulse_map_pkg::CFG_PROFILE0_FORMAT;
    word = 32'd1 << litepulse_map_pkg::PROFILE_FORMAT_INVERT_LSB;  // the line rests at 0: pulses are high
    case (index)
      1: begin
        register = litepulse_map_pkg::CFG_PROFILE0_PERIOD;
        word = 32'd26667;  // of a bit, in 1/256 tick: 115200 baud. Pulses do not use it, but a profile has one.
      end
      2: begin
        register = litepulse_map_pkg::CFG_TRAIN_COUNT;
        word = 32'd0;  // for ever
      end
      3: begin
        register = litepulse_map_pkg::CFG_TRAIN_WIDTH;
        word = 32'(WIDTH);
      end
      4: begin
        register = litepulse_map_pkg::CFG_TRAIN_LAUNCH;
        word = 32'(litepulse_map_pkg::LAUNCH_PULSE) << litepulse_map_pkg::TRAIN_LAUNCH_KIND_LSB;
      end
      5: begin
        register = litepulse_map_pkg::CFG_TRAIN_PERIOD;
        word = 32'(PERIOD);
      end
      6: begin
        register = litepulse_map_pkg::CFG_TRAIN_NUM;
        word = 32'd16;
      end
      7: begin
        register = litepulse_map_pkg::CFG_TRAIN_DEN;
        word = 32'd29;
      end
      8: begin
        register = litepulse_map_pkg::CFG_TRAIN_COMMAND;
        word = 32'(litepulse_map_pkg::TRAIN_CMD_START) << litepulse_map_pkg::TRAIN_COMMAND_COMMAND_LSB;
        word[litepulse_map_pkg::TRAIN_COMMAND_ASAP_LSB] = 1'b1;
      end
      default: ;
    endcase
  end

  logic writing, ack;
  assign writing = !sys_rst && index != 4'(WORDS);
  always_ff @(posedge clk) begin
    if (ack) index <= index + 1'b1;
    if (sys_rst) index <= '0;
  end

  logic [15:0] address;
  assign address = litepulse_map_pkg::REGION_CONFIG + {8'd0, register, 2'd0};

  // The core.
  logic tx, tx_oe, de, rx, tx_pin, tx_oe_pin, de_pin;
  logic [0:0] aux;
  logic [31:0] read;
  logic err, irq;
  logic [7:0] marks;
  litepulse_wishbone #(
      .INPUTS(1),
      .CLOCK_NUM(32'd12_000_000)
  ) core (
      .pulse_clk(clk),
      .pulse_rst(pulse_rst),
      .tx_o(tx),
      .tx_oe(tx_oe),
      .de_o(de),
      .port_o(marks),
      .rx_i(rx),
      .aux_i(aux),
      .wb_clk_i(clk),
      .wb_rst_i(sys_rst),
      .wb_cyc_i(writing),
      .wb_stb_i(writing),
      .wb_we_i(1'b1),
      .wb_adr_i(address[15:2]),
      .wb_sel_i(4'b1111),
      .wb_dat_i(word),
      .wb_dat_o(read),
      .wb_ack_o(ack),
      .wb_err_o(err),
      .irq(irq)
  );

  // The pins, with one sample a cycle. Nothing is received.
  litepulse_phy_generic #(
      .INPUTS(1)
  ) phy (
      .clk(clk),
      .tx_i(tx),
      .tx_oe_i(tx_oe),
      .de_i(de),
      .tx_o(tx_pin),
      .tx_oe_o(tx_oe_pin),
      .de_o(de_pin),
      .rx_pin(1'b1),
      .aux_pin(1'b0),
      .rx_o(rx),
      .aux_o(aux)
  );
  assign pulse = tx_pin && tx_oe_pin && index == 4'(WORDS);  // before it is set up the line rests at 1

  logic unused;
  assign unused = &{1'b0, read, err, irq, de_pin, marks, address[1:0]};
endmodule
