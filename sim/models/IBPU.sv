// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's IBPU, an input pad with a weak pull-up: as Yosys maps it (ecp5/cells_io.vh).
// Not modelled: the pull-up (Verilator can't tell an undriven input of a module); an undriven pad shows as such.
module IBPU (
    input  wire I,
    output wire O
);
  assign O = I;
endmodule
