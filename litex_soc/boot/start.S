/* SPDX-License-Identifier: BSD-2-Clause */
/* First instructions of the boot ROM, and the last: what was loaded expects the CPU as after reset. */
	.section .text.start, "ax"
	.globl _start
_start:
	la	sp, __stack_top
	call	boot
	fence.i			/* instructions that were there before the copy */
	jr	a0
