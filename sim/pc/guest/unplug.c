// SPDX-License-Identifier: BSD-2-Clause
/* What programs read and get as errors when their board is unplugged. */
#include "cases.h"
#include "guest.h"

/* Waits for bytes that never come; reads that the train has stopped, if the machine slept. */
static void reader(void)
{
	struct litepulse_event event;
	ssize_t size;
	int fd = open_device(0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	subscribe(fd, WANT(KIND(RX), MONOTONIC));
	while ((size = read(fd, &event, sizeof(event))) > 0)
		;
	tell("read", size);
	printf("polled %d ", poll(&p, 1, 0));
	printf("%d\n", p.revents & (POLLHUP | POLLERR));
	exit(0);
}

/* Writes to the tty without an end. */
static void writer(void)
{
	char bytes[4096];
	int tty = open("/dev/ttyPULSE0", O_RDWR | O_NOCTTY);

	if (tty < 0)
		die("tty");
	memset(bytes, 0x55, sizeof(bytes));
	while (write(tty, bytes, sizeof(bytes)) > 0)
		;
	tell("write", -1);
	exit(0);
}

static void case_pulled(void)
{
	int fd = open_device(0), claim = claim_device(fd, running->of, 0);
	struct litepulse_launch launch = { .profile = 1 };
	struct litepulse_event event;
	ssize_t size;

	set_profile(claim, 1, 115200);
	start_train(claim, PULSES(.period = 50000, .den = 1, .width = 100, .profile = 1));
	fflush(stdout);
	if (!fork())
		reader();
	if (!fork())
		writer();
	sleep_ms(10);
	ready("pull");
	while ((size = read(claim, &event, sizeof(event))) > 0)
		;
	tell("claim", size);
	tell("status", ioctl(fd, LITEPULSE_IOC_STATUS, &event));
	tell("launch", write(claim, &launch, sizeof(launch)));
	tell("close", close(claim));
	while (wait(NULL) > 0)
		;
}

static void case_found(void)
{
	struct litepulse_train_stop stop = { 0 };
	int fd = open_device(0), claim, runs = train_runs(fd);

	printf("running %d %llu\n", runs, (unsigned long long)now(fd));
	claim = claim_device(fd, 0, 0);
	tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
	runs = train_runs(fd);
	printf("stopped %d %llu\n", runs, (unsigned long long)now(fd));
	sleep_ms(5);
}

static const struct guest_case cases[] = {
	{ "end", case_pulled, "runs a train while children read and write, until all are told" },
	{ "keep", case_pulled, "the same with KEEP", .of = LITEPULSE_CLAIM_KEEP },
	{ "found", case_found, "looks what the board still does, claims it and stops it" },
	{ }
};

int main(int argc, char **argv)
{
	return run_case(cases, argc, argv);
}
