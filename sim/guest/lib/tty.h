/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tty's settings by termios(3), whose rates have names. For any rate see ports.h: the headers of
 * both do not go together. All return 0, or -1 with errno.
 */
#ifndef TTY_H
#define TTY_H

#include <sys/ioctl.h>
#include <termios.h>

#ifndef TIOCM_LOOP
#define TIOCM_LOOP 0x8000 /* not in the C library's headers */
#endif

/* All other settings stay, but read() waits for a byte. */
static inline int set_speed(int tty, speed_t speed)
{
	struct termios settings;

	if (tcgetattr(tty, &settings))
		return -1;
	cfsetspeed(&settings, speed);
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	return tcsetattr(tty, TCSANOW, &settings);
}

/* 8N1, and bytes come and go as they are. */
static inline int set_raw(int tty, speed_t speed)
{
	struct termios settings;

	if (tcgetattr(tty, &settings))
		return -1;
	cfmakeraw(&settings);
	cfsetspeed(&settings, speed);
	settings.c_cflag |= CLOCAL | CREAD;
	settings.c_cflag &= ~(CSTOPB | CRTSCTS);
	return tcsetattr(tty, TCSANOW, &settings);
}

#endif /* TTY_H */
