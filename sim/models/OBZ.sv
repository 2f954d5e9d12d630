// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's OBZ, an output pad that T = 1 switches off: as Yosys maps it (ecp5/cells_io.vh).
module OBZ (
    input  wire I,
    input  wire T,
    output wire O
);
  assign O = T ? 1'bz : I;
endmodule
