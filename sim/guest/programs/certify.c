// SPDX-License-Identifier: BSD-2-Clause
/*
 * The program on the port that `litepulse certify` measures, for a machine without Python:
 *
 *	certify TTY BAUD BLOCKS BLOCK BYTES SAMPLES
 *
 * BLOCKS times BLOCK bytes of alternating bits, breaks, then alone and beside a busy process: BYTES that count up, out and in, and SAMPLES
 * bytes that it sends back. `ready to LOAD` and `ready echo LOAD` ask for the bytes. Times are CLOCK_MONOTONIC_RAW. A mark, between two
 * readings of that, is a store to the console's register: the simulator records when.
 */

#include <linux/serial.h>
#include <sys/utsname.h>

#include "guest.h"
#include "load.h"
#include "ports.h"
#include "tally.h"

#define MOST	4096
#define BREAKS	5
#define BREAK_MS	10

static int tty;
static volatile uint32_t *console;

static void write_all(const unsigned char *data, long size)
{
	while (size) {
		long sent = write(tty, data, size);

		if (sent <= 0)
			die("write");
		data += sent;
		size -= sent;
	}
	ioctl(tty, TCSBRK, 1);	/* until all has left */
	sleep_ms(2);
}

static void tell_machine(void)
{
	struct utsname name;

	if (uname(&name))
		die("uname");
	printf("kernel %s\nversion %s\narchitecture %s\n", name.release, name.version, name.machine);
}

/* `counters RX TX FRAME OVERRUN PARITY BRK BUF_OVERRUN`, if the port has them. */
static void tell_counters(void)
{
	struct serial_icounter_struct count = { };

	if (!ioctl(tty, TIOCGICOUNT, &count))
		printf("counters %d %d %d %d %d %d %d\n", count.rx, count.tx, count.frame, count.overrun, count.parity, count.brk,
		       count.buf_overrun);
}

static void send_blocks(long blocks, long size)
{
	unsigned char data[MOST];

	memset(data, 0x55, size);
	while (blocks--)
		write_all(data, size);
}

static void send_breaks(void)
{
	for (int i = 0; i < BREAKS; i++) {
		long long begun = ns_of(CLOCK_MONOTONIC_RAW);

		ioctl(tty, TIOCSBRK);
		sleep_ms(BREAK_MS);
		ioctl(tty, TIOCCBRK);
		printf("break %lld %lld\n", begun, ns_of(CLOCK_MONOTONIC_RAW));
		sleep_ms(1);
	}
}

static void send_row(long size)
{
	unsigned char data[MOST];

	for (long i = 0; i < size; i++)
		data[i] = i;
	write_all(data, size);
}

/* `heard LOAD HEX` */
static void hear_row(const char *name, long size)
{
	unsigned char data[MOST];
	long got = 0;

	printf("ready to %s\n", name);
	fflush(stdout);
	while (got < size && readable(tty, 200) > 0) {
		long more = read(tty, data + got, size - got);

		if (more <= 0)
			break;
		got += more;
	}
	printf("heard %s ", name);
	for (long i = 0; i < got; i++)
		printf("%02x", data[i]);
	printf("\n");
}

/* `reading LOAD BEFORE AFTER` and `read LOAD READ WRITE BYTE` of each. */
static void echo(const char *name, long samples)
{
	static long long before[MOST], after[MOST], begun[MOST], ended[MOST];
	static unsigned char bytes[MOST];
	long got = 0;

	printf("ready echo %s\n", name);
	fflush(stdout);
	sleep_ms(12);	/* the word is printed meanwhile, which looks like marks */
	for (;;) {
		before[got] = ns_of(CLOCK_MONOTONIC_RAW);
		*console = MARK;
		after[got] = ns_of(CLOCK_MONOTONIC_RAW);
		if (got == samples)
			break;
		if (read(tty, &bytes[got], 1) != 1)
			die("read");
		ended[got] = ns_of(CLOCK_MONOTONIC_RAW);
		begun[got] = ns_of(CLOCK_MONOTONIC_RAW);
		if (write(tty, &bytes[got], 1) != 1)
			die("write");
		if (++got == samples)
			sleep_ms(4);	/* the last reading lies behind the last answer */
	}
	printf("\n");	/* behind the marks */
	for (long i = 0; i <= samples; i++)
		printf("reading %s %lld %lld\n", name, before[i], after[i]);
	for (long i = 0; i < samples; i++)
		printf("read %s %lld %lld %u\n", name, ended[i], begun[i], bytes[i]);
}

int main(int argc, char **argv)
{
	struct serial_rs485 rs485 = { .flags = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND };
	long size, samples;

	if (argc != 7)
		return 2;
	size = strtol(argv[5], NULL, 0);
	samples = strtol(argv[6], NULL, 0);
	if (size > MOST || samples >= MOST || strtol(argv[4], NULL, 0) > MOST)
		return 2;
	console = register_named("CONSOLE");
	tty = open_serial(argv[1], argv[2]);
	tell_machine();
	printf("rs485 %d\n", !ioctl(tty, TIOCSRS485, &rs485));
	tell_counters();
	send_blocks(strtol(argv[3], NULL, 0), strtol(argv[4], NULL, 0));
	send_breaks();
	for (int loaded = 0; loaded < 2; loaded++) {
		const char *name = loaded ? "loaded" : "idle";

		if (loaded)
			load("loaded");
		send_row(size);
		hear_row(name, size);
		echo(name, samples);
	}
	end_load();
	tell_counters();
	return 0;
}
