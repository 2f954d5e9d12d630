// SPDX-License-Identifier: BSD-2-Clause
/*
 * attach TTY [NUMBER]: sets a line discipline (the driver's) on a serial port and holds the port
 * until a signal ends it or the port is gone. It waits for a port that was just plugged in
 * (open_port.h). Prints `attached TTY`, `gone TTY`; or `attach TTY ERRNO`.
 */
#include "device.h"
#include "ports.h"

/* The kernel fails it with EINTR when the machine is about to sleep: threads are frozen by a signal. */
static int set_discipline(int tty, int *number)
{
	int error;

	do
		error = ioctl(tty, TIOCSETD, number);
	while (error && errno == EINTR);
	return error;
}

int main(int count, char *words[])
{
	int number = count > 2 ? atoi(words[2]) : LITEPULSE_LDISC, tty;
	struct pollfd port = { .events = 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 2) {
		fprintf(stderr, "usage: attach TTY [NUMBER]\n");
		return 2;
	}
	tty = open_port(words[1], TCSETS2);
	if (tty < 0 || set_discipline(tty, &number)) {
		printf("attach %s %d\n", words[1], errno);
		return 1;
	}
	printf("attached %s\n", words[1]);
	port.fd = tty;
	while (poll(&port, 1, -1) < 0 || !(port.revents & POLLHUP))
		;
	printf("gone %s\n", words[1]);
	return 0;
}
