// SPDX-License-Identifier: BSD-2-Clause
/*
 * 58 pulses a second from a serial port, the way one writes it first: sleep, write a byte, again.
 *
 * Byte 0xff is a single short pulse: the start bit, 104 us at 9600 baud. When it leaves is up to the timer, the scheduler,
 * the tty layer and the UART; and the sleep comes on top of the time that everything else takes, so the rate is too low, too.
 *
 *	p1_tty [TTY [PULSES]]	default: /dev/ttyPULSE0, forever
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/ttyPULSE0";
	long pulses = argc > 2 ? atol(argv[2]) : -1;
	const unsigned char byte = 0xff;
	struct termios settings;
	int tty = open(path, O_RDWR | O_NOCTTY);

	if (tty < 0 || tcgetattr(tty, &settings))
		err(2, "%s", path);
	cfmakeraw(&settings);
	cfsetspeed(&settings, B9600);
	if (tcsetattr(tty, TCSANOW, &settings))
		err(2, "%s", path);

	while (pulses < 0 || pulses--) {
		if (write(tty, &byte, 1) != 1)
			err(2, "%s", path);
		usleep(1000000 / 58);
	}
	tcdrain(tty);
	return 0;
}
