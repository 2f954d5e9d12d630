/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine mode of VexRiscv `linux`: starts the kernel in supervisor mode, then serves its traps.
 *
 * Reads of time and cycle, which the CPU lacks, are answered here in a few dozen cycles, as the kernel makes three of them whenever
 * it looks at the clock. All else goes to shim_trap() in sbi.c. Interrupts of devices go to the supervisor directly.
 * Addresses come from the SoC by -D (litex_soc/firmware/__init__.py).
 */

/* CSRs of VexRiscv: which of the 32 interrupt inputs ask the supervisor, and which the machine. */
#define SUPERVISOR_IRQ_MASK 0x9c0
#define MACHINE_IRQ_MASK 0xbc0

#define MSTATUS_MPP 0x1800
#define MSTATUS_MPP_S 0x0800
#define CAUSE_ILLEGAL 2
/* Exceptions the kernel handles itself: all but illegal instructions, of which some are for us, and its own ecalls. */
#define DELEGATED_EXCEPTIONS 0xb1fb
#define DELEGATED_INTERRUPTS 0x222

#define FRAME 128

	.option norvc
	.section .text.start, "ax"
	.globl _start
_start:
	la	t0, trap
	csrw	mtvec, t0
	la	sp, __stack_top
	addi	sp, sp, -FRAME
	csrw	mscratch, sp
	csrw	mie, zero
	csrw	mip, zero
	csrw	satp, zero
	li	t0, DELEGATED_EXCEPTIONS
	csrw	medeleg, t0
	li	t0, DELEGATED_INTERRUPTS
	csrw	mideleg, t0
	csrw	MACHINE_IRQ_MASK, zero
	li	t0, -1
	csrw	SUPERVISOR_IRQ_MASK, t0
	li	t0, MSTATUS_MPP
	csrc	mstatus, t0
	li	t0, MSTATUS_MPP_S
	csrs	mstatus, t0
	li	t0, KERNEL
	csrw	mepc, t0
	li	a0, 0
	li	a1, DEVICE_TREE
	fence.i
	mret

/* mscratch holds the frame, x1 to x31 at 4 times their number. */
	.balign	4
trap:
	csrrw	sp, mscratch, sp
	sw	t0, 20(sp)
	sw	t1, 24(sp)
	sw	t2, 28(sp)
	csrr	t0, mcause
	addi	t0, t0, -CAUSE_ILLEGAL
	bnez	t0, slow
	csrr	t0, mtval		/* the instruction */
	li	t1, 0x000ff07f		/* csrrs rd, csr, x0 ... */
	and	t1, t1, t0
	li	t2, 0x00002073
	bne	t1, t2, slow
	srli	t1, t0, 20		/* ... of cycle, time, cycleh or timeh: 0xc00, 0xc01, 0xc80, 0xc81 */
	andi	t1, t1, ~0x081
	li	t2, 0xc00
	bne	t1, t2, slow
	li	t2, TIMER_LATCH
	sw	t2, 0(t2)		/* writing anything takes the time */
	slli	t1, t0, 4		/* bit 27 is of the high ones */
	li	t2, TIMER_TIME_LOW
	bgez	t1, 1f
	li	t2, TIMER_TIME_HIGH
1:	lw	t1, 0(t2)
	srli	t0, t0, 4		/* rd times 8 */
	andi	t0, t0, 0xf8
	la	t2, set_register
	add	t0, t0, t2
	jr	t0

/* Two instructions each: registers that are in use here go to where they come back from. */
set_register:
	nop
	j	done
	mv	ra, t1
	j	done
	csrw	mscratch, t1
	j	done
	mv	gp, t1
	j	done
	mv	tp, t1
	j	done
	sw	t1, 20(sp)
	j	done
	sw	t1, 24(sp)
	j	done
	sw	t1, 28(sp)
	j	done
	.irp	register, s0, s1, a0, a1, a2, a3, a4, a5, a6, a7, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, t3, t4, t5, t6
	mv	\register, t1
	j	done
	.endr

done:
	csrr	t0, mepc
	addi	t0, t0, 4
	csrw	mepc, t0
	lw	t0, 20(sp)
	lw	t1, 24(sp)
	lw	t2, 28(sp)
	csrrw	sp, mscratch, sp
	mret

	.macro	others instruction
	\instruction	x1, 4(sp)
	\instruction	x3, 12(sp)
	\instruction	x4, 16(sp)
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\instruction	x\n, 4 * \n(sp)
	.endr
	.endm

slow:
	others	sw
	mv	a0, sp
	call	shim_trap
	others	lw
	lw	t0, 20(sp)
	lw	t1, 24(sp)
	lw	t2, 28(sp)
	csrrw	sp, mscratch, sp
	mret
