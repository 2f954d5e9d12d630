// SPDX-License-Identifier: BSD-2-Clause
/*
 * /init of the guest. It mounts what programs expect and obeys lines from the console; before each it says "litepulse: ready":
 *
 *	run	unpack the archive that the simulator put into the files window, execute the words of its file `words` (each ended by
 *		a zero), or if it has none its program `run`, kill whatever that left behind, say "litepulse: exit STATUS" (128 +
 *		signal when killed by one; 127 when there is nothing to run)
 *	shell	an interactive shell
 *	off	power off
 *
 * Until the first `run` nothing reads the window: the CPU's caches do not see what the simulator writes. What can be done before, is:
 * a test pays for what a `run` does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define FOLDER "/tmp/files"
#define CACHES (16 * 1024)	/* more than the data cache of either CPU */

/* The header of a member of a "newc" archive: fields of eight hexadecimal digits. */
enum { MAGIC = 6, FIELD = 8, MODE = 1, SIZE = 6, NAME_SIZE = 11, FIELDS = 13, HEADER = MAGIC + FIELD * FIELDS };

static const struct mount_point {
	const char *type, *path;
} mounts[] = {
	{ "proc", "/proc" },
	{ "sysfs", "/sys" },
	{ "devtmpfs", "/dev" },
	{ "tmpfs", "/tmp" },
	{ "debugfs", "/sys/kernel/debug" },
};

static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("litepulse: ");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
}

/* 0, or -1 after a message. */
static int failed(const char *what, const char *path)
{
	say("cannot %s %s: %s", what, path, strerror(errno));
	return -1;
}

/* Address and size of the window, from the node files@... of the device tree; 0 if there is one. */
static int find_window(uint32_t *address, uint32_t *size)
{
	static const char folder[] = "/proc/device-tree/reserved-memory";
	DIR *directory = opendir(folder);
	unsigned char cells[8];
	struct dirent *entry;
	char path[PATH_MAX];
	int found = -1;

	while (directory && found && (entry = readdir(directory))) {
		FILE *file;

		if (strncmp(entry->d_name, "files@", 6))
			continue;
		snprintf(path, sizeof(path), "%s/%s/reg", folder, entry->d_name);
		file = fopen(path, "r");
		if (file && fread(cells, sizeof(cells), 1, file) == 1)
			found = 0;
		if (file)
			fclose(file);
	}
	if (directory)
		closedir(directory);
	if (found) {
		say("the device tree has no window for files");
		return -1;
	}
	*address = (uint32_t)cells[0] << 24 | cells[1] << 16 | cells[2] << 8 | cells[3];
	*size = (uint32_t)cells[4] << 24 | cells[5] << 16 | cells[6] << 8 | cells[7];
	return 0;
}

static int read_all(int file, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t count = read(file, at, size);

		if (count <= 0)
			return -1;
		at += count;
		size -= count;
	}
	return 0;
}

static int write_all(int file, const char *data, size_t size)
{
	while (size) {
		ssize_t count = write(file, data, size);

		if (count < 0)
			return -1;
		data += count;
		size -= count;
	}
	return 0;
}

/* The archive, in memory to be freed, or NULL after a message. */
static char *read_window(uint32_t address, uint32_t size, size_t *length)
{
	static volatile char evict[CACHES];
	char *archive = NULL;
	uint32_t head[2];
	size_t i;
	int file;

	for (i = 0; i < sizeof(evict); i += 4)
		(void)evict[i];
	file = open("/dev/mem", O_RDONLY);
	if (file < 0 || lseek(file, address, SEEK_SET) < 0 || read_all(file, head, sizeof(head))) {
		failed("read", "/dev/mem");
	} else if (!head[0] || head[0] > size - sizeof(head)) {
		say("there are no files in the window");
	} else {
		*length = head[0];
		archive = malloc(*length);
		if (!archive || read_all(file, archive, *length)) {
			failed("read", "the window");
			free(archive);
			archive = NULL;
		}
	}
	if (file >= 0)
		close(file);
	return archive;
}

static uint32_t field(const char *header, int number)
{
	char digits[FIELD + 1] = "";

	memcpy(digits, header + MAGIC + FIELD * number, FIELD);
	return strtoul(digits, NULL, 16);
}

static int place(const char *path, uint32_t mode, const char *data, uint32_t size)
{
	char target[PATH_MAX];
	int file;

	if (S_ISDIR(mode))
		return mkdir(path, mode & 07777) && errno != EEXIST ? failed("make", path) : 0;
	unlink(path);
	if (S_ISLNK(mode)) {
		if (size >= sizeof(target))
			return failed("link", path);
		memcpy(target, data, size);
		target[size] = 0;
		return symlink(target, path) ? failed("link", path) : 0;
	}
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode & 07777);
	if (file < 0)
		return failed("create", path);
	if (write_all(file, data, size) || close(file))
		return failed("write", path);
	return 0;
}

/* Unpacks a newc archive below the working directory. */
static int unpack(const char *archive, size_t length)
{
	size_t at = 0;

	while (at + HEADER <= length && !memcmp(archive + at, "07070", 5)) {
		const char *header = archive + at, *name = header + HEADER;
		uint32_t name_size = field(header, NAME_SIZE), size = field(header, SIZE);
		size_t data = (at + HEADER + name_size + 3) & ~(size_t)3;

		if (!name_size || data > length || size > length - data || name[name_size - 1])
			break;
		if (!strcmp(name, "TRAILER!!!"))
			return 0;
		if (strcmp(name, ".") && place(name, field(header, MODE), archive + data, size))
			return -1;
		at = (data + size + 3) & ~(size_t)3;
	}
	say("the archive of files is damaged at byte %lu", (unsigned long)at);
	return -1;
}

/* What is to be executed: the words of the file `words`, which is gone then, or the program `run`. */
static char *const *find_words(void)
{
	static char *const script[] = { "./run", NULL };
	static char text[4096], *words[64];
	ssize_t size, at, count = 0;
	int file = open("words", O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return script;
	size = read(file, text, sizeof(text));
	close(file);
	unlink("words");
	if (size <= 0 || size == sizeof(text) || text[size - 1]) {
		say("`words` is empty, too long, or has no end");
		return NULL;
	}
	for (at = 0; at < size; at += strlen(text + at) + 1) {
		if (count == sizeof(words) / sizeof(words[0]) - 1) {
			say("too many words");
			return NULL;
		}
		words[count++] = text + at;
	}
	words[count] = NULL;
	return words;
}

/* Executes a program with the console as its terminal; its status as a shell would say it. */
static int execute(char *const arguments[])
{
	pid_t child = vfork(), dead;	/* without a copy of our memory */
	int status = 0;

	if (!child) {
		signal(SIGINT, SIG_DFL);
		execv(arguments[0], arguments);
		failed("execute", arguments[0]);
		_exit(127);
	}
	do
		dead = wait(&status);		/* orphans too */
	while (dead != child && (dead > 0 || errno == EINTR));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* With or without echo and signals of the terminal. */
static void interactive(int on)
{
	struct termios settings;

	tcgetattr(STDIN_FILENO, &settings);
	if (on)
		settings.c_lflag |= ECHO | ISIG;
	else
		settings.c_lflag &= ~(ECHO | ISIG);
	tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

static int run(uint32_t address, uint32_t size)
{
	char *const *arguments;
	size_t length;
	char *archive = size ? read_window(address, size, &length) : NULL;
	int status = 127;

	if (!archive)
		return status;
	mkdir(FOLDER, 0755);
	if (chdir(FOLDER))
		failed("enter", FOLDER);
	else if (!unpack(archive, length) && (arguments = find_words()))
		status = execute(arguments);
	free(archive);
	if (chdir("/"))
		failed("enter", "/");
	/* What closing does to a driver belongs to the run. */
	kill(-1, SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	return status;
}

int main(void)
{
	char *const shell[] = { "/bin/sh", "-l", NULL };
	uint32_t address, size = 0;
	char line[64];
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].path, 0755);
		if (mount(mounts[i].type, mounts[i].path, mounts[i].type, 0, NULL))
			failed("mount", mounts[i].path);
	}
	setsid();
	ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	signal(SIGINT, SIG_IGN);
	setenv("PATH", "/bin:/sbin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("TERM", "vt100", 1);
	interactive(0);
	find_window(&address, &size);
	for (;;) {
		say("ready");
		if (!fgets(line, sizeof(line), stdin)) {
			clearerr(stdin);
			sleep(1);
			continue;		/* the terminal was hung up */
		}
		line[strcspn(line, "\r\n")] = 0;
		if (!strcmp(line, "run")) {
			say("exit %d", run(address, size));
		} else if (!strcmp(line, "shell")) {
			interactive(1);
			execute(shell);
			interactive(0);
		} else if (!strcmp(line, "off")) {
			reboot(RB_POWER_OFF);
		} else if (line[0]) {
			say("what is \"%s\"?", line);
		}
	}
}
