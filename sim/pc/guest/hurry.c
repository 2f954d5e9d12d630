// SPDX-License-Identifier: BSD-2-Clause
/*
 * hurry TIMES: writes "x" and closes the tty, but a signal comes at some moment of that, so that the
 * close does not wait; then opens it again, writes "last", and waits.
 */
#include "guest.h"

#define TTY "/dev/ttyPULSE0"

static void put(const char *text, int us)
{
	struct itimerval soon = { .it_value.tv_usec = us };
	int tty = open(TTY, O_RDWR | O_NOCTTY);

	if (tty < 0)
		die(TTY);
	if (write(tty, text, strlen(text)) != (ssize_t)strlen(text))
		die("write");
	setitimer(ITIMER_REAL, &soon, NULL);
	close(tty);
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_handler = ignore_signal };

	sigaction(SIGALRM, &action, NULL);
	for (int n = 0; n < (count > 1 ? atoi(words[1]) : 1); n++) {
		put("x", 100 + n * 397 % 8000);
		put("last", 0);
	}
	return 0;
}
