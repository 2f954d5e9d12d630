/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings of events, plain and packed. */
#include "ring.h"
#include "use.h"

#define PLACES 64

static void plain(void)
{
	int pulse = open_pulse(), fd = open_pulse(), claimed = claim(pulse), other = open_pulse();
	struct litepulse_stats stats;
	unsigned int tail = 0;
	struct ring ring;
	pid_t child;

	ring_open(&ring, fd, PLACES, 0);
	subscribe(fd, WANT(KIND(TX), NONE));
	for (unsigned int round = 1; round <= 3; round++) {
		const struct litepulse_ring_event *event;

		launch_many(claimed, pulse, 70, 1000000);
		usleep(500000);
		CHECK(ring_head(&ring) == tail + PLACES);
		for (unsigned int i = 0; i < PLACES; i++, tail++) {
			event = &ring.events[tail % PLACES];
			CHECK(event->kind == LITEPULSE_KIND_TX);
			CHECK(event->source == LITEPULSE_SRC_QUEUE && event->data >> 16 == i);
		}
		ring_free(&ring, tail);
		CHECK(readable(fd, 0) == 1);
		event = &ring.events[tail % PLACES];
		CHECK(ring.state->head == tail + 1);
		CHECK(event->kind == LITEPULSE_KIND_LOST && event->data == 6);
		ring_free(&ring, ++tail);
		stats = stats_of(fd);
		CHECK(stats.offered == 70 * round && !stats.queued);
		CHECK(stats.lost_host == 6 * round && stats.delivered == 64 * round);
	}
	/* Closed, it is still mapped, and so filled: also for a child, when only that maps it. */
	close(fd);
	child = fork();
	if (!child) {
		usleep(800000);
		_exit(ring.state->head == tail + 10 ? 0 : 1);
	}
	launch_many(claimed, pulse, 10, 1000000);
	munmap(ring.state, ring.length);
	wait_for(child);
	/* Memory that a file asks for and never maps, and a board that goes. */
	CHECK(!ioctl(other, LITEPULSE_IOC_RING, &(struct litepulse_ring){ .events = 4096 }));
	subscribe(other, WANT(KIND(TX), NONE));
	close(claimed);
	close(pulse);
	unbind();
	CHECK(readable(other, 1000) == 1);
	CHECK(fails(ioctl(other, LITEPULSE_IOC_STATS, &stats), ENODEV));
	close(other);
	bind_again();
}

static void no_ring(void)
{
	struct litepulse_ring wanted = { .events = PLACES };
	int pulse = open_pulse();

	CHECK(fails(ioctl(pulse, LITEPULSE_IOC_RING, &wanted), EOPNOTSUPP));
	bytes(pulse);
}

/* --- rows of bytes in a packed ring --- */

static struct ring packed;
static uint32_t tail;	/* how far it was read */

/* @count bytes that follow each other by @gap ticks; they are in the ring by the return. */
static void receive_row(unsigned int count, unsigned int gap)
{
	char text[32];

	usleep(gap * count / 1000 + 1000); /* so that all come after their reader has subscribed */
	snprintf(text, sizeof(text), "%u %u", count, gap);
	write_parameter("row", text);
	usleep(50000);
}

static const struct litepulse_ring_event *next_place(void)
{
	CHECK(tail != ring_head(&packed));
	return &packed.events[tail++ % PLACES];
}

static int row_flags(unsigned int number)
{
	return number % 3 ? 0 : LITEPULSE_RX_NOISE;
}

/* The first bytes of a row, as a run. */
static void take_run(unsigned int count, unsigned int gap)
{
	const struct litepulse_ring_event *event = next_place();
	const uint32_t *words = (const void *)packed.events;

	CHECK(event->kind == LITEPULSE_KIND_RUN && event->source == LITEPULSE_SRC_RECEIVER);
	CHECK(!event->flags && event->data == count);
	for (unsigned int i = 0; i < count; i++) {
		const uint32_t at = tail * LITEPULSE_RUN_PER_EVENT + i;
		const uint32_t byte = words[at % (PLACES * LITEPULSE_RUN_PER_EVENT)];

		CHECK(LITEPULSE_RUN_DATA(byte) == i);
		CHECK((int)LITEPULSE_RUN_FLAGS(byte) == row_flags(i));
		CHECK(LITEPULSE_RUN_TICKS(byte) == (i ? gap : 0));
	}
	tail += LITEPULSE_RUN_PLACES(count);
}

static void take_one(unsigned int number)
{
	const struct litepulse_ring_event *event = next_place();

	CHECK(event->kind == LITEPULSE_KIND_RX && event->data == number);
	CHECK(event->flags == row_flags(number));
}

/* A row one by one. */
static void take_singly(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		take_one(i);
}

static void take_lost(unsigned int count, int flags)
{
	const struct litepulse_ring_event *event = next_place();

	CHECK(event->kind == LITEPULSE_KIND_LOST && event->source == LITEPULSE_SRC_RECEIVER);
	CHECK(event->data == count && event->flags == flags);
}

/* That was all; the driver may have the places. */
static void all_taken(void)
{
	CHECK(tail == packed.state->head);
	ring_free(&packed, tail);
}

static void receive_and_take(unsigned int count)
{
	receive_row(count, 200);
	take_run(count, 200);
}

static void open_packed(unsigned int watermark, unsigned int timeout_us)
{
	int fd = open_pulse();

	ring_open(&packed, fd, PLACES, LITEPULSE_RING_PACKED);
	tail = 0;
	subscribe(fd, WANT(KIND(RX), NONE, .watermark = watermark, .timeout_us = timeout_us));
	/* The first one is compared with the moment of the call. */
	receive_row(1, 0);
	take_one(0);
	all_taken();
}

static int is_due(int timeout_ms)
{
	return readable(packed.fd, timeout_ms);
}

static unsigned int waiting(void)
{
	return packed.state->head - tail;
}

static void receive_and_take_15(void (*meanwhile)(void))
{
	for (int i = 0; i < 15; i++)
		receive_row(12, 200);
	meanwhile();
	for (int i = 0; i < 15; i++)
		take_run(12, 200);
}

/* The last places of the ring: three make a run of eight, one is a byte; all others are lost. */
static void fill_with_run(void)
{
	struct litepulse_stats stats;

	CHECK(waiting() == 60);
	receive_row(9, 200);
	stats = stats_of(packed.fd);
	CHECK(stats.queued == 15 * 12 + 9 && !stats.lost_host);
	receive_row(20, 200);
	stats = stats_of(packed.fd);
	CHECK(waiting() == 64 && stats.queued == 15 * 12 + 9 && stats.lost_host == 20);
}

static void fill_with_byte(void)
{
	receive_row(1, 200);
	receive_row(20, 200);
}

static void take_loss_when_due(unsigned int count)
{
	all_taken();
	CHECK(is_due(0));
	take_lost(count, 0);
	all_taken();
}

static void runs(void)
{
	struct litepulse_ring again = { .events = PLACES };
	int reader, tty;
	uint32_t first;

	open_packed(1, 0);
	/* A kind of the ring alone; and what a file has it has for good. */
	CHECK(fails(ioctl(packed.fd, LITEPULSE_IOC_SUBSCRIBE, &WANT(KIND(RUN), MONOTONIC)),
		    EINVAL));
	CHECK(fails(ioctl(packed.fd, LITEPULSE_IOC_RING, &again), EBUSY));
	receive_and_take(10);
	receive_row(1, 0);
	take_one(0);
	receive_row(3, 65535);
	take_run(3, 65535);
	receive_row(2, 65536);
	take_singly(2);
	receive_row(65, 200);
	take_run(64, 200);
	take_one(64);
	all_taken();
	/* A loss of the board stands where it happened. */
	write_parameter("hold", "1");
	receive_row(5, 200);
	write_parameter("lose", "0");
	receive_row(6, 200);
	write_parameter("lose", "1");
	receive_row(7, 200);
	write_parameter("hold", "0");
	usleep(50000);
	/* Records that were fetched together with that of the loss are no runs. */
	take_run(5, 200);
	take_lost(5, LITEPULSE_FLAG_HARDWARE);
	take_singly(6);
	CHECK(next_place()->flags == (LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST));
	take_singly(7);
	all_taken();
	receive_and_take_15(fill_with_run);
	take_run(9, 200);
	take_loss_when_due(20);
	receive_and_take_15(fill_with_byte);
	take_one(0);
	take_run(8, 200);
	take_loss_when_due(12);
	/* While others receive bytes each comes by itself. */
	reader = open_pulse();
	subscribe(reader, REALTIME(KIND(RX)));
	receive_row(3, 200);
	take_singly(3);
	close(reader);
	receive_and_take(3);
	tty = open_tty(B115200);
	receive_row(3, 200);
	take_singly(3);
	close(tty);
	receive_and_take(3);
	all_taken();
	/*
	 * A program that has taken a part of a run, and one that wrote into it, get the
	 * consequences; no other program is affected.
	 */
	receive_row(40, 200);
	packed.events[tail % PLACES].data = ~0u;
	CHECK(stats_of(packed.fd).queued == 64);
	first = tail;
	for (uint32_t part = 1; part <= 11; part++) {
		ring_free(&packed, first + part);
		CHECK(is_due(0) == (part < 11));
		(void)stats_of(packed.fd);
	}
	tail = first + 11;
	receive_and_take(5);
	all_taken();
	ring_close(&packed);
	/*
	 * poll() waits for places: 20 bytes have six of them, eleven less. Or for as long as the
	 * oldest may wait.
	 */
	open_packed(9, 0);
	receive_row(20, 200);
	CHECK(!is_due(100) && waiting() == 6);
	receive_row(8, 200);
	CHECK(is_due(0) && waiting() == 9);
	take_run(20, 200);
	take_run(8, 200);
	all_taken();
	CHECK(!is_due(0));
	ring_close(&packed);
	open_packed(9, 300000);
	receive_row(20, 200);
	CHECK(!is_due(0) && is_due(5000) == 1);
	take_run(20, 200);
	all_taken();
	CHECK(!is_due(0));
	ring_close(&packed);
}

const struct guest_case ring_cases[] = {
	{ "ring", plain, "fills, loses events and reports it, outlives its file; ends with its board" },
	{ "no-ring", no_ring, "cannot be had where the cache has aliases" },
	{ "runs", runs, "rows of bytes: cut at a gap, a loss, another reader or the ring's end" },
	{ }
};
