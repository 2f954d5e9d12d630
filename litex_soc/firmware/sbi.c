/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel asks machine mode for, by the RISC-V SBI specification 1.0: base, timer and system reset extensions.
 * Addresses come from the SoC by -D (litex_soc/firmware/__init__.py).
 */

typedef unsigned int u32;

#define REGISTER(address) (*(volatile u32 *)(address))
#define READ_CSR(name) ({ u32 v_; __asm__ volatile("csrr %0, " #name : "=r"(v_)); v_; })
#define WRITE_CSR(name, value) __asm__ volatile("csrw " #name ", %0" : : "r"(value) : "memory")
#define SET_CSR(name, bits) __asm__ volatile("csrs " #name ", %0" : : "r"(bits) : "memory")
#define CLEAR_CSR(name, bits) __asm__ volatile("csrc " #name ", %0" : : "r"(bits) : "memory")

enum {
	CAUSE_ILLEGAL = 2,
	CAUSE_BREAKPOINT,
	CAUSE_ECALL_S = 9,
	STIP = 1 << 5,
	MTIP = 1 << 7,
	MSTATUS_SIE = 1 << 1,
	MSTATUS_SPIE = 1 << 5,
	MSTATUS_SPP = 1 << 8,
	MSTATUS_MPP_S = 1 << 11,
	MSTATUS_MPP = 3 << 11,
	REG_A0 = 10,
	REG_A1,
	REG_A2,
	REG_A6 = 16,
	REG_A7,
};

#define CAUSE_TIMER_M 0x80000007u
#define SBI_BASE 0x10u
#define SBI_TIME 0x54494d45u
#define SBI_SYSTEM_RESET 0x53525354u
#define SBI_SUCCESS 0u
#define SBI_NOT_SUPPORTED ((u32)-2)
#define SBI_INVALID_PARAM ((u32)-3)
#define EBREAK 0x00100073u
#define SPEC_VERSION 0x01000000u
#define IMPLEMENTATION_ID 0x4c50u	/* in no other list */

/* The next timer interrupt; takes the one that is pending away. */
static void set_timer(u32 low, u32 high)
{
	REGISTER(TIMER_COMPARE_HIGH) = high;
	REGISTER(TIMER_COMPARE_LOW) = low;
	REGISTER(TIMER_LATCH) = 1;		/* both at once */
	CLEAR_CSR(mip, STIP);
	SET_CSR(mie, MTIP);
}

static u32 base(u32 function, u32 argument, u32 *value)
{
	switch (function) {
	case 0:
		*value = SPEC_VERSION;
		return SBI_SUCCESS;
	case 1:
		*value = IMPLEMENTATION_ID;
		return SBI_SUCCESS;
	case 2:
		*value = 1;
		return SBI_SUCCESS;
	case 3:
		*value = argument == SBI_BASE || argument == SBI_TIME || argument == SBI_SYSTEM_RESET;
		return SBI_SUCCESS;
	case 4:
	case 5:
	case 6:					/* vendor, architecture and implementation: none given */
		*value = 0;
		return SBI_SUCCESS;
	default:
		return SBI_NOT_SUPPORTED;
	}
}

/* Types 0 to 2: shutdown, cold and warm reboot. A board has nothing to switch itself off with. */
static u32 system_reset(u32 type)
{
	if (type > 2)
		return SBI_INVALID_PARAM;
	if (type || SHUTDOWN_RESETS)
		REGISTER(CONTROLLER_RESET) = 1;
	for (;;)
		;
}

static void supervisor_call(u32 *frame)
{
	u32 value = 0, error = SBI_NOT_SUPPORTED;

	switch (frame[REG_A7]) {
	case SBI_BASE:
		error = base(frame[REG_A6], frame[REG_A0], &value);
		break;
	case SBI_TIME:
		if (frame[REG_A6] == 0) {
			set_timer(frame[REG_A0], frame[REG_A1]);
			error = SBI_SUCCESS;
		}
		break;
	case SBI_SYSTEM_RESET:
		if (frame[REG_A6] == 0)
			error = system_reset(frame[REG_A0]);
		break;
	}
	frame[REG_A0] = error;
	frame[REG_A1] = value;
}

/* Lets the supervisor have the trap as if it had been delegated. */
static void hand_on(u32 cause)
{
	u32 was = READ_CSR(mstatus);
	u32 now = (was & ~(MSTATUS_MPP | MSTATUS_SPP | MSTATUS_SPIE | MSTATUS_SIE)) | MSTATUS_MPP_S;

	if ((was & MSTATUS_MPP) == MSTATUS_MPP_S)
		now |= MSTATUS_SPP;
	if (was & MSTATUS_SIE)
		now |= MSTATUS_SPIE;
	WRITE_CSR(scause, cause);
	WRITE_CSR(stval, READ_CSR(mtval));
	WRITE_CSR(sepc, READ_CSR(mepc));
	WRITE_CSR(mepc, READ_CSR(stvec) & ~3u);
	WRITE_CSR(mstatus, now);
}

/* Called by shim.S with x1 to x31 of what was interrupted, each at its number. */
void shim_trap(u32 *frame)
{
	u32 cause = READ_CSR(mcause);

	if (cause == CAUSE_TIMER_M) {
		CLEAR_CSR(mie, MTIP);		/* until the next set_timer() */
		SET_CSR(mip, STIP);
	} else if (cause == CAUSE_ECALL_S) {
		WRITE_CSR(mepc, READ_CSR(mepc) + 4);
		supervisor_call(frame);
	} else if (cause == CAUSE_ILLEGAL && READ_CSR(mtval) == EBREAK) {
		/* This CPU has no ebreak, which the kernel needs for WARN() and kprobes. */
		hand_on(CAUSE_BREAKPOINT);
	} else {
		hand_on(cause);
	}
}
