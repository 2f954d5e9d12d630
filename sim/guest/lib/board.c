/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the devices of a board, and attaching the port that it is behind. */
#include "board.h"

#include <dirent.h>

#include "clocks.h"

#define PLATFORM "/sys/devices/platform"
#define DRIVER	 "/sys/bus/platform/drivers/litepulse/"

struct board board;

int device_number(void)
{
	struct dirent *entry;
	char folder[100];
	int found = -1;
	DIR *list;

	snprintf(folder, sizeof(folder), PLATFORM "/%s/misc", board.name);
	list = opendir(folder);
	while (list && (entry = readdir(list)))
		sscanf(entry->d_name, "litepulse%d", &found);
	if (list)
		closedir(list);
	return found;
}

int has_devices(void)
{
	struct litepulse_info info;
	int fd, error;

	board.pulse = device_number();
	fd = board.pulse < 0 ? -1 : open_numbered("litepulse", board.pulse, O_RDWR);
	if (fd < 0)
		return 0;
	error = ioctl(fd, LITEPULSE_IOC_INFO, &info);
	close(fd);
	board.tty = info.tty;
	board.ptp = info.phc;
	return !error;
}

int unbind_board(void)
{
	return try_write(DRIVER "unbind", board.name);
}

int bind_board(void)
{
	return try_write(DRIVER "bind", board.name);
}

int open_pulse(void)
{
	int fd = open_numbered("litepulse", board.pulse, O_RDWR);

	CHECK(fd >= 0);
	return fd;
}

int try_open_tty(speed_t speed)
{
	int fd = open_numbered("ttyPULSE", board.tty, O_RDWR);

	if (fd < 0 || !set_speed(fd, speed))
		return fd;
	close(fd);
	return -1;
}

int open_tty(speed_t speed)
{
	int fd = try_open_tty(speed);
	struct termios settings;

	CHECK(fd >= 0 && !tcgetattr(fd, &settings));
	CHECK(!(settings.c_lflag & (ICANON | ECHO))); /* so from the start */
	return fd;
}

void write_parameter(const char *name, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/module/echo_board/parameters/%s", name);
	write_file(path, text);
}

/* --- a board on a cable --- */

int attach_port(const char *port)
{
	int fd = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), error;
	const int number = LITEPULSE_LDISC;

	if (fd < 0)
		return -1;
	if (!set_raw(fd, B115200) && !ioctl(fd, TIOCSETD, &number))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static const char *attribute(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), PLATFORM "/%s/uartbone/%s", board.name, name);
	return path;
}

int read_attribute(const char *name, char *text, size_t size)
{
	return read_line(attribute(name), text, size);
}

int write_attribute(const char *name, const char *text)
{
	return try_write(attribute(name), text);
}

/*
 * Is there a platform device for the port? 1, and the board's name; -1 if there is one that does
 * not say whose it is: it comes or goes.
 */
static int look(const char *port)
{
	const char *base = strrchr(port, '/') + 1;
	char path[400], text[64], found[sizeof(board.name)];
	DIR *list = opendir(PLATFORM);
	struct dirent *entry;
	int answer = 0;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, "litepulse.", 10))
			continue;
		snprintf(found, sizeof(found), "%.60s", entry->d_name);
		snprintf(path, sizeof(path), PLATFORM "/%s/uartbone/port", found);
		if (read_line(path, text, sizeof(text))) {
			answer = answer ? answer : -1;
		} else if (!strcmp(text, base)) {
			answer = 1;
			strcpy(board.name, found);
		}
	}
	if (list)
		closedir(list);
	return answer;
}

int find_board(const char *port, double timeout)
{
	for (double end = seconds() + timeout; seconds() < end; usleep(10000)) {
		if (look(port) == 1 && has_devices())
			return 0;
	}
	return -1;
}

int wait_gone(const char *port, double timeout)
{
	for (double end = seconds() + timeout; seconds() < end; usleep(10000)) {
		if (!look(port))
			return 0;
	}
	return -1;
}

int attach(const char *port)
{
	int fd = attach_port(port);

	CHECK(fd >= 0 && !find_board(port, 20));
	return fd;
}

void detach(int fd, const char *port)
{
	CHECK(!close(fd)); /* the last to hold it: a program forked meanwhile closes it */
	CHECK(!wait_gone(port, 20));
}
