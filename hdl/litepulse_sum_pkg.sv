// SPDX-License-Identifier: BSD-2-Clause
// Sums that are only compared with 0, without a chain of carries.
package litepulse_sum_pkg;
  // All ones if and only if a + b + carry is 0 modulo 2^16: a cell per bit, and an AND of 16 behind them.
  // Bit i of the sum is a ^ b ^ (the carry into i). If bit i-1 of the sum is 0, its carry is a | b there: with both bits 1 it is 1, with
  // both 0 the carry into it was 0, and with one of them the carry into it was 1. So, as long as all bits below are 0, bit i is 0 where
  // a ^ b equals that; and if one below is not, its own bit of the result is 0 already.
  function automatic logic [15:0] zero_bits(input logic [15:0] a, input logic [15:0] b, input logic carry);
    zero_bits = (a ^ b) ~^ {a[14:0] | b[14:0], carry};
  endfunction
endpackage
