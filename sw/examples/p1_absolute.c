// SPDX-License-Identifier: BSD-2-Clause
/*
 * 58 pulses a second from a serial port as well as a program can do it: it sleeps until absolute times, so that nothing
 * adds up, has a real-time priority and all its memory locked. Between its waking up and the pin there are still the
 * scheduler, the tty layer and the UART.
 *
 *	p1_absolute [TTY [PULSES]]	default: /dev/ttyPULSE0, forever; needs root or CAP_SYS_NICE
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ull

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/ttyPULSE0";
	uint64_t pulses = argc > 2 ? strtoull(argv[2], NULL, 0) : UINT64_MAX;
	struct sched_param priority = { .sched_priority = 80 };
	const unsigned char byte = 0xff;
	struct termios settings;
	struct timespec begin;
	int tty = open(path, O_RDWR | O_NOCTTY);

	if (tty < 0 || tcgetattr(tty, &settings))
		err(2, "%s", path);
	cfmakeraw(&settings);
	cfsetspeed(&settings, B9600);
	if (tcsetattr(tty, TCSANOW, &settings))
		err(2, "%s", path);
	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
	if (errno || mlockall(MCL_CURRENT | MCL_FUTURE))
		err(2, "real-time priority and locked memory");

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (uint64_t pulse = 0; pulse < pulses; pulse++) {
		/* 10 ms from the beginning, then every 1/58 s. */
		uint64_t ns = begin.tv_nsec + NS / 100 + pulse * NS / 58;
		struct timespec until = { .tv_sec = begin.tv_sec + ns / NS, .tv_nsec = ns % NS };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
			;
		if (write(tty, &byte, 1) != 1)
			err(2, "%s", path);
	}
	tcdrain(tty);
	return 0;
}
