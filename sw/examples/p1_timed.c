// SPDX-License-Identifier: BSD-2-Clause
/*
 * 58 pulses a second as timed launches: this program says in advance at which tick each byte is to
 * leave, and it leaves then, exactly, or not at all. The program only has to keep the queue filled.
 *
 *	p1_timed [DEVICE [PULSES]]	default: /dev/litepulse0, forever
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/litepulse.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/litepulse0";
	uint64_t pulses = argc > 2 ? strtoull(argv[2], NULL, 0) : UINT64_MAX;
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = 9600 };
	struct litepulse_claim claim = { .flags = LITEPULSE_CLAIM_KEEP, .fd_flags = O_CLOEXEC };
	struct litepulse_event outcome;
	struct litepulse_keep end = { .flags = 0 };	/* what we start ends with our claim */
	struct litepulse_status status;
	struct litepulse_info info;
	struct litepulse_time now;
	uint64_t written = 0, reported = 0;
	int device = open(path, O_RDWR | O_CLOEXEC);

	/* How long is a tick? The claim makes us the one who may launch; it has a file of its own. */
	if (device < 0 || ioctl(device, LITEPULSE_IOC_INFO, &info) || ioctl(device, LITEPULSE_IOC_CLAIM, &claim) ||
	    ioctl(claim.fd, LITEPULSE_IOC_STATUS, &status))
		err(2, "%s", path);
	/* What another program left running with KEEP would have our profile, and end with our claim. */
	if (status.flags)
		errx(2, "%s: what another program started goes on; 'litepulse stop' ends it", path);
	if (ioctl(claim.fd, LITEPULSE_IOC_KEEP, &end) || ioctl(claim.fd, LITEPULSE_IOC_PROFILE, &profile) ||
	    ioctl(device, LITEPULSE_IOC_TIME, &now))
		err(2, "%s", path);

	/* At most 16 ahead: then the outcomes of all fit into the file's FIFO, whatever happens to this program. */
	while (reported < pulses) {
		while (written < pulses && written < reported + 16) {
			struct litepulse_launch launch = {
				/* 10 ms from the beginning, then every 1/58 s: rounded down for each, so that nothing adds up. */
				.tick = now.tick + info.tick_num / info.tick_den / 100 + written * info.tick_num / (58ull * info.tick_den),
				.kind = LITEPULSE_LAUNCH_FRAME, .profile = 1, .data = 0xff, .tag = written,
			};

			if (write(claim.fd, &launch, sizeof(launch)) != sizeof(launch))
				err(2, "launch");
			written++;
		}
		/* What became of the oldest: waits for it. */
		if (read(claim.fd, &outcome, sizeof(outcome)) != sizeof(outcome))
			err(2, "outcome");
		if (outcome.kind == LITEPULSE_KIND_TX)
			printf("%llu left at tick %llu\n", (unsigned long long)reported, (unsigned long long)outcome.tick);
		else
			printf("%llu did not leave\n", (unsigned long long)reported);
		reported++;
	}
	return 0;
}
