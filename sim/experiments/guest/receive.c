// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads bytes that come in a row, and says how often it had to, what the CPU had left, and how well it knows when they came.
 *
 *	receive chardev BAUD BYTES LOAD WATERMARK TIMEOUT_US	LitePulse: bytes with their ticks
 *	receive tty TTY BAUD BYTES LOAD				any tty: bytes; the time of a byte is when read() returned
 *
 * LOAD: see load.h. Each return of read() is marked by a store to the console's register, which the simulator records. Then:
 *	interrupts COUNT NAME	of each port, before and after
 *	free, took NS ROUNDS	what passed, and what the other process did meanwhile: free when nothing came
 *	got BYTES WRONG READS	byte k must be 7 * k
 *	error LEAST MOST LOST	chardev: of the bytes' ticks, against 10 bits for each byte before, counted from the first, in ticks;
 *				and bytes that the driver told as lost
 *	sizes N N N ...		bytes that each read() gave
 */

#include "guest.h"
#include "load.h"
#include "ports.h"
#include "tally.h"

#define HZ	50000000ull
#define MOST	49152	/* bytes */

static uint16_t sizes[MOST];
static long got, wrong, reads;
static volatile uint32_t *console;

static void mark(long size)
{
	*console = MARK;
	sizes[reads++] = size;
}

static void tell_reads(struct moment since)
{
	printf("\n");		/* behind the marks */
	tell_passed("took", since, moment());
	tell_interrupts();
	printf("got %ld %ld %ld\nsizes", got, wrong, reads);
	for (long i = 0; i < reads; i++)
		printf(" %d", sizes[i]);
	printf("\n");
}

static void begin(const char *kind)
{
	console = register_named("CONSOLE");
	load(kind);
	calibrate();
}

/* Long enough for all, and then some. */
static struct moment wait_for(long bytes, const char *baud)
{
	tell_interrupts();
	ready("go");
	sleep_ms(4);
	give_up_after(700 + bytes * 10000 / strtol(baud, NULL, 0));
	return moment();
}

static void case_chardev(char **argv)
{
	static struct litepulse_event events[2048];
	long bytes = strtol(argv[1], NULL, 0);
	unsigned long watermark = strtoul(argv[3], NULL, 0), timeout = strtoul(argv[4], NULL, 0);
	unsigned long long rate = strtoull(argv[0], NULL, 0);
	struct litepulse_event first = { };
	long long least = 0, most = 0;
	long lost = 0;
	struct moment since;
	int fd = open_device(0);

	close(open_tty("/dev/ttyPULSE0", argv[0]));	/* its settings stay, and it wants no bytes */
	begin(argv[2]);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_RX, .fifo = 65536, .clock = LITEPULSE_CLOCK_NONE,
		  .watermark = watermark, .timeout_us = timeout });
	since = wait_for(bytes, argv[0]);
	while (got + lost < bytes) {
		long size = read(fd, events, sizeof(events));

		if (size <= 0)
			break;
		size /= sizeof(events[0]);
		mark(size);
		for (struct litepulse_event *e = events; e < events + size; e++) {
			long long number, error;

			if (e->kind == LITEPULSE_KIND_LOST) {
				lost += e->count;
				continue;
			}
			if (!got++)
				first = *e;
			number = e->seq - first.seq;
			error = (long long)(e->tick - first.tick - number * 10 * HZ / rate);
			least = error < least ? error : least;
			most = error > most ? error : most;
			wrong += e->data != (unsigned char)(number * 7);
		}
	}
	tell_reads(since);
	printf("error %lld %lld %ld\n", least, most, lost);
	tell_stats(fd);
}

static void case_tty(char **argv)
{
	static unsigned char data[4096];
	long bytes = strtol(argv[2], NULL, 0);
	int fd = open_tty(argv[0], argv[1]);
	struct moment since;

	begin(argv[3]);
	since = wait_for(bytes, argv[1]);
	while (got < bytes) {
		long size = read(fd, data, sizeof(data));

		if (size <= 0)
			break;
		mark(size);
		for (long i = 0; i < size; i++, got++)
			wrong += data[i] != (unsigned char)(got * 7);
	}
	tell_reads(since);
}

int main(int argc, char **argv)
{
	static const struct load_case cases[] = { { "chardev", case_chardev, 5 }, { "tty", case_tty, 4 } };

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
