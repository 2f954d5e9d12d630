// SPDX-License-Identifier: BSD-2-Clause
/*
 * lin0 on the SoC: `lin STEP...`, one step after the other. Tells what it saw, a line each.
 *
 *	role=master		and so on: writes a file of /sys/class/net/lin0/; an underscore stands for a space
 *	bitrate=N		by netlink, as ip(8) does it
 *	up, down		from up on, what is received is told by wait=
 *	send=FRAME		as of cansend(1)
 *	at=MS, at=+MS		what is sent next begins so long after now, or after the last one so sent, by the PTP clock
 *	cyclic=N,MS,FRAME	CAN_BCM sends it N times, every MS milliseconds
 *	reply=FRAME		CAN_BCM sends it at each header of its identifier
 *	load=KIND		another process, see load.h
 *	go			the stimulus may go on
 *	wait=MS[,N]		tells frames, `frame ID HEX NS`, and bytes on the line, `byte TICK NS HEX FLAGS`, as they come,
 *				until none has come for so long, but not before N responses have, or reports that there was none
 *	halt=MS			halts the machine for so long (litepulse_halt)
 */
#include <linux/can/bcm.h>

#include "guest.h"
#include "lin_device.h"
#include "load.h"

static unsigned long long ptp_now(void)
{
	static int clock = -1;
	struct timespec t;

	if (clock < 0)
		clock = open("/dev/ptp0", O_RDONLY | O_CLOEXEC);
	if (clock < 0 || clock_gettime((~(clockid_t)clock << 3) | 3, &t))
		die("/dev/ptp0");
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void tell_until_silent(int can, int pulse, int ms, long responses)
{
	struct pollfd files[2] = { { .fd = can, .events = POLLIN }, { .fd = pulse, .events = POLLIN } };

	while (poll(files, 2, responses > 0 ? -1 : ms) > 0) {
		if (files[0].revents & POLLIN)
			responses -= !(lin_print(can) & (CAN_RTR_FLAG | CAN_ERR_FLAG));
		if (files[1].revents & POLLIN)
			lin_print_bytes(pulse);
	}
}

/* What CAN_BCM does for a file ends with it: it stays open. */
static void broadcast(struct bcm_msg_head head, struct can_frame frame)
{
	struct sockaddr_can address = { .can_family = AF_CAN, .can_ifindex = lin_index() };
	int fd = socket(PF_CAN, SOCK_DGRAM | SOCK_CLOEXEC, CAN_BCM);
	struct {
		struct bcm_msg_head head;
		struct can_frame frame;
	} message = { .head = head, .frame = frame };

	message.head.nframes = 1;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) || write(fd, &message, sizeof(message)) != sizeof(message))
		die("CAN_BCM");
}

static void send_cyclic(long count, long ms, struct can_frame frame)
{
	struct bcm_msg_head head = { .opcode = TX_SETUP, .flags = SETTIMER | STARTTIMER, .count = count, .can_id = frame.can_id };

	head.ival1.tv_usec = 1000 * ms;
	broadcast(head, frame);
}

static void reply(struct can_frame frame)
{
	broadcast((struct bcm_msg_head){ .opcode = RX_SETUP, .flags = RX_RTR_FRAME, .can_id = frame.can_id | CAN_RTR_FLAG }, frame);
}

static struct can_frame parsed(const char *text)
{
	struct can_frame frame;

	if (lin_parse(text, &frame))
		die(text);
	return frame;
}

int main(int argc, char **argv)
{
	struct litepulse_subscribe bytes = { .kinds = 1 << LITEPULSE_KIND_RX, .fifo = 8192, .clock = LITEPULSE_CLOCK_PHC };
	int can = -1, pulse = open_device(0);
	unsigned long long launch_ns = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (char **step = argv + 1; *step; step++) {
		char name[40] = "", *value = strchr(*step, '='), *at;
		int error = 0;

		value = value ? value + 1 : "";
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*step, "="), *step);
		if (!strcmp(name, "bitrate")) {
			error = lin_set_bitrate(strtoul(value, NULL, 10), 0);
		} else if (!strcmp(name, "up")) {
			error = lin_set_up(1) || lin_write("transmit_clock", "phc");
			can = lin_open(CLOCK_TAI);
			subscribe(pulse, bytes);
		} else if (!strcmp(name, "down")) {
			error = lin_set_up(0);
		} else if (!strcmp(name, "send")) {
			error = lin_send(can, parsed(value), launch_ns);
		} else if (!strcmp(name, "at")) {
			launch_ns = strtoull(value, NULL, 10) * 1000000 + (*value == '+' ? launch_ns : ptp_now());
			printf("at %llu\n", launch_ns);
		} else if (!strcmp(name, "cyclic")) {
			long count = strtol(value, &at, 10), ms = strtol(at + 1, &at, 10);

			send_cyclic(count, ms, parsed(at + 1));
		} else if (!strcmp(name, "reply")) {
			reply(parsed(value));
		} else if (!strcmp(name, "load")) {
			load(value);
		} else if (!strcmp(name, "go")) {
			ready("go");
		} else if (!strcmp(name, "wait")) {
			int ms = strtol(value, &at, 10);

			tell_until_silent(can, pulse, ms, *at ? atol(at + 1) : 0);
		} else if (!strcmp(name, "halt")) {
			halt(value);
		} else {
			error = lin_write(name, value);
		}
		if (error)
			die(*step);
	}
	end_load();
	return 0;
}
