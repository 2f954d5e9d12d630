/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaching a port, and finding the devices of the board behind it. */
#include "cable.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

int attach_port(const char *port)
{
	int fd = open(port, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), number = LITEPULSE_LDISC, error;
	struct termios settings;

	if (fd < 0)
		return -1;
	if (!tcgetattr(fd, &settings)) {
		cfmakeraw(&settings);
		settings.c_cflag |= CLOCAL | CREAD;
		settings.c_cflag &= ~(CSTOPB | CRTSCTS);
		cfsetspeed(&settings, B115200);
		if (!tcsetattr(fd, TCSANOW, &settings) && !ioctl(fd, TIOCSETD, &number))
			return fd;
	}
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* The number in the first entry of a folder that begins with `prefix`. */
static int number_of(const char *folder, const char *prefix)
{
	size_t length = strlen(prefix);
	DIR *list = opendir(folder);
	struct dirent *entry;
	int found = -1;

	while (list && (entry = readdir(list))) {
		if (!strncmp(entry->d_name, prefix, length))
			sscanf(entry->d_name + length, "%d", &found);
	}
	if (list)
		closedir(list);
	return found;
}

int read_attribute(const struct board *board, const char *name, char *text, size_t size)
{
	char path[300];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), PLATFORM "/%s/uartbone/%s", board->name, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	length = read(fd, text, size - 1);
	close(fd);
	if (length < 0)
		return -1;
	text[length] = 0;
	text[strcspn(text, "\n")] = 0;
	return 0;
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error;
	ssize_t length;

	if (fd < 0)
		return -1;
	length = write(fd, text, strlen(text));
	error = errno;
	close(fd);
	errno = error;
	return length == (ssize_t)strlen(text) ? 0 : -1;
}

int wanted_errno;

void expect(int result)
{
	if (wanted_errno) {
		CHECK(result < 0 && errno == wanted_errno);
		wanted_errno = 0;
	} else {
		CHECK(result >= 0);
	}
}

int write_attribute(const struct board *board, const char *name, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), PLATFORM "/%s/uartbone/%s", board->name, name);
	return write_file(path, text);
}

/* Is there a platform device for the port? 1 and its name, then; -1 if there is one that nobody knows whose it is: it comes or goes. */
static int look(const char *port, struct board *board)
{
	struct board found = { .name = "" };
	DIR *list = opendir(PLATFORM);
	struct dirent *entry;
	int answer = 0;
	char text[64];

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, "litepulse.", 10))
			continue;
		snprintf(found.name, sizeof(found.name), "%.60s", entry->d_name);
		if (read_attribute(&found, "port", text, sizeof(text))) {
			answer = answer ? answer : -1;
		} else if (!strcmp(text, port)) {
			answer = 1;
			*board = found;
		}
	}
	if (list)
		closedir(list);
	return answer;
}

int has_devices(struct board *board)
{
	struct litepulse_info info;
	char folder[200];
	int fd, error;

	snprintf(folder, sizeof(folder), PLATFORM "/%s/misc", board->name);
	board->pulse = number_of(folder, "litepulse");
	fd = board->pulse < 0 ? -1 : open_pulse(board);
	if (fd < 0)
		return 0;
	error = ioctl(fd, LITEPULSE_IOC_INFO, &info);
	close(fd);
	board->tty = info.tty;
	board->ptp = info.phc;
	return !error;
}

int find_board(const char *port, double seconds, struct board *board)
{
	for (double end = now() + seconds; now() < end; usleep(10000)) {
		if (look(port, board) == 1 && has_devices(board))
			return 0;
	}
	return -1;
}

static int write_driver(const char *name, const struct board *board)
{
	int length = strlen(board->name), error, fd;
	char path[100];

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/litepulse/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	error = write(fd, board->name, length) == length ? 0 : -1;
	close(fd);
	return error;
}

int unbind_board(const struct board *board)
{
	return write_driver("unbind", board);
}

int bind_board(const struct board *board)
{
	return write_driver("bind", board);
}

int wait_gone(const char *port, double seconds)
{
	struct board board;

	for (double end = now() + seconds; now() < end; usleep(10000)) {
		if (!look(port, &board))
			return 0;
	}
	return -1;
}

int open_pulse(const struct board *board)
{
	char name[40];

	snprintf(name, sizeof(name), "/dev/litepulse%d", board->pulse);
	return open(name, O_RDWR | O_CLOEXEC);
}

int open_tty(const struct board *board)
{
	struct termios settings;
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/dev/ttyPULSE%d", board->tty);
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!tcgetattr(fd, &settings)) {
		cfsetspeed(&settings, BAUD);
		settings.c_cc[VMIN] = 1;
		settings.c_cc[VTIME] = 0;
		if (!tcsetattr(fd, TCSANOW, &settings))
			return fd;
	}
	close(fd);
	return -1;
}
