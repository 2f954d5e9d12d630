// SPDX-License-Identifier: BSD-2-Clause
/*
 * LIN slaves of several kinds, which answer the headers of 0x10 at 19200 baud
 * (sim/linux/lin_bench.py). The data are 1, 2, ... and the checksum is classic. LOAD: see load.h.
 * Says `ready go` when all is set, and ends MS later.
 */
#include "guest.h"
#include "lin_device.h"
#include "load.h"
#include "ports.h"

#define BAUD 19200
#define PID 0x50
#define SYNC 0x55
#define N_SLLIN_SLAVE 29

/* Data and checksum; returns the number of bytes. */
static int answer(const char *length, unsigned char bytes[9])
{
	int count = strtol(length, NULL, 10), sum = 0;

	for (int i = 0; i < count; i++)
		sum += bytes[i] = i + 1;
	bytes[count] = 255 - sum;
	return count + 1;
}

static void case_tty(char **argv)
{
	unsigned char bytes[9], byte, before = 0;
	int size = answer(argv[1], bytes), fd = open_serial(argv[0], "19200");

	load(argv[2]);
	ready("go");
	give_up_after(strtol(argv[3], NULL, 10));
	for (; read(fd, &byte, 1) == 1; before = byte)
		if (before == SYNC && byte == PID && write(fd, bytes, size) != size)
			die("write");
}

static void case_chardev(char **argv)
{
	struct litepulse_profile profile = { .index = 1, .data_bits = 8, .baud = BAUD };
	struct litepulse_launch launches[9] = { };
	unsigned char bytes[9], before = 0;
	int size = answer(argv[1], bytes), fd = open_device(0), claim = claim_device(fd, 0, 0);
	long bits = strtol(argv[0], NULL, 10);
	struct litepulse_event event;

	/* The tty's rate is that of the receiver. */
	open_serial("/dev/ttyPULSE0", "19200");
	if (ioctl(claim, LITEPULSE_IOC_PROFILE, &profile))
		die("profile");
	subscribe(fd, WANT(KIND(RX), NONE));
	load(argv[2]);
	ready("go");
	give_up_after(strtol(argv[3], NULL, 10));
	for (; take_event(fd, &event); before = event.data) {
		if (before != SYNC || event.data != PID)
			continue;
		for (int i = 0; i < size; i++)
			launches[i] = (struct litepulse_launch) {
				.tick = event.tick + ((10 + bits + 10 * i) * profile.period >> 8),
				.kind = LITEPULSE_LAUNCH_FRAME,
				.profile = 1,
				.data = bytes[i],
			};
		/* An error reports that it was too late, or the board does. */
		if (write(claim, launches, size * sizeof(launches[0])) < 0)
			printf("late\n");
	}
}

static struct can_frame configuration(const char *length)
{
	struct can_frame frame = { .can_id = CAN_EFF_FLAG | 0x40 | 0x10 };

	frame.len = answer(length, frame.data) - 1;
	return frame;
}

static void case_sllin(char **argv)
{
	int fd = open_serial(argv[0], "19200"), number = N_SLLIN_SLAVE, can;
	struct can_frame frame = configuration(argv[1]);

	lin_name = "sllin0";
	if (ioctl(fd, TIOCSETD, &number))
		die("sllin");
	if (lin_set_up(1) || (can = lin_open(CLOCK_TAI)) < 0)
		die("sllin0");
	/* The device sets another rate when it comes up. */
	if (strstr(argv[0], "LXU"))
		set_peer_baud(BAUD);
	if (lin_send(can, frame, 0))
		die("the answer");
	load(argv[2]);
	sleep_ms(5);
	ready("go");
	sleep_ms(strtol(argv[3], NULL, 10));
	lin_set_up(0);
}

static void case_lin0(char **argv)
{
	int can, halted = !strcmp(argv[1], "halted");

	if (lin_set_bitrate(BAUD, 0) || lin_set_up(1) || (can = lin_open(CLOCK_TAI)) < 0 || lin_send(can, configuration(argv[0]), 0))
		die("lin0");
	load(halted ? "alone" : argv[1]);
	sleep_ms(5);
	ready("go");
	if (halted)
		halt(argv[2]);
	else
		sleep_ms(strtol(argv[2], NULL, 10));
	lin_set_up(0);
}

static const struct guest_case cases[] = {
	{ "tty", .with = case_tty, .words = 4,
	  .what = "PATH LENGTH LOAD MS: a program that reads a port and writes its answer" },
	{ "chardev", .with = case_chardev, .words = 4,
	  .what = "BITS LENGTH LOAD MS: launches it that many bit times behind the header" },
	{ "sllin", .with = case_sllin, .words = 4, .what = "PATH LENGTH LOAD MS" },
	{ "lin0", .with = case_lin0, .words = 3,
	  .what = "LENGTH LOAD MS: LOAD may be `halted`, too: the machine is (litepulse_halt)" },
	{ }
};

int main(int argc, char **argv)
{
	return run_loaded(cases, argc, argv);
}
