/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits and relative entries of the queue: what a program may write, and what becomes of it. */
#include "use.h"

#define MS 1000000ull /* ticks, which are nanoseconds */
#define FAR (10000 * MS)

#define RISE LITEPULSE_WAIT_RISE
#define FALL LITEPULSE_WAIT_FALL
#define STOP LITEPULSE_WAIT_STOP
#define EXCLUSIVE LITEPULSE_WAIT_EXCLUSIVE

#define RELATIVE(...) LAUNCH(.flags = LITEPULSE_LAUNCH_RELATIVE, .data = 0x55, __VA_ARGS__)

static int launch(int fd, struct litepulse_launch entry)
{
	return try_launch(fd, entry) ? -errno : 0;
}

static int queue_waits(int pulse)
{
	return !!(status_of(pulse).flags & LITEPULSE_STATUS_QUEUE);
}

static void flush(int fd)
{
	CHECK(!ioctl(fd, LITEPULSE_IOC_FLUSH));
}

/* The next event of the claim is the end of this entry, at this tick; flags: TIMEOUT or 0. */
static void ends(int fd, unsigned int tag, uint64_t tick, unsigned int flags)
{
	struct litepulse_event event;

	CHECK(readable(fd, 5000) == 1);
	event = NEXT(fd, TX);
	CHECK(event.source == LITEPULSE_SRC_QUEUE && event.data >> 16 == tag);
	CHECK(event.tick == tick && (event.flags & 0xff) == flags);
}

static void is_refused(int fd, unsigned int tag, unsigned int reason)
{
	struct litepulse_event event;

	CHECK(readable(fd, 5000) == 1);
	event = NEXT(fd, REFUSED);
	CHECK(event.source == LITEPULSE_SRC_QUEUE && event.data >> 16 == tag);
	CHECK((event.flags & 0xff) == reason);
}

/* Input 0 rises or falls: the tick at which another file sees it. */
static uint64_t edge(int pulse, int rises)
{
	struct litepulse_event event;

	write_parameter("edge", rises ? "1" : "0");
	CHECK(readable(pulse, 5000) == 1);
	event = NEXT(pulse, EDGE);
	CHECK(event.data == (rises ? 0x10001u : 1u));
	return event.tick;
}

/* A wait ends by the first edge that it names, and what is behind it follows by its distance. */
static void by_edge(int fd, int pulse)
{
	for (int rises = 0; rises < 2; rises++) {
		struct litepulse_launch list[] = {
			WAIT(.tick = now(pulse) + FAR, .tag = 1, .data = rises ? RISE : FALL),
			RELATIVE(.tick = 50 * MS, .tag = 2),
			RELATIVE(.tick = 0, .tag = 3, .kind = LITEPULSE_LAUNCH_BREAK),
			WAIT(.tick = 7 * MS, .tag = 4, .flags = LITEPULSE_LAUNCH_RELATIVE),
			RELATIVE(.tick = 1, .tag = 5),
		};
		struct litepulse_event event;
		uint64_t tick;

		launch_all(fd, list, ARRAY_SIZE(list));
		(void)edge(pulse, !rises);
		CHECK(!readable(fd, 300) && queue_waits(pulse));
		tick = edge(pulse, rises);
		CHECK(readable(fd, 5000) == 1);
		event = NEXT(fd, TX);
		/* Its data are those of the entry, as of a launch. */
		CHECK(event.data == (1u << 16 | 3 << 10 | (rises ? 0x10 : 0x20)));
		CHECK(event.tick == tick && !(event.flags & 0xff));
		ends(fd, 2, tick + 50 * MS, 0);
		ends(fd, 3, tick + 50 * MS, 0);
		ends(fd, 4, tick + 57 * MS, LITEPULSE_EVENT_FLAG_TIMEOUT);
		ends(fd, 5, tick + 57 * MS + 1, 0);
		CHECK(!queue_waits(pulse));
	}
}

/* Without an edge it ends at its tick, and with an edge of another kind, too. */
static void by_time(int fd, int pulse)
{
	const unsigned int data[] = { RISE, 0, RISE | 1, FALL };

	for (size_t i = 0; i < ARRAY_SIZE(data); i++) {
		const uint64_t tick = now(pulse) + 300 * MS;
		struct litepulse_launch list[] = {
			WAIT(.tick = tick, .tag = 7, .data = data[i]),
			RELATIVE(.tick = 20 * MS, .tag = 8),
			LAUNCH(.tick = tick + 20 * MS, .tag = 9, .data = 1),
		};

		launch_all(fd, list, ARRAY_SIZE(list));
		if (i)
			(void)edge(pulse, 1);
		ends(fd, 7, tick, LITEPULSE_EVENT_FLAG_TIMEOUT);
		ends(fd, 8, tick + 20 * MS, 0);
		ends(fd, 9, tick + 20 * MS, 0);
	}
}

/* With STOP nothing leaves without the edge, also what is written later, until a flush. */
static void by_stop(int fd, int pulse)
{
	uint64_t tick = now(pulse) + 300 * MS;

	CHECK(!launch(fd, WAIT(.tick = tick, .tag = 1, .data = RISE | STOP)));
	CHECK(!launch(fd, RELATIVE(.tick = MS, .tag = 2)));
	ends(fd, 1, tick, LITEPULSE_EVENT_FLAG_TIMEOUT);
	is_refused(fd, 2, LITEPULSE_REASON_ORDER);
	CHECK(!launch(fd, LAUNCH(.tick = now(pulse) + 100 * MS, .tag = 3)));
	is_refused(fd, 3, LITEPULSE_REASON_ORDER);
	CHECK(!queue_waits(pulse));
	flush(fd);
	tick = now(pulse) + 100 * MS;
	CHECK(!launch(fd, LAUNCH(.tick = tick, .tag = 4)));
	ends(fd, 4, tick, 0);
	/* Ended by its edge it stops nothing. */
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 5, .data = RISE | STOP)));
	CHECK(!launch(fd, RELATIVE(.tick = 50 * MS, .tag = 6)));
	tick = edge(pulse, 1);
	ends(fd, 5, tick, 0);
	ends(fd, 6, tick + 50 * MS, 0);
}

/* A flush ends a wait without an event, and nothing is known of ticks then. */
static void by_flush(int fd, int pulse)
{
	uint64_t tick;

	CHECK(!launch(fd, LAUNCH(.tick = now(pulse) + FAR, .tag = 1)));
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + 2 * FAR, .tag = 2, .data = RISE)));
	flush(fd);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 3, .data = RISE)));
	CHECK(!launch(fd, RELATIVE(.tick = MS, .tag = 4)));
	CHECK(queue_waits(pulse) && known("launches") == 2);
	flush(fd);
	CHECK(!queue_waits(pulse));
	(void)edge(pulse, 1);
	CHECK(!readable(fd, 300));
	/* A distance from tick 0 is too late. */
	CHECK(!launch(fd, RELATIVE(.tick = MS, .tag = 5)));
	is_refused(fd, 5, LITEPULSE_REASON_LATE);
	tick = now(pulse) + 100 * MS;
	CHECK(!launch(fd, LAUNCH(.tick = tick, .tag = 6)));
	ends(fd, 6, tick, 0);
}

/* The driver takes any tick where it does not know the one before; the board checks the order. */
static void order(int fd, int pulse)
{
	uint64_t tick = now(pulse) + FAR, soon;

	CHECK(!launch(fd, LAUNCH(.tick = tick, .tag = 1)));
	CHECK(launch(fd, WAIT(.tick = tick - 1, .data = RISE)) == -EINVAL);
	CHECK(launch(fd, LAUNCH(.tick = tick - 1)) == -EINVAL);
	CHECK(!launch(fd, RELATIVE(.tick = MS, .tag = 2)));
	CHECK(!launch(fd, LAUNCH(.tick = tick, .tag = 3)));
	/* From here on it is known again. */
	CHECK(launch(fd, LAUNCH(.tick = tick - 1)) == -EINVAL);
	flush(fd);
	CHECK(launch(fd, WAIT(.tick = now(pulse) - 1, .data = RISE)) == -ETIME);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 4, .data = RISE)));
	soon = now(pulse) + 500 * MS;
	CHECK(!launch(fd, LAUNCH(.tick = soon, .tag = 5)));
	tick = edge(pulse, 1);
	ends(fd, 4, tick, 0);
	ends(fd, 5, soon, 0);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 6, .data = RISE)));
	soon = now(pulse) + 50 * MS;
	CHECK(!launch(fd, LAUNCH(.tick = soon, .tag = 7)));
	usleep(200000);
	tick = edge(pulse, 1);
	CHECK(tick > soon);
	ends(fd, 6, tick, 0);
	is_refused(fd, 7, LITEPULSE_REASON_ORDER);
	/* What follows a relative entry that cannot be: 2^64 and more. */
	tick = now(pulse) + 300 * MS;
	CHECK(!launch(fd, LAUNCH(.tick = tick, .tag = 8)));
	CHECK(!launch(fd, RELATIVE(.tick = ~0ull, .tag = 9)));
	ends(fd, 8, tick, 0);
	is_refused(fd, 9, LITEPULSE_REASON_ORDER);
	flush(fd);
}

/* With EXCLUSIVE the tty's bytes wait, else they do not. */
static void bytes_wait(int fd, int pulse)
{
	int tty = open_tty(B115200);
	char byte;

	for (unsigned int exclusive = 0; exclusive < 2; exclusive++) {
		const unsigned int data = RISE | (exclusive ? EXCLUSIVE : 0);

		CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 1, .data = data)));
		CHECK(write(tty, "w", 1) == 1);
		CHECK(readable(tty, 500) == !exclusive);
		ends(fd, 1, edge(pulse, 1), 0);
		CHECK(readable(tty, 5000) == 1 && read(tty, &byte, 1) == 1 && byte == 'w');
	}
	close(tty);
}

/* What is wrong with an entry, whatever the core can do. */
static void wrong(int fd, int pulse)
{
	const uint64_t tick = now(pulse) + FAR;
	const struct litepulse_launch bad[] = {
		WAIT(.tick = tick, .data = RISE | 5), WAIT(.tick = tick, .data = 15),
		WAIT(.tick = tick, .width = 1), WAIT(.tick = tick, .profile = 1),
		WAIT(.tick = tick, .flags = 2), WAIT(.tick = tick, .reserved = { 1 }),
		RELATIVE(.tick = tick, .flags = 3), RELATIVE(.tick = tick, .flags = 0x81),
		RELATIVE(.tick = MS, .profile = 4), RELATIVE(.tick = MS, .width = 1),
		LAUNCH(.tick = tick, .kind = 4),
	};
	struct litepulse_train train = endless;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(launch(fd, bad[i]) == -EINVAL);
	/* It is for the queue only. */
	train.kind = LITEPULSE_LAUNCH_WAIT;
	train.width = 0;
	CHECK(fails(try_train(fd, train), EINVAL));
	CHECK(respond(fd, PULSE_ANSWER(.flags = LITEPULSE_RESPONDER_RISE, .delay = 1000,
				       .kind = LITEPULSE_LAUNCH_WAIT)) == -EINVAL);
	CHECK(!queue_waits(pulse));
}

/* The queue fills up behind a wait; when that ends there is room, which poll() and write() see. */
static void full(int pulse)
{
	int fd = claim(pulse);
	struct litepulse_event event;
	unsigned int count = 1, seen;

	set_nonblocking(fd);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .data = RISE)));
	while (!launch(fd, RELATIVE(.tick = MS, .tag = count)))
		count++;
	CHECK(errno == EAGAIN && count == info_of(pulse).launch_depth);
	CHECK(!polled(fd, POLLOUT, 300));
	(void)edge(pulse, 1);
	CHECK(polled(fd, POLLOUT, 5000) == 1);
	for (seen = 0; seen < count; seen++) {
		CHECK(readable(fd, 5000) == 1);
		event = NEXT(fd, TX);
		CHECK(event.data >> 16 == seen);
	}
	close(fd);
}

/* A wait uses neither the line nor a profile: it can be kept, and stops nothing but the queue. */
static void kept(int pulse)
{
	const struct litepulse_rest low = { .level = LITEPULSE_REST_LOW }, high = { 0 };
	int fd = claim(pulse);
	uint64_t tick;

	/* The level at rest does not matter to it, but nothing may wait when that changes. */
	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &low));
	CHECK(launch(fd, LAUNCH(.tick = now(pulse) + FAR)) == -EINVAL);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 1, .data = RISE)));
	CHECK(fails(ioctl(fd, LITEPULSE_IOC_REST, &high), EBUSY));
	ends(fd, 1, edge(pulse, 1), 0);
	CHECK(!ioctl(fd, LITEPULSE_IOC_REST, &high));
	keep_output(fd);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .tag = 2, .data = RISE | STOP)));
	close(fd);
	/* The next claim gets its outcome. */
	fd = claim(pulse);
	CHECK(queue_waits(pulse));
	CHECK(!launch(fd, RELATIVE(.tick = 50 * MS, .tag = 3)));
	tick = edge(pulse, 1);
	ends(fd, 2, tick, 0);
	ends(fd, 3, tick + 50 * MS, 0);
	close(fd);
	/* One that stops the queue while no program has the claim. */
	fd = keeper(pulse);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + 50 * MS, .data = RISE | STOP)));
	close(fd);
	usleep(300000);
	fd = keeper(pulse);
	CHECK(!launch(fd, LAUNCH(.tick = now(pulse) + 100 * MS, .tag = 4)));
	is_refused(fd, 4, LITEPULSE_REASON_ORDER);
	close(fd);
	/* A claim that keeps nothing begins with a queue that takes launches. */
	fd = claim(pulse);
	tick = now(pulse) + 100 * MS;
	CHECK(!launch(fd, LAUNCH(.tick = tick, .tag = 5)));
	ends(fd, 5, tick, 0);
	/* Not so what its own wait has stopped. */
	keep_output(fd);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + 50 * MS, .data = RISE | STOP)));
	close(fd);
	usleep(300000);
	fd = keeper(pulse);
	CHECK(!launch(fd, WAIT(.tick = now(pulse) + 50 * MS, .tag = 6, .data = RISE | STOP)));
	is_refused(fd, 6, LITEPULSE_REASON_ORDER);
	CHECK(!ioctl(fd, LITEPULSE_IOC_KEEP, &(struct litepulse_keep){ 0 }));
	CHECK(!launch(fd, LAUNCH(.tick = now(pulse) + 100 * MS, .tag = 7)));
	is_refused(fd, 7, LITEPULSE_REASON_ORDER);
	close(fd);
}

static void queue(void)
{
	int pulse = open_pulse(), fd = claim(pulse);

	CHECK(info_of(pulse).flags & LITEPULSE_INFO_SEQUENCE);
	subscribe(pulse, WANT(KIND(EDGE), NONE, .rise = 1, .fall = 1));
	by_edge(fd, pulse);
	by_time(fd, pulse);
	by_stop(fd, pulse);
	by_flush(fd, pulse);
	order(fd, pulse);
	bytes_wait(fd, pulse);
	wrong(fd, pulse);
	close(fd);
	full(pulse);
	kept(pulse);
	close(pulse);
	use_all(open_pulse());
}

/* A core without them: what is new is refused, what was there before is not. */
static void no_sequence(void)
{
	int pulse = open_pulse(), fd = claim(pulse);

	CHECK(!(info_of(pulse).flags & LITEPULSE_INFO_SEQUENCE));
	CHECK(launch(fd, WAIT(.tick = now(pulse) + FAR, .data = RISE)) == -EOPNOTSUPP);
	CHECK(launch(fd, RELATIVE(.tick = MS)) == -EOPNOTSUPP);
	CHECK(launch(fd, WAIT(.tick = now(pulse) + FAR, .flags = 2)) == -EINVAL);
	CHECK(launch(fd, LAUNCH(.tick = now(pulse) + FAR, .kind = 4)) == -EINVAL);
	CHECK(!queue_waits(pulse));
	close(fd);
	use_all(pulse);
}

/* A machine that sleeps ends a wait, and the claim whose wait has stopped the queue. */
static void sleeps_while_it_waits(void)
{
	for (int stopped = 0; stopped < 2; stopped++) {
		const unsigned int data = RISE | (stopped ? STOP : 0);
		int pulse = open_pulse(), fd = claim(pulse);
		struct litepulse_event event;
		uint64_t tick = now(pulse) + (stopped ? 50 * MS : FAR);

		subscribe(pulse, REALTIME(KIND(REFUSED)));
		CHECK(!launch(fd, WAIT(.tick = tick, .tag = 1, .data = data)));
		if (stopped)
			ends(fd, 1, tick, LITEPULSE_EVENT_FLAG_TIMEOUT);
		CHECK(queue_waits(pulse) == !stopped);
		suspend_machine();
		CHECK(readable(pulse, 5000) == 1);
		event = NEXT(pulse, RESTARTED);
		CHECK((event.flags & 0xff) == LITEPULSE_RESTARTED_SUSPEND);
		CHECK(is_stale(fd) && !queue_waits(pulse));
		close(fd);
		/* Flushed, a wait that may have stopped it means nothing any more. */
		fd = claim(pulse);
		CHECK(!launch(fd, WAIT(.tick = now(pulse) + FAR, .data = RISE | STOP)));
		flush(fd);
		suspend_machine();
		CHECK(!launch(fd, LAUNCH(.tick = now(pulse) + FAR)));
		close(fd);
		close(pulse);
	}
}

const struct guest_case sequence_cases[] = {
	{ "sequence", queue, "waits and relative entries: ended by edges, time, flushes; kept" },
	{ "no-sequence", no_sequence, "a core without them refuses them (sequences=0)" },
	{ "sequence-nap", sleeps_while_it_waits, "the machine is suspended while a wait waits" },
	{ }
};
