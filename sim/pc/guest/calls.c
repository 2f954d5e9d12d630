// SPDX-License-Identifier: BSD-2-Clause
/*
 * calls CASE: calls that programs make of any device, on those of a board. Cases:
 *
 *	readv		two pieces, one event is there; then what else a file of the device says to reading
 *	mapping		flags of a ring's mapping, of /proc/self/smaps
 *	background	a process in the background flushes the input of its terminal; bytes that wait before and afterwards
 */
#include <sys/mman.h>
#include <sys/uio.h>
#include <termios.h>

#include "guest.h"

static int open_tty(int flags)
{
	struct termios raw;
	int fd = open("/dev/ttyPULSE0", O_RDWR | flags), loop = 0x8000; /* TIOCM_LOOP */

	if (fd < 0 || tcgetattr(fd, &raw) || ioctl(fd, TIOCMBIS, &loop))
		die("tty");
	cfmakeraw(&raw);
	raw.c_cflag = CS8 | CREAD | CLOCAL;
	cfsetspeed(&raw, B9600);
	if (tcsetattr(fd, TCSANOW, &raw))
		die("tty");
	return fd;
}

static void case_readv(void)
{
	struct litepulse_event event[2];
	struct iovec pieces[] = { { event, 0 }, { &event[0], sizeof(*event) }, { &event[1], sizeof(*event) } };
	int fd = open_device(0), tty = open_tty(O_NOCTTY);

	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_TX, .sources = 1u << LITEPULSE_SRC_TTY });
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
	struct litepulse_ring ring = { .events = 64 };
	int fd = open_device(0);
	char *at, line[300], start[20];
	FILE *maps = fopen("/proc/self/smaps", "r");
	int inside = 0;

	if (ioctl(fd, LITEPULSE_IOC_RING, &ring))
		die("ring");
	at = mmap(NULL, ring.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || !maps)
		die("mmap");
	snprintf(start, sizeof(start), "%lx-", (unsigned long)at);
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
	tty = open_tty(0);
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

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count == 2 && !strcmp(words[1], "readv"))
		case_readv();
	else if (count == 2 && !strcmp(words[1], "mapping"))
		case_mapping();
	else if (count == 2 && !strcmp(words[1], "background"))
		case_background();
	else
		return 2;
	return 0;
}
