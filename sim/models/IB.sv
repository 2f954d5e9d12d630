// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's IB, an input pad: as Yosys maps it (ecp5/cells_io.vh).
module IB (
    input  wire I,
    output wire O
);
  assign O = I;
endmodule
