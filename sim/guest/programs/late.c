// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that writes a byte each 20 ms while the kernel records its trace, and another process
 * that plants the cause of its late edges. For sim/linux/test_explain_soc.py.
 *
 * LATE_TRACE: the folder of the trace's instance, if it is recorded. It prints:
 *
 *	program PID FD		of the one that writes, and its serial port
 *	due NS			of each byte, by CLOCK_MONOTONIC
 *	planted BEGIN END	what took the time, by the same clock
 *	reading NS NS		before and after each mark, see bench.c
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cases.h"
#include "guest.h"
#include "ports.h"
#include "tally.h"

#define PERIOD (20 * MS_NS)
#define MS_NS 1000000LL
#define BEGIN_NS (60 * MS_NS)	/* until the first byte is due */
#define READINGS 8
#define EACH 3			/* every third byte is late */
#define LATE (6 * MS_NS)	/* by so much, at least */
#define CAUSES "/sys/module/litepulse_causes/parameters/"

static long long start;
static long long planted[64][2];
static int plants;

static long long due_of(int number)
{
	return start + number * PERIOD;
}

static int is_late(int number)
{
	return number % EACH == EACH - 1;
}

static void sleep_until(long long ns)
{
	const struct timespec until = { ns / NS, ns % NS };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void spin_until(long long ns)
{
	while (ns_of(CLOCK_MONOTONIC) < ns)
		;
}

/* SCHED_FIFO; musl's own function refuses. */
static void realtime(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param))
		die("SCHED_FIFO");
}

/* The file of the planted cause is open already, since that takes 2 ms while all is traced. */
static int open_cause(const char *what)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), CAUSES "%s", what);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		die(path);
	return fd;
}

static void plant(int fd, const char *value)
{
	if (pwrite(fd, value, strlen(value), 0) < 0)
		die("plant");
}

static void trace(const char *on)
{
	const char *folder = getenv("LATE_TRACE");
	char path[128];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/tracing_on", folder);
	write_file(path, on);
}

static void take_readings(long long readings[][2])
{
	volatile uint32_t *console = register_named("CONSOLE");

	for (int i = 0; i < READINGS; i++) {
		readings[i][0] = ns_of(CLOCK_MONOTONIC);
		*console = MARK;
		readings[i][1] = ns_of(CLOCK_MONOTONIC);
	}
}

/* The program that is explained. */
static void program(int fd, int count)
{
	const char *what = running->name;
	const unsigned char byte = 0xff;

	if (!strcmp(what, "storm") || !strcmp(what, "worker"))
		realtime(40);
	for (int i = 0; i < count; i++) {
		long long due = due_of(i);

		if (is_late(i) && !strcmp(what, "slept"))
			due += LATE;
		sleep_until(due);
		if (is_late(i) && !strcmp(what, "computes"))
			spin_until(due + LATE);
		if (write(fd, &byte, 1) != 1)
			die("write");
	}
	sleep_ms(15);
}

/* Another process: plants what makes byte `number` late. */
static void plant_one(int number, int fd)
{
	const char *what = running->name;
	long long due = due_of(number), *at = planted[plants];

	if (!strcmp(what, "hog")) {
		sleep_until(due - MS_NS / 2);
		at[0] = ns_of(CLOCK_MONOTONIC);
		spin_until(due + LATE);
		at[1] = ns_of(CLOCK_MONOTONIC);
		plants++;
	} else if (!strcmp(what, "storm")) {
		sleep_until(due - 3 * MS_NS);
		plant(fd, "8");
	} else if (!strcmp(what, "irqs_off")) {
		sleep_until(due - 3 * MS_NS);
		spin_until(due - MS_NS / 2);
		plant(fd, "6500");
	} else if (!strcmp(what, "worker")) {
		sleep_until(due);
		plant(fd, "6000");
	}
}

static void late(char **words)
{
	long long readings[READINGS][2];
	int count = strtol(words[1], NULL, 0), fd = open_raw(words[0], 0, 115200, 0), status;
	int cause = -1;
	pid_t child;

	prctl(PR_SET_NAME, "planter");
	if (!strcmp(running->name, "storm") || !strcmp(running->name, "irqs_off"))
		cause = open_cause(running->name);
	else if (!strcmp(running->name, "worker"))
		cause = open_cause("slow_work");
	sleep_ms(20);
	take_readings(readings);
	start = ns_of(CLOCK_MONOTONIC) + BEGIN_NS;
	trace("1");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_NAME, "trigger");
		program(fd, count);
		_exit(0);
	}
	if (!strcmp(running->name, "hog") || !strcmp(running->name, "worker"))
		realtime(50);
	for (int i = 0; i < count; i++)
		if (is_late(i))
			plant_one(i, cause);
	waitpid(child, &status, 0);
	trace("0");
	printf("\nprogram %d %d\n", child, fd);
	for (int i = 0; i < count; i++)
		printf("due %lld\n", due_of(i));
	for (int i = 0; i < plants; i++)
		printf("planted %lld %lld\n", planted[i][0], planted[i][1]);
	for (int i = 0; i < READINGS; i++)
		printf("reading %lld %lld\n", readings[i][0], readings[i][1]);
	exit(status ? 1 : 0);
}

/* Twice: ns for a write() of nothing, without and with its two events of the trace. */
static void cost(char **words)
{
	int count = strtol(words[0], NULL, 0), fd = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 4; i++) {
		long long begin;

		trace(i % 2 ? "1" : "0");
		begin = ns_of(CLOCK_MONOTONIC);
		for (int n = 0; n < count; n++)
			if (write(fd, "", 0))
				die("/dev/null");
		printf("cost %lld\n", (ns_of(CLOCK_MONOTONIC) - begin) / count);
	}
	trace("0");
}

static const struct guest_case cases[] = {
	{ "quiet", .with = late, .words = 2, .what = "TTY COUNT: nothing is planted" },
	{ "hog", .with = late, .words = 2, .what = "a real-time process" },
	{ "storm", .with = late, .words = 2, .what = "interrupts" },
	{ "irqs_off", .with = late, .words = 2, .what = "interrupts off" },
	{ "worker", .with = late, .words = 2, .what = "a worker of the kernel with other work" },
	{ "resume", .with = late, .words = 2, .what = "a port that is suspended" },
	{ "halted", .with = late, .words = 2, .what = "a deep idle state" },
	{ "slept", .with = late, .words = 2, .what = "the program sleeps for too long" },
	{ "computes", .with = late, .words = 2, .what = "the program computes before its write()" },
	{ "cost", .with = cost, .words = 1, .what = "COUNT: of an event of the trace" },
	{ }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
