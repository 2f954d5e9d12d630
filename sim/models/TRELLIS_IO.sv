// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of nextpnr's TRELLIS_IO, what Yosys makes of the ECP5's pads (IB, OB, OBZ, BB). T = 1 switches the output off.
// Yosys' own model lets an open T switch it on by looking for a floating input, which Verilator has not: here T must be connected, unless
// DIR is INPUT. Not modelled: pull-up and pull-down.
//   DIR  "INPUT", "OUTPUT", "BIDIR"
module TRELLIS_IO #(
    parameter DIR = "INPUT"
) (
    inout  wire B,
    input  wire I,
    input  wire T,
    output wire O
);
  if (DIR == "INPUT") begin : gen_input
    assign O = B;
  end else if (DIR == "OUTPUT") begin : gen_output
    assign B = T ? 1'bz : I;
    assign O = 1'b0;
  end else begin : gen_both
    assign B = T ? 1'bz : I;
    assign O = B;
  end

  initial if (DIR != "INPUT" && DIR != "OUTPUT" && DIR != "BIDIR") $fatal(1, "TRELLIS_IO: no DIR %s", DIR);
endmodule
