/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs have in common: their errors, the device, options for what is put on the line. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/litepulse.h>

#include "quantity.h"

#define DEFAULT_DEVICE "/dev/litepulse0"

/* Options that every program has, and those that say what is launched. */
#define DEVICE_OPTIONS { "device", required_argument, NULL, 'd' }, { "help", no_argument, NULL, 'h' }
#define LAUNCH_OPTIONS { "baud", required_argument, NULL, 'b' }, { "format", required_argument, NULL, 'f' }, \
		       { "profile", required_argument, NULL, 'P' }
#define DEVICE_HELP "  -d, --device PATH      default " DEFAULT_DEVICE "\n  -h, --help\n"
#define LAUNCH_HELP \
	"  -b, --baud RATE        of bytes and breaks, default 9600\n" \
	"  -f, --format 8N1       data bits 5 to 8, parity N O E M S, stop bits 1 1.5 2; a trailing i inverts\n" \
	"      --profile N        line profile to use, 1 to 3, default 1, unless a kept train or responder may use it\n"
#define NUMBERS_HELP \
	"Rates: 58, 61.7, 617/10, 44.1k, 1M/7. Times: 10us, 1.5ms, 1/58 (seconds), 24000000/29t (ticks). All exact.\n"

struct device {
	int fd;
	int claim;		/* -1: not claimed */
	struct litepulse_info info;
	struct ratio tick_hz;
};

/* Ends the program with one line and status 2. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with the reason of errno. */
_Noreturn void fail_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* After getopt_long() has printed what is wrong. */
_Noreturn void fail_usage(void);
_Noreturn void show_help(const char *text);
/* A full disk or a closed pipe must not look like success. */
void finish_output(void);

/* From now on SIGINT, SIGTERM and a closed pipe end what waits in wait_readable(); then true. */
void catch_signals(void);
bool interrupted(void);
/*
 * Waits until the file has something to read, timeout_ms at most; false: interrupted, or the time
 * is over. -1: forever.
 */
bool wait_readable(int fd, int timeout_ms);

struct device open_device(const char *path);
/* Answer: LITEPULSE_STATUS_* of what an earlier claim kept, which goes on when this one ends; so does what is to come, if keep. */
uint32_t claim_device(struct device *device, bool keep);
/*
 * Events that have come, at most as many as given; 0 if none. The device's end is reported by
 * fail().
 */
unsigned int read_events(int fd, struct litepulse_event *events, unsigned int count);

/* What LOST events say. */
struct losses {
	uint64_t count;
	bool at_least;		/* the board stopped counting: more were lost */
};

void count_lost(struct losses *losses, const struct litepulse_event *event);
/* "5" or "at least 5". Overwritten by the next call. */
const char *lost_text(const struct losses *losses);

uint64_t whole_option(const char *name, const char *text, uint64_t low, uint64_t high);
struct ratio rate_option(const char *name, const char *text);
struct ratio ticks_option(const struct device *device, const char *name, const char *text);
/* To the nearest tick; at least low. */
uint64_t nearest_ticks_option(const struct device *device, const char *name, const char *text, uint64_t low, uint64_t high);
/* A tick, or with a leading + a time from now on. */
uint64_t moment_option(const struct device *device, const char *name, const char *text);

struct litepulse_profile default_profile(void);
void format_option(const char *text, struct litepulse_profile *profile);
/* Sets it to the nearest bit period. running: answer of claim_device(); who may rely on the profile is not disturbed, see fail(). */
void set_profile(const struct device *device, struct litepulse_profile *profile, const char *baud, uint32_t running);

const char *reason_text(const struct litepulse_event *event);
/* Ticks in ns, rounded down. */
uint64_t ticks_to_ns(const struct device *device, uint64_t ticks);

#endif
