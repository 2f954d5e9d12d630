// SPDX-License-Identifier: BSD-2-Clause
/* Calls that programs make of any device, on those of a board. */
#include <sys/uio.h>

#include "cases.h"
#include "guest.h"
#include "ring.h"
#include "tty.h"

static int open_loop(int flags)
{
	int fd = open("/dev/ttyPULSE0", O_RDWR | flags), loop = TIOCM_LOOP;

	if (fd < 0 || ioctl(fd, TIOCMBIS, &loop) || set_raw(fd, B9600))
		die("tty");
	return fd;
}

static void case_readv(void)
{
	struct litepulse_event event[2];
	struct iovec pieces[] = { { event, 0 }, { &event[0], sizeof(*event) }, { &event[1], sizeof(*event) } };
	int fd = open_device(0), tty = open_loop(O_NOCTTY);

	subscribe(fd, WANT(KIND(TX), MONOTONIC, .sources = 1u << LITEPULSE_SRC_TTY));
	if (write(tty, "x", 1) != 1 || tcdrain(tty))
		die("write");
	sleep_ms(2);
	alarm(30);	/* one that waits for a second event is ended */
	tell("readv", readv(fd, pieces, 3));
	printf("event %d %d\n", event[0].kind, event[0].data);
	if (write(tty, "yz", 2) != 2 || tcdrain(tty))
		die("write");
	sleep_ms(2);
	tell("both", readv(fd, pieces, 3));
	printf("event %d %d\n", event[1].kind, event[1].data);
	tell("nothing", read(fd, event, 0));
	tell("part", read(fd, event, 1));
	tell("async", fcntl(fd, F_SETFL, O_ASYNC));
	tell("none", fcntl(fd, F_SETFL, O_NONBLOCK) ?: readv(fd, pieces, 3));
}

static void case_mapping(void)
{
	char line[300], start[20];
	int inside = 0;
	struct ring ring;
	FILE *maps;

	ring_open(&ring, open_device(0), 64, 0);
	maps = fopen("/proc/self/smaps", "r");
	if (!maps)
		die("smaps");
	snprintf(start, sizeof(start), "%lx-", (unsigned long)ring.state);
	while (fgets(line, sizeof(line), maps)) {
		inside |= !strncmp(line, start, strlen(start));
		if (inside && !strncmp(line, "VmFlags:", 8)) {
			printf("flags %s", line + 8);
			return;
		}
	}
}

static int waiting(int tty)
{
	int bytes = -1;

	ioctl(tty, FIONREAD, &bytes);
	return bytes;
}

/* The leader of a session has the tty as its terminal; the process that flushes is of another group. */
static void leader(int and_sets)
{
	int tty, before, status;
	pid_t child;

	setsid();
	tty = open_loop(0);
	if (write(tty, "abcdef", 6) != 6)
		die("write");
	while (waiting(tty) < 6)
		sleep_ms(1);
	before = waiting(tty);
	child = fork();
	if (!child) {
		struct termios same;

		setpgid(0, 0);
		tcgetattr(tty, &same);
		exit(and_sets ? tcsetattr(tty, TCSAFLUSH, &same) : tcflush(tty, TCIFLUSH));
	}
	setpgid(child, child);
	if (waitpid(child, &status, WUNTRACED) != child)
		die("wait");
	printf("background %d %d %d\n", WIFSTOPPED(status), before, waiting(tty));
	kill(child, SIGKILL);
	exit(0);
}

static void case_background(void)
{
	for (int and_sets = 0; and_sets < 2; and_sets++) {
		fflush(stdout);
		if (!fork())
			leader(and_sets);
		wait(NULL);
	}
}

static const struct guest_case cases[] = {
	{ "readv", case_readv, "two pieces, one event is there; then what else a file says to reading" },
	{ "mapping", case_mapping, "flags of a ring's mapping, of /proc/self/smaps" },
	{ "background", case_background, "a process in the background flushes its terminal's input" },
	{ }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
