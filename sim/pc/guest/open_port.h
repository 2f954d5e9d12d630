/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a serial port that may have been plugged in a moment ago. The kernel puts a tty's node into /dev before its character device
 * exists (open() gives ENXIO), and usb-serial opens no port before all ports of the adapter are there (ENODEV).
 */
#ifndef OPEN_PORT_H
#define OPEN_PORT_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define OPEN_PORT_MS 2000 /* how long to wait for that, as OPEN_SECONDS in sw/litepulse/ports.py */

/* As open(); a path that does not exist fails at once. */
static inline int open_port(const char *path)
{
	int tty;

	for (int ms = 0; (tty = open(path, O_RDWR | O_NOCTTY)) < 0 && (errno == ENXIO || errno == ENODEV) && ms < OPEN_PORT_MS; ms += 10)
		usleep(10000);
	return tty;
}

#endif /* OPEN_PORT_H */
