// SPDX-License-Identifier: BSD-2-Clause
/*
 * A cycle of 1000 us whose n-th period is nudged by (7 n mod 11) - 5 us, n from 1 on.
 *
 *	cycle sleep TTY COUNT	sleeps until absolute times with a real-time priority, and writes a byte at each
 *	cycle timed COUNT	launches pulses, up to 56 ahead, and between two looks sleeps for 1 to 30 cycles
 */
#include "guest.h"
#include "load.h"
#include "ports.h"

static long nudge(long n)
{
	return n ? 7 * n % 11 - 5 : 0;
}

static void case_sleep(char **argv)
{
	int tty = open_serial(argv[0], "115200");
	long count = strtol(argv[1], NULL, 0);
	struct sched_param priority = { .sched_priority = 80 };
	long long ns;

	/* musl's own sched_setscheduler() refuses. */
	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &priority) || mlockall(MCL_CURRENT | MCL_FUTURE))
		die("real-time priority and locked memory");
	ns = ns_of(CLOCK_MONOTONIC) + NS / 100;
	for (long n = 0; n < count; n++) {
		struct timespec until;

		if (n)
			ns += 1000 * (1000 + nudge(n));
		until = (struct timespec) { .tv_sec = ns / NS, .tv_nsec = ns % NS };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (write(tty, "\xff", 1) != 1)
			die("write");
	}
	ioctl(tty, TCSBRK, 1);
}

static void case_timed(char **argv)
{
	int device = open_device(0), claim = claim_device(device, 0, 0);
	long count = strtol(argv[0], NULL, 0), sent = 0, reported = 0;
	struct litepulse_launch launch = { .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1, .width = 500 };
	struct litepulse_event outcome;

	set_profile(claim, 1, 115200);
	launch.tick = now(device) + 1000000;
	while (reported < count) {
		for (; sent < count && sent < reported + 56; sent++) {
			if (sent)
				launch.tick += 50 * (1000 + nudge(sent));
			launch.tag = sent;
			if (write(claim, &launch, sizeof(launch)) != sizeof(launch))
				die("launch");
		}
		sleep_ms(1 + sent * 37 % 30);
		do {
			if (read(claim, &outcome, sizeof(outcome)) != sizeof(outcome))
				die("outcome");
			if (outcome.kind != LITEPULSE_KIND_TX)
				die("a launch was refused");
			reported++;
		} while (reported < sent && readable(claim, 0) == 1);
	}
}

static const struct guest_case cases[] = {
	{ "sleep", .with = case_sleep, .words = 2 }, { "timed", .with = case_timed, .words = 1 },
	{ }
};

int main(int argc, char **argv)
{
	return run_loaded(cases, argc, argv);
}
