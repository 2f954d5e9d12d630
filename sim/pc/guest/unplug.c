// SPDX-License-Identifier: BSD-2-Clause
/*
 * What programs are told whose board is pulled out: `unplug end` and `unplug keep` run a train, without and with KEEP, while children read
 * and write, until all have been told; `unplug found` looks what the board still does, claims it and stops it.
 */
#include "guest.h"

static struct litepulse_status look(int fd)
{
	struct litepulse_status status;

	if (ioctl(fd, LITEPULSE_IOC_STATUS, &status))
		die("status");
	return status;
}

/* Waits for bytes that never come; reads that the train has stopped, if the machine slept. */
static void reader(void)
{
	struct litepulse_event event;
	ssize_t size;
	int fd = open_device(0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	subscribe(fd, (struct litepulse_subscribe) { .kinds = 1u << LITEPULSE_KIND_RX });
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

static void pulled(unsigned int flags)
{
	int fd = open_device(0), claim = claim_device(fd, flags, 0);
	struct litepulse_train train = { .period = 50000, .den = 1, .width = 100, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1,
					 .flags = LITEPULSE_TRAIN_ASAP };
	struct litepulse_launch launch = { .profile = 1 };
	struct litepulse_event event;
	ssize_t size;

	set_profile(claim, 1, 115200);
	if (ioctl(claim, LITEPULSE_IOC_TRAIN_START, &train))
		die("train");
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

static void found(void)
{
	struct litepulse_train_stop stop = { 0 };
	int fd = open_device(0), claim;

	printf("running %d %llu\n", !!(look(fd).flags & LITEPULSE_STATUS_TRAIN), (unsigned long long)now(fd));
	claim = claim_device(fd, 0, 0);
	tell("stop", ioctl(claim, LITEPULSE_IOC_TRAIN_STOP, &stop));
	printf("stopped %d %llu\n", !!(look(fd).flags & LITEPULSE_STATUS_TRAIN), (unsigned long long)now(fd));
	sleep_ms(5);
}

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count == 2 && !strcmp(words[1], "end"))
		pulled(0);
	else if (count == 2 && !strcmp(words[1], "keep"))
		pulled(LITEPULSE_CLAIM_KEEP);
	else if (count == 2 && !strcmp(words[1], "found"))
		found();
	else
		return 2;
	return 0;
}
