// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads bytes that come in a row, and says how often it had to, what the CPU had left, and how well it knows when they came.
 *
 *	receive chardev BAUD BYTES LOAD WATERMARK TIMEOUT_US	LitePulse: bytes with their ticks, by read()
 *	receive ring BAUD BYTES LOAD WATERMARK TIMEOUT_US	the same by a packed ring
 *	receive tty TTY BAUD BYTES LOAD				any tty: bytes; the time of a byte is when read() returned
 *
 * LOAD: see load.h. Each return of read(), and of poll() for a ring, is marked by a store to the console's register, which the simulator
 * records. Then:
 *	interrupts COUNT NAME	of each port, before and after
 *	free, took NS ROUNDS	what passed, and what the other process did meanwhile: free when nothing came
 *	got BYTES WRONG READS	byte k must be 7 * k
 *	error LEAST MOST LOST	chardev and ring: of the bytes' ticks, against 10 bits for each byte before, counted from the first, in ticks;
 *				and bytes that the driver reported as lost
 *	sizes N N N ...		bytes that each read() gave
 */

#include "guest.h"
#include "load.h"
#include "ports.h"
#include "ring.h"
#include "tally.h"

#define HZ	50000000ull
#define MOST	49152	/* bytes */
#define PLACES	16384	/* of the ring */

static uint16_t sizes[MOST];
static long got, wrong, reads;
static volatile uint32_t *console;

static void mark(long size)
{
	*console = MARK;
	sizes[reads++] = size;
}

static void report_reads(struct moment since)
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
static struct moment begin_row(long bytes, const char *baud)
{
	tell_interrupts();
	ready("go");
	sleep_ms(4);
	give_up_after(700 + bytes * 10000 / strtol(baud, NULL, 0));
	return moment();
}

/* What was received, byte by byte: number and tick of the latest, as they should be. */
static unsigned long rate;		/* baud */
static long number = -1;
static uint64_t first_tick, tick_wanted;
static unsigned long rest;		/* of the division that @tick_wanted needs */
static long lost, least, most;

/* The byte with the next number; no division, which would cost more than all else. */
static inline void check_byte(uint64_t tick, unsigned char data)
{
	long error;

	if (number < 0) {
		first_tick = tick_wanted = tick;
	} else {
		tick_wanted += 10 * HZ / rate;
		rest += 10 * HZ % rate;
		if (rest >= rate) {
			rest -= rate;
			tick_wanted++;
		}
	}
	number++;
	got++;
	error = tick - tick_wanted;
	least = error < least ? error : least;
	most = error > most ? error : most;
	wrong += data != (unsigned char)(number * 7);
}

/* The bytes behind the event number @head. */
static void check_run(struct ring *ring, const struct litepulse_ring_event *event, uint32_t head)
{
	const uint32_t *places = (const void *)ring->events, last = ring->size * LITEPULSE_RUN_PER_EVENT - 1;
	uint32_t at = (head + 1) * LITEPULSE_RUN_PER_EVENT;
	uint64_t tick = event->tick;

	for (uint32_t left = event->data; left; left--) {
		uint32_t byte = places[at++ & last];

		tick += LITEPULSE_RUN_TICKS(byte);
		check_byte(tick, LITEPULSE_RUN_DATA(byte));
	}
}

static void check_lost(unsigned long count)
{
	lost += count;
	number += count;
	tick_wanted = first_tick + (number * 10ull * HZ) / rate;
	rest = (number * 10ull * HZ) % rate;
}

static void report_all(int fd, struct moment since)
{
	report_reads(since);
	printf("error %ld %ld %ld\n", least, most, lost);
	tell_stats(fd);
}

static void subscribe_bytes(int fd, char **argv, unsigned int fifo)
{
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_RX, .fifo = fifo, .clock = LITEPULSE_CLOCK_NONE,
		  .watermark = strtoul(argv[3], NULL, 0), .timeout_us = strtoul(argv[4], NULL, 0) });
}

static void case_ring(char **argv)
{
	long bytes = strtol(argv[1], NULL, 0), size;
	int fd = open_device(0);
	struct moment since;
	uint32_t head, tail = 0;
	struct ring ring;

	rate = strtoul(argv[0], NULL, 0);
	close(open_serial("/dev/ttyPULSE0", argv[0]));
	begin(argv[2]);
	ring_open(&ring, fd, PLACES, LITEPULSE_RING_PACKED);
	subscribe_bytes(fd, argv, 0);
	since = begin_row(bytes, argv[0]);
	while (got + lost < bytes && readable(fd, -1) == 1) {
		head = ring_head(&ring);
		for (size = 0; tail != head; tail++) {
			const struct litepulse_ring_event *e = &ring.events[tail & (ring.size - 1)];

			if (e->kind == LITEPULSE_KIND_LOST) {
				check_lost(e->data);
			} else if (e->kind == LITEPULSE_KIND_RUN) {
				check_run(&ring, e, tail);
				size += e->data;
				tail += LITEPULSE_RUN_PLACES(e->data);
			} else {
				check_byte(e->tick, e->data);
				size++;
			}
		}
		mark(size);
		ring_free(&ring, tail);
	}
	report_all(fd, since);
}

static void case_chardev(char **argv)
{
	static struct litepulse_event events[2048];
	long bytes = strtol(argv[1], NULL, 0);
	struct moment since;
	int fd = open_device(0);

	rate = strtoul(argv[0], NULL, 0);
	close(open_serial("/dev/ttyPULSE0", argv[0]));	/* its settings stay, and it wants no bytes */
	begin(argv[2]);
	subscribe_bytes(fd, argv, 65536);
	since = begin_row(bytes, argv[0]);
	while (got + lost < bytes) {
		long size = read(fd, events, sizeof(events));

		if (size <= 0)
			break;
		size /= sizeof(events[0]);
		mark(size);
		for (struct litepulse_event *e = events; e < events + size; e++) {
			if (e->kind == LITEPULSE_KIND_LOST)
				check_lost(e->count);
			else
				check_byte(e->tick, e->data);
		}
	}
	report_all(fd, since);
}

static void case_tty(char **argv)
{
	static unsigned char data[4096];
	long bytes = strtol(argv[2], NULL, 0);
	int fd = open_serial(argv[0], argv[1]);
	struct moment since;

	begin(argv[3]);
	since = begin_row(bytes, argv[1]);
	while (got < bytes) {
		long size = read(fd, data, sizeof(data));

		if (size <= 0)
			break;
		mark(size);
		for (long i = 0; i < size; i++, got++)
			wrong += data[i] != (unsigned char)(got * 7);
	}
	report_reads(since);
}

static const struct guest_case cases[] = {
	{ "chardev", .with = case_chardev, .words = 5 }, { "ring", .with = case_ring, .words = 5 },
	{ "tty", .with = case_tty, .words = 4 }, { }
};

int main(int argc, char **argv)
{
	return run_loaded(cases, argc, argv);
}
