/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the simulated ULX3S boots in a kernel's place: prints what it was given. Addresses of the
 * console by -D (test_board_boot.py).
 */

typedef unsigned int u32;
typedef unsigned char u8;

#define REG(address) (*(volatile u32 *)(address))

static void put(char c)
{
	while (REG(UART_TXFULL))
		;
	REG(UART_RXTX) = (u8)c;
}

static void print(const char *text)
{
	while (*text)
		put(*text++);
}

static void say(const char *name, u32 value)
{
	print(name);
	put(' ');
	for (int shift = 28; shift >= 0; shift -= 4)
		put("0123456789abcdef"[value >> shift & 15]);
	put('\n');
}

static u32 big_endian(const u8 *at)
{
	return (u32)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The first cell of the first property of this name in a flattened device tree; 0 if there is none. */
static u32 property(const u8 *tree, const char *name)
{
	const u8 *at = tree + big_endian(tree + 8), *strings = tree + big_endian(tree + 12);

	for (;;) {
		u32 token = big_endian(at);

		at += 4;
		if (token == 1) {				/* a node: its name */
			while (*at++)
				;
			at += -(u32)at & 3;
		} else if (token == 3) {			/* a property: length, name, value */
			u32 length = big_endian(at);

			if (same((const char *)strings + big_endian(at + 4), name))
				return big_endian(at + 8);
			at += 8 + ((length + 3) & ~3u);
		} else if (token == 9) {
			return 0;
		}
	}
}

static u32 time(void)
{
	u32 now;

	__asm__ volatile("rdtime %0" : "=r"(now));
	return now;
}

void payload(u32 hart, const u8 *tree);

void payload(u32 hart, const u8 *tree)
{
	u32 from = property(tree, "linux,initrd-start"), to = property(tree, "linux,initrd-end"), sum = 0, before = time();
	register u32 a0 __asm__("a0") = 0, a1 __asm__("a1") = 0, a6 __asm__("a6") = 0, a7 __asm__("a7") = 0x10;

	__asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7));	/* to the firmware: its version of SBI */
	u32 version = a1;

	for (u32 at = from; at < to; at++)
		sum = sum * 31 + *(const u8 *)at;
	say("\nhart", hart);
	say("tree", big_endian(tree));
	say("sbi", version);
	say("initrd", from);
	say("bytes", to - from);
	say("sum", sum);
	say("later", time() - before > 1000);
	print("stops here\n");
}
