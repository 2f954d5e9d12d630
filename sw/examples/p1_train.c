// SPDX-License-Identifier: BSD-2-Clause
/*
 * 58 pulses a second from the hardware: a train keeps any rational rate by itself, forever, without drift, and this
 * program only listens. It could as well end: see LITEPULSE_CLAIM_KEEP.
 *
 *	p1_train [DEVICE [PULSES]]	default: /dev/litepulse0, forever
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/litepulse.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/litepulse0";
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = 9600 };
	struct litepulse_claim claim = { .flags = LITEPULSE_CLAIM_KEEP, .fd_flags = O_CLOEXEC };
	struct litepulse_train train = {
		.kind = LITEPULSE_LAUNCH_FRAME, .profile = 1, .data = 0xff, .flags = LITEPULSE_TRAIN_ASAP,
		.count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0,
	};
	struct litepulse_event event;
	struct litepulse_keep end = { .flags = 0 };	/* what we start ends with our claim */
	struct litepulse_status status;
	struct litepulse_info info;
	int device = open(path, O_RDWR | O_CLOEXEC);

	if (device < 0 || ioctl(device, LITEPULSE_IOC_INFO, &info) || ioctl(device, LITEPULSE_IOC_CLAIM, &claim) ||
	    ioctl(claim.fd, LITEPULSE_IOC_STATUS, &status))
		err(2, "%s", path);
	/* What another program left running with KEEP would have our profile, and end with our claim. */
	if (status.flags)
		errx(2, "%s: what another program started goes on; 'litepulse stop' ends it", path);
	if (ioctl(claim.fd, LITEPULSE_IOC_KEEP, &end) || ioctl(claim.fd, LITEPULSE_IOC_PROFILE, &profile))
		err(2, "%s", path);

	/* The period of 58 Hz in ticks is a fraction, and stays one: 50 MHz / 58 = 862068 + 56/58 ticks. */
	train.den = 58 * info.tick_den;
	train.period = info.tick_num / train.den;
	train.num = info.tick_num % train.den;
	if (ioctl(claim.fd, LITEPULSE_IOC_TRAIN_START, &train))
		err(2, "train");

	/* The train goes on whether we read this or not; it ends when the claim does, so when this program does. */
	do {
		if (read(claim.fd, &event, sizeof(event)) != sizeof(event))
			err(2, "event");
		if (event.kind == LITEPULSE_KIND_TX)
			printf("%u left at tick %llu\n", event.data, (unsigned long long)event.tick);
	} while (event.kind != LITEPULSE_KIND_TRAIN_DONE);
	return 0;
}
