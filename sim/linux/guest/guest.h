/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs that run on the simulated machine have in common. They tell what they saw, a line each, and judge
 * nothing: that is for the test, which has the pins beside it.
 */
#ifndef GUEST_H
#define GUEST_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/litepulse.h>

#define DEVICE "/dev/litepulse0"

static inline void die(const char *what)
{
	printf("died %s: %s\n", what, strerror(errno));
	exit(1);
}

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
	case ETIME: return "ETIME";
	case E2BIG: return "E2BIG";
	case EPERM: return "EPERM";
	default: return strerror(error);
	}
}

/* Tells how a call ended: `result LABEL VALUE ERRNO`. */
static inline long tell(const char *label, long value)
{
	printf("result %s %ld %s\n", label, value, name_of(value < 0 ? errno : 0));
	return value;
}

/*
 * How many times as slow as 50 MHz the board's clock is. Waits are longer by that and bauds lower, so that all that is asked for is as
 * many ticks as there, and the same judgement holds.
 */
static int slowness = 1;

static inline int open_device(int flags)
{
	int fd = open(DEVICE, O_RDWR | flags);
	struct litepulse_info info;

	if (fd < 0)
		die(DEVICE);
	if (ioctl(fd, LITEPULSE_IOC_INFO, &info))
		die("info");
	slowness = 50000000ull * info.tick_den / info.tick_num;
	return fd;
}

static inline void subscribe(int fd, struct litepulse_subscribe want)
{
	if (ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want))
		die("subscribe");
}

static inline int claim_device(int fd, unsigned int flags, unsigned int fd_flags)
{
	struct litepulse_claim claim = { .flags = flags, .fd_flags = fd_flags };

	if (ioctl(fd, LITEPULSE_IOC_CLAIM, &claim))
		die("claim");
	return claim.fd;
}

static inline uint64_t now(int fd)
{
	struct litepulse_time t;

	if (ioctl(fd, LITEPULSE_IOC_TIME, &t))
		die("time");
	return t.tick;
}

static inline void set_profile(int claim, int index, unsigned int baud)
{
	struct litepulse_profile profile = { .index = index, .data_bits = 8, .baud = baud / slowness };

	if (ioctl(claim, LITEPULSE_IOC_PROFILE, &profile))
		die("profile");
	printf("profile %d %u %llu\n", index, profile.baud * slowness, (unsigned long long)profile.period);
}

/* `event KIND SOURCE TICK SEQ DATA FLAGS COUNT NS` */
static inline void tell_event(const struct litepulse_event *e)
{
	printf("event %u %u %llu %llu %u %u %llu %llu\n", e->kind, e->source, (unsigned long long)e->tick,
	       (unsigned long long)e->seq, e->data, e->flags, (unsigned long long)e->count, (unsigned long long)e->ns);
}

/* Reads once and tells all; returns the number of records, or -1. */
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

/* Until nothing came for `ms`. */
static inline void read_all(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, ms * slowness) > 0 && read_events(fd) > 0)
		;
}

/* Tells the simulator's stimulus that it may go on: it waits for this line. */
static inline void ready(const char *what)
{
	printf("ready %s\n", what);
	fflush(stdout);
}

static inline void sleep_ms(int ms)
{
	struct timespec t = { ms * slowness / 1000, ms * slowness % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static inline void tell_stats(int fd)
{
	struct litepulse_stats s;

	if (ioctl(fd, LITEPULSE_IOC_STATS, &s))
		die("stats");
	printf("stats %llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)s.offered, (unsigned long long)s.delivered,
	       (unsigned long long)s.queued, (unsigned long long)s.lost_host, (unsigned long long)s.lost_events,
	       (unsigned long long)s.lost_bytes, (unsigned long long)s.restarts);
}

#endif /* GUEST_H */
