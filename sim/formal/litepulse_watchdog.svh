// SPDX-License-Identifier: BSD-2-Clause
// The count of silence, kept apart from the design's own, and what follows from it.
localparam int F = LIMIT + UNIT + 2;
logic f_past = 1'b0;
logic [F-1:0] f_silent;     // cycles since the last one of talk
logic [LIMIT-1:0] f_limit;  // what counts: the limit that was there in that cycle, 0 once it has fired
logic [F-1:0] f_end;
assign f_end = F'(f_limit) << UNIT;
initial assume (rst);
always_ff @(posedge clk) begin
  f_past   <= 1'b1;
  f_silent <= talk || keep ? F'(1) : f_silent + F'(f_silent != '1);
  if (talk || keep) f_limit <= limit;
  if (fired) f_limit <= '0;
  if (rst) begin
    f_silent <= F'(1);
    f_limit  <= '0;
  end
  if (f_past && $past(rst)) assert (!fired && stop == 2'd0);
  if (f_past && !$past(rst) && !rst) begin
    // exactly then, and not while the host talks or wants what runs to be kept
    assert (fired == ($past(f_limit != '0 && f_silent == f_end + 1'b1 && !talk && !keep && !fired)));
    if (fired) assert ($past(!talk && !keep) && stop == 2'd3);
    // all three words, in their order, each once
    if (!fired) assert (stop == $past(stop) - 2'($past(taken)));
  end
end
// what the window and SESSION do
always_ff @(posedge clk) begin
  if (taken) assume (stop != 2'd0);
  if (f_past && ($past(fired) || $past(rst))) assume (limit == '0 || (talk && !$past(rst)));
end
always @* begin
  if (f_past && !rst) begin
    assert (f_silent != '0);
    assert (f_limit == '0 || f_silent <= f_end + 2'd2);
    // where the design's counters stand: `left` units and what is left of the one that runs
    if (f_limit != '0 && f_silent <= f_end) begin
      assert (left != '0 && F'(left) << UNIT == f_end - f_silent + 1'b1 + F'(cycles));
      assert (some == (f_silent != F'(1)));
    end
    if (f_limit != '0 && f_silent > f_end) assert (left == '0 && some == (f_silent == f_end + 1'b1));
    if (f_limit == '0 && !cleared) assert (left == '0 && !some);
    if (cleared) assert (f_limit == '0 && !some && !expired);
    if (f_limit != '0) assert (fired == (f_silent == f_end + 2'd2));
    if (f_limit != '0 && f_silent <= f_end + 1'b1) assert (cycles == UNIT'(f_silent - 1'b1));
  end
end
always_ff @(posedge clk) begin
  cover (f_past && fired && f_limit == '1);
  cover (f_past && stop == 2'd1 && taken);
  cover (f_past && f_silent == f_end + 1'b1 && f_limit == 3'd2 && talk);
end
