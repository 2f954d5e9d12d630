/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the driver says of the board's clock and ours, again and again, for somebody who knows better.
 *
 *   clock run PORT SECONDS
 *
 * Prints `time TICK RAW_BEFORE RAW_AFTER UNCERTAINTY` for readings of LITEPULSE_IOC_TIME, and `event TICK NS UNCERTAINTY` for pulses of
 * a train; CLOCK_MONOTONIC_RAW and CLOCK_MONOTONIC, which go alike here, as nobody adjusts them.
 */
#include "cable.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void run(const char *port, double seconds)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_TX, .fifo = 8192, .clock = LITEPULSE_CLOCK_MONOTONIC };
	struct litepulse_train pulses = { .kind = LITEPULSE_LAUNCH_PULSE, .width = 10, .flags = LITEPULSE_TRAIN_ASAP };
	struct litepulse_claim claim = { .fd_flags = O_CLOEXEC };
	struct litepulse_event event;
	struct litepulse_time time;
	struct litepulse_info info;
	struct board board;
	int fd = attach_port(port), pulse;

	CHECK(fd >= 0);
	CHECK(!find_board(strrchr(port, '/') + 1, 20, &board));
	pulse = open_pulse(&board);
	CHECK(pulse >= 0 && !fcntl(pulse, F_SETFL, O_NONBLOCK));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_INFO, &info));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_SUBSCRIBE, &want));
	CHECK(!ioctl(pulse, LITEPULSE_IOC_CLAIM, &claim));
	pulses.period = info.tick_num / info.tick_den / 20;
	CHECK(!ioctl(claim.fd, LITEPULSE_IOC_TRAIN_START, &pulses));
	for (double end = now() + seconds; now() < end; usleep(100000)) {
		CHECK(!ioctl(pulse, LITEPULSE_IOC_TIME, &time));
		printf("time %llu %llu %llu %u\n", (unsigned long long)time.tick, (unsigned long long)time.raw_before,
		       (unsigned long long)time.raw_after, time.uncertainty);
		while (read(pulse, &event, sizeof(event)) == sizeof(event)) {
			CHECK(event.kind == LITEPULSE_KIND_TX && event.flags & LITEPULSE_FLAG_NS);
			printf("event %llu %llu %u\n", (unsigned long long)event.tick, (unsigned long long)event.ns, event.uncertainty);
		}
	}
	CHECK(!close(claim.fd) && !close(pulse) && !close(fd));
	CHECK(!wait_gone(strrchr(port, '/') + 1, 20));
}

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(count == 4 && !strcmp(words[1], "run"));
	run(words[2], atof(words[3]));
	return 0;
}
