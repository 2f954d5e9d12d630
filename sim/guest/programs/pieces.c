// SPDX-License-Identifier: BSD-2-Clause
/*
 * pieces HOW COUNT: reads COUNT bytes at 9600 baud as an ordinary user of the group dialout, as a
 * Modbus library does
 *
 * HOW: `default`, `low_latency` as by setserial(8), or `each`: rx_trig_bytes is 1. Prints when each
 * read() returned and how much it had: `piece SIZE TICK`.
 */
#include <grp.h>
#include <linux/serial.h>
#include <sys/stat.h>

#include "guest.h"
#include "tty.h"

#define TTY	"ttyPULSE0"
#define TRIGGER	"/sys/class/tty/" TTY "/rx_trig_bytes"
#define PIECES	256
enum { USER = 1000, DIALOUT = 20 };

/* What the udev rules do. */
static void give_to_group(const char *path)
{
	if (chown(path, 0, DIALOUT) || chmod(path, 0660))
		die(path);
}

static void set_low_latency(int tty)
{
	struct serial_struct settings;

	if (ioctl(tty, TIOCGSERIAL, &settings))
		die("TIOCGSERIAL");
	settings.flags |= ASYNC_LOW_LATENCY;
	if (ioctl(tty, TIOCSSERIAL, &settings))
		die("TIOCSSERIAL");
}

int main(int argc, char **argv)
{
	static struct { ssize_t size; uint64_t tick; } pieces[PIECES];
	int device, tty, count = argc > 2 ? atoi(argv[2]) : 0, got = 0, read_calls = 0;
	char bytes[512];

	give_to_group(DEVICE);
	give_to_group("/dev/" TTY);
	give_to_group(TRIGGER);
	if (argc != 3 || setgroups(0, NULL) || setgid(DIALOUT) || setuid(USER))
		die("user");
	device = open_device(0);
	tty = open("/dev/" TTY, O_RDWR | O_NOCTTY);
	if (tty < 0 || set_raw(tty, B9600))
		die(TTY);
	if (!strcmp(argv[1], "low_latency"))
		set_low_latency(tty);
	if (!strcmp(argv[1], "each"))
		write_file(TRIGGER, "1");
	ready("go");
	while (got < count && read_calls < PIECES) {
		if (readable(tty, 1000) < 1)
			die("silence");
		pieces[read_calls].size = read(tty, bytes, sizeof(bytes));
		pieces[read_calls].tick = now(device);
		if (pieces[read_calls].size < 0)
			die("read");
		got += pieces[read_calls++].size;
	}
	for (int i = 0; i < read_calls; i++)
		printf("piece %zd %llu\n", pieces[i].size, (unsigned long long)pieces[i].tick);
	return 0;
}
