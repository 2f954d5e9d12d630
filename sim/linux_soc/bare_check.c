// SPDX-License-Identifier: BSD-2-Clause
// Looks at the machine from inside and says what is there; test_linux_sim.py compares.

#include "bare.h"

#define PERIOD 100u				/* ticks of a bit */

static void config(u32 offset, u32 value)
{
	WINDOW(offset) = value;
	while (CSR(STATUS) & LITEPULSE_CSR_STATUS_CONFIG_BUSY_MASK)
		;
}

static void launch(u32 tick, u32 byte, u32 tag)
{
	WINDOW(LITEPULSE_WIN_LAUNCH) = tick;
	WINDOW(LITEPULSE_WIN_LAUNCH + 4) = 0;
	WINDOW(LITEPULSE_WIN_LAUNCH + 8) = 0;
	WINDOW(LITEPULSE_WIN_LAUNCH + 12) = byte | tag << 16;
}

static void events(void)
{
	u32 ready = WINDOW(LITEPULSE_WIN_EVENTS) & 0xffff;

	for (u32 n = 0; n < ready; n++) {
		u32 at = LITEPULSE_WIN_EVENTS + 16 + 16 * n;

		print("event ");
		hex(WINDOW(at));
		say("", WINDOW(at + 8) & 0xffff, WINDOW(at + 12));
	}
	WINDOW(LITEPULSE_WIN_EVENTS) = ready;
}

/* The files the simulator has put into memory: how many bytes, and their sum with each weighed by its place. */
static void files(void)
{
	const u8 *archive = (const u8 *)FILES + 8;
	u32 length = REG(FILES), sum = 0;

	for (u32 n = 0; n < length; n++)
		sum += (n + 1) * archive[n];
	say("files", length, sum);
}

#ifdef __riscv
#define TIME(rd) \
	__asm__ volatile("li " #rd ", -1\n\trdtime " #rd "\n\tmv %0, " #rd : "=r"(now) : : #rd); \
	wrong += now - last > 2000 || (now == last); \
	last = now

/* The shim puts the time into the requested register, and touches no other. */
static void machine_mode(u32 device_tree)
{
	u32 now, last, wrong = 0, high, cycle, value, error;

	__asm__ volatile("rdtime %0" : "=r"(last));
	TIME(ra); TIME(t0); TIME(t1); TIME(t2); TIME(a0); TIME(a1); TIME(a2); TIME(a3); TIME(a4); TIME(a5); TIME(a6); TIME(a7);
	TIME(s1); TIME(s2); TIME(s3); TIME(s4); TIME(s5); TIME(s6); TIME(s7); TIME(s8); TIME(s9); TIME(s10); TIME(s11);
	TIME(t3); TIME(t4); TIME(t5); TIME(t6);
	/* these cannot be declared as clobbered */
	__asm__ volatile("mv t0, sp\n\tmv t1, gp\n\tmv t2, tp\n\trdtime sp\n\tmv t3, sp\n\trdtime gp\n\tmv t4, gp\n\trdtime tp\n\tmv t5, tp\n\t"
			 "mv sp, t0\n\tmv gp, t1\n\tmv tp, t2\n\tsub t4, t4, t3\n\tsub t5, t5, t3\n\tsub %0, t5, t4"
			 : "=r"(value) : : "t0", "t1", "t2", "t3", "t4", "t5");
	wrong += value > 2000;
	__asm__ volatile("mv t0, s0\n\trdtime s0\n\tmv %0, s0\n\tmv s0, t0" : "=r"(now) : : "t0");
	wrong += now - last > 20000;
	__asm__ volatile("rdtime zero\n\trdtimeh %0\n\trdcycle %1" : "=r"(high), "=r"(cycle));
	wrong += high || cycle - now > 20000;
	say("time", wrong, 0);
	last = uptime();
	__asm__ volatile("rdtime %0" : "=r"(now));
	say("cost", uptime() - last, 0);

	/* the timer interrupt of the supervisor, by SBI */
	__asm__ volatile("csrw sie, %0" : : "r"(1 << 5));
	__asm__ volatile("rdtime %0" : "=r"(now));
	register u32 a0 __asm__("a0") = now + 5000, a1 __asm__("a1") = 0, a6 __asm__("a6") = 0, a7 __asm__("a7") = 0x54494d45;
	__asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7) : "memory");
	error = a0;
	do {
		__asm__ volatile("csrr %0, sip\n\trdtime %1" : "=r"(value), "=r"(last));
	} while (!(value & 1 << 5) && last - now < 100000);
	say("timer", error, last - now);

	/* an unknown extension, the version, an instruction that is illegal, one that the shim adds */
	a7 = 0x12345678;
	__asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7) : "memory");
	error = a0;
	a7 = 0x10;
	__asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7) : "memory");
	say("sbi", error, a1);
	__asm__ volatile("li s11, 0\n\t.word 0xffffffff\n\tmv %0, s11\n\tmv %1, s10" : "=r"(value), "=r"(error) : : "s10", "s11", "t6");
	say("illegal", value, error);
	__asm__ volatile("li s11, 0\n\tebreak\n\tmv %0, s11\n\tmv %1, s10" : "=r"(value), "=r"(error) : : "s10", "s11", "t6");
	say("ebreak", value, error);
	say("dtb", REG(device_tree), device_tree);
}

/* The core's interrupt through the controller: pending, claimed, silent until completed, pending again. */
static void interrupt(void)
{
	u32 pending, claimed, between, again;

	REG(PLIC + 4 * PULSE_IRQ) = 1;
	REG(PLIC + 0x2000) = 1u << PULSE_IRQ;
	REG(PLIC + 0x200000) = 0;
	CSR(EV_ENABLE) = LITEPULSE_CSR_EV_ENABLE_LAUNCH_MASK;	/* there is room */
	for (int n = 0; n < 100; n++)
		(void)REG(PLIC);
	__asm__ volatile("csrr %0, sip" : "=r"(pending));
	claimed = REG(PLIC + 0x200004);
	(void)REG(PLIC);
	__asm__ volatile("csrr %0, sip" : "=r"(between));
	REG(PLIC + 0x200004) = claimed;
	(void)REG(PLIC);
	(void)REG(PLIC);
	__asm__ volatile("csrr %0, sip" : "=r"(again));
	say("interrupt", claimed, (pending >> 9 & 1) << 8 | (between >> 9 & 1) << 4 | (again >> 9 & 1));
	CSR(EV_ENABLE) = 0;
}
#else
static void machine_mode(u32 device_tree)
{
	say("dtb", REG(device_tree), device_tree);
}

/* Special registers of the interrupt controller: mask and status. */
static void interrupt(void)
{
	u32 before, after;

	__asm__ volatile("l.mtspr r0, %0, 0x4800" : : "r"(1u << PULSE_IRQ));
	__asm__ volatile("l.mfspr %0, r0, 0x4802" : "=r"(before));
	CSR(EV_ENABLE) = LITEPULSE_CSR_EV_ENABLE_LAUNCH_MASK;
	for (int n = 0; n < 10; n++)
		(void)CSR(ID_MAGIC);
	__asm__ volatile("l.mfspr %0, r0, 0x4802" : "=r"(after));
	CSR(EV_ENABLE) = 0;
	say("interrupt", before, after);
}
#endif

void bare_main(u32 hart, u32 device_tree)
{
	u32 now, start;

	say("magic", CSR(ID_MAGIC), hart);
	say("clock", CSR(ID_CLOCK_NUM), CSR(ID_CLOCK_DEN));
	machine_mode(device_tree);
	interrupt();
	files();

	config(LITEPULSE_CFG_PROFILE0_FORMAT, 3 << LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_SHIFT);
	config(LITEPULSE_CFG_PROFILE0_PERIOD, PERIOD << 8);
	config(LITEPULSE_CFG_EVENT_MASK, LITEPULSE_CFG_EVENT_MASK_TX_QUEUE_MASK | LITEPULSE_CFG_EVENT_MASK_EDGE_MASK);
	config(LITEPULSE_CFG_CAPTURE_EDGES, 0x001f001f);
	config(LITEPULSE_CFG_LINE, LITEPULSE_CFG_LINE_RX_ENABLE_MASK);
	(void)WINDOW(LITEPULSE_WIN_EVENTS);
	start = WINDOW(LITEPULSE_WIN_EVENTS + 8);
	launch(start + 5000, 0x55, 1);
	launch(start + 7001, 0xa3, 2);
	REG(PEER_RXTX) = 0x0f;			/* the other UART sends, too */
	print("GO\n");
	do {
		(void)WINDOW(LITEPULSE_WIN_EVENTS);
		now = WINDOW(LITEPULSE_WIN_EVENTS + 8);
	} while (now - start < 30000);
	events();
	say("received", CSR(READY) >> 16, WINDOW(LITEPULSE_WIN_RECEIVE + 20) & 0x1ff);
	say("peer", REG(PEER_RXEMPTY), REG(PEER_RXTX) & 0xff);
	print("type> ");
	for (;;) {
		char c = get();

		if (c == 'q')
			break;
		put((char)(c == '\n' ? c : c + 1));
	}
	print("bye\n");
	reset_soc();
}
