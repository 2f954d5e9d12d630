/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that report what they saw, a line each, and judge nothing: that is for the test, which
 * has the pins beside it.
 */
#ifndef GUEST_H
#define GUEST_H

#include <signal.h>
#include <sys/time.h>

#include "clocks.h"
#include "device.h"

/* The name of an errno as a test expects it; 0 for none. */
static inline const char *name_of(int error)
{
	switch (error) {
	case 0: return "0";
	case EAGAIN: return "EAGAIN";
	case EBADF: return "EBADF";
	case EBUSY: return "EBUSY";
	case EFAULT: return "EFAULT";
	case EINVAL: return "EINVAL";
	case EINTR: return "EINTR";
	case EIO: return "EIO";
	case ENODEV: return "ENODEV";
	case ENOTTY: return "ENOTTY";
	case EOPNOTSUPP: return "EOPNOTSUPP";
	case ESTALE: return "ESTALE";
	case ENOENT: return "ENOENT";
	case ETIME: return "ETIME";
	case E2BIG: return "E2BIG";
	case EPERM: return "EPERM";
	case ERANGE: return "ERANGE";
	default: return strerror(error);
	}
}

/* Prints how a call ended: `result LABEL VALUE ERRNO`. */
static inline long tell(const char *label, long value)
{
	printf("result %s %ld %s\n", label, value, name_of(value < 0 ? errno : 0));
	return value;
}

/*
 * How many times as slow as 50 MHz the board's clock is. Bauds are lower by that, and waits take as
 * many ticks as there: so the same judgement holds. The board says what time it is: a busy PC
 * simulates it slower than it says.
 */
static int slowness = 1;
static int the_board = -1;

static inline void know_clock(int fd)
{
	const struct litepulse_info info = info_of(fd);

	if (info.tick_num / info.tick_den < 50000000)
		slowness = 50000000ull * info.tick_den / info.tick_num;
	if (slowness > 1 && the_board < 0)
		the_board = open(DEVICE, O_RDWR | O_CLOEXEC);
}

static inline int open_device(int flags)
{
	int fd = open(DEVICE, O_RDWR | flags);

	if (fd < 0)
		die(DEVICE);
	know_clock(fd);
	return fd;
}

static inline void set_profile(int claim, int index, unsigned int baud)
{
	struct litepulse_profile profile = {
		.index = index, .data_bits = 8, .baud = baud / slowness,
	};

	if (ioctl(claim, LITEPULSE_IOC_PROFILE, &profile))
		die("profile");
	printf("profile %d %u %llu\n", index, profile.baud * slowness,
	       (unsigned long long)profile.period);
}

/* `event KIND SOURCE TICK SEQ DATA FLAGS COUNT NS` */
static inline void tell_event(const struct litepulse_event *e)
{
	printf("event %u %u %llu %llu %u %u %llu %llu\n", e->kind, e->source,
	       (unsigned long long)e->tick, (unsigned long long)e->seq, e->data, e->flags,
	       (unsigned long long)e->count, (unsigned long long)e->ns);
}

/* Reads once and prints all; returns the number of records, or -1. */
static inline int read_events(int fd)
{
	static struct litepulse_event events[256];
	ssize_t size = read(fd, events, sizeof(events));

	if (size < 0)
		return tell("read", -1);
	for (size_t i = 0; i < size / sizeof(events[0]); i++)
		tell_event(&events[i]);
	return size / sizeof(events[0]);
}

/* As poll() of one file, by the board's time unless that is the machine's. */
static inline int await(struct pollfd *p, long long us)
{
	struct litepulse_time t;
	uint64_t until = 0;
	int found;

	if (slowness == 1 || us <= 0)
		return poll(p, 1, us / 1000);
	for (;;) {
		if (ioctl(the_board, LITEPULSE_IOC_TIME, &t))
			return poll(p, 1, 0);
		if (!until)
			until = t.tick + us * 50;
		if (t.tick >= until)
			return poll(p, 1, 0);
		found = poll(p, 1, 1 + (int)((until - t.tick) * slowness / 50000));
		if (found)
			return found;
	}
}

static inline void sleep_us(long long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000L };
	struct pollfd none = { .fd = -1 };

	if (slowness == 1)
		while (nanosleep(&t, &t) && errno == EINTR)
			;
	else
		await(&none, us);
}

static inline void sleep_ms(int ms)
{
	sleep_us(ms * 1000LL);
}

/* read() ends with EINTR then: what does not come is lost. */
static inline void give_up_after(long ms)
{
	struct itimerval t = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	sigaction(SIGALRM, &(struct sigaction) { .sa_handler = ignore_signal }, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* Until nothing came for `ms`. */
static inline void read_all(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (await(&p, ms * 1000LL) > 0 && read_events(fd) > 0)
		;
}

/* Lets the simulator's stimulus go on: it waits for this line. */
static inline void ready(const char *what)
{
	printf("ready %s\n", what);
	fflush(stdout);
}

static inline void tell_stats(int fd)
{
	const struct litepulse_stats s = stats_of(fd);

	printf("stats %llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)s.offered,
	       (unsigned long long)s.delivered, (unsigned long long)s.queued,
	       (unsigned long long)s.lost_host, (unsigned long long)s.lost_events,
	       (unsigned long long)s.lost_bytes, (unsigned long long)s.restarts);
}

#endif /* GUEST_H */
