/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that files get: all, in order, with the right time, or a report of what was lost. */
#include "ring.h"
#include "use.h"

/* An event that says LOST at hardware, for sure no less than its count. */
static int is_open_ended(struct litepulse_event event)
{
	return (event.flags & ~LITEPULSE_FLAG_NS) ==
	       (LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST);
}

static void lost(void)
{
	const unsigned long long stop = 0xffff0000;
	unsigned long long seq[2] = { 0 }, told[2] = { 0 };
	int pulse = open_pulse(), fd, tty = open_tty(B115200);
	struct litepulse_launch launch = { .data = 0x55 };
	struct litepulse_stats stats;
	struct litepulse_event event;

	subscribe(pulse, REALTIME(KIND(RX) | KIND(TX)));
	stats = stats_of(pulse);
	CHECK(!stats.lost_events && !stats.lost_bytes);
	write_parameter("lose", "1");
	for (int i = 0; i < 2; i++) {
		int of_bytes;

		event = NEXT(pulse, LOST);
		of_bytes = event.source == LITEPULSE_SRC_RECEIVER;
		CHECK(!told[of_bytes] && event.count == stop);
		CHECK(is_open_ended(event));
		told[of_bytes] = event.count;
		seq[of_bytes] = event.seq;
	}
	fd = claim(pulse);
	launch.tick = now(pulse) + 50000000;
	CHECK(!try_launch(fd, launch));
	event = NEXT(pulse, TX);
	CHECK(event.tick == launch.tick);
	/* Others may have come between, but only a few. */
	CHECK(event.seq >= seq[0] + stop + 5 && event.seq < seq[0] + stop + 100);
	CHECK(write(tty, "x", 1) == 1);
	CHECK(NEXT(pulse, RX).seq == seq[1] + stop);
	stats = stats_of(pulse);
	CHECK(stats.lost_events == stop + 5 && stats.lost_bytes == stop);
	close(fd);

	/* Two that find no room become one, which says so, too, though the first had an end. */
	subscribe(pulse, WANT(KIND(RX), MONOTONIC, .fifo = 16));
	for (int i = 0; i < 16; i++)
		CHECK(write(tty, "x", 1) == 1);
	tcdrain(tty);
	usleep(500000);
	write_parameter("lose", "0");
	usleep(200000);
	write_parameter("lose", "1");
	usleep(200000);
	for (int i = 0; i < 16; i++)
		event = NEXT(pulse, RX);
	event = NEXT(pulse, LOST);
	CHECK(event.count == 5 + stop && is_open_ended(event));
	close(tty);
}

/*
 * While a program sets the clock back and forth by years, MONOTONIC is between two readings of it,
 * and REALTIME is one of the two times.
 */
static void clock_is_set(void)
{
	static const long long times[] = { 1700000000, 1800000000 };
	struct litepulse_time reading;
	int pulse = open_pulse(), good = 0;
	pid_t child;

	CHECK(!clock_settime(CLOCK_REALTIME, &(struct timespec){ .tv_sec = times[0] }));
	child = fork();
	if (!child) {
		for (int i = 0;; i++, usleep(2000))
			clock_settime(CLOCK_REALTIME, &(struct timespec){ .tv_sec = times[i % 2] });
	}
	for (int i = 0; i < 3000; i++) {
		long long before = ns_of(CLOCK_MONOTONIC), real;

		if (ioctl(pulse, LITEPULSE_IOC_TIME, &reading)) {
			CHECK(errno == EAGAIN);
			continue;
		}
		good++;
		CHECK((long long)reading.monotonic >= before);
		CHECK((long long)reading.monotonic <= ns_of(CLOCK_MONOTONIC));
		real = reading.realtime / 1000000000;
		CHECK((real >= times[0] && real < times[0] + 1000) ||
		      (real >= times[1] && real < times[1] + 1000));
	}
	CHECK(good > 100);
	kill_child(child);
}

/* Nothing hangs, and what is dropped because of a wrong tick is reported. */
static void wild(void)
{
	static const unsigned int clocks[] = { LITEPULSE_CLOCK_MONOTONIC, LITEPULSE_CLOCK_REALTIME,
					       LITEPULSE_CLOCK_TAI, LITEPULSE_CLOCK_PHC };
	int pulse = open_pulse(), tty = open_tty(B115200), claimed = claim(pulse), files[4];
	struct litepulse_subscribe want = { .kinds = KIND(RX) | KIND(TX), .fifo = 8192 };
	int got = 0, lost = 0, sent = 0;
	struct litepulse_stats stats;
	struct litepulse_event event;
	char byte;

	set_nonblocking(tty);
	for (int i = 0; i < 4; i++) {
		files[i] = open_pulse();
		want.clock = clocks[i];
		subscribe(files[i], want);
		set_nonblocking(files[i]);
	}
	write_parameter("wild", "1");
	for (int i = 0; i < 1000; i++) {
		CHECK(write(tty, "x", 1) == 1);
		sent++;
		try_launch(claimed, LAUNCH(.tick = now(pulse) + 1000000, .data = 1));
		usleep(2000);
	}
	CHECK(!tcdrain(tty));
	write_parameter("wild", "0");
	usleep(500000);
	/* What comes now has a good tick: it shows that the last one was wrong. */
	CHECK(write(tty, "y", 1) == 1);
	sent++;
	usleep(500000);
	while (take_event(files[0], &event)) {
		if (event.kind == LITEPULSE_KIND_RX)
			got++;
		else if (event.kind == LITEPULSE_KIND_LOST &&
			 event.source == LITEPULSE_SRC_RECEIVER)
			lost += event.count;
	}
	stats = stats_of(files[0]);
	printf("%d bytes: %d came, %d were reported as lost\n", sent, got, lost);
	CHECK(got > sent / 10 && lost > 0 && got + lost == sent);
	CHECK(stats.lost_bytes == (unsigned int)lost && !stats.restarts);
	while (read(tty, &byte, 1) == 1)
		;
	close(tty);
	close(claimed);
	for (int i = 0; i < 4; i++)
		close(files[i]);
	bytes(pulse);
}

static void doubt(void)
{
	const int hardware = LITEPULSE_FLAG_NS | LITEPULSE_FLAG_HARDWARE;
	int pulse = open_pulse(), fd = claim(pulse), tty = open_tty(B115200);
	unsigned long long lost[2] = { 0 }, seq;
	struct litepulse_stats stats;
	struct litepulse_event event;
	struct litepulse_time before;

	subscribe(pulse, WANT(KIND(RX) | KIND(TX), MONOTONIC));
	for (int open_ended = 0; open_ended < 2; open_ended++) {
		write_parameter("ahead", "1");
		CHECK(write(tty, "x", 1) == 1);
		launch_many(fd, pulse, 1, 1);
		for (int i = 0; i < 2; i++) {
			CHECK(take_event(pulse, &event));
			CHECK(event.kind == LITEPULSE_KIND_RX || event.kind == LITEPULSE_KIND_TX);
		}
		write_parameter("ahead", "0");
		before = time_of(pulse);
		/* In place of what it lost the board has a record of an event, and two of bytes. */
		write_parameter("lose", open_ended ? "1" : "0");
		for (int i = 0; i < 2; i++) {
			event = NEXT(pulse, LOST);
			CHECK(event.count == (open_ended ? 0xffff0000ull : 5));
			CHECK(event.flags ==
			      (open_ended ? hardware | LITEPULSE_FLAG_AT_LEAST : hardware));
			made_since(pulse, before, event);
			lost[event.source == LITEPULSE_SRC_RECEIVER] += event.count;
		}
		stats = stats_of(pulse);
		CHECK(!stats.restarts && lost[0] == lost[1]);
		CHECK(stats.lost_events == lost[0] && stats.lost_bytes == lost[1]);
	}
	/* All is heard again. One wrong header between good ones: reported once, in its place. */
	launch_many(fd, pulse, 1, 1);
	seq = NEXT(pulse, TX).seq;
	write_parameter("first_low", "1");
	launch_many(fd, pulse, 2, 1);
	event = NEXT(pulse, LOST);
	CHECK(event.count == 1 && event.seq == seq + 1 && event.flags == hardware);
	CHECK(NEXT(pulse, TX).seq == seq + 2);
	usleep(200000);
	launch_many(fd, pulse, 1, 1);
	CHECK(NEXT(pulse, TX).seq == seq + 3);
	CHECK(stats_of(pulse).lost_events == lost[0] + 5 + 1);
	close(tty);
	close(fd);
	bytes(open_pulse());
}

/* Both rise and fall of input 0 and 1, or of input 0 alone; launches or bytes beside. */
static struct litepulse_subscribe edges_of(unsigned int rise, unsigned int fall,
					   unsigned int kinds, int ring)
{
	return (struct litepulse_subscribe){
		.kinds = KIND(EDGE) | kinds, .rise = rise, .fall = fall,
		.clock = ring ? LITEPULSE_CLOCK_NONE : LITEPULSE_CLOCK_MONOTONIC,
	};
}

/* How many events a file has got by now, that of its ring or those to be read. */
static unsigned int got(int fd, const struct ring *ring)
{
	struct litepulse_event event;
	unsigned int count = 0;

	usleep(100000);
	if (ring)
		return ring_head(ring);
	set_nonblocking(fd);
	while (take_event(fd, &event))
		count++;
	return count;
}

/* One file at a time, or with another beside: a device's only ring is filled in its own way. */
static void wants_more(int with_ring, int beside)
{
	int fd = open_pulse(), other = open_pulse();
	struct ring ring, *taken = with_ring ? &ring : NULL;
	struct litepulse_subscribe want;
	unsigned int before = 0;

	if (with_ring)
		ring_open(&ring, fd, 64, 0);
	want = edges_of(1, 1, 0, 0);
	if (beside)
		subscribe(other, want);
	/* Each of what may be new: a channel, a direction, a kind. */
	for (int part = 0; part < 3; part++) {
		want = part == 0 ? edges_of(2, 0, 0, with_ring) :
		       part == 1 ? edges_of(0, 1, 0, with_ring) :
		       (struct litepulse_subscribe){ .kinds = KIND(TX), .rise = 1,
						     .clock = want.clock };
		subscribe(fd, want);
		write_parameter("hold", "1");
		write_parameter("edge", "1");
		want = edges_of(3, 1, part == 2 ? KIND(TX) : 0, with_ring);
		subscribe(fd, want);
		write_parameter("hold", "0");
		CHECK(got(fd, taken) == before);
		write_parameter("edge", "1");
		before += with_ring;
		CHECK(got(fd, taken) == (with_ring ? before : 1));
		/* Kinds that the file had subscribed to before are not among the new ones. */
		subscribe(fd, edges_of(1, 0, 0, with_ring));
		write_parameter("hold", "1");
		write_parameter("edge", "1");
		want = edges_of(3, 3, KIND(TX), with_ring);
		subscribe(fd, want);
		want.rise = 7;
		subscribe(fd, want);
		write_parameter("hold", "0");
		before += with_ring;
		CHECK(got(fd, taken) == (with_ring ? before : 1));
	}
	if (beside)
		CHECK(got(other, NULL) == 9);
	close(other);
	close(fd);
}

static void newcomer(void)
{
	for (int i = 0; i < 4; i++)
		wants_more(i % 2, i / 2);
}

enum { ROUNDS = 16, EACH = 250 };

/* What file number @i has: all edges, or those of one direction, and bytes. */
static void take_flood(int fd, int i)
{
	static struct litepulse_event events[ROUNDS * EACH + 1];
	const int both = i % 3 == 0, rise = i % 3 != 1, got_bytes = i == 5 ? ROUNDS : 0;
	const int wanted = (both ? ROUNDS * EACH : ROUNDS * EACH / 2) + got_bytes;
	unsigned long long seq = 0, tick = 0;
	struct litepulse_stats stats;
	int count = 0, n = 0;
	ssize_t size;

	/* At most as much as there is memory of this program. */
	while ((size = read(fd, events + n, sizeof(events) - n * sizeof(events[0]))) > 0)
		n += size / sizeof(events[0]);
	CHECK(n == wanted);
	for (const struct litepulse_event *event = events; event < events + n; event++) {
		if (event->kind == LITEPULSE_KIND_RX) {
			count++;
			continue;
		}
		CHECK(event->kind == LITEPULSE_KIND_EDGE && event->tick > tick);
		CHECK((event->data & 0xffff) == 1);
		CHECK(both || event->data >> 16 == (unsigned int)rise);
		CHECK(!seq || event->seq == seq + (both ? 1 : 2));
		seq = event->seq;
		tick = event->tick;
	}
	CHECK(count == got_bytes);
	stats = stats_of(fd);
	CHECK(!stats.lost_events && !stats.lost_bytes && !stats.lost_host);
	CHECK(stats.offered == (unsigned int)wanted && stats.delivered == stats.offered);
}

static void flood(void)
{
	int pulse = open_pulse(), tty = open_tty(B115200), files[LITEPULSE_SUBSCRIBERS_MAX];
	unsigned char byte;

	for (int i = 0; i < LITEPULSE_SUBSCRIBERS_MAX; i++) {
		struct litepulse_subscribe want = edges_of(i % 3 != 1, i % 3 != 2,
							   i == 5 ? KIND(RX) : 0, 0);

		want.fifo = 4096;
		files[i] = open_pulse();
		subscribe(files[i], want);
		set_nonblocking(files[i]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		write_parameter("flood", "250");
		CHECK(write(tty, "x", 1) == 1);
		usleep(100000);
	}
	for (int i = 0; i < LITEPULSE_SUBSCRIBERS_MAX; i++) {
		take_flood(files[i], i);
		close(files[i]);
	}
	for (int round = 0; round < ROUNDS; round++)
		CHECK(read(tty, &byte, 1) == 1 && byte == 'x');
	close(tty);
	bytes(pulse);
}

const struct guest_case event_cases[] = {
	{ "lost", lost, "the board loses so much that it stops counting: each gap is reported once" },
	{ "clock", clock_is_set, "the host's clock is set while it is read beside the board's" },
	{ "wild", wild, "the board reports wrong ticks for a while; then events arrive again" },
	{ "doubt", doubt, "what is dropped as a tick went back is reported: how much, and when" },
	{ "newcomer", newcomer, "who wants more gets nothing of before, and loses nothing" },
	{ "flood", flood, "as many edges as the board holds, for all files that may subscribe" },
	{ }
};
