// SPDX-License-Identifier: BSD-2-Clause
// What the compiler learns from, in a kernel's place (litex_soc/linux_sim.py): no result matters, only that the machine does a bit of
// all it does under a kernel: caches that miss, all kinds of instructions, registers, the core at work. Runs until the simulator stops it.
// All names in capitals come from the SoC by -D.

typedef unsigned int u32;
typedef unsigned char u8;

#define REG(address) (*(volatile u32 *)(address))

#ifdef __or1k__
__asm__(".section .text.start, \"ax\"\n"
	".org 0x100\n"
	".globl _start\n"
	"_start:\n"
	"	l.movhi	r1, hi(__stack_top)\n"
	"	l.ori	r1, r1, lo(__stack_top)\n"
	// both caches on, as a kernel has them
	"	l.mfspr	r3, r0, 17\n"
	"	l.ori	r3, r3, 0x18\n"
	"	l.mtspr	r0, r3, 17\n"
	"	l.nop\n"
	"	l.jal	learn\n"
	"	l.nop\n"
	".text\n");
#else
__asm__(".section .text.start, \"ax\"\n"
	".globl _start\n"
	"_start:\n"
	"	la	sp, __stack_top\n"
	"	call	learn\n"
	".text\n");
#endif

#define table ((u32 *)TABLE)

static u32 mix(u32 x) { return (x ^ x >> 7) * 2654435761u + (x << 3); }
static u32 divide(u32 x) { return x / 1000003 + x % 977; }
static u32 shift(u32 x)
{
	for (int n = 0; n < 16; n++)
		x = x & 1 ? x >> 1 ^ 0xedb88320u : x >> 1;
	return x;
}

static u32 (*const steps[])(u32) = { mix, shift, mix, divide };

static void print(const char *text)
{
	for (; *text; text++) {
		while (REG(UART_TXFULL))
			;
		REG(UART_RXTX) = (u8)*text;
	}
}

void learn(void)
{
	volatile u8 *bytes = (volatile u8 *)table;

	REG(PROFILE_FORMAT) = FORMAT_8N1;
	REG(PROFILE_PERIOD) = 434 << 8;
	for (u32 x = 1, round = 0;; round++) {
		for (u32 n = 0; n < 400; n++) {
			x = steps[x & 3](x) + table[x >> 8 & 16383];
			table[x >> 12 & 16383] = x;
			bytes[x & 65535] = (u8)(x >> 3);
		}
		for (u32 n = 0; n < 256; n++)
			table[n + 4096] = table[n];
		print("learning\n");
		REG(SEND) = x & 0xff;
		(void)REG(EVENTS);
	}
}
