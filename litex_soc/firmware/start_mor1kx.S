/* SPDX-License-Identifier: BSD-2-Clause */
/* mor1kx needs no firmware: this tells the kernel where its device tree is. The kernel begins at its reset vector. */
	.section .text.start, "ax"
	.globl _start
_start:
	l.movhi	r3, hi(DEVICE_TREE)
	l.ori	r3, r3, lo(DEVICE_TREE)
	l.movhi	r4, hi(KERNEL + 0x100)
	l.ori	r4, r4, lo(KERNEL + 0x100)
	l.jr	r4
	l.nop
