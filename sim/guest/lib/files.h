/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of the kernel, and waiting for any file or process. */
#ifndef FILES_H
#define FILES_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Writes the text into a file: 0, or -1 with errno. */
static inline int try_write(const char *path, const char *text)
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

static inline void write_file(const char *path, const char *text)
{
	if (try_write(path, text))
		die(path);
}

/* Reads a file's first line, without the newline: 0, or -1 with errno. */
static inline int read_line(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length;

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

/* Opens /dev/BASENUMBER: the file, or -1 with errno. */
static inline int open_numbered(const char *base, int number, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/dev/%s%d", base, number);
	return open(path, flags | O_CLOEXEC | O_NOCTTY);
}

static inline void set_nonblocking(int fd)
{
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		die("O_NONBLOCK");
}

/* As poll() of one file. */
static inline int polled(int fd, short events, int ms)
{
	return poll(&(struct pollfd){ .fd = fd, .events = events }, 1, ms);
}

static inline int readable(int fd, int ms)
{
	return polled(fd, POLLIN, ms);
}

/* A handler: a call that waits ends with EINTR then. */
static inline void ignore_signal(int signal)
{
}

/* Waits for the end of a child, which must have succeeded. */
static inline void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		die("a child");
}

/* Returns the child's status. */
static inline int kill_child(pid_t child)
{
	int status;

	if (kill(child, SIGKILL) || waitpid(child, &status, 0) != child)
		die("a child");
	return status;
}

/* Suspends all devices of the machine, which resume seconds later. */
static inline void suspend_machine(void)
{
	write_file("/sys/power/pm_test", "devices");
	write_file("/sys/power/state", "freeze");
}

#endif /* FILES_H */
