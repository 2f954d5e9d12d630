// SPDX-License-Identifier: BSD-2-Clause
/* What the programs have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

#define NS 1000000000ull

/* --- errors and signals --- */

static void complain(const char *format, va_list arguments, const char *reason)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "%s%s\n", reason ? ": " : "", reason ? reason : "");
}

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(format, arguments, NULL);
	exit(2);
}

void fail_errno(const char *format, ...)
{
	const char *reason = strerror(errno);
	va_list arguments;

	va_start(arguments, format);
	complain(format, arguments, reason);
	exit(2);
}

void fail_usage(void)
{
	exit(2);
}

void show_help(const char *text)
{
	fputs(text, stdout);
	finish_output();
	exit(0);
}

void finish_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		fail_errno("output");
}

static volatile sig_atomic_t signalled;
static sigset_t open_signals;

static void note_signal(int signal)
{
	signalled = signal;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

void catch_signals(void)
{
	struct sigaction action = { .sa_handler = note_signal };
	sigset_t ours;

	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaddset(&ours, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
	/* They arrive in wait_readable() only, so none is missed between a look at the flag and the wait. */
	sigprocmask(SIG_BLOCK, &ours, &open_signals);
}

bool interrupted(void)
{
	sigset_t pending;

	/* A file that is always readable lets none of them in. */
	if (!signalled && !sigpending(&pending)) {
		for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
			if (sigismember(&pending, signals[i]))
				signalled = signals[i];
		}
	}
	return signalled;
}

bool wait_readable(int fd, int timeout_ms)
{
	struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	struct pollfd file = { .fd = fd, .events = POLLIN };
	int ready;

	do {
		ready = ppoll(&file, 1, timeout_ms < 0 ? NULL : &time, &open_signals);
		if (ready < 0 && errno != EINTR)
			fail_errno("poll");
	} while (ready < 0 && !signalled);
	return ready > 0;
}

/* --- the device --- */

struct device open_device(const char *path)
{
	struct device device = { .claim = -1 };

	/* A claim and a filter need a file that can be written; to look needs none. */
	device.fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (device.fd < 0 && errno == EACCES)
		device.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (device.fd < 0)
		fail_errno("%s", path);
	if (ioctl(device.fd, LITEPULSE_IOC_INFO, &device.info)) {
		if (errno == ENOTTY || errno == EINVAL)
			fail("%s: this is no LitePulse device", path);
		fail_errno("%s", path);
	}
	if (!ratio_divide((struct ratio){ device.info.tick_num, 1 }, (struct ratio){ device.info.tick_den, 1 }, &device.tick_hz))
		fail("%s: it has no clock", path);
	return device;
}

uint32_t claim_device(struct device *device, bool keep)
{
	struct litepulse_claim claim = { .flags = LITEPULSE_CLAIM_KEEP, .fd_flags = O_CLOEXEC | O_NONBLOCK };
	struct litepulse_keep change = { };
	struct litepulse_status status;

	if (ioctl(device->fd, LITEPULSE_IOC_CLAIM, &claim)) {
		if (errno == EBUSY)
			fail("another program (or the PTP clock's periodic output) has the device");
		fail_errno("claim");
	}
	device->claim = claim.fd;
	if (ioctl(device->claim, LITEPULSE_IOC_STATUS, &status))
		fail_errno("status");
	if (!status.flags && !keep && ioctl(device->claim, LITEPULSE_IOC_KEEP, &change))
		fail_errno("claim");
	return status.flags;
}

unsigned int read_events(int fd, struct litepulse_event *events, unsigned int count)
{
	ssize_t size = read(fd, events, count * sizeof(*events));

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (size < 0)
		fail_errno("the device");
	return size / sizeof(*events);
}

/* --- options --- */

void count_lost(struct losses *losses, const struct litepulse_event *event)
{
	losses->count += event->count;
	losses->at_least |= !!(event->flags & LITEPULSE_FLAG_AT_LEAST);
}

const char *lost_text(const struct losses *losses)
{
	static char text[40];

	snprintf(text, sizeof(text), "%s%llu", losses->at_least ? "at least " : "", (unsigned long long)losses->count);
	return text;
}

uint64_t whole_option(const char *name, const char *text, uint64_t low, uint64_t high)
{
	uint64_t value;

	if (!parse_whole(text, low, high, &value))
		fail("%s: '%s' is no whole number from %llu to %llu", name, text, (unsigned long long)low, (unsigned long long)high);
	return value;
}

struct ratio rate_option(const char *name, const char *text)
{
	struct ratio hz;

	if (!ratio_parse_rate(text, &hz))
		fail("%s: '%s' is no rate, like 58, 617/10 or 44.1k", name, text);
	return hz;
}

struct ratio ticks_option(const struct device *device, const char *name, const char *text)
{
	struct ratio ticks;

	if (!ratio_parse_ticks(text, device->tick_hz, &ticks))
		fail("%s: '%s' is no time, like 10us, 1/58 or 500t, or it does not fit", name, text);
	return ticks;
}

uint64_t nearest_ticks_option(const struct device *device, const char *name, const char *text, uint64_t low, uint64_t high)
{
	uint64_t whole = ratio_nearest(ticks_option(device, name, text));

	if (whole < low || whole > high)
		fail("%s: %s is %llu ticks, it must be %llu to %llu", name, text, (unsigned long long)whole,
		     (unsigned long long)low, (unsigned long long)high);
	return whole;
}

uint64_t moment_option(const struct device *device, const char *name, const char *text)
{
	struct litepulse_time now;
	uint64_t ticks;

	if (*text != '+')
		return whole_option(name, text, 0, UINT64_MAX);
	ticks = nearest_ticks_option(device, name, text + 1, 0, UINT64_MAX / 2);
	if (ioctl(device->fd, LITEPULSE_IOC_TIME, &now))
		fail_errno("the device's time");
	return now.tick + ticks;
}

struct litepulse_profile default_profile(void)
{
	/* No index: not chosen yet. */
	return (struct litepulse_profile){ .data_bits = 8 };
}

void format_option(const char *text, struct litepulse_profile *profile)
{
	static const char parities[] = "NOEMS";
	static const char *const stops[] = { "1", "1.5", "2" };
	const char *parity = text[0] ? strchr(parities, text[1]) : NULL;
	size_t length = strlen(text);
	bool invert = length && text[length - 1] == 'i';

	if (text[0] >= '5' && text[0] <= '8' && text[1] && parity) {
		for (unsigned int stop = 0; stop < sizeof(stops) / sizeof(*stops); stop++) {
			if (length - 2 - invert == strlen(stops[stop]) && !strncmp(text + 2, stops[stop], strlen(stops[stop]))) {
				profile->data_bits = text[0] - '0';
				profile->parity = parity - parities;
				profile->stop = stop;
				profile->flags = invert ? LITEPULSE_PROFILE_INVERT : 0;
				return;
			}
		}
	}
	fail("format: '%s' is none, like 8N1, 7E2 or 5N1.5", text);
}

/* Another program may rely on the profile: the driver would change it all the same. It names that of a train only. */
static void check_kept(const struct device *device, uint32_t running, bool chosen, unsigned int index)
{
	const char *what = running & LITEPULSE_STATUS_RESPONDER ? "a responder" : "a list of launches";
	struct litepulse_train train;

	if (running & LITEPULSE_STATUS_TRAIN) {
		if (ioctl(device->fd, LITEPULSE_IOC_TRAIN, &train)) {
			what = "a train";
		} else {
			if (train.profile == index)
				fail("a train that was kept goes on, and uses line profile %u: --profile chooses another", index);
			running &= ~LITEPULSE_STATUS_TRAIN;
		}
	}
	if (!chosen && running & (LITEPULSE_STATUS_TRAIN | LITEPULSE_STATUS_RESPONDER | LITEPULSE_STATUS_QUEUE))
		fail("%s that was kept goes on, and may use line profile %u: --profile chooses another", what, index);
}

void set_profile(const struct device *device, struct litepulse_profile *profile, const char *baud, uint32_t running)
{
	bool chosen = profile->index;
	struct litepulse_rest rest = { 0 };
	struct ratio bit;

	/* In 2^-8 ticks. */
	if (!ratio_divide(device->tick_hz, rate_option("baud", baud), &bit) ||
	    !ratio_multiply(bit, (struct ratio){ 256, 1 }, &bit))
		fail("baud: %s does not fit", baud);
	if (!chosen)
		profile->index = 1;
	check_kept(device, running, chosen, profile->index);
	profile->baud = 0;
	profile->period = ratio_nearest(bit);
	if (ioctl(device->claim, LITEPULSE_IOC_PROFILE, profile)) {
		if (errno == EINVAL)
			fail("baud: the core cannot do %s", baud);
		fail_errno("profile");
	}
	rest.level = profile->flags & LITEPULSE_PROFILE_INVERT ? LITEPULSE_REST_LOW : LITEPULSE_REST_HIGH;
	if (ioctl(device->claim, LITEPULSE_IOC_REST, &rest))
		fail_errno("the line's level at rest");
}

/* --- messages --- */

const char *reason_text(const struct litepulse_event *event)
{
	switch (event->flags & 0xff) {
	case LITEPULSE_REASON_LATE:
		return "late";
	case LITEPULSE_REASON_BUSY:
		return "busy";
	case LITEPULSE_REASON_ORDER:
		return "order";
	default:
		return "invalid";
	}
}

uint64_t ticks_to_ns(const struct device *device, uint64_t ticks)
{
	struct ratio seconds, rest;

	if (!ratio_divide((struct ratio){ ticks, 1 }, device->tick_hz, &seconds))
		fail("%llu ticks do not fit", (unsigned long long)ticks);
	rest = (struct ratio){ seconds.num % seconds.den, seconds.den };
	if (!ratio_multiply(rest, (struct ratio){ NS, 1 }, &rest))
		fail("%llu ticks do not fit", (unsigned long long)ticks);
	return seconds.num / seconds.den * NS + rest.num / rest.den;
}
