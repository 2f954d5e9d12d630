// SPDX-License-Identifier: BSD-2-Clause
/* litepulse-info: what device this is, and what it is doing. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "device.h"

static const char help[] =
	"Usage: litepulse-info [-d PATH]\n"
	"What LitePulse device this is, what time it has, what runs.\n\n" DEVICE_HELP;

static void print_number(const char *name, const char *kind, int number)
{
	if (number < 0)
		printf("%s\tnone\n", name);
	else
		printf("%s\t/dev/%s%d\n", name, kind, number);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { DEVICE_OPTIONS, { } };
	const char *path = DEFAULT_DEVICE;
	struct litepulse_status status;
	struct litepulse_stats stats;
	struct litepulse_time time;
	struct device device;
	int option;

	while ((option = getopt_long(argc, argv, "d:h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			path = optarg;
			break;
		case 'h':
			show_help(help);
		default:
			fail_usage();
		}
	}
	if (optind < argc)
		fail("'%s': no argument is wanted here", argv[optind]);
	device = open_device(path);
	if (ioctl(device.fd, LITEPULSE_IOC_TIME, &time) || ioctl(device.fd, LITEPULSE_IOC_STATUS, &status) ||
	    ioctl(device.fd, LITEPULSE_IOC_STATS, &stats))
		fail_errno("%s", path);

	printf("device\t%s%s\n", path, device.info.flags & LITEPULSE_INFO_SIMULATED ? ", SIMULATED: no board" : "");
	printf("core\tversion %u.%u, interface %u, session 0x%04x\n", device.info.core >> 16, device.info.core & 0xffff,
	       device.info.abi, device.info.session);
	printf("ticks\t%llu/%u per second, %u per cycle\n", (unsigned long long)device.info.tick_num, device.info.tick_den,
	       device.info.samples);
	printf("inputs\t%u and the line, which is number %u\n", device.info.inputs, device.info.inputs);
	printf("depth\t%u events, %u bytes received, %u bytes to send, %u launches\n", device.info.event_depth,
	       device.info.receive_depth, device.info.transmit_depth, device.info.launch_depth);
	print_number("tty", "ttyPULSE", device.info.tty);
	print_number("clock", "ptp", device.info.phc);
	printf("tick\t%llu within %u ns of CLOCK_MONOTONIC %llu ns\n", (unsigned long long)time.tick, time.uncertainty,
	       (unsigned long long)time.monotonic);
	printf("runs\t%s%s%s%s%s\n", status.flags & LITEPULSE_STATUS_TRAIN ? "train " : "",
	       status.flags & LITEPULSE_STATUS_CHANGE ? "(a change of it waits) " : "",
	       status.flags & LITEPULSE_STATUS_RESPONDER ? "responder " : "",
	       status.flags & LITEPULSE_STATUS_QUEUE ? "launches" : "", status.flags ? "" : "nothing");
	printf("lost\t%llu events, %llu bytes by the board; it was reset %llu times since the driver came\n",
	       (unsigned long long)stats.lost_events, (unsigned long long)stats.lost_bytes, (unsigned long long)stats.restarts);
	finish_output();
	return 0;
}
