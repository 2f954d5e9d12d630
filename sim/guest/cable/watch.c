/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches the driver by its tracepoints and its file in debugfs.
 *
 * Of the echo board (echo_board/):
 *   watch events        what happened, as a file of the device has it and as the trace has it
 *   watch launches      launches that the queue takes, and those that it does not
 *   watch toggle        tracepoints are enabled and disabled while events come: a ring gets each of them
 *   watch state         the board's state beside what its devices say
 *   watch unbind        it is read while the board goes and comes back
 * Of a board on a cable:
 *   watch cable PORT    requests, launches and edges in the trace; the state beside sysfs
 *   watch unplug PORT   the state is read while the port is detached and attached
 *
 * Lines begin with who says it: `chardev`, `asked`, `trace`, `state`, `sysfs`. Exit status 0, or 1 and a line that says what was not so.
 */
#include "cable.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
#define PARAMETERS "/sys/module/echo_board/parameters/"
#define DRIVER "/sys/bus/platform/drivers/litepulse/"
#define STATE "/sys/kernel/debug/litepulse/litepulse0/state"

static void put(const char *path, const char *text)
{
	CHECK(!write_file(path, text));
}

static void enable(int on)
{
	put(TRACING "events/litepulse/enable", on ? "1" : "0");
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
		fflush(stdout);
	}
	fclose(file);
}

static int open_device(int flags)
{
	int fd = open("/dev/litepulse0", O_RDWR | O_CLOEXEC | flags);

	CHECK(fd >= 0);
	return fd;
}

static int claim(int pulse, unsigned int fd_flags)
{
	struct litepulse_claim wanted = { .fd_flags = O_CLOEXEC | fd_flags };

	CHECK(!ioctl(pulse, LITEPULSE_IOC_CLAIM, &wanted));
	return wanted.fd;
}

#define EVENTS (1 << LITEPULSE_KIND_TX | 1 << LITEPULSE_KIND_EDGE | 1 << LITEPULSE_KIND_APPLIED | 1 << LITEPULSE_KIND_REFUSED)

static void subscribe(int pulse, unsigned int kinds)
{
	struct litepulse_subscribe want = { .kinds = kinds, .clock = LITEPULSE_CLOCK_NONE };
	struct litepulse_info info;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	want.rise = want.fall = (2 << info.inputs) - 1;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
}

/* What the file has got, as the trace has it. */
static void print_events(int pulse)
{
	struct litepulse_event event;

	while (read(pulse, &event, sizeof(event)) == sizeof(event)) {
		printf("chardev tick=%llu kind=%u source=%u data=%u flags=%u seq=%llu count=%llu\n", event.tick, event.kind, event.source,
		       event.data, event.flags, event.seq, event.count);
		fflush(stdout);
	}
	CHECK(errno == EAGAIN);
}

static __u64 tick_now(int pulse)
{
	struct litepulse_time time;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &time));
	return time.tick;
}

/* Of a launch on the echo board, whose ticks are ns: each access to one that sleeps takes 0.3 ms. */
#define LEAD_NS 5000000

static ssize_t launch(int fd, __u64 tick, unsigned int tag, unsigned int profile)
{
	struct litepulse_launch launch = { .tick = tick, .tag = tag, .kind = LITEPULSE_LAUNCH_PULSE, .width = 100 + tag,
					 .profile = profile };
	ssize_t done = write(fd, &launch, sizeof(launch));
	int error = done < 0 ? errno : 0;

	printf("asked tick=%llu kind=PULSE data=0x0 width=%u profile=%u tag=%u error=%d\n", launch.tick, launch.width, profile, tag, -error);
	fflush(stdout);
	errno = error;
	return done;
}

/* Launches, received bytes, edges, a loss of both streams and a reset: everything that the board does by itself. */
static void make_events(int pulse, int tty)
{
	int fd = claim(pulse, 0);

	for (int i = 0; i < 20; i++)
		CHECK(launch(fd, tick_now(pulse) + LEAD_NS + i, i, 1) > 0);
	CHECK(write(tty, "LitePulse", 9) == 9 && !tcdrain(tty));
	put(PARAMETERS "edge", "1");
	usleep(100000);
	put(PARAMETERS "lose", "0");
	put(PARAMETERS "edge", "1");
	usleep(100000);
	close(fd);
	usleep(100000);
	put(PARAMETERS "reset", "0");
	sleep(3);
	put(PARAMETERS "edge", "1");
	usleep(100000);
}

static void watch_events(void)
{
	int pulse = open_device(O_NONBLOCK), tty = open("/dev/ttyPULSE0", O_RDWR | O_CLOEXEC | O_NOCTTY);

	CHECK(tty >= 0);
	subscribe(pulse, EVENTS | 1 << LITEPULSE_KIND_RX);
	enable(1);
	make_events(pulse, tty);
	enable(0);
	/* Not traced. */
	print_events(pulse);
	put(PARAMETERS "edge", "1");
	usleep(100000);
	print_file("trace", TRACING "trace");
	close(tty);
	close(pulse);
}

static void watch_launches(void)
{
	int pulse = open_device(0), fd = claim(pulse, O_NONBLOCK);
	struct litepulse_launch two[2] = { { .kind = LITEPULSE_LAUNCH_FRAME, .data = 0x55 }, { .kind = 77 } };
	__u64 far = tick_now(pulse) + 60000000000ull;
	struct litepulse_info info;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	enable(1);
	CHECK(launch(fd, 1, 1, 1) < 0 && errno == ETIME);
	for (unsigned int i = 0; i < info.launch_depth; i++)
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
	struct litepulse_ring ring = { .events = 4096 };
	int pulse = open_device(0), fd;
	struct litepulse_ring_state *state;
	struct litepulse_ring_event *events;
	struct litepulse_stats stats;
	static __u64 ticks[LAUNCHES];
	pthread_t thread;

	CHECK(!ioctl(pulse, LITEPULSE_IOC_RING, &ring));
	state = mmap(NULL, ring.length, PROT_READ | PROT_WRITE, MAP_SHARED, pulse, 0);
	CHECK(state != MAP_FAILED);
	events = (void *)((char *)state + ring.offset);
	fd = claim(pulse, 0);
	/* Else the claim's file gets the events, too, and none is plain. */
	subscribe(fd, 0);
	subscribe(pulse, 1 << LITEPULSE_KIND_TX);
	CHECK(!pthread_create(&thread, NULL, toggle, NULL));
	for (int i = 0; i < LAUNCHES; i++) {
		struct litepulse_launch one = { .tick = tick_now(pulse) + LEAD_NS + i, .tag = i, .kind = LITEPULSE_LAUNCH_FRAME, .data = i };

		ticks[i] = one.tick;
		CHECK(write(fd, &one, sizeof(one)) == sizeof(one));
		if (i % 8 == 7)
			usleep(1000);
	}
	usleep(100000);
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
	enable(0);
	CHECK(state->head == LAUNCHES);
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(events[i].tick == ticks[i] && events[i].data >> 16 == (unsigned int)i && events[i].kind == LITEPULSE_KIND_TX);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats));
	CHECK(stats.offered == LAUNCHES && !stats.lost_host && !stats.lost_events);
	print_file("trace", TRACING "trace");
	close(fd);
	close(pulse);
}

static void watch_state(void)
{
	const struct litepulse_train train = { .period = 1000000, .den = 1, .kind = LITEPULSE_LAUNCH_PULSE, .width = 500,
					       .flags = LITEPULSE_TRAIN_ASAP };
	int pulse = open_device(O_NONBLOCK), fd;
	struct litepulse_stats stats;
	struct litepulse_info info;
	struct stat about;

	CHECK(!stat(STATE, &about) && (about.st_mode & 07777) == 0400);
	print_file("state idle", STATE);
	subscribe(pulse, EVENTS);
	fd = claim(pulse, 0);
	CHECK(!ioctl(fd, LITEPULSE_IOC_TRAIN_START, &train));
	CHECK(launch(fd, tick_now(pulse) + 60000000000ull, 1, 1) > 0);
	put(PARAMETERS "lose", "0");
	usleep(100000);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info) && !ioctl(pulse, LITEPULSE_IOC_STATS, &stats));
	printf("chardev session=0x%04x lost_events=%llu lost_bytes=%llu pid=%d\n", info.session, stats.lost_events, stats.lost_bytes,
	       getpid());
	fflush(stdout);
	print_file("state busy", STATE);
	put(PARAMETERS "reset", "0");
	sleep(3);
	CHECK(!ioctl(pulse, LITEPULSE_IOC_STATS, &stats) && stats.restarts == 1);
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
	fflush(stdout);
	return unused;
}

#define PLUGS 30

static void watch_unbind(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, read_state, NULL));
	for (int i = 0; i < PLUGS; i++) {
		usleep(3000 + 137 * i);
		put(DRIVER "unbind", "litepulse");
		usleep(2000);
		put(DRIVER "bind", "litepulse");
	}
	usleep(5000);
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
}

static const char *port;	/* /dev/ttyS0 */

static int attach(struct board *board)
{
	int fd = attach_port(port);

	CHECK(fd >= 0 && !find_board(strrchr(port, '/') + 1, 20, board));
	return fd;
}

static void detach(int fd)
{
	CHECK(!close(fd) && !wait_gone(strrchr(port, '/') + 1, 20));
}

/* What the link counted. */
static void print_counters(const struct board *board, const char *when)
{
	static const char *const names[] = { "baud", "checked", "packed", "poll_us", "idle_us", "transactions", "repeats", "failures" };
	char text[64];

	printf("sysfs %s", when);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(!read_attribute(board, names[i], text, sizeof(text)));
		printf(" %s=%s", names[i], text);
	}
	printf("\n");
	fflush(stdout);
}

/* Returns when what was under way has been answered. */
static void await_answers(const struct board *board)
{
	char text[64];
	unsigned long begun = 0;

	for (int i = 0; i < 20000; i++) {
		CHECK(!read_attribute(board, "transactions", text, sizeof(text)));
		if (!i)
			begun = strtoul(text, NULL, 10);
		if (strtoul(text, NULL, 10) >= begun + 2)
			return;
		usleep(1000);
	}
	CHECK(!"no answers");
}

#define PULSES 25
#define LEAD_CYCLES 2000000

static void watch_cable(void)
{
	struct board board;
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = 115200 };
	int held = attach(&board), pulse = open_device(O_NONBLOCK), fd = claim(pulse, 0);

	CHECK(!ioctl(fd, LITEPULSE_IOC_PROFILE, &profile));
	subscribe(pulse, EVENTS);
	print_counters(&board, "before");
	enable(1);
	print_counters(&board, "on");
	for (int i = 0; i < PULSES; i++)
		CHECK(launch(fd, tick_now(pulse) + LEAD_CYCLES, i, 1) > 0);
	/* The board has no profile 2. */
	CHECK(launch(fd, tick_now(pulse) + LEAD_CYCLES, PULSES, 2) > 0);
	/* The board goes on while it is asked. */
	for (__u64 end = tick_now(pulse) + 2 * LEAD_CYCLES; tick_now(pulse) < end;)
		usleep(1000);
	usleep(200000);
	print_counters(&board, "still");
	/* A request that is under way has repeats that are counted, but not traced yet. */
	await_answers(&board);
	enable(0);
	print_counters(&board, "off");
	print_file("state", STATE);
	print_counters(&board, "after");
	print_events(pulse);
	print_file("trace", TRACING "trace");
	close(fd);
	close(pulse);
	detach(held);
}

static void watch_unplug(void)
{
	struct board board;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, read_state, NULL));
	for (int i = 0; i < 6; i++) {
		int held = attach(&board);

		usleep(30000 + 7000 * i);
		detach(held);
	}
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "events", watch_events }, { "launches", watch_launches }, { "toggle", watch_toggle },
		{ "state", watch_state }, { "unbind", watch_unbind },
		{ "cable", watch_cable }, { "unplug", watch_unplug },
	};

	CHECK(count >= 2);
	port = words[2];
	CHECK(!mount("trace", "/sys/kernel/tracing", "tracefs", 0, NULL) || errno == EBUSY);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!strcmp(all[i].name, words[1])) {
			all[i].run();
			return 0;
		}
	}
	return 2;
}
