/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel's header before board_payload.c, as Documentation/arch/riscv/boot-image-header.rst says. */
	.section .text.start, "ax"
	.globl _start
_start:
	j	begin
	.balign	8
	.dword	0x400000		/* of a 32-bit one */
	.dword	0x200000		/* bytes it takes, stack included */
	.dword	0
	.word	2
	.word	0
	.dword	0
	.ascii	"RISCV\0\0\0"
	.ascii	"RSC\x05"
	.word	0
begin:
	la	sp, __stack_top
	call	payload
	j	.
