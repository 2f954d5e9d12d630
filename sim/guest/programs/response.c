// SPDX-License-Identifier: BSD-2-Clause
/*
 * Answers an edge of input 0, or a byte, with one at tx (lab/experiments/p5_response.py).
 *
 * COUNT: stimuli. LOAD: see load.h. Says `ready go` when all is set, and ends when it has seen all,
 * or MS later; where the program itself does not answer, it just waits. The answer is a pulse: of
 * the responder 20 ticks long, of all others 40.
 *
 *	lead TICKS	from asking for the time to the launch
 *	from TICK	when all was set
 *	seen COUNT	how many stimuli it read
 *	refused NUMBER	that of a stimulus, from 0 on, whose answer write() or the core refused
 */
#include <stdbool.h>

#include "guest.h"
#include "load.h"
#include "ports.h"

#define RESPONDER_WIDTH 20
#define WIDTH 40
#define BAUD 9600	/* of the profile, whose only use is the level of a pulse */
#define MOST 2048	/* stimuli */
#define TRIES 8
#define APART_MS 2	/* so far apart are tries */
#define LEAD_MAX 10000000
#define PATIENCE_MS 3000	/* for an outcome */

/* Where the driver's claim reads its outcomes: one for each launch and each response. */
static int claim_with_room(int fd)
{
	int claim = try_claim(fd, (struct litepulse_claim){ .fd_flags = O_NONBLOCK, .fifo = 16384 });

	if (claim < 0)
		die("claim");
	return claim;
}

static void arm(int claim, const char *delay)
{
	struct litepulse_responder responder = PULSE_ANSWER(
		.flags = LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_REARM, .profile = 1,
		.delay = strtoul(delay, NULL, 10), .width = RESPONDER_WIDTH);

	if (ioctl(claim, LITEPULSE_IOC_RESPONDER, &responder))
		die("responder");
}

static bool launch(int claim, uint64_t tick, uint16_t tag)
{
	const struct litepulse_launch one = { .tick = tick, .width = WIDTH, .tag = tag,
					      .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1 };

	if (!try_launch(claim, one))
		return true;
	if (errno != ETIME)
		die("launch");
	return false;
}

/*
 * Waits for the outcomes of @launched launches, and gives the tags of those that the core refused;
 * returns how many.
 */
static int refused(int claim, int launched, uint16_t tags[MOST])
{
	static struct litepulse_event events[256];
	int count = 0;

	while (launched) {
		ssize_t size = readable(claim, PATIENCE_MS) == 1 ?
			read(claim, events, sizeof(events)) : -1;

		if (size < 0)
			die("outcomes");
		for (size_t i = 0; i < size / sizeof(events[0]); i++) {
			if (events[i].kind == LITEPULSE_KIND_LOST)
				die("an outcome is lost");
			if (events[i].source != LITEPULSE_SRC_QUEUE)
				continue;
			launched--;
			if (events[i].kind == LITEPULSE_KIND_REFUSED)
				tags[count++] = events[i].data >> 16;
		}
	}
	return count;
}

/* Is each of some launches that are made at once in time? */
static bool in_time(int fd, int claim, uint64_t lead)
{
	uint16_t tags[MOST];
	int launched = 0;

	for (int i = 0; i < TRIES; i++) {
		usleep(APART_MS * 1000);
		launched += launch(claim, now(fd) + lead, 0);
	}
	return !refused(claim, launched, tags) && launched == TRIES;
}

/* The shortest lead with which launches are in time while nothing else happens, and a quarter more. */
static uint64_t find_lead(int fd, int claim)
{
	uint64_t least = 64, most = 4096;

	while (!in_time(fd, claim, most)) {
		most *= 2;
		if (most > LEAD_MAX) {
			errno = ETIME;
			die("no lead is long enough");
		}
	}
	while (least < most - most / 16) {
		uint64_t middle = (least + most) / 2;

		if (in_time(fd, claim, middle))
			most = middle;
		else
			least = middle;
	}
	return most + most / 4;
}

/* As give_up_after(), also if the program is not in read() at that moment: it is interrupted again and again. 0: no longer. */
static void give_up_at_last(long ms)
{
	struct itimerval t = { .it_value = { ms / 1000, ms % 1000 * 1000 }, .it_interval = { 0, 500000 } };

	sigaction(SIGALRM, &(struct sigaction) { .sa_handler = ignore_signal }, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void tell_seen(long seen)
{
	printf("seen %ld\n", seen);
}

static void go(int fd, const char *what)
{
	load(what);
	if (fd >= 0)
		printf("from %llu\n", (unsigned long long)now(fd));
	ready("go");
}

static void case_tty(char **argv)
{
	long count = strtol(argv[3], NULL, 10), seen = 0;
	int fd = open_serial(argv[0], argv[1]);
	char byte;

	go(strstr(argv[0], "PULSE") ? open_device(0) : -1, argv[2]);
	give_up_at_last(strtol(argv[4], NULL, 10));
	for (; seen < count && read(fd, &byte, 1) == 1; seen++)
		if (write(fd, &byte, 1) != 1)
			die("write");
	sleep_ms(5);
	tell_seen(seen);
}

static void case_chardev(char **argv)
{
	static uint16_t tags[MOST];
	long count = strtol(argv[2], NULL, 10), seen = 0;
	int fd = open_device(0), claim = claim_with_room(fd), late = 0;
	struct litepulse_event event;
	uint64_t lead;

	if (count > MOST) {
		errno = ERANGE;
		die("COUNT");
	}
	set_profile(claim, 1, BAUD);
	lead = find_lead(fd, claim);
	printf("lead %llu\n", (unsigned long long)lead);
	if (strcmp(argv[0], "0"))
		arm(claim, argv[0]);
	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_EDGE, .rise = 1, .clock = LITEPULSE_CLOCK_NONE });
	go(fd, argv[1]);
	give_up_at_last(strtol(argv[3], NULL, 10));
	for (; seen < count && take_event(fd, &event); seen++) {
		if (event.kind != LITEPULSE_KIND_EDGE)
			die("an edge");
		if (!launch(claim, now(fd) + lead, seen))
			tags[late++] = seen;
	}
	give_up_at_last(0);
	tell_seen(seen);
	for (int i = late + refused(claim, seen - late, tags + late); i--;)
		printf("refused %u\n", tags[i]);
}

/* What litepulse_echo counted. */
static void tell_echo(void)
{
	char line[MOST * 6];

	if (read_line("/sys/module/litepulse_echo/parameters/seen", line, sizeof(line)))
		die("seen");
	tell_seen(strtol(line, NULL, 10));
	if (read_line("/sys/module/litepulse_echo/parameters/refused", line, sizeof(line)))
		die("refused");
	for (char *number = strtok(line, ","); number; number = strtok(NULL, ","))
		printf("refused %s\n", number);
}

static void case_kernel(char **argv)
{
	go(open(DEVICE, O_RDWR), argv[0]);	/* not open_device(): MS are those of the machine */
	sleep_ms(strtol(argv[2], NULL, 10));
	tell_echo();
}

static void case_reset(char **argv)
{
	int clock = open("/dev/ptp0", O_RDONLY);
	struct timespec t;

	if (clock < 0)
		die("/dev/ptp0");
	go(-1, "alone");
	for (long ms = strtol(argv[0], NULL, 10); ms > 0; ms -= 10) {
		sleep_ms(10);
		clock_gettime(CLOCK_OF(clock), &t);
	}
	tell_echo();
}

static void case_responder(char **argv)
{
	int fd = open_device(0), claim = claim_with_room(fd), halted = !strcmp(argv[1], "halted");

	set_profile(claim, 1, BAUD);
	arm(claim, argv[0]);
	go(fd, halted ? "alone" : argv[1]);
	if (halted)
		halt(argv[3]);
	else
		sleep_ms(strtol(argv[3], NULL, 10));
}

static const struct guest_case cases[] = {
	{ "tty", .with = case_tty, .words = 5,
	  .what = "PATH BAUD LOAD COUNT MS: a program that writes each byte that it reads" },
	{ "chardev", .with = case_chardev, .words = 4,
	  .what = "DELAY LOAD COUNT MS: launches; DELAY not 0: the responder answers, too" },
	{ "kernel", .with = case_kernel, .words = 3,
	  .what = "LOAD COUNT MS: litepulse_echo, which is loaded" },
	{ "reset", .with = case_reset, .words = 1,
	  .what = "MS: so, while the PTP clock is read: the driver notices a reset at once" },
	{ "responder", .with = case_responder, .words = 4,
	  .what = "DELAY LOAD COUNT MS: LOAD may be `halted`, too: the machine is (litepulse_halt)" },
	{ }
};

int main(int argc, char **argv)
{
	return run_loaded(cases, argc, argv);
}
