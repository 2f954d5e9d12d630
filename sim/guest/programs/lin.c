// SPDX-License-Identifier: BSD-2-Clause
/* lin0 on the SoC: `lin STEP...`, one step after the other. Prints what it saw, a line each. */
#include <linux/can/bcm.h>

#include "guest.h"
#include "lin_device.h"
#include "load.h"
#include "steps.h"

static int can = -1, pulse;
static unsigned long long launch_ns;

static unsigned long long ptp_now(void)
{
	static int clock = -1;

	if (clock < 0)
		clock = open("/dev/ptp0", O_RDONLY | O_CLOEXEC);
	return ns_of(CLOCK_OF(clock));
}

static struct can_frame parsed(const char *text)
{
	struct can_frame frame;

	if (lin_parse(text, &frame))
		die(text);
	return frame;
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
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    write(fd, &message, sizeof(message)) != sizeof(message))
		die("CAN_BCM");
}

static void set_bitrate(const char *value)
{
	expect(lin_set_bitrate(strtoul(value, NULL, 10), 0));
}

static void set_up(const char *value)
{
	expect(lin_set_up(doing->of));
	if (!doing->of)
		return;
	expect(lin_write("transmit_clock", "phc"));
	can = lin_open(CLOCK_TAI);
	subscribe(pulse, WANT(KIND(RX), PHC, .fifo = 8192));
}

static void send_frame(const char *value)
{
	expect(lin_send(can, parsed(value), launch_ns));
}

static void at(const char *value)
{
	launch_ns = strtoull(value, NULL, 10) * 1000000 + (*value == '+' ? launch_ns : ptp_now());
	printf("at %llu\n", launch_ns);
}

static void cyclic(const char *value)
{
	char *next;
	long count = strtol(value, &next, 10), ms = strtol(next + 1, &next, 10);
	const struct can_frame frame = parsed(next + 1);

	broadcast((struct bcm_msg_head){ .opcode = TX_SETUP, .flags = SETTIMER | STARTTIMER,
					 .count = count, .can_id = frame.can_id,
					 .ival1.tv_usec = 1000 * ms }, frame);
}

static void reply(const char *value)
{
	const struct can_frame frame = parsed(value);

	broadcast((struct bcm_msg_head){ .opcode = RX_SETUP, .flags = RX_RTR_FRAME,
					 .can_id = frame.can_id | CAN_RTR_FLAG }, frame);
}

static void wait_until_silent(const char *value)
{
	struct pollfd files[2] = { { can, POLLIN, 0 }, { pulse, POLLIN, 0 } };
	char *next;
	int ms = strtol(value, &next, 10);
	long responses = *next ? atol(next + 1) : 0;

	while (poll(files, 2, responses > 0 ? -1 : ms) > 0) {
		if (files[0].revents & POLLIN)
			responses -= !(lin_print(can) & (CAN_RTR_FLAG | CAN_ERR_FLAG));
		if (files[1].revents & POLLIN)
			lin_print_bytes(pulse);
	}
}

static void set_role(const char *value)
{
	expect(lin_write("role", value));
}

static void tell_ready(const char *value)
{
	ready(*value ? value : "go");
}

static const struct step steps[] = {
	{ "role", set_role, "=master" },
	{ "bitrate", set_bitrate, "=N: by netlink, as ip(8) does it" },
	{ "up", set_up, ": from then on what is received is told by wait=", 1 },
	{ "down", set_up, "" },
	{ "send", send_frame, "=FRAME: as of cansend(1)" },
	{ "at", at,
	  "=MS, =+MS: the next frames begin then by the PTP clock, after now or the last one" },
	{ "cyclic", cyclic, "=N,MS,FRAME: CAN_BCM sends it N times, every MS milliseconds" },
	{ "reply", reply, "=FRAME: CAN_BCM sends it at each header of its identifier" },
	{ "load", load, "=KIND: another process, see load.h" },
	{ "go", tell_ready, ": the stimulus may go on" },
	{ "wait", wait_until_silent,
	  "=MS[,N]: tells frames, `frame ID HEX NS`, and bytes on the line, `byte TICK NS HEX "
	  "FLAGS`, "
	  "until\n  none has come for so long, but not before N responses have, or reports of "
	  "none" },
	{ "halt", halt, "=MS: halts the machine for so long (litepulse_halt)" },
	{}
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return list_steps(steps);
	pulse = open_device(0);
	for (char **word = argv + 1; *word; word++)
		do_step(steps, *word);
	end_load();
	return 0;
}
