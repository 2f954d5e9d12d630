/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints what is in /dev/litepulse/by-path and by-id, and of each file named as argument: name, where it leads to, mode, group. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void show(const char *name)
{
	char target[4096];
	struct stat about;

	if (!realpath(name, target) || stat(target, &about)) {
		printf("%s leads nowhere\n", name);
		return;
	}
	printf("%s = %s %03o %u\n", name, target, about.st_mode & 07777, about.st_gid);
}

static void show_folder(const char *base)
{
	struct dirent **entries;
	int found = scandir(base, &entries, NULL, alphasort);
	char name[300];

	for (int i = 0; i < found; i++) {
		snprintf(name, sizeof(name), "%s/%s", base, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			show(name);
	}
}

int main(int count, char **words)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	show_folder("/dev/litepulse/by-path");
	show_folder("/dev/litepulse/by-id");
	for (int i = 1; i < count; i++)
		show(words[i]);
	return 0;
}
