// SPDX-License-Identifier: BSD-2-Clause
/* Two cores of one chip, /dev/litepulse0 and /dev/litepulse1: edges that both see, and trains that begin at one tick. */
#include "guest.h"

#define CORES 2
#define AHEAD 3000000 /* ticks: more than the calls in between take */

static int devices[CORES];

/* `time A B C`: of the first core before and after that of the second. */
static void tell_times(void)
{
	uint64_t before = now(devices[0]), other = now(devices[1]), after = now(devices[0]);

	printf("time %llu %llu %llu\n", (unsigned long long)before, (unsigned long long)other, (unsigned long long)after);
}

int main(void)
{
	struct litepulse_train trains[CORES] = {
		{ .period = 1000, .den = 1, .count = 5, .width = 100, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 },
		{ .period = 862, .num = 2, .den = 29, .count = 8, .width = 77, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 },
	};
	int claims[CORES];
	uint64_t start;

	for (int k = 0; k < CORES; k++) {
		devices[k] = open_numbered("litepulse", k, O_RDWR);
		if (devices[k] < 0)
			die("litepulse");
	}
	for (int k = 0; k < 5; k++)
		tell_times();
	for (int k = 0; k < CORES; k++)
		subscribe(devices[k], (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 0xf, .fall = 0xf });
	ready("edges");
	for (int k = 0; k < CORES; k++) {
		printf("core %d\n", k);
		read_all(devices[k], 30);
	}
	for (int k = 0; k < CORES; k++) {
		claims[k] = claim_device(devices[k], 0, 0);
		set_profile(claims[k], 1, 9600);
	}
	start = now(devices[1]) + AHEAD;
	printf("start %llu\n", (unsigned long long)start);
	for (int k = 0; k < CORES; k++) {
		trains[k].start = start;
		tell("train", ioctl(claims[k], LITEPULSE_IOC_TRAIN_START, &trains[k]));
	}
	for (int k = 0; k < CORES; k++) {
		printf("train %d\n", k);
		read_all(claims[k], 100);
	}
	printf("end\n");
	return 0;
}
