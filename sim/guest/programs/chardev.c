// SPDX-License-Identifier: BSD-2-Clause
/* /dev/litepulse0 as a program sees it: `chardev CASE`, one case for each test of test_chardev.py. */
#include <linux/serial.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timex.h>

#include "cases.h"
#include "guest.h"
#include "ports.h"

#define TTY	"/dev/ttyPULSE0"
#define EDGES	KIND(EDGE)
#define BYTES	KIND(RX)

static void case_info(void)
{
	int fd = open_device(0);
	const struct litepulse_info i = info_of(fd);

	printf("info %u %u %llu %u %u %u %u %u %u %u %u %u %d %d\n", i.abi, i.core,
	       (unsigned long long)i.tick_num, i.tick_den, i.flags, i.samples, i.inputs, i.event_depth,
	       i.receive_depth, i.transmit_depth, i.launch_depth, i.lin_entries, i.session != 0, i.tty);
	for (int k = 0; k < 5; k++) {
		const long long before = ns_of(CLOCK_MONOTONIC_RAW), mono = ns_of(CLOCK_MONOTONIC);
		const long long real = ns_of(CLOCK_REALTIME);
		const struct litepulse_time t = time_of(fd);

		printf("time %llu %llu %llu %llu %llu %u %lld %lld %lld %lld\n",
		       (unsigned long long)t.tick, (unsigned long long)t.raw_before,
		       (unsigned long long)t.raw_after, (unsigned long long)t.monotonic,
		       (unsigned long long)t.realtime, t.uncertainty, before,
		       ns_of(CLOCK_MONOTONIC_RAW), mono, real);
	}
}

static void tell_ns(const char *when, clockid_t clock)
{
	printf("%s %lld\n", when, ns_of(clock));
}

/* Edges in several clocks; a second file that subscribed to nothing gets nothing. */
static void case_edges(void)
{
	int fd = open_device(0), other = open_device(O_NONBLOCK);
	struct litepulse_event event;

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 0x3, .fall = 0x1 });
	tell_ns("before", CLOCK_MONOTONIC);
	ready("edges");
	read_all(fd, 30);
	tell_ns("after", CLOCK_MONOTONIC);
	tell("other", read(other, &event, sizeof(event)));
	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 0x1, .clock = LITEPULSE_CLOCK_REALTIME });
	tell_ns("before", CLOCK_REALTIME);
	ready("again");
	read_all(fd, 30);
	tell_ns("after", CLOCK_REALTIME);
	tell_stats(fd);
}

/* A frame's edges and its byte, in the same file. */
static void case_bytes(void)
{
	int fd = open_device(0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = BYTES | EDGES, .rise = 0x10, .fall = 0x10 });
	ready("bytes");
	read_all(fd, 60);
}

static void case_bad_input(void)
{
	static const struct litepulse_subscribe bad[] = {
		{ .kinds = 1u << 31 }, { .kinds = EDGES, .sources = 1u << 20 }, { .kinds = EDGES, .rise = 0x20 }, { .kinds = EDGES, .reserved = 1 },
		{ .kinds = EDGES, .clock = 9 }, { .kinds = EDGES, .fifo = 100 }, { .kinds = EDGES, .fifo = 8 }, { .kinds = EDGES, .fifo = 1u << 30 },
		{ .kinds = EDGES, .watermark = 4096 }, { .kinds = EDGES, .timeout_us = 2000000 }, { .kinds = EDGES, .rise = 1, .filtered = 1 },
		{ .kinds = EDGES, .rise = 1, .filtered = 1, .filter = 64 }, { .kinds = EDGES, .filter = 3 },
		/* Between hardware and driver: OVERFLOW, SNAPSHOT. Come unasked for: LOST, RESTARTED. And none at all. */
		{ .kinds = EDGES | 1u << 4 }, { .kinds = EDGES | 1u << 8 }, { .kinds = EDGES | 1u << LITEPULSE_KIND_LOST },
		{ .kinds = EDGES | 1u << LITEPULSE_KIND_RESTARTED }, { .kinds = EDGES | 1 },
	};
	int fd = open_device(O_NONBLOCK);
	union {
		struct litepulse_subscribe want;
		unsigned char bytes[sizeof(struct litepulse_info) + 8];
	} longer = { .want = { .kinds = EDGES } };
	struct litepulse_claim claim = { .flags = 2 };
	struct litepulse_info info;
	char byte[64];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(byte, sizeof(byte), "subscribe%zu", i);
		tell(byte, ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &bad[i]));
	}
	tell("short-read", read(fd, byte, 47));
	tell("empty", read(fd, byte, 48));
	tell("fault", ioctl(fd, LITEPULSE_IOC_INFO, (void *)8));
	tell("fault-in", ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, (void *)8));
	tell("unknown", ioctl(fd, _IO(LITEPULSE_IOC_MAGIC, 0x7f)));
	tell("magic", ioctl(fd, _IOR('x', 0, struct litepulse_info), &info));
	tell("direction", ioctl(fd, _IOW(LITEPULSE_IOC_MAGIC, 0, struct litepulse_info), &info));
	tell("write", write(fd, byte, 32));
	tell("train-unclaimed", ioctl(fd, LITEPULSE_IOC_FLUSH));
	/* Structures of other lengths: of an older or newer program. */
	tell("longer-zero", ioctl(fd, _IOC(_IOC_WRITE, LITEPULSE_IOC_MAGIC, 1, 64), &longer));
	longer.bytes[63] = 1;
	tell("longer-set", ioctl(fd, _IOC(_IOC_WRITE, LITEPULSE_IOC_MAGIC, 1, 64), &longer));
	tell("shorter", ioctl(fd, _IOC(_IOC_WRITE, LITEPULSE_IOC_MAGIC, 1, 4), &longer));
	memset(longer.bytes, 0xff, sizeof(longer.bytes));
	tell("longer-info", ioctl(fd, _IOC(_IOC_READ, LITEPULSE_IOC_MAGIC, 0, sizeof(longer)), &longer));
	printf("tail %u %u\n", longer.bytes[sizeof(info)], longer.bytes[sizeof(longer) - 1]);
	tell("claim-flags", ioctl(fd, LITEPULSE_IOC_CLAIM, &claim));
	claim = (struct litepulse_claim) { .fd_flags = O_APPEND };
	tell("claim-fd-flags", ioctl(fd, LITEPULSE_IOC_CLAIM, &claim));
}

static void case_filter(void)
{
	int one = open_device(0), two = open_device(0);
	struct litepulse_subscribe want = { .kinds = EDGES, .rise = 1, .fall = 1, .filtered = 1, .filter = 5 };

	subscribe(one, want);
	want.filter = 6;
	tell("other-length", ioctl(two, LITEPULSE_IOC_SUBSCRIBE, &want));
	want.filtered = want.filter = 0;
	tell("unfiltered", ioctl(two, LITEPULSE_IOC_SUBSCRIBE, &want));
	want.rise = want.fall = 2;
	tell("other-input", ioctl(two, LITEPULSE_IOC_SUBSCRIBE, &want));
	ready("filter");
	read_all(one, 30);
	printf("two\n");
	read_all(two, 1);
	/* A refused call changes nothing, also not the FIFO, and so not the largest watermark. */
	want = (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .filtered = 1, .filter = 6, .fifo = 16 };
	tell("half", ioctl(two, LITEPULSE_IOC_SUBSCRIBE, &want));
	want = (struct litepulse_subscribe) { .kinds = EDGES, .rise = 2, .watermark = 1024 };
	tell("as-before", ioctl(two, LITEPULSE_IOC_SUBSCRIBE, &want));
}

/*
 * The file holds 16 records; those that come while nothing reads are counted, in the middle and at
 * the tail.
 */
static void case_slow(void)
{
	int fd = open_device(0), fast = open_device(0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .fifo = 16 });
	subscribe(fast, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .fifo = 256 });
	ready("flood");
	sleep_ms(40);
	tell_stats(fd);
	read_all(fd, 1);
	tell_stats(fd);
	ready("more");
	sleep_ms(40);
	read_all(fd, 1);
	printf("fast\n");
	read_all(fast, 1);
	tell_stats(fast);
}

/* More than the board holds, faster than anybody can take it. */
static void case_flood(void)
{
	int fd = open_device(0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .fifo = 4096 });
	ready("flood");
	sleep_ms(60);
	read_all(fd, 20);
	tell_stats(fd);
}

/* Eight edges wake once; then fewer, by time. */
static void case_watermark(void)
{
	int fd = open_device(0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .watermark = 8, .timeout_us = 5000 });
	ready("eight");
	printf("polled %d\n", readable(fd, 1000));
	printf("records %d\n", read_events(fd));
	ready("three");
	printf("polled %d\n", readable(fd, 1000));
	printf("woken %llu\n", (unsigned long long)now(fd));
	printf("records %d\n", read_events(fd));
}

/* Reads events until there are `count`; then `stamp TICK NS UNCERTAINTY` of each, as a print takes long. */
static void tell_stamps(int fd, int count)
{
	static struct litepulse_event events[256];
	int had = 0;

	while (had < count) {
		ssize_t size = read(fd, events + had, sizeof(events) - had * sizeof(events[0]));

		if (size < 0)
			die("read");
		had += size / sizeof(events[0]);
	}
	for (int i = 0; i < had; i++)
		printf("stamp %llu %llu %u\n", (unsigned long long)events[i].tick, (unsigned long long)events[i].ns, events[i].uncertainty);
}

/* The times of edges, each read at once, and then of edges that the board holds back. */
static void case_stamps(void)
{
	struct litepulse_subscribe want = { .kinds = EDGES, .rise = 1, .fall = 1 };
	int fd = open_device(0);

	subscribe(fd, want);
	ready("each");
	tell_stamps(fd, 200);
	want.watermark = 100;
	want.timeout_us = 1000000;
	subscribe(fd, want);
	ready("held");
	tell_stamps(fd, 100);
}

/* Reads once, up to `size` bytes to `where`: `result LABEL ...`, then the whole records that are there. */
static void tell_read(const char *label, int fd, void *where, size_t size)
{
	ssize_t got = tell(label, read(fd, where, size));
	struct litepulse_event event;

	for (ssize_t at = 0; at + (ssize_t)sizeof(event) <= got; at += sizeof(event)) {
		memcpy(&event, (char *)where + at, sizeof(event));
		tell_event(&event);
	}
}

/* Memory that ends where the page does; behind it there is none. */
static char *end_of_memory(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (two == MAP_FAILED || munmap(two + page, page))
		die("mmap");
	return two + page;
}

/* All there is of one file is taken in pieces of all sorts, some of them where there is no memory, and counted between any two. */
static void case_pieces(void)
{
	static char room[64 * sizeof(struct litepulse_event)];
	const size_t one = sizeof(struct litepulse_event);
	int fd = open_device(O_NONBLOCK);
	char *end = end_of_memory();

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .fifo = 16 });
	ready("flood");
	sleep_ms(40);
	tell_stats(fd);
	tell_read("not-whole", fd, room, 3 * one - 1);
	tell_stats(fd);
	tell_read("nowhere", fd, (void *)8, one);
	tell_stats(fd);
	tell_read("first-cut", fd, end - 20, 5 * one);
	tell_stats(fd);
	tell_read("third-cut", fd, end - (2 * one + 20), 5 * one);
	tell_stats(fd);
	/* Four are read: the loss and three edges fit, two more do not. */
	ready("more");
	sleep_ms(10);
	tell_stats(fd);
	tell_read("to-the-loss", fd, room, 12 * one);
	tell_stats(fd);
	tell_read("loss-nowhere", fd, (void *)8, one);
	tell_stats(fd);
	tell_read("loss", fd, room, one);
	tell_stats(fd);
	tell_read("to-the-tail", fd, room, 3 * one);
	tell_stats(fd);
	tell_read("tail-nowhere", fd, end - 20, 2 * one);
	tell_stats(fd);
	tell_read("tail", fd, room, sizeof(room));
	tell_stats(fd);
	tell_read("end", fd, room, sizeof(room));
	ready("last");
	sleep_ms(10);
	tell_read("after", fd, room, sizeof(room));
	tell_stats(fd);
}

/* The board and this file both lose records: each loss is reported by itself. */
static void case_both_lose(void)
{
	int fd = open_device(0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .fifo = 16 });
	ready("flood");
	sleep_ms(60);
	tell_stats(fd);
	read_all(fd, 20);
	tell_stats(fd);
}

/* The file is full, and has lost something, when the board is reset. */
static void case_full_restart(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_train_stop stop = { 0 };

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .fifo = 16 });
	ready("flood");
	sleep_ms(30);
	tell_stats(fd);
	sleep_ms(50);
	tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));	/* it is noticed */
	sleep_ms(20);
	tell_stats(fd);
	read_all(fd, 1);
	tell_stats(fd);
}

/*
 * More come at once than are read: the rest waits no longer than allowed. A program that already
 * waits does so by the newest settings.
 */
static void case_left_behind(void)
{
	struct litepulse_subscribe want = { .kinds = EDGES, .rise = 1, .fall = 1, .watermark = 8, .timeout_us = 5000 };
	static char room[64 * sizeof(struct litepulse_event)];
	int fd = open_device(0);

	subscribe(fd, want);
	ready("twelve");
	printf("polled %d\n", readable(fd, 1000));
	tell_read("eight", fd, room, 8 * sizeof(struct litepulse_event));
	printf("before %llu\n", (unsigned long long)now(fd));
	printf("polled %d\n", readable(fd, 100));
	printf("after %llu\n", (unsigned long long)now(fd));
	tell_read("four", fd, room, sizeof(room));
	want.timeout_us = 0;
	subscribe(fd, want);
	ready("three");
	sleep_ms(5);
	printf("polled %d\n", readable(fd, 0));
	if (!fork()) {
		tell_read("three", fd, room, sizeof(room));
		exit(0);
	}
	sleep_ms(10);
	want.watermark = 2;
	subscribe(fd, want);
	wait(NULL);
}

/* More interrupts than the driver takes each for itself. */
static void case_strain(void)
{
	int fd = open_device(0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1 });
	ready("edges");
	sleep_ms(30);
	read_all(fd, 1);
}

/* Edges come for a file that wants no ns; another one wants them now and then, and has them of each event, or none. */
static void case_clock_changes(void)
{
	const struct litepulse_subscribe none = { .kinds = EDGES, .rise = 1, .fall = 1, .clock = LITEPULSE_CLOCK_NONE, .fifo = 4096 };
	struct litepulse_subscribe mono = none, other = none;
	int one = open_device(O_NONBLOCK), two = open_device(O_NONBLOCK);

	/* A subscription to other edges only makes a change of the subscriptions take longer. */
	other.rise = other.fall = 2;
	other.fifo = 16;
	for (int i = 0; i < 60; i++)
		subscribe(open_device(0), other);
	mono.clock = LITEPULSE_CLOCK_MONOTONIC;
	subscribe(one, none);
	ready("edges");
	tell_ns("before", CLOCK_MONOTONIC);
	for (int i = 0; i < 150; i++) {
		subscribe(two, mono);
		subscribe(two, (struct litepulse_subscribe) { 0 });
	}
	tell_ns("after", CLOCK_MONOTONIC);
	while (read_events(two) > 0)
		;
}

/* --- losses of the board, for both who read bytes --- */

/*
 * All that can be read, in few lines: events of which each comes STEP ticks and one number after the one before and has the next byte.
 * `run KIND SOURCE TICK SEQ DATA FLAGS COUNT EVENTS STEP`
 */
static void tell_runs(int fd)
{
	static struct litepulse_event events[256];
	struct litepulse_event first, last;
	unsigned long long run = 0, step = 0;

#define TELL_RUN() printf("run %u %u %llu %llu %u %u %llu %llu %llu\n", first.kind, first.source, (unsigned long long)first.tick, \
			  (unsigned long long)first.seq, first.data, first.flags, (unsigned long long)first.count, run, step)
	while (readable(fd, 0) > 0) {
		ssize_t size = read(fd, events, sizeof(events));

		if (size < 0)
			die("read");
		for (size_t i = 0; i < size / sizeof(events[0]); i++) {
			const struct litepulse_event *e = &events[i];

			if (run && e->kind == last.kind && e->source == last.source && e->flags == last.flags && !e->count && !last.count &&
			    e->seq == last.seq + 1 && e->data == ((last.data + 1) & 0xff) && (run == 1 || e->tick - last.tick == step)) {
				step = e->tick - last.tick;
				run++;
			} else {
				if (run)
					TELL_RUN();
				first = *e;
				run = 1;
				step = 0;
			}
			last = *e;
		}
	}
	if (run)
		TELL_RUN();
}

/* The same of a tty's bytes: `bytes FIRST COUNT`. */
static void tell_bytes(int fd)
{
	static unsigned char room[8192];
	ssize_t size, first = 0;

	sleep_ms(5);	/* its worker */
	size = read(fd, room, sizeof(room));
	for (ssize_t i = 1; i <= size; i++) {
		if (i < size && room[i] == ((room[i - 1] + 1) & 0xff))
			continue;
		printf("bytes %u %zd\n", room[first], i - first);
		first = i;
	}
}

static void case_lost_bytes(void)
{
	struct serial_icounter_struct count;
	int fd = open_device(0), tty = open_raw(TTY, O_NONBLOCK, 12500000, 0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = BYTES, .clock = LITEPULSE_CLOCK_NONE, .fifo = 8192 });
	ready("flood");
	sleep_ms(20);
	tell_runs(fd);
	tell_bytes(tty);
	if (ioctl(tty, TIOCGICOUNT, &count))
		die("icount");
	printf("icount %d %d %d\n", count.rx, count.overrun, count.buf_overrun);
	tell_stats(fd);
}

/* ns of two clocks that are 37 s apart, for the same edges. */
static void case_tai(void)
{
	struct timex change = { .modes = ADJ_TAI, .constant = 37 };
	int real = open_device(0), tai = open_device(0);

	tell("offset", adjtimex(&change));
	subscribe(real, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .clock = LITEPULSE_CLOCK_REALTIME });
	subscribe(tai, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1, .fall = 1, .clock = LITEPULSE_CLOCK_TAI });
	tell_ns("before", CLOCK_TAI);
	ready("edges");
	read_all(tai, 10);
	tell_ns("after", CLOCK_TAI);
	read_all(real, 0);
}

/* --- buffers at odd addresses --- */

static struct litepulse_launch pulse(uint64_t tick, int tag, unsigned int width)
{
	return (struct litepulse_launch) { .tick = tick, .tag = tag, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1, .width = width };
}

static char odd_room[4096] __attribute__((aligned(16)));

/* The argument of an ioctl at an odd address, there and back. */
static long odd_ioctl(int fd, unsigned long request, void *argument)
{
	size_t size = _IOC_SIZE(request);
	long result;

	memcpy(odd_room + 1, argument, size);
	result = ioctl(fd, request, odd_room + 1);
	memcpy(argument, odd_room + 1, size);
	return result;
}

/* The same of two files, one of which has all its buffers at odd addresses; then a claim that has. */
static void case_unaligned(void)
{
	struct litepulse_subscribe want = { .kinds = EDGES, .rise = 1, .fall = 1 };
	struct litepulse_info infos[2];
	struct litepulse_stats stats[2];
	struct litepulse_time time;
	struct litepulse_status status;
	struct litepulse_claim claim = { .fd = 0 };
	struct litepulse_keep keep = { .flags = LITEPULSE_CLAIM_KEEP };
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = 115200 };
	struct litepulse_train train = PULSES(.period = 50000, .den = 1, .width = 300, .profile = 1);
	struct litepulse_train_adjust adjust = { .period = 60000, .den = 1 };
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_responder off = { 0 };
	struct litepulse_launch launches[3];
	int even = open_device(0), odd = open_device(0);

	tell("info", ioctl(even, LITEPULSE_IOC_INFO, &infos[0]));
	tell("odd-info", odd_ioctl(odd, LITEPULSE_IOC_INFO, &infos[1]));
	printf("same-info %d\n", !memcmp(&infos[0], &infos[1], sizeof(infos[0])));
	subscribe(even, want);
	tell("odd-subscribe", odd_ioctl(odd, LITEPULSE_IOC_SUBSCRIBE, &want));
	ready("edges");
	sleep_ms(10);
	read_all(even, 1);
	for (int at = 1; at < 16; at += 2)
		tell_read("odd-read", odd, odd_room + at, 2 * sizeof(struct litepulse_event));
	tell("stats", ioctl(even, LITEPULSE_IOC_STATS, &stats[0]));
	tell("odd-stats", odd_ioctl(odd, LITEPULSE_IOC_STATS, &stats[1]));
	printf("same-stats %d\n", !memcmp(&stats[0], &stats[1], sizeof(stats[0])));
	printf("before %llu\n", (unsigned long long)now(even));
	tell("odd-time", odd_ioctl(odd, LITEPULSE_IOC_TIME, &time));
	printf("between %llu\n", (unsigned long long)time.tick);
	printf("after %llu\n", (unsigned long long)now(even));
	tell("odd-claim", odd_ioctl(odd, LITEPULSE_IOC_CLAIM, &claim));
	tell("odd-profile", odd_ioctl(claim.fd, LITEPULSE_IOC_PROFILE, &profile));
	printf("profile 1 %u %llu\n", profile.baud, (unsigned long long)profile.period);
	for (int i = 0; i < 3; i++)
		launches[i] = pulse(now(odd) + 500000 + i * 10000, i, 100 + i);
	memcpy(odd_room + 1, launches, sizeof(launches));
	tell("odd-write", write(claim.fd, odd_room + 1, sizeof(launches)));
	for (int i = 0; i < 3; i++)
		printf("launch %llu %u\n", (unsigned long long)launches[i].tick, launches[i].width);
	sleep_ms(20);
	tell_read("odd-outcomes", claim.fd, odd_room + 3, sizeof(odd_room) - 3);
	tell("odd-start", odd_ioctl(claim.fd, LITEPULSE_IOC_TRAIN_START, &train));
	sleep_ms(5);
	tell("odd-adjust", odd_ioctl(claim.fd, LITEPULSE_IOC_TRAIN_ADJUST, &adjust));
	tell("odd-status", odd_ioctl(odd, LITEPULSE_IOC_STATUS, &status));
	printf("running %u\n", status.flags & LITEPULSE_STATUS_TRAIN);
	sleep_ms(5);
	tell("odd-stop", odd_ioctl(claim.fd, LITEPULSE_IOC_TRAIN_STOP, &stop));
	printf("pulses %u\n", stop.pulses);
	tell("odd-responder", odd_ioctl(claim.fd, LITEPULSE_IOC_RESPONDER, &off));
	tell("odd-keep", odd_ioctl(claim.fd, LITEPULSE_IOC_KEEP, &keep));
}

/* --- the claim --- */

/* Members that are named besides replace these. */
#define FRAME(tick_, tag_, byte, ...) \
	((struct litepulse_launch){ .tick = (tick_), .tag = (tag_), .data = (byte), .profile = 1, \
				    .kind = LITEPULSE_LAUNCH_FRAME, __VA_ARGS__ })

static struct litepulse_launch frame(uint64_t tick, int tag, int byte)
{
	return FRAME(tick, tag, byte);
}

static void tell_launch(const char *label, int claim, struct litepulse_launch launch)
{
	tell(label, write(claim, &launch, sizeof(launch)));
}

static void case_launch(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, O_NONBLOCK), other = open_device(0);
	struct litepulse_claim second = { 0 };
	struct litepulse_launch launches[3];
	uint64_t start;

	tell("second", ioctl(other, LITEPULSE_IOC_CLAIM, &second));
	set_profile(claim, 1, 115200);
	start = now(fd) + 500000;
	launches[0] = frame(start, 1, 0x55);
	launches[1] = (struct litepulse_launch) { .tick = start + 100000, .tag = 2, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1, .width = 1234 };
	launches[2] = (struct litepulse_launch) { .tick = start + 200000, .tag = 3, .kind = LITEPULSE_LAUNCH_BREAK, .profile = 1, .data = 12 };
	printf("start %llu\n", (unsigned long long)start);
	tell("write", write(claim, launches, sizeof(launches)));
	read_all(claim, 30);
	/* What goes wrong, one by one. */
	launches[0] = frame(now(fd) + 1000000, 4, 1);
	launches[1] = frame(launches[0].tick - 1, 5, 1);
	tell("short", write(claim, launches, 2 * sizeof(launches[0])));
	tell_launch("decreasing", claim, launches[1]);
	tell("flush", ioctl(claim, LITEPULSE_IOC_FLUSH));
	tell_launch("past", claim, frame(now(fd) - 1, 6, 1));
	tell_launch("late", claim, frame(now(fd) + 10, 7, 1));
	tell_launch("reserved", claim, FRAME(now(fd) + 100000, 8, 1, .reserved[3] = 1));
	tell_launch("kind", claim, FRAME(now(fd) + 100000, 8, 1, .kind = 4));
	tell_launch("width", claim, FRAME(now(fd) + 100000, 8, 1, .width = 1));
	tell_launch("profile", claim, FRAME(now(fd) + 100000, 8, 1, .profile = 4));
	tell("size", write(claim, launches, 31));
	/* A profile that was never set. */
	tell_launch("unset", claim, FRAME(now(fd) + 100000, 9, 1, .profile = 3));
	read_all(claim, 30);
	tell("close", close(claim));
	tell("third", ioctl(other, LITEPULSE_IOC_CLAIM, &second));
}

/* The queue holds 64: O_NONBLOCK says so, else write() waits until the first ones have gone. */
static void case_full(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, O_NONBLOCK);
	static struct litepulse_launch launches[100];
	uint64_t start;
	ssize_t size;
	int i;

	subscribe(claim, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_TX | 1u << LITEPULSE_KIND_REFUSED });
	set_profile(claim, 1, 1000000);
	start = now(fd) + 3000000;
	printf("start %llu\n", (unsigned long long)start);
	for (i = 0; i < 100; i++)
		launches[i] = (struct litepulse_launch) { .tick = start + i * 20000, .tag = i, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1,
							  .width = 100 + i };
	size = tell("write", write(claim, launches, sizeof(launches)));
	tell("again", write(claim, (char *)launches + size, sizeof(launches) - size));
	printf("polled %d\n", polled(claim, POLLOUT, 0));
	fcntl(claim, F_SETFL, fcntl(claim, F_GETFL) & ~O_NONBLOCK);
	tell("blocking", write(claim, (char *)launches + size, sizeof(launches) - size));
	printf("waited-until %llu\n", (unsigned long long)now(fd));
	read_all(claim, 30);
}

/* What the core refuses when its turn comes: too near the one before, and while that one is on the line. */
static void case_refused(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	uint64_t start;

	set_profile(claim, 1, 115200);
	start = now(fd) + 500000;
	printf("start %llu\n", (unsigned long long)start);
	struct litepulse_launch launches[] = {
		pulse(start, 1, 1000), pulse(start + 20, 2, 10), pulse(start + 500, 3, 10), pulse(start + 1000, 4, 20),
	};
	tell("write", write(claim, launches, sizeof(launches)));
	read_all(claim, 30);
}

/* --- waits, relative entries, marks --- */

#define RISE	 LITEPULSE_WAIT_RISE
#define FALL	 LITEPULSE_WAIT_FALL
#define STOP	 LITEPULSE_WAIT_STOP
#define RELATIVE .flags = LITEPULSE_LAUNCH_RELATIVE

/* `entry TICK KIND DATA WIDTH FLAGS TAG PROFILE` of each, then the result. */
static void write_entries(const char *label, int claim, const struct litepulse_launch *list,
			  size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("entry %llu %u %u %u %u %u %u\n", (unsigned long long)list[i].tick,
		       list[i].kind, list[i].data, list[i].width, list[i].flags, list[i].tag,
		       list[i].profile);
	tell(label, write(claim, list, count * sizeof(*list)));
}

/* Waits that an edge ends, that time out, and that stop the queue; relative entries behind each. */
static void case_sequence(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	const int tty = open_raw(TTY, O_NONBLOCK, 115200, 0), line = info_of(fd).inputs;
	const uint64_t start = now(fd);
	const struct litepulse_launch list[] = {
		WAIT(.tick = start + 10000000, .tag = 1, .data = RISE | STOP),
		FRAME(145, 2, 0x55, RELATIVE),	/* the least that is promised behind an edge */
		FRAME(5000, 3, 0, RELATIVE, .kind = LITEPULSE_LAUNCH_PULSE, .width = 50),
		WAIT(.tick = 200000, .tag = 4, .data = 1 | FALL, RELATIVE),
		FRAME(300, 5, 2, RELATIVE, .kind = LITEPULSE_LAUNCH_BREAK),
		WAIT(.tick = 100000, .tag = 6, .data = RISE, RELATIVE),
		FRAME(205, 7, 0xaa, RELATIVE),	/* the least behind a time-out */
		WAIT(.tick = 20000, .tag = 8, RELATIVE),
		FRAME(300, 9, 0, RELATIVE, .kind = LITEPULSE_LAUNCH_PULSE, .width = 60),
		WAIT(.tick = 50000, .tag = 10, .data = line | RISE | FALL | STOP, RELATIVE),
		FRAME(500, 11, 0xff, RELATIVE),
	};
	const struct litepulse_launch behind = frame(start + 20000000, 12, 0x33);
	const struct litepulse_launch last[] = {
		WAIT(.tick = start + 30000000, .tag = 13,
		     .data = line | FALL | LITEPULSE_WAIT_EXCLUSIVE),
		FRAME(400, 14, 0, RELATIVE, .kind = LITEPULSE_LAUNCH_PULSE, .width = 70),
	};

	subscribe(claim, (struct litepulse_subscribe) {
		.kinds = KIND(TX) | KIND(REFUSED),
		.sources = 1u << LITEPULSE_SRC_QUEUE | 1u << LITEPULSE_SRC_TTY,
	});
	set_profile(claim, 1, 115200);
	write_entries("write", claim, list, ARRAY_SIZE(list));
	ready("edges");
	read_all(claim, 20);
	write_entries("behind", claim, &behind, 1);
	read_all(claim, 5);
	tell("flush", ioctl(claim, LITEPULSE_IOC_FLUSH));
	write_entries("last", claim, last, ARRAY_SIZE(last));
	tell("byte", write(tty, "U", 1));	/* it waits until the line falls */
	ready("line");
	read_all(claim, 10);
}

static void show_marks(const char *label, int claim, struct litepulse_port port)
{
	tell(label, ioctl(claim, LITEPULSE_IOC_PORT, &port));
}

/* Marks of the queue beside a frame on the line; then bytes of the tty, while no claim exists. */
static void case_marks(void)
{
	struct litepulse_profile to_port = { .index = 2, .data_bits = 8,
					     .flags = LITEPULSE_PROFILE_TO_PORT };
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	const int tty = open_raw(TTY, O_NONBLOCK, 115200 / slowness, 0);
	uint64_t start;

	set_profile(claim, 1, 115200);
	to_port.baud = 9600 / slowness;
	tell("profile", ioctl(claim, LITEPULSE_IOC_PROFILE, &to_port));
	show_marks("width", claim, (struct litepulse_port){ .flags = LITEPULSE_PORT_WIDTH,
							    .width = 4000 });
	start = now(fd) + 1000000;
	write_entries("write", claim, (struct litepulse_launch[]) {
		FRAME(start, 1, 0x2a, .profile = 2), FRAME(start + 1000, 2, 0x55),
		FRAME(start + 3000, 3, 0x81, .profile = 2),
		FRAME(start + 10000, 4, 0xff, .profile = 2),
	}, 4);
	read_all(claim, 30);
	show_marks("stays", claim, (struct litepulse_port){ .flags = LITEPULSE_PORT_WIDTH });
	start = now(fd) + 1000000;
	write_entries("stay", claim, (struct litepulse_launch[]) {
		FRAME(start, 5, 7, .profile = 2), FRAME(start + 5000, 6, 0x70, .profile = 2),
	}, 2);
	read_all(claim, 30);
	show_marks("on", claim, (struct litepulse_port){ .flags = LITEPULSE_PORT_TTY, .tty = 1 });
	subscribe(fd, (struct litepulse_subscribe) { .kinds = KIND(TX),
						     .sources = 1u << LITEPULSE_SRC_TTY });
	close(claim);
	tell("marks", write(tty, "\1\200\0U", 4));
	read_all(fd, 10);
	claim = claim_device(fd, 0, 0);
	show_marks("off", claim, (struct litepulse_port){ .flags = LITEPULSE_PORT_TTY });
	tell("byte", write(tty, "A", 1));
	read_all(fd, 10);
}

/* poll() waits for room in the queue. */
static void case_pollout(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, O_NONBLOCK);
	static struct litepulse_launch launches[65];
	struct pollfd p = { .fd = claim, .events = POLLOUT };
	uint64_t start;
	int i;

	set_profile(claim, 1, 1000000);
	printf("empty %d\n", poll(&p, 1, 0));
	start = now(fd) + 1500000;
	for (i = 0; i < 65; i++)
		launches[i] = pulse(start + i * 50000, i, 100);
	printf("start %llu\n", (unsigned long long)start);
	tell("write", write(claim, launches, sizeof(launches)));
	printf("full %d\n", poll(&p, 1, 0));
	i = await(&p, 1000000);
	printf("woken %llu %d %d\n", (unsigned long long)now(fd), i, p.revents);
	tell("more", write(claim, &launches[64], sizeof(launches[64])));
}

/* write() of launches, with signals again and again: one may come before it waits. */
static ssize_t write_until_signal(int claim, const struct litepulse_launch *launches, int count)
{
	const int us = 20000 * slowness;
	const struct timeval each = { us / 1000000, us % 1000000 };
	const struct itimerval on = { .it_value = each, .it_interval = each }, off = {};
	ssize_t written;

	setitimer(ITIMER_REAL, &on, NULL);
	written = write(claim, launches, count * sizeof(*launches));
	setitimer(ITIMER_REAL, &off, NULL);
	return written;
}

/* A signal comes while write() waits for room: nothing was taken, or something. */
static void case_interrupted(void)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	static struct litepulse_launch launches[100];
	int fd = open_device(0), claim = claim_device(fd, 0, 0);

	sigaction(SIGALRM, &action, NULL);
	set_profile(claim, 1, 1000000);
	for (int i = 0; i < 100; i++)
		launches[i] = pulse(now(fd) + 500000000, i, 100);
	tell("some", write_until_signal(claim, launches, 100));
	tell("none", write_until_signal(claim, &launches[64], 36));
	tell("flush", ioctl(claim, LITEPULSE_IOC_FLUSH));
	tell("all", write(claim, launches, 64 * sizeof(launches[0])));
}

/* The board is reset while write() waits for room. */
static void case_stale_write(void)
{
	static struct litepulse_launch launches[65];
	int fd = open_device(0), claim = claim_device(fd, 0, 0);

	set_profile(claim, 1, 1000000);
	for (int i = 0; i < 65; i++)
		launches[i] = pulse(now(fd) + 500000000, i, 100);
	tell("fill", write(claim, launches, 64 * sizeof(launches[0])));
	ready("reset");
	tell("write", write(claim, &launches[64], sizeof(launches[0])));
	printf("woken %llu\n", (unsigned long long)now(fd));
}

/* A denominator of 2^32; then a frame, and the same one inverted on a line that rests at 0. */
static void case_den_and_invert(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_profile inverted = { .index = 2, .data_bits = 7, .parity = LITEPULSE_PARITY_EVEN, .stop = LITEPULSE_STOP_2,
					      .flags = LITEPULSE_PROFILE_INVERT };
	struct litepulse_train train = { .period = 1000, .num = 0xc0000001, .den = 0, .count = 9, .width = 100,
					 .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 };
	struct litepulse_rest rest = { .level = LITEPULSE_REST_LOW };
	struct litepulse_launch launches[2];
	uint64_t start;

	set_profile(claim, 1, 115200);
	inverted.baud = 115200 / slowness;
	tell("inverted", ioctl(claim, LITEPULSE_IOC_PROFILE, &inverted));
	train.start = now(fd) + 500000;
	printf("train %llu\n", (unsigned long long)train.start);
	tell("start", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	tell("rest-running", ioctl(claim, LITEPULSE_IOC_REST, &rest));
	read_all(claim, 30);
	start = now(fd) + 500000;
	launches[0] = frame(start, 1, 0x53);
	launches[1] = frame(start + 10000, 2, 0x53);
	launches[1].profile = 2;
	printf("frames %llu\n", (unsigned long long)start);
	tell("write", write(claim, launches, sizeof(launches)));
	tell("no-edge", write(claim, &launches[1], sizeof(launches[1])));
	read_all(claim, 30);
	rest.reserved = 1;
	tell("rest-reserved", ioctl(claim, LITEPULSE_IOC_REST, &rest));
	rest.reserved = 0;
	tell("rest", ioctl(claim, LITEPULSE_IOC_REST, &rest));
	start = now(fd) + 500000;
	launches[1].tick = start;
	printf("inverted %llu\n", (unsigned long long)start);
	tell("write-inverted", write(claim, &launches[1], sizeof(launches[1])));
	read_all(claim, 30);
	tell("no-edge-low", write(claim, launches, sizeof(launches[0])));
}

/* Pulses from 0 to 1 and back; then the claim ends. */
static void case_pulses_up(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_profile up = { .index = 1, .data_bits = 8, .baud = 9600, .flags = LITEPULSE_PROFILE_INVERT };
	struct litepulse_train train = { .period = 1000, .num = 2, .den = 3, .count = 9, .width = 100, .kind = LITEPULSE_LAUNCH_PULSE,
					 .profile = 1 };
	struct litepulse_rest rest = { .level = LITEPULSE_REST_LOW };

	tell("profile", ioctl(claim, LITEPULSE_IOC_PROFILE, &up));
	tell("rest", ioctl(claim, LITEPULSE_IOC_REST, &rest));
	train.start = now(fd) + 500000;
	printf("train %llu\n", (unsigned long long)train.start);
	tell("start", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	read_all(claim, 30);
	tell("close", close(claim));
}

static struct litepulse_train train_58(unsigned int count)
{
	/* 58 Hz of a 50 MHz clock, a thousand times as fast: 25000/29 ticks. */
	return PULSES(.period = 862, .num = 2, .den = 29, .count = count, .width = 100, .profile = 1);
}

/* A pulse every millisecond of a 50 MHz clock, without an end. */
static struct litepulse_train every_ms(void)
{
	return PULSES(.period = 50000, .num = 2, .den = 29, .width = 100, .profile = 1);
}

static void case_train(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_train train = train_58(40);
	struct litepulse_train_adjust adjust = { .period = 1000, .den = 1, .at_pulse = 20, .step = 77,
						.flags = LITEPULSE_ADJUST_WIDTH, .width = 120 };
	struct litepulse_train_stop stop = { 0 };
	struct litepulse_responder responder = PULSE_ANSWER(
		.flags = LITEPULSE_RESPONDER_RISE, .delay = 300, .width = 50, .profile = 3);

	set_profile(claim, 1, 9600);
	train.flags = 0;
	train.start = now(fd) + 1500000;
	printf("start %llu\n", (unsigned long long)train.start);
	tell("start", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	tell("twice", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	tell("adjust", ioctl(claim, LITEPULSE_IOC_TRAIN_ADJUST, &adjust));
	tell("adjust-twice", ioctl(claim, LITEPULSE_IOC_TRAIN_ADJUST, &adjust));
	read_all(claim, 30);
	tell("adjust-stopped", ioctl(claim, LITEPULSE_IOC_TRAIN_ADJUST, &adjust));
	train.start = now(fd) - 1;
	tell("past", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	train.flags = LITEPULSE_TRAIN_ASAP;
	tell("both", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	train.start = 0;
	train.num = train.den = 5;
	tell("fraction", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	train.num = 0;
	train.period = 10;
	tell("short", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	train.period = 50000;
	train.count = 0;
	train.reserved2 = 1;
	tell("reserved", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	train.reserved2 = 0;
	tell("forever", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	sleep_ms(60);
	printf("running %u\n", train_runs(fd));
	tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
	printf("pulses %u\n", stop.pulses);
	read_all(claim, 30);
	train.profile = 3;
	tell("unset", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	tell("unset-responder", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	set_profile(claim, 3, 9600);
	train.period = 10;
	tell("set", ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train));
	tell("set-responder", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
}

static void tell_running(int fd, const char *when)
{
	unsigned int runs = train_runs(fd);

	printf("running %s %u %llu\n", when, runs, (unsigned long long)now(fd));
}

/* A child holds the claim and runs a train; SIGKILL ends both, unless KEEP was set. */
static void case_kill(void)
{
	int fd = open_device(0);

	for (int keep = 0; keep < 2; keep++) {
			struct litepulse_train_stop stop = { 0 };
		pid_t child = fork();
		int claim;

		if (!child) {
			claim = claim_device(open_device(0), keep ? LITEPULSE_CLAIM_KEEP : 0, 0);
			set_profile(claim, 1, 9600);
			fflush(stdout);
			start_train(claim, every_ms());
			for (;;)
				pause();
		}
		sleep_ms(30);
		tell_running(fd, "before");
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		tell_running(fd, "after");
		sleep_ms(10);
		claim = claim_device(fd, 0, 0);		/* another file may have it now */
		tell_running(fd, "claimed");
		tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
		tell_running(fd, "stopped");
		close(claim);
	}
}

/* A claim that comes to nothing does not end what an earlier one left. */
static void case_failed_claim(void)
{
	struct litepulse_claim *wish = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open_device(0), claim = claim_device(fd, LITEPULSE_CLAIM_KEEP, 0);
	struct litepulse_train_stop stop = { 0 };

	set_profile(claim, 1, 9600);
	start_train(claim, every_ms());
	close(claim);
	tell_running(fd, "kept");
	tell("read-only", ioctl(fd, LITEPULSE_IOC_CLAIM, wish));
	tell_running(fd, "after");
	claim = claim_device(fd, 0, 0);
	sleep_ms(5);
	tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
	printf("pulses %u\n", stop.pulses);
}

/* To each rise of input 1; what is named is so instead. */
#define RISE_ANSWER(...) \
	PULSE_ANSWER(.channel = 1, .flags = LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_REARM, \
		     .delay = 300, .width = 50, .profile = 1, __VA_ARGS__)

/* A claim is closed with launches in the queue and the responder armed; then another one, which is to keep them. */
static void case_close(void)
{
	struct litepulse_responder responder = RISE_ANSWER(.flags = LITEPULSE_RESPONDER_RISE);
	int fd = open_device(0);

	for (int keep = 0; keep < 2; keep++) {
		int claim = claim_device(fd, keep ? LITEPULSE_CLAIM_KEEP : 0, 0);
		struct litepulse_launch launches[2];

		set_profile(claim, 1, 9600);
		tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
		for (int i = 0; i < 2; i++)
			launches[i] = pulse(now(fd) + 1000000 + i * 10000, 0, 100 + keep);
		printf("launches %llu %llu\n", (unsigned long long)launches[0].tick, (unsigned long long)launches[1].tick);
		tell("write", write(claim, launches, sizeof(launches)));
		tell("close", close(claim));
		printf("left %u\n", status_of(fd).flags);
		ready(keep ? "kept" : "ended");
		sleep_ms(30);
	}
}

/* Its output goes on with line profile 1, for later programs. */
static void case_keep_responder(void)
{
	struct litepulse_responder responder = RISE_ANSWER(.kind = LITEPULSE_LAUNCH_FRAME, .width = 0,
							   .data = 0x5a);
	int claim = claim_device(open_device(0), LITEPULSE_CLAIM_KEEP, 0);

	set_profile(claim, 1, 115200);
	tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	close(claim);
}

static void case_responder(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_responder responder = RISE_ANSWER();

	set_profile(claim, 1, 9600);
	tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	ready("edges");
	read_all(claim, 30);
	responder.delay = 1;
	tell("too-short", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	tell("disarm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &(struct litepulse_responder) { 0 }));
	responder.delay = 300;
	responder.channel = 9;
	tell("channel", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	responder = (struct litepulse_responder) { .delay = 1 };
	tell("off-with", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	responder.delay = 0;
	tell("off", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	ready("silent");
	read_all(claim, 30);
}

/*
 * Bursts: whole ones, one with a launch that finds the line busy, a single one, and one whose
 * period is shorter than the core can do.
 */
static void case_burst(void)
{
	const unsigned int rise = LITEPULSE_RESPONDER_RISE;
	const unsigned int again = rise | LITEPULSE_RESPONDER_REARM;
	const struct { const char *name; unsigned int flags, period, width; } steps[] = {
		{ "whole", again | LITEPULSE_RESPONDER_PULSES(4), 3000, 50 },
		{ "busy", again | LITEPULSE_RESPONDER_PULSES(4), 200000, 50 },
		{ "once", rise | LITEPULSE_RESPONDER_PULSES(3), 2000, 50 },
		{ "short", rise | LITEPULSE_RESPONDER_PULSES(3), 4, 2 },
	};
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_launch other;

	set_profile(claim, 1, 115200);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const struct litepulse_responder burst = RISE_ANSWER(
			.flags = steps[i].flags, .holdoff = steps[i].period, .width = steps[i].width);

		tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &burst));
		ready(steps[i].name);
		if (!strcmp(steps[i].name, "busy")) {
			struct litepulse_event first;

			/* Where launch 2 is to be, another one has the line already. */
			if (read(claim, &first, sizeof(first)) != sizeof(first))
				die("read");
			tell_event(&first);
			other = pulse(first.tick + 2 * burst.holdoff - 10, 9, 20);
			tell("write", write(claim, &other, sizeof(other)));
		}
		read_all(claim, 20);
		printf("armed %d\n", !!(status_of(fd).flags & LITEPULSE_STATUS_RESPONDER));
	}
}

/* By bytes and breaks; the receiver is on for that, although no program reads bytes. */
static void case_answer_bytes(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_responder to_byte = { .trigger = LITEPULSE_TRIGGER_BYTE, .value = 'A', .mask = 0xdf, .flags = LITEPULSE_RESPONDER_REARM,
		.delay = 700, .kind = LITEPULSE_LAUNCH_FRAME, .profile = 1, .data = 0x99 };
	struct litepulse_responder to_break = { .trigger = LITEPULSE_TRIGGER_BREAK, .flags = LITEPULSE_RESPONDER_REARM, .delay = 900,
		.width = 60, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 };

	set_profile(claim, 1, 115200);
	tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &to_byte));
	ready("bytes");
	read_all(claim, 30);
	tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &to_break));
	ready("breaks");
	read_all(claim, 30);
}

/* Triggers that it cannot answer, and those that it is set not to answer. */
static void case_missed(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_responder responder = RISE_ANSWER(.delay = 1);
	static const char *const steps[] = { "late", "busy", "holdoff", "once" };

	set_profile(claim, 1, 115200);
	for (int i = 0; i < 4; i++) {
		if (i == 1) {
			responder.delay = 300;
			responder.width = 20000;
		} else if (i == 2) {
			responder.width = 50;
			responder.holdoff = 20000;
		} else if (i == 3) {
			responder.holdoff = 0;
			responder.flags &= ~LITEPULSE_RESPONDER_REARM;
		}
		tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
		ready(steps[i]);
		read_all(claim, 10);
		printf("armed %d\n", !!(status_of(fd).flags & LITEPULSE_STATUS_RESPONDER));
	}
}

/* While it is armed, the tty's byte waits. */
static void case_exclusive(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0), tty = open_raw(TTY, O_NONBLOCK, 115200, 0);
	struct litepulse_responder responder = RISE_ANSWER(
		.flags = LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_REARM |
			 LITEPULSE_RESPONDER_EXCLUSIVE);

	set_profile(claim, 1, 115200);
	tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
	tell("byte", write(tty, "U", 1));
	ready("edge");
	read_all(claim, 10);
	printf("disarming %llu\n", (unsigned long long)now(fd));
	tell("disarm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &(struct litepulse_responder) { 0 }));
	sleep_ms(5);
}

/* TX is wired to RX: its own pulse triggers it, unless that is to be ignored. */
static void case_own(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_responder responder = RISE_ANSWER(
		.flags = LITEPULSE_RESPONDER_FALL | LITEPULSE_RESPONDER_IGNORE_OWN, .channel = 4,
		.delay = 5000, .width = 40);
	struct litepulse_launch launch;

	set_profile(claim, 1, 115200);
	for (int i = 0; i < 2; i++) {
		tell("arm", ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder));
		launch = pulse(now(fd) + 200000, i, 50);
		printf("launch %llu\n", (unsigned long long)launch.tick);
		tell("write", write(claim, &launch, sizeof(launch)));
		read_all(claim, 10);
		responder.flags &= ~LITEPULSE_RESPONDER_IGNORE_OWN;
	}
}

static void tell_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		die(path);
	tell(path, write(fd, text, strlen(text)));
	close(fd);
}

/* Unbound while a reader sleeps and a train runs; then bound again. */
static void case_unbind(char **words)
{
	const char *name = words[0];
	int fd = open_device(0), queued = open_device(0), claim = claim_device(fd, LITEPULSE_CLAIM_KEEP, 0);
	struct pollfd p = { .fd = queued, .events = POLLIN };
	struct litepulse_info info;
	pid_t child;

	subscribe(queued, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1 });
	set_profile(claim, 1, 9600);
	start_train(claim, every_ms());
	ready("edge");
	sleep_ms(10);
	fflush(stdout);
	child = fork();
	if (!child) {
		struct litepulse_event event;
		int mine = open_device(0);

		subscribe(mine, (struct litepulse_subscribe) { .kinds = BYTES });
		tell("sleeper", read(mine, &event, sizeof(event)));
		exit(0);
	}
	sleep_ms(20);
	printf("unbinding %llu\n", (unsigned long long)now(fd));
	tell_write("/sys/bus/platform/drivers/litepulse/unbind", name);
	waitpid(child, NULL, 0);
	printf("queued %d ", poll(&p, 1, 0));
	printf("%d\n", p.revents & (POLLHUP | POLLERR));
	read_events(queued);
	read_events(queued);
	tell("info", ioctl(fd, LITEPULSE_IOC_INFO, &info));
	tell("launch", try_launch(claim, (struct litepulse_launch){ .profile = 1 }));
	tell("close", close(claim));
	tell("reopen", open(DEVICE, O_RDWR));
	tell_write("/sys/bus/platform/drivers/litepulse/bind", name);
	/* The name goes on with the files that are still open. */
	close(queued);
	close(fd);
}

/* The board is reset under a reader and a claim. */
static void case_restart(void)
{
	int fd = open_device(0), claim = claim_device(fd, 0, 0);
	struct litepulse_train_stop stop = { 0 };

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1 });
	set_profile(claim, 1, 9600);
	start_train(claim, every_ms());
	ready("reset");
	sleep_ms(20);
	tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
	sleep_ms(20);
	read_all(fd, 1);
	tell("stale", ioctl(claim, LITEPULSE_IOC_FLUSH));
	close(claim);
	claim = claim_device(fd, 0, 0);
	set_profile(claim, 1, 9600);
	tell("start", try_train(claim, every_ms()));
	ready("edge");
	read_all(fd, 30);
	tell_stats(fd);
}

/* Asleep, nothing is sent, whatever was kept. */
static void case_suspend(void)
{
	int fd = open_device(0), claim = claim_device(fd, LITEPULSE_CLAIM_KEEP, 0);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1 });
	set_profile(claim, 1, 9600);
	start_train(claim, every_ms());
	sleep_ms(5);
	tell_write("/sys/power/pm_test", "devices");
	printf("suspending %llu\n", (unsigned long long)now(fd));
	tell_write("/sys/power/state", "freeze");
	printf("resumed %llu\n", (unsigned long long)now(fd));
	tell("stale", try_train(claim, every_ms()));
	close(claim);
	claim = claim_device(fd, LITEPULSE_CLAIM_KEEP, 0);
	tell("start", try_train(claim, every_ms()));
	ready("edge");
	read_all(fd, 30);
}

/* A claim that launched nothing goes on; one whose launches wait gets RESTARTED, and no outcomes. */
static void case_suspend_launches(void)
{
	struct litepulse_launch launches[3] = { 0 };
	int fd = open_device(0), claim = claim_device(fd, 0, 0);

	set_profile(claim, 1, 9600);
	tell_write("/sys/power/pm_test", "devices");
	tell_write("/sys/power/state", "freeze");
	for (int n = 0; n < 3; n++)
		launches[n] = (struct litepulse_launch) { .tick = now(fd) + (1ull << 40), .profile = 1, .tag = n + 1 };
	tell("idle", write(claim, launches, sizeof(launches)));
	tell_write("/sys/power/state", "freeze");
	read_events(claim);
	tell("stale", write(claim, launches, sizeof(launches)));
	tell("flush", ioctl(claim, LITEPULSE_IOC_FLUSH));
	close(claim);
	claim = claim_device(fd, 0, 0);
	launches[0].tick = now(fd) + 2000000;
	tell("again", write(claim, launches, sizeof(*launches)));
	read_events(claim);
}

static long remove_module(const char *label)
{
	return tell(label, syscall(SYS_delete_module, "litepulse", O_NONBLOCK));
}

/* The module stays as long as a file of the device is open; then it can go, with a train that was kept, and come back. */
static void case_module(void)
{
	int fd = open_device(0), claim = claim_device(fd, LITEPULSE_CLAIM_KEEP, 0), tty, module;

	set_profile(claim, 1, 9600);
	start_train(claim, every_ms());
	remove_module("both");
	close(fd);
	remove_module("claim");
	close(claim);
	tty = open_raw(TTY, O_NONBLOCK, 9600, 0);
	remove_module("tty");
	close(tty);
	sleep_ms(5);
	remove_module("none");
	printf("there %d %d\n", !access(DEVICE, F_OK), !access(TTY, F_OK));
	module = open("litepulse.ko", O_RDONLY | O_CLOEXEC);
	tell("insert", syscall(SYS_finit_module, module, "", 0));
	close(module);
	fd = open_device(0);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 1 });
	ready("edge");
	read_all(fd, 30);
}

/* A later subscriber gets nothing older, although it still waits in the board for a slower one. */
static void case_from_now_on(void)
{
	int slow = open_device(0), fresh, tty;
	unsigned char data[16];
	ssize_t size;

	subscribe(slow, (struct litepulse_subscribe) { .kinds = BYTES, .watermark = 100 });
	ready("old");
	sleep_ms(8);
	fresh = open_device(0);
	subscribe(fresh, (struct litepulse_subscribe) { .kinds = BYTES });
	tty = open_raw(TTY, O_NONBLOCK, 9600, 0);
	ready("new");
	read_all(fresh, 30);
	size = read(tty, data, sizeof(data));
	printf("tty");
	for (ssize_t i = 0; i < size; i++)
		printf(" %u", data[i]);
	printf("\nready slow\n");
	subscribe(slow, (struct litepulse_subscribe) { .kinds = BYTES });
	read_all(slow, 10);
}

static const struct guest_case cases[] = {
	{ "info", case_info }, { "edges", case_edges }, { "bytes", case_bytes },
	{ "bad-input", case_bad_input }, { "filter", case_filter }, { "slow", case_slow },
	{ "flood", case_flood }, { "watermark", case_watermark }, { "stamps", case_stamps }, { "pieces", case_pieces },
	{ "both-lose", case_both_lose }, { "full-restart", case_full_restart },
	{ "left-behind", case_left_behind }, { "unaligned", case_unaligned },
	{ "failed-claim", case_failed_claim }, { "close", case_close }, { "strain", case_strain },
	{ "clock-changes", case_clock_changes }, { "launch", case_launch }, { "full", case_full },
	{ "train", case_train }, { "kill", case_kill }, { "lost-bytes", case_lost_bytes },
	{ "tai", case_tai }, { "refused", case_refused }, { "pollout", case_pollout },
	{ "sequence", case_sequence }, { "marks", case_marks },
	{ "interrupted", case_interrupted }, { "stale-write", case_stale_write },
	{ "den-and-invert", case_den_and_invert }, { "pulses-up", case_pulses_up },
	{ "answer-bytes", case_answer_bytes }, { "missed", case_missed }, { "burst", case_burst },
	{ "exclusive", case_exclusive }, { "own", case_own }, { "module", case_module },
	{ "from-now-on", case_from_now_on }, { "responder", case_responder },
	{ "keep-responder", case_keep_responder }, { "restart", case_restart },
	{ "suspend", case_suspend }, { "suspend-launches", case_suspend_launches },
	{ "unbind", .with = case_unbind, .words = 1 }, { }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
