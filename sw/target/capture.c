// SPDX-License-Identifier: BSD-2-Clause
/* litepulse-capture: edges and received bytes with the tick of each. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "device.h"

static const char help[] =
	"Usage: litepulse-capture [options]\n"
	"Edges of inputs, and received bytes, each with the tick of the first sample that shows it.\n"
	"Prints lines: tick, ns of the clock, what (a channel, or rx for a byte), its level or byte, flags.\n\n"
	"  -i, --inputs LIST      channels, like 0,2,line; default: all, unless --bytes is given\n"
	"  -e, --edges WHICH      rise, fall or both, the default\n"
	"  -y, --bytes            bytes that the line receives, in the format of the tty\n"
	"  -F, --filter N         ignore levels shorter than N samples, 1 to 63\n"
	"  -c, --count N          end after N edges and bytes; default: Ctrl-C\n"
	"  -t, --time CLOCK       monotonic (default), realtime, tai, phc, none\n"
	DEVICE_HELP
	"Exit status: 0 nothing was lost; 1 something was, and was reported; 2 bad input or no device\n";

struct record {
	uint64_t written;
	struct losses lost;
};

static unsigned int channels_option(const struct device *device, char *list)
{
	unsigned int channels = 0;
	char *rest = list, *name;

	while ((name = strsep(&rest, ","))) {
		if (!strcmp(name, "line"))
			channels |= 1u << device->info.inputs;
		else if (!device->info.inputs)
			fail("inputs: '%s': this device has none but the line", name);
		else
			channels |= 1u << whole_option("inputs", name, 0, device->info.inputs - 1);
	}
	return channels;
}

static uint32_t clock_option(const char *name)
{
	static const char *const clocks[] = {
		[LITEPULSE_CLOCK_MONOTONIC] = "monotonic", [LITEPULSE_CLOCK_REALTIME] = "realtime", [LITEPULSE_CLOCK_TAI] = "tai",
		[LITEPULSE_CLOCK_PHC] = "phc", [LITEPULSE_CLOCK_NONE] = "none",
	};

	for (uint32_t clock = 0; clock < sizeof(clocks) / sizeof(*clocks); clock++) {
		if (!strcmp(clocks[clock], name))
			return clock;
	}
	fail("time: there is no clock '%s'", name);
}

static void print_time(const struct litepulse_event *event, unsigned int sample, uint64_t sample_ns)
{
	printf("%llu ", (unsigned long long)(event->tick + sample));
	if (event->flags & LITEPULSE_FLAG_NS)
		printf("%llu ", (unsigned long long)(event->ns + sample_ns));
	else
		printf("- ");
}

static void print_edges(const struct device *device, const struct litepulse_event *event, struct record *record, uint64_t limit)
{
	unsigned int levels = event->data >> 16, changes = event->data & 0xffff, samples = device->info.samples;

	for (unsigned int sample = 0; sample < samples; sample++) {
		for (unsigned int channel = 0; channel <= device->info.inputs && record->written < limit; channel++) {
			unsigned int bit = 1u << (channel * samples + sample);

			if (!(changes & bit))
				continue;
			print_time(event, sample, ticks_to_ns(device, sample));
			if (channel < device->info.inputs)
				printf("%u", channel);
			else
				printf("line");
			printf(" %d %s\n", !!(levels & bit), event->flags & LITEPULSE_EVENT_FLAG_FILTERED ? "filtered" : "-");
			record->written++;
		}
	}
}

static void print_byte(const struct litepulse_event *event)
{
	static const struct {
		unsigned int flag;
		const char *name;
	} names[] = {
		{ LITEPULSE_RX_PARITY, "parity" }, { LITEPULSE_RX_FRAMING, "framing" }, { LITEPULSE_RX_BREAK, "break" },
		{ LITEPULSE_RX_OWN, "own" }, { LITEPULSE_RX_NOISE, "noise" },
	};
	const char *separator = "";

	print_time(event, 0, 0);
	printf("rx %u ", event->data & 0xff);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (event->flags & names[i].flag) {
			printf("%s%s", separator, names[i].name);
			separator = ",";
		}
	}
	puts(*separator ? "" : "-");
}

static void take(const struct device *device, const struct litepulse_event *event, struct record *record, uint64_t limit)
{
	struct losses one = { 0 };

	switch (event->kind) {
	case LITEPULSE_KIND_EDGE:
		print_edges(device, event, record, limit);
		return;
	case LITEPULSE_KIND_RX:
		print_byte(event);
		record->written++;
		return;
	case LITEPULSE_KIND_LOST:
		count_lost(&one, event);
		printf("## lost by %s: %s %s from tick %llu on\n", event->flags & LITEPULSE_FLAG_HARDWARE ? "the board" : "this program",
		       lost_text(&one), event->source == LITEPULSE_SRC_RECEIVER ? "bytes" : "events",
		       (unsigned long long)event->tick);
		count_lost(&record->lost, event);
		return;
	case LITEPULSE_KIND_RESTARTED:
		printf("## the board was reset: ticks begin again\n");
		return;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "inputs", required_argument, NULL, 'i' }, { "edges", required_argument, NULL, 'e' },
		{ "bytes", no_argument, NULL, 'y' }, { "filter", required_argument, NULL, 'F' },
		{ "count", required_argument, NULL, 'c' }, { "time", required_argument, NULL, 't' }, DEVICE_OPTIONS, { }
	};
	const char *path = DEFAULT_DEVICE, *edges = "both", *filter = NULL;
	struct litepulse_subscribe want = { .clock = LITEPULSE_CLOCK_MONOTONIC };
	struct litepulse_event events[32];
	struct record record = { };
	uint64_t limit = UINT64_MAX;
	unsigned int channels, count;
	char *inputs = NULL;
	struct device device;
	bool bytes = false;
	int option;

	while ((option = getopt_long(argc, argv, "i:e:yF:c:t:d:h", options, NULL)) != -1) {
		switch (option) {
		case 'i': inputs = optarg; break;
		case 'e': edges = optarg; break;
		case 'y': bytes = true; break;
		case 'F': filter = optarg; break;
		case 'c': limit = whole_option("count", optarg, 1, UINT64_MAX); break;
		case 't': want.clock = clock_option(optarg); break;
		case 'd': path = optarg; break;
		case 'h': show_help(help);
		default: fail_usage();
		}
	}
	if (optind < argc)
		fail("'%s': no argument is wanted here", argv[optind]);
	if (strcmp(edges, "rise") && strcmp(edges, "fall") && strcmp(edges, "both"))
		fail("edges: '%s' is neither rise, fall nor both", edges);
	device = open_device(path);
	if (inputs)
		channels = channels_option(&device, inputs);
	else
		channels = bytes ? 0 : (2u << device.info.inputs) - 1;
	want.rise = strcmp(edges, "fall") ? channels : 0;
	want.fall = strcmp(edges, "rise") ? channels : 0;
	want.kinds = (channels ? 1u << LITEPULSE_KIND_EDGE : 0) | (bytes ? 1u << LITEPULSE_KIND_RX : 0);
	if (filter) {
		want.filter = whole_option("filter", filter, 1, 63);
		want.filtered = channels;
	}
	catch_signals();
	if (ioctl(device.fd, LITEPULSE_IOC_SUBSCRIBE, &want)) {
		if (errno == EBUSY)
			fail("filter: another program has an input with another filter");
		if (errno == EOPNOTSUPP)
			fail("time: this device has no such clock");
		fail_errno("subscribe");
	}
	printf("# tick ns what value flags\n");
	finish_output();
	while (record.written < limit && !interrupted()) {
		if (!wait_readable(device.fd, -1))
			continue;
		count = read_events(device.fd, events, sizeof(events) / sizeof(*events));
		for (unsigned int i = 0; i < count && record.written < limit; i++)
			take(&device, &events[i], &record, limit);
		finish_output();
	}
	fprintf(stderr, "%llu edges and bytes, %s records lost\n", (unsigned long long)record.written, lost_text(&record.lost));
	return record.lost.count > 0;
}
