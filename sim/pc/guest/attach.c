// SPDX-License-Identifier: BSD-2-Clause
/*
 * attach TTY [NUMBER]: gives a serial port to a line discipline (the driver's) and holds it until it is told to end or the port is gone.
 * It waits for a port that was just plugged in (open_port.h). Says `attached TTY`, `gone TTY`; or `attach TTY ERRNO`.
 */
#include <asm/termbits.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/litepulse.h>

#include "open_port.h"

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
	struct termios2 raw;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 2) {
		fprintf(stderr, "usage: attach TTY [NUMBER]\n");
		return 2;
	}
	tty = open_port(words[1]);
	if (tty < 0 || ioctl(tty, TCGETS2, &raw)) {
		printf("attach %s %d\n", words[1], errno);
		return 1;
	}
	raw.c_iflag = raw.c_oflag = raw.c_lflag = 0;
	raw.c_cflag = B115200 | CS8 | CREAD | CLOCAL;
	if (ioctl(tty, TCSETS2, &raw) || set_discipline(tty, &number)) {
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
