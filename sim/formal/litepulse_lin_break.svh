// SPDX-License-Identifier: BSD-2-Clause
// When a break is seen. Included at the end of the module.
// Ghosts: the marks that the line showed, and the cycles that a space has lasted.

`ifndef LITEPULSE_CHECK
  logic f_past = 1'b0;
  initial assume (rst);
  logic [2:0] g_marks;              // of three cycles, as the line showed them
  wire [1:0]  g_count = {1'b0, g_marks[0]} + {1'b0, g_marks[1]} + {1'b0, g_marks[2]};
  wire        g_space = enable && g_count < 2'd2;
  logic [BITS+3:0] g_lasts;         // cycles before this one in which there was a space; stops where it no longer matters
  wire [BITS+3:0]  g_enough = (BITS + 4)'(11) * (BITS + 4)'(bit_cycles) - (BITS + 4)'(1);
  logic g_bit;
  always_comb begin
    g_bit = 1'b0;
    for (int s = 0; s < S; s++) if (cond_line[s] != invert) g_bit = 1'b1;
  end
  always_ff @(posedge clk) begin
    f_past  <= 1'b1;
    g_marks <= rst ? 3'b111 : {g_marks[1:0], g_bit};
    g_lasts <= !g_space ? '0 : (g_lasts == '1) ? g_lasts : g_lasts + 1'b1;
    if (f_past && enable) assume (bit_cycles == $past(bit_cycles));
    if (f_past && !rst && !$past(rst)) begin
      assert (marks == g_marks);
      // once, in the cycle behind the one with which it lasts long enough
      assert (seen == $past(g_space && g_lasts + 1'b1 == g_enough));
    end
    if (f_past && $past(rst)) assert (!seen);
    cover (f_past && !rst && seen);
    cover (f_past && !rst && seen && $past(g_count, 8) == 2'd1);
  end
  always_comb begin
    assume (bit_cycles >= BITS'(4) && bit_cycles < BITS'(12));
    if (f_past && !rst && g_space) begin
      assert (bits_left <= 4'd11);
      if (g_lasts == '0) assert (bits_left == 4'd11 && count == BITS'(3) && !bit_ends);
      // `count` is 1 ahead, and goes one on in the last cycle of a bit
      if (g_lasts < g_enough) assert (bits_left != 4'd0 && count > BITS'(1) && count - 1'b1 <= bit_cycles);
      if (g_lasts < g_enough) assert (bit_ends == (count - 1'b1 == bit_cycles));
      if (g_lasts < g_enough)
        assert (g_lasts + (BITS + 4)'(3) == ((BITS + 4)'(11) - (BITS + 4)'(bits_left)) * (BITS + 4)'(bit_cycles) + (BITS + 4)'(count));
      if (g_lasts >= g_enough) assert (bits_left == 4'd0);
    end
  end
`endif
