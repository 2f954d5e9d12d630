// SPDX-License-Identifier: BSD-2-Clause
// Simulation model of the ECP5's ECLKSYNCB, the gate of an edge clock. Described in Lattice's FPGA-TN-02200 (ECP5 sysCLOCK), which was
// not at hand. Ports as in Yosys' outline of the cell, number of edges as Lattice's simulation library for Diamond behaves, of which
// nothing is copied here. STOP is taken at falling edges of ECLKI and acts after the fourth; ECLKO has whole pulses only. Stands still
// at the start.
// Not modelled: delay, metastability of STOP.
module ECLKSYNCB (
    input  logic ECLKI,
    input  logic STOP,
    output logic ECLKO
);
  logic [3:0] go;

  initial go = '0;
  assign ECLKO = ECLKI && go[3];

  always @(negedge ECLKI) go <= {go[2:0], !STOP};
endmodule
