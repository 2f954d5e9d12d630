// SPDX-License-Identifier: BSD-2-Clause
// How litepulse_*_environment.sv say what a module takes for granted of its neighbours: `ENVIRONMENT begin `ASSUME(condition); ... end,
// with registers for what was a cycle ago. With ASSUMED, as in the module's own proof, it is assumed. It is asserted where LITEPULSE_CHECK
// is defined, in the proof of the whole pulse domain and in simulations, and in the proof of the neighbour that has to see to it.
`ifndef LITEPULSE_ENVIRONMENT
`define LITEPULSE_ENVIRONMENT
`ifdef LITEPULSE_CHECK
`define ASSUMED 1'b0
`else
`define ASSUMED 1'b1
`endif
`ifdef VERILATOR
// (of an `if (ASSUMED)` with both in it Verilator 5.048 makes nothing)
`define ENVIRONMENT always_ff @(posedge clk)
`define ASSUME(condition) assert (condition)
`else
`define ENVIRONMENT always_comb
`define ASSUME(condition) if (ASSUMED) assume (condition); else assert (condition)
`endif
`endif
