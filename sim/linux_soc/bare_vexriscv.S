/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the shim goes to in supervisor mode: first word of main memory. */
	.section .text.start, "ax"
	.globl _start
_start:
	la	sp, __stack_top
	la	t0, trapped
	csrw	stvec, t0
	call	bare_main
	j	.

/* A trap tells its cause and goes on behind the instruction; s11 counts them. */
	.balign	4
trapped:
	addi	s11, s11, 1
	csrr	s10, scause
	csrr	t6, sepc
	addi	t6, t6, 4
	csrw	sepc, t6
	sret
