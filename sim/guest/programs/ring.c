// SPDX-License-Identifier: BSD-2-Clause
/* The ring of a file of /dev/litepulse0: one case for each test of test_ring.py. */
#include "cases.h"
#include "guest.h"
#include "ports.h"
#include "ring.h"

#define EDGES KIND(EDGE)
#define BYTES KIND(RX)
#define BOTH { .kinds = EDGES, .rise = 1, .fall = 1, .clock = LITEPULSE_CLOCK_NONE }

static struct litepulse_ring_event taken[512];
static unsigned int count;

/* At most this many of those that are in it. */
static void take(struct ring *ring, unsigned int most)
{
	while (most-- && count < ARRAY_SIZE(taken) && ring_take(ring, &taken[count]))
		count++;
}

/* What was taken: `in KIND SOURCE TICK DATA FLAGS` each. */
static void tell_taken(void)
{
	for (struct litepulse_ring_event *e = taken; e < taken + count; e++)
		printf("in %u %u %llu %u %u\n", e->kind, e->source, (unsigned long long)e->tick, e->data, e->flags);
	count = 0;
}

static void tell_all(struct ring *ring, unsigned int most)
{
	take(ring, most);
	tell_taken();
}

static void tell_poll(const char *label, struct ring *ring, int ms)
{
	struct pollfd p = { .fd = ring->fd, .events = POLLIN | POLLPRI };
	int found = poll(&p, 1, ms);

	printf("polled %s %d %d\n", label, found, found > 0 ? p.revents : 0);
}

static void tell_map(const char *label, int fd, size_t length, int protection, int flags, off_t offset)
{
	void *where = mmap(NULL, length, protection, flags, fd, offset);

	tell(label, where == MAP_FAILED ? -1 : 0);
	if (where != MAP_FAILED)
		munmap(where, length);
}

static void case_refused(void)
{
	static const struct litepulse_ring bad[] = {
		{ .events = 0 }, { .events = 32 }, { .events = 65 }, { .events = 1u << 19 }, { .events = 64, .flags = 2 },
		{ .events = 64, .offset = 1 }, { .events = 64, .reserved = 1 }, { .events = 64, .length = 1 },
	};
	int fd = open_device(0), busy = open_device(0), claim = claim_device(busy, 0, 0);
	const int both = PROT_READ | PROT_WRITE;
	struct litepulse_ring wanted = { .events = 64 };
	struct litepulse_event event;
	struct ring ring;

	tell_map("no-ring", fd, 8192, both, MAP_SHARED, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct litepulse_ring copy = bad[i];

		tell("bad", ioctl(fd, LITEPULSE_IOC_RING, &copy));
	}
	subscribe(busy, (struct litepulse_subscribe)BOTH);
	tell("subscribed", ioctl(busy, LITEPULSE_IOC_RING, &wanted));
	tell("of-a-claim", ioctl(claim, LITEPULSE_IOC_RING, &wanted));
	ring_open(&ring, fd, 64, 0);
	wanted = (struct litepulse_ring) { .events = 64 };
	tell("again", ioctl(fd, LITEPULSE_IOC_RING, &wanted));
	tell_map("short", fd, ring.length - 4096, both, MAP_SHARED, 0);
	tell_map("long", fd, ring.length + 4096, both, MAP_SHARED, 0);
	tell_map("private", fd, ring.length, both, MAP_PRIVATE, 0);
	tell_map("offset", fd, ring.length, both, MAP_SHARED, 4096);
	tell_map("twice", fd, ring.length, both, MAP_SHARED, 0);
	tell("read", read(fd, &event, sizeof(event)));
	tell("clock", ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &(struct litepulse_subscribe) { .kinds = EDGES, .rise = 1 }));
	tell("fifo", ioctl(fd, LITEPULSE_IOC_SUBSCRIBE,
			   &(struct litepulse_subscribe) { .kinds = EDGES, .clock = LITEPULSE_CLOCK_NONE, .fifo = 64 }));
	tell("watermark", ioctl(fd, LITEPULSE_IOC_SUBSCRIBE,
				&(struct litepulse_subscribe) { .kinds = EDGES, .clock = LITEPULSE_CLOCK_NONE, .watermark = 65 }));
	printf("ring %u %llu\n", ring.offset, (unsigned long long)ring.length);
}

/*
 * Three times round, the requested edges of two inputs; in the end with another reader of the same.
 */
static void case_edges(void)
{
	int fd = open_device(0), other;
	struct ring ring;

	ring_open(&ring, fd, 64, 0);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 0x3, .fall = 0x1, .clock = LITEPULSE_CLOCK_NONE });
	ready("alone");
	while (count < 200 && readable(fd, 1000) == 1)
		take(&ring, -1u);
	tell_taken();
	other = open_device(0);
	subscribe(other, (struct litepulse_subscribe) { .kinds = EDGES, .rise = 0x3, .fall = 0x1 });
	ready("both");
	while (count < 40 && readable(fd, 1000) == 1)
		take(&ring, -1u);
	tell_taken();
	read_all(other, 20);
	tell_stats(fd);
}

/* More than it holds, seen at the tail; then with room again. */
static void case_full(void)
{
	int fd = open_device(0);
	struct ring ring;

	ring_open(&ring, fd, 64, 0);
	subscribe(fd, (struct litepulse_subscribe)BOTH);
	ready("hundred");
	sleep_ms(10);
	tell_poll("full", &ring, 0);
	tell_stats(fd);
	tell_all(&ring, -1u);
	tell_stats(fd);
	tell_all(&ring, -1u);
	tell_poll("empty", &ring, 0);
	ready("seventy");
	sleep_ms(10);
	tell_all(&ring, 10);
	ready("one");
	sleep_ms(10);
	tell_all(&ring, -1u);
	tell_stats(fd);
}

/* Faster than the board can be emptied. */
static void case_flood(void)
{
	int fd = open_device(0);
	struct ring ring;

	ring_open(&ring, fd, 4096, 0);
	subscribe(fd, (struct litepulse_subscribe)BOTH);
	ready("flood");
	sleep_ms(60);
	do
		tell_all(&ring, -1u);
	while (ring.state->head != ring.state->tail);
	tell_stats(fd);
}

/* Received bytes, once round and more; then more than it holds. Packed: as runs, which several bytes to an interrupt make. */
static void case_bytes(void)
{
	const unsigned int flags = running->of, watermark = flags ? 16 : 1;
	int fd = open_device(0);
	struct ring ring;

	close(open_serial("/dev/ttyPULSE0", "1000000"));
	ring_open(&ring, fd, 64, flags);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = BYTES, .clock = LITEPULSE_CLOCK_NONE, .watermark = watermark,
		  .timeout_us = watermark > 1 ? 20000 : 0 });
	ready("taken");
	while (count < 70 && readable(fd, 1000) == 1)
		take(&ring, -1u);
	tell_taken();
	ready("left");
	sleep_ms(50);
	tell_all(&ring, -1u);
	tell_poll("left", &ring, 0);
	tell_all(&ring, -1u);
	tell_stats(fd);
}

/* Eight at a time, or when the oldest has waited: also what is left, and what came while an older one waited that was taken. */
static void case_watermark(void)
{
	struct litepulse_subscribe want = BOTH;
	int fd = open_device(0), urgent = open_device(0);
	struct ring ring;

	want.watermark = 8;
	want.timeout_us = 5000;
	ring_open(&ring, fd, 64, 0);
	subscribe(fd, want);
	ready("eight");
	tell_poll("eight", &ring, 1000);
	tell_all(&ring, -1u);
	ready("three");
	tell_poll("three", &ring, 1000);
	printf("woken %llu\n", (unsigned long long)now(fd));
	tell_all(&ring, 2);
	tell_poll("left", &ring, 1000);
	tell_all(&ring, -1u);
	/* From here on the board holds nothing back. */
	subscribe(urgent, (struct litepulse_subscribe)BOTH);
	ready("early");
	sleep_ms(3);
	tell_all(&ring, -1u);
	ready("late");
	tell_poll("late", &ring, 1000);
	printf("woken %llu\n", (unsigned long long)now(fd));
	tell_all(&ring, -1u);
}

/* A tail of nonsense is a full ring. */
static void case_wrong_tail(void)
{
	static const struct {
		const char *name;
		uint32_t ahead;
	} wrong[] = { { "one", 1 }, { "thousand", 1000 }, { "half", 0x80000000 }, { "behind", -65 } };
	int fd = open_device(0);
	struct ring ring;

	ring_open(&ring, fd, 64, 0);
	subscribe(fd, (struct litepulse_subscribe)BOTH);
	for (int i = 0; i < 4; i++) {
		uint32_t tail = ring.state->tail;

		ring_free(&ring, ring.state->head + wrong[i].ahead);
		/* A program can also ruin the ring's description of itself. */
		ring.state->head += 5;
		memset(ring.events, 0xff, 64 * sizeof(ring.events[0]));
		ready(wrong[i].name);
		sleep_ms(5);
		tell_poll("wrong", &ring, 0);
		ring_free(&ring, tail);
		tell_poll("right", &ring, 0);
		tell_all(&ring, -1u);
	}
	tell_stats(fd);
}

static const struct guest_case cases[] = {
	{ "refused", case_refused }, { "edges", case_edges }, { "full", case_full },
	{ "flood", case_flood }, { "watermark", case_watermark }, { "wrong-tail", case_wrong_tail },
	{ "bytes", case_bytes }, { "runs", case_bytes, .of = LITEPULSE_RING_PACKED }, { }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
