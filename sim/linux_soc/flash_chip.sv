// SPDX-License-Identifier: BSD-2-Clause
// A serial flash of 16 MB as such parts are documented, as far as reading goes: mode 0, READ (03h), RELEASE POWER-DOWN (ABh); it
// begins powered down. Undriven bits read as ones. Its contents are the file +flash=, ones behind
// its end. Latency: MISO changes with the clock's fall.
//   WAKE  cycles of `clk` from RELEASE POWER-DOWN until it can be read
module flash_chip #(
    parameter int WAKE = 1500
) (
    input  logic clk,           // for its timing only
    input  logic sck,
    input  logic cs_n,
    input  logic mosi,
    output logic miso
);
  localparam logic [7:0] Read = 8'h03, Release = 8'hab;

  logic [7:0] mem[1 << 24];
  logic [7:0] command, byte_out;
  logic [23:0] address;
  logic [5:0] got;              // bits of command and address
  logic [2:0] bit_out;
  logic asleep = 1'b1;
  logic released = 1'b0;        // seen, takes effect when deselected
  int   waking = 0;
  string name;

  initial begin
    for (int i = 0; i < 1 << 24; i++) mem[i] = 8'hff;
    if ($value$plusargs("flash=%s", name)) begin
      automatic int file = $fopen(name, "rb");
      if (file == 0 || $fread(mem, file) <= 0) $fatal(1, "%s cannot be read", name);
      $fclose(file);
    end
  end

  always_ff @(posedge sck or posedge cs_n) begin
    if (cs_n) begin
      got      <= '0;
      bit_out  <= '0;
      released <= 1'b0;
    end else if (got < 6'd8) begin
      got     <= got + 6'd1;
      command <= {command[6:0], mosi};
      if (got == 6'd7) released <= {command[6:0], mosi} == Release;
    end else if (got < 6'd32) begin
      got      <= got + 6'd1;
      address  <= {address[22:0], mosi};
      if (got == 6'd31) byte_out <= mem[{address[22:0], mosi}];
      released <= 1'b0;
    end else begin
      bit_out <= bit_out + 3'd1;
      if (bit_out == 3'd7) begin
        address  <= address + 24'd1;
        byte_out <= mem[address+24'd1];
      end
    end
  end

  always_ff @(negedge sck or posedge cs_n) begin
    if (cs_n) miso <= 1'b1;
    else miso <= got == 6'd32 && command == Read && !asleep && waking == 0 ? byte_out[3'd7-bit_out] : 1'b1;
  end

  // 8 bits exactly and then deselected; 24 more would be asking for its identity
  logic was_released = 1'b0;
  always_ff @(posedge clk) begin
    was_released <= released;
    if (was_released && cs_n) begin
      asleep <= 1'b0;
      waking <= WAKE;
    end else if (waking != 0) waking <= waking - 1;
  end
endmodule
