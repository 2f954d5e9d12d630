/* SPDX-License-Identifier: BSD-2-Clause */
/* For programs that run on the Linux SoC in a kernel's place. Addresses come from the SoC by -D (bare_rig.py). */
#ifndef BARE_H
#define BARE_H

#include "litepulse_regs.h"

typedef unsigned int u32;
typedef unsigned char u8;

#define REG(address) (*(volatile u32 *)(address))
#define CSR(name) REG(PULSE_CSR + LITEPULSE_CSR_##name)
#define WINDOW(offset) REG(PULSE_WINDOW + (offset))

static inline void put(char c)
{
	while (REG(UART_TXFULL))
		;
	REG(UART_RXTX) = (u8)c;
}

static inline void print(const char *text)
{
	while (*text)
		put(*text++);
}

static inline void hex(u32 value)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		put("0123456789abcdef"[value >> shift & 15]);
}

/* `name value value\n` */
static inline void say(const char *name, u32 a, u32 b)
{
	print(name);
	put(' ');
	hex(a);
	put(' ');
	hex(b);
	put('\n');
}

static inline char get(void)
{
	while (REG(UART_RXEMPTY))
		;
	char c = (char)REG(UART_RXTX);

	REG(UART_EV_PENDING) = 2;	/* takes it out */
	return c;
}

/* Cycles since reset, low word. */
static inline u32 uptime(void)
{
	REG(UPTIME_LATCH) = 1;
	return REG(UPTIME_CYCLES_LOW);
}

static inline void reset_soc(void)
{
	REG(CONTROLLER_RESET) = 1;
	for (;;)
		;
}

void bare_main(u32 hart, u32 device_tree);

#endif
