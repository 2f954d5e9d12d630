/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of /sys/class/gpio, the kernel's old interface. Its numbers are the base of the chip plus the number of the pin; the base is 512
 * on a Raspberry Pi with Linux 6.6 or newer, 0 before.
 */
#ifndef SYSFS_H
#define SYSFS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "line.h"

static const char *sysfs = "/sys/class/gpio";

/* Opens sysfs/NAME. A line that was just exported belongs to root until udev has given it to its group, so this tries for a second. */
static inline int sysfs_open(const char *name, int flags)
{
	char path[256];
	int file, tries = 0;

	snprintf(path, sizeof(path), "%s/%s", sysfs, name);
	while ((file = open(path, flags | O_CLOEXEC)) < 0 && errno == EACCES && tries++ < 100)
		usleep(10000);
	if (file < 0)
		fail("%s: %s", path, strerror(errno));
	return file;
}

static inline void sysfs_write(const char *name, const char *text)
{
	int file = sysfs_open(name, O_WRONLY);

	/* EBUSY: the line was exported before. */
	if (write(file, text, strlen(text)) < 0 && errno != EBUSY)
		fail("%s/%s: %s", sysfs, name, strerror(errno));
	close(file);
}

/* Its value, opened. `direction`: "in" or "out". An input reports both edges. */
static inline int sysfs_line(unsigned int line, const char *direction)
{
	char name[64], text[16];

	snprintf(text, sizeof(text), "%u", line);
	sysfs_write("export", text);
	snprintf(name, sizeof(name), "gpio%u/direction", line);
	sysfs_write(name, direction);
	if (!strcmp(direction, "in")) {
		snprintf(name, sizeof(name), "gpio%u/edge", line);
		sysfs_write(name, "both");
	}
	snprintf(name, sizeof(name), "gpio%u/value", line);
	return sysfs_open(name, O_RDWR);
}

/* The level of an input. Reading it takes note of all edges so far. */
static inline bool sysfs_level(int value)
{
	char level = '0';

	if (pread(value, &level, 1, 0) < 0)
		fail("reading an input: %s", strerror(errno));
	return level == '1';
}

/* Sleeps until the next edge; the level after it. */
static inline bool sysfs_wait(int value)
{
	struct pollfd edge = { .fd = value, .events = POLLPRI | POLLERR };

	if (poll(&edge, 1, -1) < 0)
		fail("poll: %s", strerror(errno));
	return sysfs_level(value);
}

#endif
