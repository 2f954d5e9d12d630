// SPDX-License-Identifier: BSD-2-Clause
/*
 * pieces HOW COUNT: reads so many bytes at 9600 baud as an ordinary user of the group dialout, as a Modbus library does
 *
 * HOW: `default`, `low_latency` as by setserial(8), or `each`: rx_trig_bytes is 1. Tells when each read() came back and how much it had:
 * `piece SIZE TICK`.
 */
#include <grp.h>
#include <linux/serial.h>
#include <sys/stat.h>
#include <termios.h>

#include "guest.h"

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

static void set_trigger(void)
{
	int fd = open(TRIGGER, O_WRONLY);

	if (fd < 0 || write(fd, "1", 1) != 1)
		die(TRIGGER);
	close(fd);
}

int main(int argc, char **argv)
{
	static struct { ssize_t size; uint64_t tick; } pieces[PIECES];
	int device, tty, count = argc > 2 ? atoi(argv[2]) : 0, got = 0, read_calls = 0;
	struct termios settings;
	char bytes[512];

	give_to_group(DEVICE);
	give_to_group("/dev/" TTY);
	give_to_group(TRIGGER);
	if (argc != 3 || setgroups(0, NULL) || setgid(DIALOUT) || setuid(USER))
		die("user");
	device = open_device(0);
	tty = open("/dev/" TTY, O_RDWR | O_NOCTTY);
	if (tty < 0 || tcgetattr(tty, &settings))
		die(TTY);
	cfmakeraw(&settings);
	cfsetspeed(&settings, B9600);
	if (tcsetattr(tty, TCSANOW, &settings))
		die("settings");
	if (!strcmp(argv[1], "low_latency"))
		set_low_latency(tty);
	if (!strcmp(argv[1], "each"))
		set_trigger();
	ready("go");
	while (got < count && read_calls < PIECES) {
		struct pollfd p = { .fd = tty, .events = POLLIN };

		if (poll(&p, 1, 1000) < 1)
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
