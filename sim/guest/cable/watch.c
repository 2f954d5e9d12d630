/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches the driver by its tracepoints and its file in debugfs. Lines begin with their source:
 * `chardev`, `asked`, `trace`, `state`, `sysfs`.
 */
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "board.h"
#include "cases.h"
#include "ring.h"

#define TRACING "/sys/kernel/tracing/"
#define STATE "/sys/kernel/debug/litepulse/litepulse0/state"

static void enable(int on)
{
	write_file(TRACING "events/litepulse/enable", on ? "1" : "0");
}

/* Each line of a file, behind a word. */
static void print_file(const char *who, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[600];

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] != '#')
			printf("%s %s", who, line);
		}
	fclose(file);
}

#define EVENTS (KIND(TX) | KIND(EDGE) | KIND(APPLIED) | KIND(REFUSED))

/* Edges are those of all channels. */
static void subscribe_to(int pulse, unsigned int kinds)
{
	const unsigned int channels = (2 << info_of(pulse).inputs) - 1;

	subscribe(pulse, WANT(kinds, NONE, .rise = channels, .fall = channels));
}

static int open_nonblocking(void)
{
	int fd = open_pulse();

	set_nonblocking(fd);
	return fd;
}

/* What the file has got, as the trace has it. */
static void print_events(int pulse)
{
	struct litepulse_event event;

	while (take_event(pulse, &event))
		printf("chardev tick=%llu kind=%u source=%u data=%u flags=%u seq=%llu count=%llu\n",
		       event.tick, event.kind, event.source, event.data, event.flags, event.seq,
		       event.count);
	CHECK(errno == EAGAIN);
}

/* Of a launch on the echo board, whose ticks are ns: an access to one that sleeps takes 0.3 ms. */
#define LEAD_NS 5000000

static ssize_t launch(int fd, __u64 tick, unsigned int tag, unsigned int profile)
{
	struct litepulse_launch launch = { .tick = tick, .tag = tag, .width = 100 + tag,
					   .kind = LITEPULSE_LAUNCH_PULSE, .profile = profile };
	ssize_t done = write(fd, &launch, sizeof(launch));
	int error = done < 0 ? errno : 0;

	printf("asked tick=%llu kind=PULSE data=0x0 width=%u profile=%u tag=%u flags=0x0 error=%d\n",
	       launch.tick, launch.width, profile, tag, -error);
	errno = error;
	return done;
}

/* Launches, received bytes, edges, a loss of both streams and a reset. */
static void make_events(int pulse, int tty)
{
	int fd = claim_device(pulse, 0, O_CLOEXEC);

	for (int i = 0; i < 20; i++)
		CHECK(launch(fd, now(pulse) + LEAD_NS + i, i, 1) > 0);
	CHECK(write(tty, "LitePulse", 9) == 9 && !tcdrain(tty));
	write_parameter("edge", "1");
	usleep(100000);
	write_parameter("lose", "0");
	write_parameter("edge", "1");
	usleep(100000);
	close(fd);
	usleep(100000);
	write_parameter("reset", "0");
	sleep(3);
	write_parameter("edge", "1");
	usleep(100000);
}

static void watch_events(void)
{
	int pulse = open_nonblocking(), tty = open_numbered("ttyPULSE", 0, O_RDWR);

	CHECK(tty >= 0);
	subscribe_to(pulse, EVENTS | KIND(RX));
	enable(1);
	make_events(pulse, tty);
	enable(0);
	/* Not traced. */
	print_events(pulse);
	write_parameter("edge", "1");
	usleep(100000);
	print_file("trace", TRACING "trace");
	close(tty);
	close(pulse);
}

static void watch_launches(void)
{
	int pulse = open_pulse(), fd = claim_device(pulse, 0, O_CLOEXEC | O_NONBLOCK);
	struct litepulse_launch two[2] = { { .kind = LITEPULSE_LAUNCH_FRAME, .data = 0x55 },
					   { .kind = 77 } };
	__u64 far = now(pulse) + 60000000000ull;
	const unsigned int depth = info_of(pulse).launch_depth;

	enable(1);
	CHECK(launch(fd, 1, 1, 1) < 0 && errno == ETIME);
	for (unsigned int i = 0; i < depth; i++)
		CHECK(launch(fd, far, i, 1) > 0);
	CHECK(launch(fd, far - 1, 99, 1) < 0 && errno == EINVAL);
	CHECK(launch(fd, far, 100, 1) < 0 && errno == EAGAIN);
	/* The queue is full: what is wrong with the second does not matter yet. */
	two[0].tick = far;
	two[1].tick = far;
	CHECK(write(fd, two, sizeof(two)) < 0 && errno == EAGAIN);
	enable(0);
	print_file("trace", TRACING "trace");
	close(fd);
	close(pulse);
}

static volatile int stop;

static void *toggle(void *unused)
{
	for (int on = 1; !stop; on = !on) {
		enable(on);
		usleep(700);
	}
	return unused;
}

#define LAUNCHES 1000

/* The ring gets plain records while nothing is traced, and decoded ones otherwise. */
static void watch_toggle(void)
{
	int pulse = open_pulse(), fd;
	struct litepulse_stats stats;
	static __u64 ticks[LAUNCHES];
	pthread_t thread;
	struct ring ring;

	ring_open(&ring, pulse, 4096, 0);
	fd = claim_device(pulse, 0, O_CLOEXEC);
	/* Otherwise the claim's file gets the events, too, and none is plain. */
	subscribe_to(fd, 0);
	subscribe_to(pulse, KIND(TX));
	CHECK(!pthread_create(&thread, NULL, toggle, NULL));
	for (int i = 0; i < LAUNCHES; i++) {
		ticks[i] = now(pulse) + LEAD_NS + i;
		CHECK(!try_launch(fd, LAUNCH(.tick = ticks[i], .tag = i, .data = i,
					     .kind = LITEPULSE_LAUNCH_FRAME)));
		if (i % 8 == 7)
			usleep(1000);
	}
	usleep(100000);
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
	enable(0);
	CHECK(ring.state->head == LAUNCHES);
	for (int i = 0; i < LAUNCHES; i++) {
		const struct litepulse_ring_event *event = &ring.events[i];

		CHECK(event->tick == ticks[i] && event->data >> 16 == (unsigned int)i);
		CHECK(event->kind == LITEPULSE_KIND_TX);
	}
	stats = stats_of(pulse);
	CHECK(stats.offered == LAUNCHES && !stats.lost_host && !stats.lost_events);
	print_file("trace", TRACING "trace");
	close(fd);
	close(pulse);
}

static void watch_state(void)
{
	int pulse = open_nonblocking(), fd;
	struct litepulse_stats stats;
	struct stat about;

	CHECK(!stat(STATE, &about) && (about.st_mode & 07777) == 0400);
	print_file("state idle", STATE);
	subscribe_to(pulse, EVENTS);
	fd = claim_device(pulse, 0, O_CLOEXEC);
	start_train(fd, PULSES(.period = 1000000, .den = 1, .width = 500));
	CHECK(launch(fd, now(pulse) + 60000000000ull, 1, 1) > 0);
	write_parameter("lose", "0");
	usleep(100000);
	stats = stats_of(pulse);
	printf("chardev session=0x%04x lost_events=%llu lost_bytes=%llu pid=%d\n",
	       info_of(pulse).session, stats.lost_events, stats.lost_bytes, getpid());
	print_file("state busy", STATE);
	write_parameter("reset", "0");
	sleep(3);
	CHECK(stats_of(pulse).restarts == 1);
	print_file("state reset", STATE);
	close(fd);
	close(pulse);
}

/* Reads it over and over: by a file that stays open, and by new ones. */
static void *read_state(void *unused)
{
	static char text[8000];
	unsigned long whole = 0, gone = 0;
	int fd = -1;

	while (!stop) {
		ssize_t size;

		if (fd < 0)
			fd = open(STATE, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			CHECK(errno == ENOENT);
			usleep(200);
			continue;
		}
		size = pread(fd, text, sizeof(text) - 1, 0);
		if (size > 0) {
			text[size] = 0;
			CHECK(!strncmp(text, "board: ", 7) && text[size - 1] == '\n');
			whole++;
			usleep(50);
			continue;
		}
		CHECK(size < 0 && (errno == ENODEV || errno == EIO));
		gone++;
		/* It stays so. */
		usleep(1000);
		CHECK(pread(fd, text, sizeof(text), 0) < 0 && (errno == EIO || errno == ENODEV));
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	printf("state whole=%lu gone=%lu\n", whole, gone);
	return unused;
}

#define PLUGS 30

static void watch_unbind(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, read_state, NULL));
	for (int i = 0; i < PLUGS; i++) {
		usleep(3000 + 137 * i);
		CHECK(!unbind_board());
		usleep(2000);
		CHECK(!bind_board());
	}
	usleep(5000);
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
}

static const char *port;	/* /dev/ttyS0 */

/* What the link counted. */
static void print_counters(const char *when)
{
	static const char *const names[] = { "baud", "checked", "packed", "poll_us", "idle_us",
					     "transactions", "repeats", "failures" };
	char text[64];

	printf("sysfs %s", when);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK(!read_attribute(names[i], text, sizeof(text)));
		printf(" %s=%s", names[i], text);
	}
	printf("\n");
}

/* Returns when what was under way has been answered. */
static void await_answers(void)
{
	char text[64];
	unsigned long begun = 0;

	for (int i = 0; i < 20000; i++) {
		CHECK(!read_attribute("transactions", text, sizeof(text)));
		if (!i)
			begun = strtoul(text, NULL, 10);
		if (strtoul(text, NULL, 10) >= begun + 2)
			return;
		usleep(1000);
	}
	CHECK(!"no answers");
}

#define LAUNCHED 25
#define LEAD_CYCLES 2000000

static void watch_cable(void)
{
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = 115200 };
	int held = attach(port), pulse = open_nonblocking(), fd = claim_device(pulse, 0, O_CLOEXEC);

	CHECK(!ioctl(fd, LITEPULSE_IOC_PROFILE, &profile));
	subscribe_to(pulse, EVENTS);
	print_counters("before");
	enable(1);
	print_counters("on");
	for (int i = 0; i < LAUNCHED; i++)
		CHECK(launch(fd, now(pulse) + LEAD_CYCLES, i, 1) > 0);
	/* The board has no profile 2. */
	CHECK(launch(fd, now(pulse) + LEAD_CYCLES, LAUNCHED, 2) > 0);
	/* The board goes on while it is read. */
	for (__u64 end = now(pulse) + 2 * LEAD_CYCLES; now(pulse) < end;)
		usleep(1000);
	usleep(200000);
	print_counters("still");
	/* A request that is under way has repeats that are counted, but not traced yet. */
	await_answers();
	enable(0);
	print_counters("off");
	print_file("state", STATE);
	print_counters("after");
	print_events(pulse);
	print_file("trace", TRACING "trace");
	close(fd);
	close(pulse);
	detach(held, port);
}

/* A list that is longer than the board's queue, at once. */
static void watch_list(void)
{
	struct litepulse_launch launches[64 + 6];
	int held = attach(port), pulse = open_pulse();
	int fd = claim_device(pulse, 0, O_CLOEXEC | O_NONBLOCK);
	const __u64 far = now(pulse) + 1000ull * LEAD_CYCLES;

	CHECK(info_of(pulse).launch_depth == 64);
	for (unsigned int i = 0; i < ARRAY_SIZE(launches); i++)
		launches[i] = LAUNCH(.tick = far + 1000 * i, .tag = i, .width = 100,
				     .kind = LITEPULSE_LAUNCH_PULSE);
	enable(1);
	CHECK(write(fd, launches, sizeof(launches)) == 64 * sizeof(launches[0]));
	enable(0);
	CHECK(write(fd, &launches[64], sizeof(launches[0])) < 0 && errno == EAGAIN);
	print_file("trace", TRACING "trace");
	close(fd);
	close(pulse);
	detach(held, port);
}

static void watch_unplug(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, read_state, NULL));
	for (int i = 0; i < 6; i++) {
		int held = attach(port);

		usleep(30000 + 7000 * i);
		detach(held, port);
	}
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
}

static const struct guest_case cases[] = {
	/* Of the echo board: */
	{ "events", watch_events, "what happened, as a file of the device and the trace have it" },
	{ "launches", watch_launches, "launches that the queue takes, and those that it does not" },
	{ "toggle", watch_toggle, "tracepoints are switched while events come: a ring gets each" },
	{ "state", watch_state, "the board's state beside what its devices say" },
	{ "unbind", watch_unbind, "it is read while the board goes and comes back" },
	/* Of a board on a cable: */
	{ "cable", watch_cable, "PORT: requests, launches and edges; the state beside sysfs" },
	{ "list", watch_list, "PORT: requests for a list of launches" },
	{ "unplug", watch_unplug, "PORT: the state is read while it is detached and attached" },
	{ }
};

int main(int count, char **words)
{
	if (count > 2)
		port = words[2];
	strcpy(board.name, "litepulse");
	CHECK(count < 2 || !mount("trace", "/sys/kernel/tracing", "tracefs", 0, NULL) ||
	      errno == EBUSY);
	return run_case(cases, port ? 2 : count, words);
}
