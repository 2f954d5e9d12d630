// SPDX-License-Identifier: BSD-2-Clause
/*
 * Four pulses behind each rising edge of input 0, as for a camera: the first 2 ms after the edge, the next ones 10 ms
 * apart, each 1 ms long. The board answers by itself, exactly; this program only listens.
 *
 *	burst [DEVICE [EDGES]]	default: /dev/litepulse0, forever
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/litepulse.h>

#define PULSES 4

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/litepulse0";
	uint64_t left = argc > 2 ? strtoull(argv[2], NULL, 0) : UINT64_MAX;
	/* INVERT: from 0 to 1 and back. The bit rate is for bytes alone, but a profile has one. */
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .flags = LITEPULSE_PROFILE_INVERT, .baud = 9600 };
	struct litepulse_claim claim = { .flags = LITEPULSE_CLAIM_KEEP, .fd_flags = O_CLOEXEC };
	struct litepulse_responder burst = {
		.trigger = LITEPULSE_TRIGGER_EDGE, .channel = 0, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1,
		.flags = LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_REARM | LITEPULSE_RESPONDER_PULSES(PULSES),
	};
	struct litepulse_rest rest = { .level = LITEPULSE_REST_LOW };	/* till our claim ends */
	struct litepulse_keep end = { .flags = 0 };	/* what we start ends with our claim */
	struct litepulse_status status;
	struct litepulse_event event;
	struct litepulse_info info;
	uint32_t ms;
	int device = open(path, O_RDWR | O_CLOEXEC);

	if (device < 0 || ioctl(device, LITEPULSE_IOC_INFO, &info) || ioctl(device, LITEPULSE_IOC_CLAIM, &claim) ||
	    ioctl(claim.fd, LITEPULSE_IOC_STATUS, &status))
		err(2, "%s", path);
	/* What another program left running with KEEP would have our profile, and end with our claim. */
	if (status.flags)
		errx(2, "%s: what another program started goes on; 'litepulse stop' ends it", path);
	if (ioctl(claim.fd, LITEPULSE_IOC_KEEP, &end) || ioctl(claim.fd, LITEPULSE_IOC_PROFILE, &profile) ||
	    ioctl(claim.fd, LITEPULSE_IOC_REST, &rest))
		err(2, "%s", path);

	ms = info.tick_num / info.tick_den / 1000;	/* ticks */
	burst.delay = 2 * ms;
	burst.holdoff = 10 * ms;	/* from pulse to pulse, and after the last one until an edge counts again */
	burst.width = ms;
	if (ioctl(claim.fd, LITEPULSE_IOC_RESPONDER, &burst))
		err(2, "responder");

	while (left) {
		if (read(claim.fd, &event, sizeof(event)) != sizeof(event))
			err(2, "event");
		if (event.kind != LITEPULSE_KIND_TX && event.kind != LITEPULSE_KIND_RESPONDER_MISSED)
			continue;
		printf("pulse %u %s tick %llu\n", event.data >> 16, event.kind == LITEPULSE_KIND_TX ? "left at" : "was missed at",
		       (unsigned long long)event.tick);
		fflush(stdout);
		left -= event.data >> 16 == PULSES - 1;
	}
	return 0;
}
