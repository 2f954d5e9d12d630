/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first program in User-mode Linux: does what the lines of /job say, then powers off; with the argument `restart`, for a machine that
 * ends then, it restarts. Speaks through the kernel's log.
 *   insmod FILE [PARAMETERS]   rmmod NAME   run PROGRAM [ARGUMENTS]   sleep SECONDS   leaks (prints what kmemleak finds)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int kmsg = -1;

static void say(const char *format, ...)
{
	char line[900];
	int length = snprintf(line, sizeof(line), "rig: ");
	va_list arguments;

	va_start(arguments, format);
	length += vsnprintf(line + length, sizeof(line) - length, format, arguments);
	va_end(arguments);
	if (length > (int)sizeof(line) - 1)
		length = sizeof(line) - 1;
	if (write(kmsg, line, length) != length)
		_exit(1);	/* the kernel panics, which the rig sees */
}

static int insmod(char *file)
{
	char *parameters = strchr(file, ' ');
	int fd;

	if (parameters)
		*parameters++ = 0;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	return fd < 0 || syscall(SYS_finit_module, fd, parameters ? parameters : "", 0) ? errno : 0;
}

static int run(char *line)
{
	char *words[32];
	int count = 0;

	for (char *word = strtok(line, " "); word && count < 31; word = strtok(NULL, " "))
		words[count++] = word;
	words[count] = NULL;
	dup2(kmsg, 1);
	dup2(kmsg, 2);
	execv(words[0], words);
	return 127;
}

/* An object counts as lost once it is half a second old (PATCHES in uml.py) and two scans found no pointer to it. */
static int leaks(void)
{
	static const char name[] = "/sys/kernel/debug/kmemleak";
	char line[400];
	int found = 0;
	FILE *list;

	for (int scan = 0; scan < 2; scan++) {
		int fd = open(name, O_WRONLY | O_CLOEXEC);

		usleep(600 * 1000);
		if (fd < 0 || write(fd, "scan", 4) != 4)
			return 255;
		close(fd);
	}
	list = fopen(name, "re");
	if (!list)
		return 255;
	for (; fgets(line, sizeof(line), list); found++)
		say("%.*s", (int)strcspn(line, "\n"), line);
	fclose(list);
	return found > 0;
}

static int job(char *line)
{
	char *rest = strchr(line, ' ');

	rest = rest ? rest + 1 : line + strlen(line);
	if (!strncmp(line, "insmod ", 7))
		return insmod(rest);
	if (!strncmp(line, "rmmod ", 6))
		return syscall(SYS_delete_module, rest, O_NONBLOCK) ? errno : 0;
	if (!strncmp(line, "run ", 4))
		return run(rest);
	if (!strncmp(line, "sleep ", 6))
		return (int)sleep(atoi(rest));
	if (!strcmp(line, "leaks"))
		return leaks();
	return 254;
}

/* In a process of its own: the kernel looks for locks that are still held when one ends. */
static int job_in_child(char *line)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(job(line));
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words)
{
	char line[400], copy[400];
	FILE *jobs;

	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("tmp", "/tmp", "tmpfs", 0, NULL);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	jobs = fopen("/job", "re");
	if (kmsg < 0 || !jobs)
		return 1;
	say("started");
	while (fgets(line, sizeof(line), jobs)) {
		line[strcspn(line, "\n")] = 0;
		strcpy(copy, line);
		say("status %d of %s", job_in_child(line), copy);
	}
	say("done");
	sync();
	reboot(count > 1 && !strcmp(words[1], "restart") ? RB_AUTOBOOT : RB_POWER_OFF);
	return 1;
}
