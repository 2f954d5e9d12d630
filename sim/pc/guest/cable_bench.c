// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a board on a cable carries, and what it costs the PC: one case for each kind of figure of
 * sim/pc/cable_bench.py. Each but the first prints `took`: ns that passed, ns of these the CPU was
 * not idle, ns that the driver's thread ran, requests of the driver that were answered, and those
 * that had to be repeated, ns that the board got ahead of the clock here, its own ns.
 */
#include <dirent.h>
#include <glob.h>
#include <stdbool.h>

#include "cases.h"
#include "guest.h"
#include "ports.h"

#define SILENCE_MS	1000	/* after which no more events come, when the board's time is past the last one */
#define OUTCOME_MS	2000	/* after which none of a launch does */
#define TTY_SILENCE_MS	3000	/* after which no more bytes do; the first ones may come late */
#define FIRST_MS	60000
#define START_S		1.0	/* from its setting to a train's begin: a machine may stand still meanwhile */

static void sleep_until(long long ns)
{
	struct timespec until = { ns / NS, ns % NS };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
}

/* Ticks per second. */
static double clock_hz(int fd)
{
	const struct litepulse_info info = info_of(fd);

	return (double)info.tick_num / info.tick_den;
}

/* First number of a file, behind a word; -1: there is none. */
static long long number_in(const char *path, const char *format)
{
	long long value = -1;
	FILE *file = fopen(path, "r");

	if (!file)
		return -1;
	if (fscanf(file, format, &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* ns that the driver's thread has run; 0: there is none. */
static long long thread_ns(void)
{
	static int thread;
	char path[64], name[32] = "";
	struct dirent *entry;
	DIR *folder = thread ? NULL : opendir("/proc");

	while (folder && !thread && (entry = readdir(folder))) {
		int number = atoi(entry->d_name);
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", number);
		file = number ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		if (fscanf(file, "%31s", name) == 1 && !strcmp(name, "litepulse0"))
			thread = number;
		fclose(file);
	}
	if (folder)
		closedir(folder);
	if (!thread)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", thread);
	return number_in(path, "%lld");
}

/* A counter of the link; 0 while there is none. */
static long long link_count(const char *name)
{
	char pattern[128];
	long long value = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/sys/bus/platform/drivers/litepulse/litepulse.*/uartbone/%s", name);
	if (!glob(pattern, 0, NULL, &found) && found.gl_pathc)
		value = number_in(found.gl_pathv[0], "%lld");
	globfree(&found);
	return value;
}

struct moment {
	long long ns, idle, thread, requests, repeats, ahead, board;
};

/* The board's time in ns, and by how many it is ahead of ours, save for a constant; 0 while there is none. */
static void read_board(struct moment *m)
{
	static int fd = -1;
	struct litepulse_time t;

	if (fd < 0)
		fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	t = time_of(fd);
	m->board = t.tick * 1e9 / clock_hz(fd);
	m->ahead = m->board - (long long)t.monotonic;
}

static struct moment moment(void)
{
	struct moment m = { };
	long long hundredths;

	read_board(&m);
	m.thread = thread_ns();
	m.requests = link_count("transactions");
	m.repeats = link_count("repeats");
	hundredths = number_in("/proc/stat", "cpu %*d %*d %*d %lld");
	if (hundredths < 0)
		die("/proc/stat");
	m.idle = hundredths * (NS / sysconf(_SC_CLK_TCK));
	m.ns = ns_of(CLOCK_MONOTONIC);
	return m;
}

static void tell_took(struct moment since, struct moment until)
{
	long long passed = until.ns - since.ns;

	printf("took %lld %lld %lld %lld %lld %lld %lld\n", passed, passed - (until.idle - since.idle), until.thread - since.thread,
	       until.requests - since.requests, until.repeats - since.repeats, until.ahead - since.ahead, until.board - since.board);
}

/* `spin NS NS`: of a million rounds, of ten thousand system calls; the best of several. */
static void case_spin(char **words)
{
	long long rounds = NS, calls = NS;

	for (int turn = 0; turn < 10; turn++) {
		long long begin = ns_of(CLOCK_MONOTONIC);

		for (int i = 0; i < 1000000; i++)
			__asm__ volatile("");
		if (ns_of(CLOCK_MONOTONIC) - begin < rounds)
			rounds = ns_of(CLOCK_MONOTONIC) - begin;
		begin = ns_of(CLOCK_MONOTONIC);
		for (int i = 0; i < 10000; i++)
			if (lseek(0, 0, -1) == 0)
				die("lseek");
		if (ns_of(CLOCK_MONOTONIC) - begin < calls)
			calls = ns_of(CLOCK_MONOTONIC) - begin;
	}
	printf("spin %lld %lld\n", rounds, calls);
}

static void case_idle(char **words)
{
	struct moment since = moment();

	sleep_until(since.ns + atoll(words[0]) * 1000000);
	tell_took(since, moment());
}

/*
 * `got COUNT NS WRONG LOST_BOARD LOST_HOST`, NS from the first edge's tick to when the last was read; `last NS`: from the last edge's tick
 * to that. A frame of 0x55 has an edge at each of its bits, and each frame follows the last one at once, so edges are evenly spaced.
 */
static void case_events(char **words)
{
	static struct litepulse_event events[2048];
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .period = 256 * atoll(words[0]) };
	long long gap = atoll(words[0]), wanted = atoll(words[1]) / 10 * 10, got = 0, wrong = 0, begin, latest;
	int fd = open_device(0), claim = claim_device(fd, LITEPULSE_CLAIM_KEEP, 0);
	struct litepulse_train train = { .period = 10 * gap, .count = wanted / 10, .kind = LITEPULSE_LAUNCH_FRAME, .profile = 1,
					 .data = 0x55 };
	uint64_t tick = 0, seq = 0, end;
	bool ended = false;
	struct moment since, until;
	struct litepulse_stats before, s;
	struct litepulse_time t;

	/* What the board lost is counted since the driver came. */
	before = stats_of(fd);
	subscribe(fd, WANT(KIND(EDGE), NONE, .rise = 1, .fall = 1, .fifo = 65536, .watermark = 256,
			   .timeout_us = 10000));
	if (ioctl(claim, LITEPULSE_IOC_PROFILE, &profile))
		die("profile");
	t = time_of(fd);
	train.start = t.tick + (uint64_t)(START_S * clock_hz(fd));
	end = train.start + train.count * train.period;
	begin = t.monotonic + (long long)(START_S * NS);
	start_train(claim, train);
	/*
	 * The holder of the claim gets the outcome of each frame, too: that would be more events.
	 */
	close(claim);
	if (now(fd) >= train.start)
		die("claim given up too late");
	sleep_until(begin);
	since = moment();
	latest = since.ns;
	while (got < wanted) {
		ssize_t size;

		if (readable(fd, SILENCE_MS) != 1) {
			if (ended)
				break;
			/* On a busy machine a simulated board is late. */
			ended = now(fd) > end;
			continue;
		}
		size = read(fd, events, sizeof(events));
		if (size <= 0)
			die("read");
		for (size_t i = 0; i < size / sizeof(events[0]); i++) {
			if (events[i].kind != LITEPULSE_KIND_EDGE)
				continue;
			/* From one to the next, also over those that were lost. */
			wrong += got && events[i].tick - tick != gap * (events[i].seq - seq);
			tick = events[i].tick;
			seq = events[i].seq;
			got++;
		}
		latest = ns_of(CLOCK_MONOTONIC);
	}
	until = moment();
	t = time_of(fd);
	s = stats_of(fd);
	printf("got %lld %lld %lld %llu %llu\n", got, latest - begin, wrong,
	       (unsigned long long)(s.lost_events - before.lost_events), (unsigned long long)s.lost_host);
	printf("last %lld\n", (long long)((t.tick - tick) * 1e9 / clock_hz(fd)) - ((long long)t.monotonic - latest));
	tell_took(since, until);
	close(fd);
}

/*
 * The outcome of a launch, and when poll() reported it. Return: false if the outcome is unknown, as
 * records were lost: `losses` counts how often.
 */
static bool outcome(int fd, uint16_t tag, struct litepulse_event *event, long long *woken, long long *losses)
{
	long long before = *losses;

	for (;;) {
		if (readable(fd, OUTCOME_MS) != 1) {
			if (*losses == before)
				die("poll");
			return false;
		}
		*woken = ns_of(CLOCK_MONOTONIC);
		if (!take_event(fd, event))
			die("read");
		/* A machine that stood still lets the board's FIFO run over: of the others' events, most likely. */
		if (event->kind == LITEPULSE_KIND_LOST)
			*losses += 1;
		else if (event->data >> 16 == tag)
			return true;
		else
			die("tag");
	}
}

/* `wake NS UNCERTAINTY` of each: from the launch's tick to the return of poll(). `losses COUNT`: how often records were lost. */
static void case_wake(char **words)
{
	long long wanted = atoll(words[0]), train = atoll(words[1]), got = 0, losses = 0;
	int fd = open_device(0), others = open_device(0), claim = claim_device(fd, 0, 0);
	double hz = clock_hz(fd);
	struct litepulse_event event;
	struct litepulse_time t;
	struct moment since;

	subscribe(fd, WANT(KIND(TX) | KIND(REFUSED), NONE, .sources = 1u << LITEPULSE_SRC_QUEUE));
	if (train) {
		subscribe(others, WANT(KIND(TX), NONE, .sources = 1u << LITEPULSE_SRC_TRAIN));
		start_train(claim, PULSES(.period = train, .width = 1));
	}
	srand(1);
	since = moment();
	for (uint16_t tag = 0; got < wanted; tag++) {
		struct litepulse_launch launch = { .kind = LITEPULSE_LAUNCH_PULSE, .width = 1, .tag = tag };
		long long woken, at;

		/*
		 * So far ahead that the driver polls at its longest interval by then, anywhere
		 * between two polls.
		 */
		launch.tick = now(fd) + (uint64_t)(hz * (0.060 + 0.020 * rand() / RAND_MAX));
		if (try_launch(claim, launch)) {
			if (errno != ETIME)
				die("launch");
			continue;
		}
		/* One that met the train at its tick, or came too late, did not happen. */
		if (!outcome(fd, tag, &event, &woken, &losses) || event.kind != LITEPULSE_KIND_TX)
			continue;
		if (event.tick != launch.tick)
			die("tick");
		t = time_of(fd);
		at = t.monotonic - (long long)((t.tick - event.tick) * 1e9 / hz);
		printf("wake %lld %u\n", woken - at, t.uncertainty);
		/* The program that reads this may act at the first line. */
		fflush(stdout);
		got++;
	}
	printf("losses %lld\n", losses);
	tell_took(since, moment());
}

static int open_words(char **words)
{
	return open_raw(words[0], O_NONBLOCK, strtoul(words[1], NULL, 10), 0);
}

static unsigned char byte_at(long long n)
{
	return n * 7;
}

static void drain(int fd)
{
	if (ioctl(fd, TCSBRK, 1))
		die("drain");
}

/* Writes and reads until both are done or nothing comes any more. `got BYTES NS WRONG`, `counts` of the tty. */
static void carry(int fd, long long to_write, long long to_read)
{
	static unsigned char data[4096];
	long long written = 0, got = 0, wrong = 0;
	struct moment since = moment(), until;
	long long latest = since.ns;

	while (written < to_write || got < to_read) {
		struct pollfd p = { .fd = fd, .events = (written < to_write ? POLLOUT : 0) | (got < to_read ? POLLIN : 0) };
		ssize_t size;

		if (poll(&p, 1, got || to_write ? TTY_SILENCE_MS : FIRST_MS) <= 0)
			break;
		if (p.revents & POLLIN) {
			size = read(fd, data, sizeof(data));
			for (ssize_t i = 0; i < size; i++)
				wrong += data[i] != byte_at(got + i);
			/* The first byte begins the time of what others send. */
			if (!got && !to_write)
				since = moment();
			got += size > 0 ? size : 0;
		}
		if (p.revents & POLLOUT) {
			long long part = to_write - written < (long long)sizeof(data) ? to_write - written : (long long)sizeof(data);

			for (long long i = 0; i < part; i++)
				data[i] = byte_at(written + i);
			size = write(fd, data, part);
			written += size > 0 ? size : 0;
		}
		latest = ns_of(CLOCK_MONOTONIC);
	}
	if (!to_read) {
		drain(fd);
		latest = ns_of(CLOCK_MONOTONIC);
	}
	until = moment();
	/* The last byte counts as sent when the board says that all have left: it may have come back before. */
	drain(fd);
	printf("got %lld %lld %lld\n", got, latest - since.ns, wrong);
	if (tell_counts(fd))
		die("counts");
	tell_took(since, until);
}

static void case_send(char **words)
{
	carry(open_words(words), atoll(words[2]), 0);
}

static void case_receive(char **words)
{
	int fd = open_words(words);

	ready("go");
	carry(fd, 0, atoll(words[2]));
}

static void case_loop(char **words)
{
	carry(open_words(words), atoll(words[2]), atoll(words[2]));
}

static const struct guest_case cases[] = {
	{ "spin", .with = case_spin, .what = "a loop, and system calls: how fast this CPU is" },
	{ "idle", .with = case_idle, .words = 1, .what = "MS: lets so much time pass" },
	{ "events", .with = case_events, .words = 2,
	  .what = "GAP COUNT: edges on aux0, one every GAP ticks, by a train of frames" },
	{ "wake", .with = case_wake, .words = 2,
	  .what = "COUNT TRAIN: launches, each waited for; TRAIN: ticks between others' events, or 0" },
	{ "send", .with = case_send, .words = 3,
	  .what = "TTY BAUD BYTES: writes them, until the last has left" },
	{ "receive", .with = case_receive, .words = 3, .what = "TTY BAUD BYTES: reads; `go` before" },
	{ "loop", .with = case_loop, .words = 3, .what = "TTY BAUD BYTES: both, over a wire" },
	{ }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
