// SPDX-License-Identifier: BSD-2-Clause
/* litepulse-send: bytes as timed launches, each at its tick or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"

/* Launches prepared at a time; the rest of the file is read when they are on their way. */
#define BATCH 64

static const char help[] =
	"Usage: litepulse-send --every TIME | --rate RATE [--at WHEN] [options] [FILE]\n"
	"Byte k of FILE (or of standard input) leaves at start + floor(k * period), or not at all.\n"
	"Prints a line for each: number, tick, what became of it.\n\n"
	"  -e, --every TIME       from each byte to the next\n"
	"  -r, --rate RATE        or bytes per second\n"
	"  -a, --at WHEN          tick of the first, or +TIME from now, the default being +10ms\n"
	LAUNCH_HELP DEVICE_HELP "\n" NUMBERS_HELP
	"Exit status: 0 all left; 1 some were refused, as reported; 2 bad input or no device\n";

struct record {
	uint32_t next;		/* number of the byte whose outcome comes next */
	uint32_t launched;
	uint32_t refused;
	struct losses lost;
};

/*
 * The tag is the low half of the number: outcomes come in order, and fewer than 2^16 are on their
 * way.
 */
static void take(struct record *record, const struct litepulse_event *event)
{
	switch (event->kind) {
	case LITEPULSE_KIND_TX:
	case LITEPULSE_KIND_REFUSED:
		if (event->source != LITEPULSE_SRC_QUEUE)
			return;
		record->next += (uint16_t)((event->data >> 16) - record->next);
		if (event->kind == LITEPULSE_KIND_TX)
			record->launched++;
		else
			record->refused++;
		printf("%u %llu %s\n", record->next++, (unsigned long long)event->tick,
		       event->kind == LITEPULSE_KIND_TX ? "launched" : reason_text(event));
		return;
	case LITEPULSE_KIND_LOST:
		count_lost(&record->lost, event);
		return;
	case LITEPULSE_KIND_RESTARTED:
		fail("the board was reset");
	}
}

static void take_all(const struct device *device, struct record *record)
{
	struct litepulse_event events[32];
	unsigned int count;

	while ((count = read_events(device->claim, events, sizeof(events) / sizeof(*events)))) {
		for (unsigned int i = 0; i < count; i++)
			take(record, &events[i]);
		finish_output();
	}
}

/* Writes launches as the queue has room; meanwhile outcomes are read. False: interrupted. */
static bool write_all(const struct device *device, struct record *record, const struct litepulse_launch *launches, size_t count)
{
	while (count && !interrupted()) {
		ssize_t size = write(device->claim, launches, count * sizeof(*launches));

		if (size < 0 && errno == ETIME)
			fail("byte %u: its tick %llu has passed; a later --at or a longer --every is needed", launches->tag,
			     (unsigned long long)launches->tick);
		if (size < 0 && errno != EAGAIN && errno != EINTR)
			fail_errno("launch");
		if (size > 0) {
			launches += size / sizeof(*launches);
			count -= size / sizeof(*launches);
		} else {
			/* Room comes with an outcome. */
			wait_readable(device->claim, -1);
		}
		take_all(device, record);
	}
	return !count;
}

/* Some bytes; 0 at the end or when interrupted. */
static size_t read_batch(int fd, unsigned char *bytes)
{
	ssize_t size = wait_readable(fd, -1) ? read(fd, bytes, BATCH) : 0;

	if (size < 0)
		fail_errno("input");
	return size;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every", required_argument, NULL, 'e' }, { "rate", required_argument, NULL, 'r' },
		{ "at", required_argument, NULL, 'a' }, LAUNCH_OPTIONS, DEVICE_OPTIONS, { }
	};
	const char *path = DEFAULT_DEVICE, *every = NULL, *rate = NULL, *at = "+10ms", *baud = "9600";
	struct litepulse_profile profile = default_profile();
	struct litepulse_launch launches[BATCH];
	unsigned char bytes[BATCH];
	struct record record = { };
	uint32_t number = 0;
	struct period period;
	struct ratio ticks;
	struct device device;
	int option, fd = STDIN_FILENO;
	uint64_t start;
	size_t count;

	while ((option = getopt_long(argc, argv, "e:r:a:b:f:P:d:h", options, NULL)) != -1) {
		switch (option) {
		case 'e': every = optarg; break;
		case 'r': rate = optarg; break;
		case 'a': at = optarg; break;
		case 'b': baud = optarg; break;
		case 'f': format_option(optarg, &profile); break;
		case 'P': profile.index = whole_option("profile", optarg, 1, 3); break;
		case 'd': path = optarg; break;
		case 'h': show_help(help);
		default: fail_usage();
		}
	}
	if (argc - optind > 1)
		fail("'%s': one file only", argv[optind + 1]);
	if (!every == !rate)
		fail("--every or --rate is wanted");
	if (optind < argc && strcmp(argv[optind], "-")) {
		fd = open(argv[optind], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fail_errno("%s", argv[optind]);
	}
	device = open_device(path);
	if (every)
		ticks = ticks_option(&device, "every", every);
	else if (!ratio_divide(device.tick_hz, rate_option("rate", rate), &ticks))
		fail("rate: %s does not fit", rate);
	if (!ratio_to_period(ticks, &period))
		fail("%s: %llu/%llu ticks do not fit", every ? "every" : "rate", (unsigned long long)ticks.num,
		     (unsigned long long)ticks.den);
	catch_signals();
	set_profile(&device, &profile, baud, claim_device(&device, false));
	count = read_batch(fd, bytes);
	start = moment_option(&device, "at", at);
	printf("# byte tick outcome\n");
	while (count) {
		for (size_t i = 0; i < count; i++, number++) {
			launches[i] = (struct litepulse_launch){
				.tick = start + period_times(period, number), .tag = number, .profile = profile.index,
				.data = bytes[i],
			};
		}
		if (!write_all(&device, &record, launches, count))
			break;
		count = read_batch(fd, bytes);
	}
	while (record.launched + record.refused + record.lost.count < number && !interrupted()) {
		if (wait_readable(device.claim, -1))
			take_all(&device, &record);
	}
	/* Something that was kept before keeps the queue, too. */
	if (interrupted() && ioctl(device.claim, LITEPULSE_IOC_FLUSH))
		fail_errno("flush");
	finish_output();
	fprintf(stderr, "%u launched, %u refused, %s records lost\n", record.launched, record.refused,
		lost_text(&record.lost));
	return record.refused || record.lost.count || interrupted();
}
