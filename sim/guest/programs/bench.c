// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the serial ports and the chardev cost: one case for each kind of figure of
 * sim/linux/driver_bench.py. LOAD: see load.h. A mark is a store to the console's register: the
 * simulator records when.
 */
#include "guest.h"
#include "launches.h"
#include "load.h"
#include "ports.h"
#include "ring.h"
#include "tally.h"

/* Requests the events to come, and gives up after this long: when the measurement began. */
static struct moment begin(long ms)
{
	tell_interrupts();
	ready("go");
	sleep_ms(4);
	give_up_after(ms);
	return moment();
}

static void case_rx(char **argv)
{
	static unsigned char data[4096];
	int fd = open_serial(argv[0], argv[1]);
	long wanted = strtol(argv[2], NULL, 0), got = 0, wrong = 0, reads = 0;
	struct moment since;

	load(argv[3]);
	calibrate();
	since = begin(500 + wanted * 10000 / strtol(argv[1], NULL, 0));
	while (got < wanted) {
		long size = read(fd, data, sizeof(data));

		if (size <= 0)
			break;
		for (long i = 0; i < size; i++)
			wrong += data[i] != (unsigned char)((got + i) * 7);
		got += size;
		reads++;
	}
	tell_passed("took", since, moment());
	tell_interrupts();
	printf("got %ld %ld %ld\n", got, wrong, reads);
	tell_counts(fd);
}

static void case_tx(char **argv)
{
	static unsigned char data[65536];
	int fd = open_serial(argv[0], argv[1]);
	long count = strtol(argv[2], NULL, 0), baud = strtol(argv[1], NULL, 0), sent = 0;
	struct moment since;
	long long end;

	for (long i = 0; i < count; i++)
		data[i] = i * 7;
	load(argv[3]);
	calibrate();
	tell_interrupts();
	since = moment();
	end = since.ns + count * 10 * NS / baud + 20000000;
	while (sent < count) {
		long size = write(fd, data + sent, count - sent);

		if (size <= 0)
			die("write");
		sent += size;
	}
	while (ns_of(CLOCK_MONOTONIC) < end)
		sleep_ms((end - ns_of(CLOCK_MONOTONIC)) / 1000000 + 1);
	tell_passed("took", since, moment());
	tell_interrupts();
	tell_counts(fd);
}

static void case_events(char **argv)
{
	static struct litepulse_event events[2048];
	long wanted = strtol(argv[0], NULL, 0), got = 0, reads = 0, gaps = 0;
	int fd = open_device(0);
	struct moment since;
	uint64_t next = 0;

	load(argv[1]);
	calibrate();
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .fall = 1, .fifo = 2048,
		  .clock = LITEPULSE_CLOCK_NONE, .watermark = 512, .timeout_us = 10000 });
	since = begin(strtol(argv[2], NULL, 0));
	while (got < wanted) {
		long size = read(fd, events, sizeof(events));

		if (size <= 0)
			break;
		size /= sizeof(events[0]);
		for (long i = 0; i < size; i++) {
			gaps += events[i].kind != LITEPULSE_KIND_EDGE || (next && events[i].seq != next);
			next = events[i].seq + 1;
		}
		got += size;
		reads++;
	}
	tell_passed("took", since, moment());
	tell_interrupts();
	printf("got %ld %ld %ld\n", got, gaps, reads);
	tell_stats(fd);
}

static void case_ring(char **argv)
{
	long wanted = strtol(argv[0], NULL, 0), got = 0, polls = 0, wrong = 0;
	int fd = open_device(0);
	struct moment since;
	uint64_t before = 0;
	uint32_t head, tail = 0;
	struct ring ring;

	load(argv[1]);
	calibrate();
	ring_open(&ring, fd, 4096, 0);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .fall = 1,
		  .clock = LITEPULSE_CLOCK_NONE, .watermark = 512, .timeout_us = 10000 });
	since = begin(strtol(argv[2], NULL, 0));
	while (got < wanted && readable(fd, -1) == 1) {
		head = ring_head(&ring);
		got += head - tail;
		for (; tail != head; tail++) {
			const struct litepulse_ring_event *event = &ring.events[tail & (ring.size - 1)];

			wrong += event->kind != LITEPULSE_KIND_EDGE || event->tick <= before;
			before = event->tick;
		}
		ring_free(&ring, tail);
		polls++;
	}
	tell_passed("took", since, moment());
	tell_interrupts();
	printf("got %ld %ld %ld\n", got, wrong, polls);
	tell_stats(fd);
}

static void case_edge(char **argv)
{
	volatile uint32_t *console = register_named("CONSOLE");
	struct litepulse_event event;
	int fd = open_device(0);

	load(argv[1]);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .fall = 1,
		  .clock = LITEPULSE_CLOCK_NONE });
	ready("go");
	for (long n = strtol(argv[0], NULL, 0); n; n--) {
		if (read(fd, &event, sizeof(event)) != sizeof(event))
			die("read");
		*console = MARK;
	}
	printf("\n");
}

static void case_byte(char **argv)
{
	volatile uint32_t *console = register_named("CONSOLE");
	int fd = open_serial(argv[0], argv[1]);
	char byte;

	load(argv[3]);
	ready("go");
	for (long n = strtol(argv[2], NULL, 0); n; n--) {
		if (read(fd, &byte, 1) != 1)
			die("read");
		*console = MARK;
	}
	printf("\n");
}

static void case_write(char **argv)
{
	volatile uint32_t *console = register_named("CONSOLE");
	int fd = open_serial(argv[0], argv[1]);
	char byte = 0x55;

	load(argv[3]);
	ready("go");
	for (long n = strtol(argv[2], NULL, 0), i = 0; i < n; i++) {
		struct timespec t = { 0, 12000000 + i * 371000 };

		nanosleep(&t, NULL);
		*console = MARK;
		if (write(fd, &byte, 1) != 1)
			die("write");
	}
	sleep_ms(5);
	printf("\n");
}

static void case_launches(char **argv)
{
	int fd = open_device(0), claim = claim_for_row(fd);
	struct row_outcome outcome;
	struct launch_row row;
	struct moment since;

	load(argv[4]);
	calibrate();
	row = make_row(fd, strtoul(argv[3], NULL, 0), strtoul(argv[1], NULL, 0),
		       strtoul(argv[2], NULL, 0), strtol(argv[0], NULL, 0));
	since = moment();
	outcome = launch_row(fd, claim, &row);
	tell_passed("took", since, moment());
	tell_row(&row, outcome);
}

static const struct guest_case cases[] = {
	{ "rx", .with = case_rx, .words = 4, .what = "TTY BAUD BYTES LOAD: reads them" },
	{ "tx", .with = case_tx, .words = 4, .what = "TTY BAUD BYTES LOAD: writes them" },
	{ "events", .with = case_events, .words = 3, .what = "COUNT LOAD MS: reads edges of aux0" },
	{ "ring", .with = case_ring, .words = 3, .what = "COUNT LOAD MS: takes them from a ring" },
	{ "edge", .with = case_edge, .words = 2, .what = "COUNT LOAD: reads edges, marks each" },
	{ "byte", .with = case_byte, .words = 4, .what = "TTY BAUD COUNT LOAD: so with bytes" },
	{ "write", .with = case_write, .words = 4,
	  .what = "TTY BAUD COUNT LOAD: marks, writes a byte, waits" },
	{ "launches", .with = case_launches, .words = 5,
	  .what = "COUNT PERIOD WIDTH LEAD LOAD: launches pulses in a row, times in ticks" },
	{ }
};

int main(int argc, char **argv)
{
	return run_loaded(cases, argc, argv);
}
