/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls to /dev/litepulseN that must succeed, unless their name begins with "try". */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>
#include <sys/ioctl.h>

#include <linux/litepulse.h>

#include "files.h"

#define DEVICE "/dev/litepulse0"
#define KIND(name) (1u << LITEPULSE_KIND_##name)

/* A subscription: WANT(KIND(RX), PHC, .fifo = 64). */
#define WANT(kinds_, clock_, ...) \
	((struct litepulse_subscribe){ .kinds = (kinds_), .clock = LITEPULSE_CLOCK_##clock_, \
				       __VA_ARGS__ })

#define LAUNCH(...) ((struct litepulse_launch){ __VA_ARGS__ })
#define WAIT(...) LAUNCH(.kind = LITEPULSE_LAUNCH_WAIT, __VA_ARGS__)

/* A train of pulses from now on: PULSES(.period = 1000, .width = 5). */
#define PULSES(...) \
	((struct litepulse_train){ .kind = LITEPULSE_LAUNCH_PULSE, .flags = LITEPULSE_TRAIN_ASAP, \
				   __VA_ARGS__ })

/* A responder that answers edges with pulses. What a caller names is so instead. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define PULSE_ANSWER(...) \
	((struct litepulse_responder){ .trigger = LITEPULSE_TRIGGER_EDGE, \
				       .kind = LITEPULSE_LAUNCH_PULSE, __VA_ARGS__ })

static inline void subscribe(int fd, struct litepulse_subscribe want)
{
	if (ioctl(fd, LITEPULSE_IOC_SUBSCRIBE, &want))
		die("subscribe");
}

/* The file of a claim, or -1 with errno. */
static inline int try_claim(int fd, struct litepulse_claim wanted)
{
	return ioctl(fd, LITEPULSE_IOC_CLAIM, &wanted) ? -1 : wanted.fd;
}

static inline int claim_device(int fd, unsigned int flags, unsigned int fd_flags)
{
	int claim = try_claim(fd, (struct litepulse_claim){ .flags = flags, .fd_flags = fd_flags });

	if (claim < 0)
		die("claim");
	return claim;
}

#define ANSWER_OF(name, NAME) \
	static inline struct litepulse_##name name##_of(int fd) \
	{ \
		struct litepulse_##name answer; \
 \
		if (ioctl(fd, LITEPULSE_IOC_##NAME, &answer)) \
			die(#name); \
		return answer; \
	}

ANSWER_OF(info, INFO)
ANSWER_OF(stats, STATS)
ANSWER_OF(status, STATUS)
ANSWER_OF(time, TIME)

static inline uint64_t now(int fd)
{
	return time_of(fd).tick;
}

static inline int train_runs(int fd)
{
	return !!(status_of(fd).flags & LITEPULSE_STATUS_TRAIN);
}

static inline int try_train(int claim, struct litepulse_train train)
{
	return ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train);
}

static inline void start_train(int claim, struct litepulse_train train)
{
	if (try_train(claim, train))
		die("train");
}

/* Returns how many pulses it had. */
static inline unsigned int stop_train(int claim)
{
	struct litepulse_train_stop stop = { 0 };

	if (ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop))
		die("stop");
	return stop.pulses;
}

static inline int try_launch(int claim, struct litepulse_launch launch)
{
	ssize_t size = write(claim, &launch, sizeof(launch));

	return size == sizeof(launch) ? 0 : -1;
}

/* Writes them all, each time as many as there is room for. */
static inline void launch_all(int claim, const struct litepulse_launch *list, size_t count)
{
	for (size_t size = count * sizeof(*list), done = 0; done < size;) {
		ssize_t part = write(claim, (const char *)list + done, size - done);

		CHECK(part > 0 && part % sizeof(*list) == 0);
		done += part;
	}
}

static inline int take_event(int fd, struct litepulse_event *event)
{
	return read(fd, event, sizeof(*event)) == sizeof(*event);
}

static inline struct litepulse_event next_event(int fd, int kind, const char *file, int line,
						const char *what)
{
	struct litepulse_event event;

	if (!take_event(fd, &event) || event.kind != kind)
		not_so(file, line, what);
	return event;
}

/* The next event of a file, which must be of this kind: NEXT(fd, RX). */
#define NEXT(fd, name) \
	next_event(fd, LITEPULSE_KIND_##name, __FILE__, __LINE__, "the next event is " #name)

/* Launches them all: each happens once, at its tick, and is reported once. */
static inline void launch_and_take(int claim, const struct litepulse_launch *list, int count)
{
	launch_all(claim, list, count);
	for (int i = 0; i < count; i++) {
		const struct litepulse_event event = NEXT(claim, TX);

		CHECK(event.source == LITEPULSE_SRC_QUEUE && event.tick == list[i].tick);
		CHECK(event.data >> 16 == list[i].tag);
	}
}

#endif /* DEVICE_H */
