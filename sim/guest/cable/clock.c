/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the driver says of the board's clock and ours, again and again, for a test that knows
 * better: `time TICK RAW_BEFORE RAW_AFTER UNCERTAINTY` for readings of LITEPULSE_IOC_TIME, and
 * `event TICK NS UNCERTAINTY` for pulses of a train; CLOCK_MONOTONIC_RAW and CLOCK_MONOTONIC, which
 * go alike here, as nothing adjusts them.
 */
#include "board.h"
#include "cases.h"
#include "clocks.h"

static void run(char **words)
{
	int fd = attach(words[0]), pulse = open_pulse(), claim;
	const struct litepulse_info info = info_of(pulse);
	struct litepulse_event event;
	struct litepulse_time time;

	set_nonblocking(pulse);
	subscribe(pulse, WANT(KIND(TX), MONOTONIC, .fifo = 8192));
	claim = claim_device(pulse, 0, O_CLOEXEC);
	start_train(claim, PULSES(.period = info.tick_num / info.tick_den / 20, .width = 10));
	for (double end = seconds() + atof(words[1]); seconds() < end; usleep(100000)) {
		time = time_of(pulse);
		printf("time %llu %llu %llu %u\n", time.tick, time.raw_before, time.raw_after,
		       time.uncertainty);
		while (take_event(pulse, &event)) {
			CHECK(event.kind == LITEPULSE_KIND_TX && event.flags & LITEPULSE_FLAG_NS);
			printf("event %llu %llu %u\n", event.tick, event.ns, event.uncertainty);
		}
	}
	CHECK(!close(claim) && !close(pulse));
	detach(fd, words[0]);
}

static const struct guest_case cases[] = {
	{ "run", .with = run, .words = 2, .what = "PORT SECONDS" }, { }
};

int main(int count, char **words)
{
	return run_case(cases, count, words);
}
