// SPDX-License-Identifier: BSD-2-Clause
/*
 * 58 pulses a second of a better clock than the board's: a hardware train that follows a reference, such as the PPS of a GPS
 * receiver, on one of the board's inputs. At each edge of the reference the program works out how long a second really was in
 * ticks, and where the pulse that belongs to this edge should have been. It corrects period and phase while the train runs.
 *
 *	p1_disciplined [DEVICE [PULSES [INPUT [RATE]]]]
 *
 * default: /dev/litepulse0, forever, input 0, 1 edge a second; RATE divides 58. `PULSE ERROR` is printed per edge, in ticks.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/litepulse.h>

#define HZ 58

static const char *path = "/dev/litepulse0";
static int device;
static struct litepulse_claim claim = { .flags = LITEPULSE_CLAIM_KEEP, .fd_flags = O_CLOEXEC };
static struct litepulse_info info;
static unsigned int input, rate = 1;
static uint64_t left[64];	/* ticks at which the last pulses left, by their number */
static int64_t newest = -1;	/* number of the last one */

static void next_record(int fd, struct litepulse_event *event)
{
	if (read(fd, event, sizeof(*event)) != sizeof(*event))
		err(2, "%s", path);
	if (event->kind == LITEPULSE_KIND_LOST || event->kind == LITEPULSE_KIND_RESTARTED)
		errx(2, "%s: records are missing, or the board was reset", path);
}

/* Reads outcomes of the train; 0 when it has ended. */
static int read_outcome(void)
{
	struct litepulse_event event;

	next_record(claim.fd, &event);
	if (event.kind == LITEPULSE_KIND_TX && event.source == LITEPULSE_SRC_TRAIN) {
		newest = event.data;
		left[newest % 64] = event.tick;
	}
	return event.kind != LITEPULSE_KIND_TRAIN_DONE;
}

/* The tick of the reference's next edge, to the sample; 0: the train has ended before. */
static uint64_t next_edge(void)
{
	for (;;) {
		struct pollfd wait[] = { { device, POLLIN, 0 }, { claim.fd, POLLIN, 0 } };
		struct litepulse_event event;

		if (poll(wait, 2, -1) < 0)
			err(2, "%s", path);
		if (wait[1].revents && !read_outcome())
			return 0;
		if (wait[0].revents) {
			next_record(device, &event);
			return event.tick + __builtin_ctz(event.data >> (input * info.samples) & ((1u << info.samples) - 1));
		}
	}
}

int main(int argc, char **argv)
{
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = 9600 };
	struct litepulse_train train = { .kind = LITEPULSE_LAUNCH_FRAME, .profile = 1, .data = 0xff, .den = HZ };
	struct litepulse_subscribe wish = { .kinds = 1u << LITEPULSE_KIND_EDGE, .clock = LITEPULSE_CLOCK_NONE };
	struct litepulse_keep end = { .flags = 0 };	/* what we start ends with our claim */
	struct litepulse_status status;
	uint64_t before, edge;
	int64_t step = 0;

	path = argc > 1 ? argv[1] : path;
	train.count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	input = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	rate = argc > 4 ? strtoul(argv[4], NULL, 0) : 1;
	if (!rate || HZ % rate)
		errx(2, "RATE: 1, 2, 29 or 58 edges a second");
	wish.rise = 1u << input;
	device = open(path, O_RDWR | O_CLOEXEC);
	if (device < 0 || ioctl(device, LITEPULSE_IOC_INFO, &info) || ioctl(device, LITEPULSE_IOC_SUBSCRIBE, &wish) ||
	    ioctl(device, LITEPULSE_IOC_CLAIM, &claim) || ioctl(claim.fd, LITEPULSE_IOC_STATUS, &status))
		err(2, "%s", path);
	/* What another program left running with KEEP would have our profile, and end with our claim. */
	if (status.flags)
		errx(2, "%s: what another program started goes on; 'litepulse stop' ends it", path);
	if (ioctl(claim.fd, LITEPULSE_IOC_KEEP, &end) || ioctl(claim.fd, LITEPULSE_IOC_PROFILE, &profile))
		err(2, "%s", path);

	/* Two edges tell how long a second is. Pulse 0 leaves at the next one, wherever that will be exactly. */
	before = next_edge();
	edge = next_edge();
	train.start = 2 * edge - before;
	train.period = (edge - before) * rate / HZ;
	train.num = (edge - before) * rate % HZ;
	if (ioctl(claim.fd, LITEPULSE_IOC_TRAIN_START, &train))
		err(2, "train");

	for (int64_t pulse = 0;; pulse += HZ / rate) {
		struct litepulse_train_adjust change = { .den = HZ };

		before = edge;
		edge = next_edge();
		while (edge && newest < pulse)
			if (!read_outcome())
				edge = 0;
		if (!edge)
			return 0;
		printf("%lld %lld\n", (long long)pulse, (long long)(left[pulse % 64] - edge));
		/*
		 * From the second pulse behind this edge on, all are to be where the edge and the
		 * new period want them: what this pulse missed is one part of the step, what the
		 * pulse between the two has of the old period the other.
		 */
		change.period = (edge - before) * rate / HZ;
		change.num = (edge - before) * rate % HZ;
		change.at_pulse = pulse + 2;
		step = (int64_t)edge - (int64_t)left[pulse % 64] + (int64_t)change.period - (int64_t)train.period;
		change.step = step;
		train.period = change.period;
		if (ioctl(claim.fd, LITEPULSE_IOC_TRAIN_ADJUST, &change))
			warn("pulse %lld", (long long)pulse + 2);
	}
}
