/* SPDX-License-Identifier: BSD-2-Clause */
/* The reset vector, where the stub in the ROM goes to. The caches are off. */
	.section .text.start, "ax"
	.globl _start
	.org	0x100
_start:
	l.movhi	r1, hi(__stack_top)
	l.ori	r1, r1, lo(__stack_top)
	l.or	r4, r3, r3		/* the device tree */
	l.movhi	r3, 0			/* no hart number here */
	l.jal	bare_main
	l.nop
1:	l.j	1b
	l.nop
