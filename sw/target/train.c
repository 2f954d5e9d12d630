// SPDX-License-Identifier: BSD-2-Clause
/* litepulse-train: starts a hardware pulse train, follows it, compares each pulse with its exact place; changes and stops what was kept. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "device.h"

static const char help[] =
	"Usage: litepulse-train --rate RATE | --period TIME [what] [options]\n"
	"       litepulse-train --adjust --rate RATE | --period TIME [--step TIME] [--at-pulse N] [-d PATH]\n"
	"       litepulse-train --stop [-d PATH]\n"
	"Pulse k leaves at start + floor(k * period), whatever this computer does. Prints a line for each:\n"
	"number, tick, ticks since the one before, ticks from its exact place. Ctrl-C stops the train.\n\n"
	"  -r, --rate RATE        pulses per second\n"
	"  -p, --period TIME      or the time from each to the next\n"
	"  -x, --byte B           a UART frame of this byte, default 0xff\n"
	"  -w, --width TIME       or a pulse of the active level, to the nearest tick\n"
	"      --break BITS       or a break, 1 to 255 bit times\n"
	"  -c, --count N          pulses; 0, the default: until stopped\n"
	"  -s, --start WHEN       tick of the first, or +TIME from now; default: as soon as possible\n"
	"  -k, --keep             start it and leave it running\n"
	"  -q, --quiet            no line per pulse\n"
	"      --adjust           change the rate of a train that was kept, without a glitch\n"
	"      --step TIME        ... and move it by that, to the nearest tick; -TIME: earlier\n"
	"      --at-pulse N       ... from this pulse on; default: as early as possible\n"
	"      --stop             stop a train that was kept\n"
	LAUNCH_HELP DEVICE_HELP "\n" NUMBERS_HELP
	"Exit status: 0 all pulses left and were where they belong; 1 not so; 2 bad input or no device\n";

enum { BREAK = 256, ADJUST, STEP, AT_PULSE, STOP };

/* What has been seen of the train. */
struct record {
	uint32_t launched;
	uint32_t refused;
	struct losses lost;
	uint32_t wrong;		/* not at their place */
	bool started;
	uint64_t start;		/* place of pulse 0 */
	uint64_t last;
	bool done;
};

static struct period period_option(const struct device *device, const char *rate, const char *period)
{
	struct ratio ticks;
	struct period result;

	if (period)
		ticks = ticks_option(device, "period", period);
	else if (!ratio_divide(device->tick_hz, rate_option("rate", rate), &ticks))
		fail("rate: %s does not fit", rate);
	if (!ratio_to_period(ticks, &result))
		fail("%s: %llu/%llu ticks do not fit, which is below 2^32 with a denominator of at most 2^32", rate ? "rate" : "period",
		     (unsigned long long)ticks.num, (unsigned long long)ticks.den);
	return result;
}

static void take(struct record *record, const struct litepulse_event *event, struct period period, bool quiet)
{
	switch (event->kind) {
	case LITEPULSE_KIND_TX:
		if (event->source != LITEPULSE_SRC_TRAIN)
			return;
		if (!record->started) {
			record->started = true;
			record->start = event->tick - period_times(period, event->data);
			record->last = event->tick;
		}
		record->launched++;
		record->wrong += event->tick != record->start + period_times(period, event->data);
		if (!quiet) {
			printf("%u %llu %llu %lld\n", event->data, (unsigned long long)event->tick,
			       (unsigned long long)(event->tick - record->last),
			       (long long)(event->tick - record->start - period_times(period, event->data)));
		}
		record->last = event->tick;
		return;
	case LITEPULSE_KIND_REFUSED:
		if (event->source != LITEPULSE_SRC_TRAIN)
			return;
		record->refused++;
		if (!quiet)
			printf("## pulse %u refused: %s\n", event->data, reason_text(event));
		return;
	case LITEPULSE_KIND_TRAIN_DONE:
		record->done = true;
		return;
	case LITEPULSE_KIND_LOST:
		count_lost(&record->lost, event);
		return;
	case LITEPULSE_KIND_RESTARTED:
		fail("the board was reset: the train has stopped");
	}
}

static void take_all(const struct device *device, struct record *record, struct period period, bool quiet)
{
	struct litepulse_event events[32];
	unsigned int count;

	while ((count = read_events(device->claim, events, sizeof(events) / sizeof(*events)))) {
		for (unsigned int i = 0; i < count; i++)
			take(record, &events[i], period, quiet);
	}
	finish_output();
}

static void stop(const struct device *device)
{
	struct litepulse_train_stop stop = { };

	if (ioctl(device->claim, LITEPULSE_IOC_TRAIN_STOP, &stop))
		fail_errno("stop");
	fprintf(stderr, "stopped before pulse %u\n", stop.pulses);
}

static bool runs(const struct device *device)
{
	struct litepulse_status status;

	if (ioctl(device->fd, LITEPULSE_IOC_STATUS, &status))
		fail_errno("status");
	return status.flags & LITEPULSE_STATUS_TRAIN;
}

static int follow(const struct device *device, struct period period, uint64_t start, bool quiet)
{
	struct record record = { .started = start, .start = start, .last = start };

	if (!quiet)
		printf("# pulse tick dt_ticks error_ticks\n");
	while (!record.done && !interrupted()) {
		/* That it is done may be among the records that were lost. */
		if (!wait_readable(device->claim, 1000))
			record.done = !runs(device);
		take_all(device, &record, period, quiet);
	}
	if (!record.done) {
		stop(device);
		take_all(device, &record, period, quiet);
	}
	finish_output();
	fprintf(stderr, "%u launched, %u refused, %s records lost, %u not at start + floor(k * period)\n", record.launched,
		record.refused, lost_text(&record.lost), record.wrong);
	return record.refused || record.lost.count || record.wrong;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rate", required_argument, NULL, 'r' }, { "period", required_argument, NULL, 'p' },
		{ "byte", required_argument, NULL, 'x' }, { "width", required_argument, NULL, 'w' },
		{ "break", required_argument, NULL, BREAK }, { "count", required_argument, NULL, 'c' },
		{ "start", required_argument, NULL, 's' }, { "keep", no_argument, NULL, 'k' },
		{ "quiet", no_argument, NULL, 'q' }, { "adjust", no_argument, NULL, ADJUST },
		{ "step", required_argument, NULL, STEP }, { "at-pulse", required_argument, NULL, AT_PULSE },
		{ "stop", no_argument, NULL, STOP }, LAUNCH_OPTIONS, DEVICE_OPTIONS, { }
	};
	const char *path = DEFAULT_DEVICE, *rate = NULL, *period = NULL, *byte = NULL, *width = NULL, *space = NULL, *start = NULL;
	const char *baud = "9600", *step = NULL, *at_pulse = NULL, *count = NULL;
	struct litepulse_profile profile = default_profile();
	struct litepulse_train train = { .data = 0xff };
	bool keep = false, quiet = false, adjust = false, end = false;
	struct period exact;
	struct device device;
	uint32_t running;
	int option;

	while ((option = getopt_long(argc, argv, "r:p:x:w:c:s:kqb:f:P:d:h", options, NULL)) != -1) {
		switch (option) {
		case 'r': rate = optarg; break;
		case 'p': period = optarg; break;
		case 'x': byte = optarg; break;
		case 'w': width = optarg; break;
		case BREAK: space = optarg; break;
		case 'c': count = optarg; break;
		case 's': start = optarg; break;
		case 'k': keep = true; break;
		case 'q': quiet = true; break;
		case ADJUST: adjust = true; break;
		case STEP: step = optarg; break;
		case AT_PULSE: at_pulse = optarg; break;
		case STOP: end = true; break;
		case 'b': baud = optarg; break;
		case 'f': format_option(optarg, &profile); break;
		case 'P': profile.index = whole_option("profile", optarg, 1, 3); break;
		case 'd': path = optarg; break;
		case 'h': show_help(help);
		default: fail_usage();
		}
	}
	if (optind < argc)
		fail("'%s': no argument is wanted here", argv[optind]);
	if (adjust + end > 1 || ((adjust || end) && (byte || width || space || count || start || keep)) || (end && (rate || period)))
		fail("--adjust and --stop go with neither each other nor with what is launched");
	if (!adjust && (step || at_pulse))
		fail("--step and --at-pulse go with --adjust only");
	if (!end && !rate == !period)
		fail("a rate or a period is wanted: --rate or --period");
	if (!!byte + !!width + !!space > 1)
		fail("--byte, --width, --break: one of them");
	device = open_device(path);

	if (end) {
		claim_device(&device, false);
		stop(&device);
		return 0;
	}
	exact = period_option(&device, rate, period);
	if (adjust) {
		struct litepulse_train_adjust change = { .period = exact.whole, .num = exact.num, .den = exact.den };

		if (step) {
			bool earlier = *step == '-';
			int64_t ticks = nearest_ticks_option(&device, "step", step + earlier, 0, INT32_MAX);

			change.step = earlier ? -ticks : ticks;
		}
		if (at_pulse)
			change.at_pulse = whole_option("at-pulse", at_pulse, 1, UINT32_MAX);
		claim_device(&device, true);
		if (ioctl(device.claim, LITEPULSE_IOC_TRAIN_ADJUST, &change))
			fail_errno("adjust");
		return 0;
	}

	if (byte)
		train.data = whole_option("byte", byte, 0, 255);
	if (width) {
		train.kind = LITEPULSE_LAUNCH_PULSE;
		train.data = 0;
		train.width = nearest_ticks_option(&device, "width", width, 1, UINT32_MAX);
	}
	if (space) {
		train.kind = LITEPULSE_LAUNCH_BREAK;
		train.data = whole_option("break", space, 1, 255);
	}
	if (count)
		train.count = whole_option("count", count, 0, UINT32_MAX);
	train.period = exact.whole;
	train.num = exact.num;
	train.den = exact.den;
	catch_signals();
	running = claim_device(&device, keep);
	if (running & LITEPULSE_STATUS_TRAIN)
		fail("a train runs already, which was kept; --stop ends it");
	set_profile(&device, &profile, baud, running);
	train.profile = profile.index;
	if (start)
		train.start = moment_option(&device, "start", start);
	else
		train.flags = LITEPULSE_TRAIN_ASAP;
	if (ioctl(device.claim, LITEPULSE_IOC_TRAIN_START, &train)) {
		if (errno == EINVAL)
			fail("the core has no such train: its period is too short");
		fail_errno("start");
	}
	return keep ? 0 : follow(&device, exact, train.start, quiet);
}
