// SPDX-License-Identifier: BSD-2-Clause
/*
 * upstream_hold KEPT: has a tty open whose board goes, and tries to remove the driver's module meanwhile
 *
 * KEPT: 1, the module has to stay until the tty is closed, exit status 0 says that it did. 0, it may go: the machine is switched off then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

static int remove_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

int main(int count, char **words)
{
	int kept = count > 1 && atoi(words[1]);
	int tty = open("/dev/ttyPULSE0", O_RDWR | O_NOCTTY | O_NONBLOCK);
	int error;

	if (tty < 0 || remove_module("echo_board"))
		return 2;
	error = remove_module("litepulse");
	printf("litepulse: %d\n", error);
	fflush(stdout);
	/* Closing the tty would use what is freed. */
	if (!kept)
		reboot(RB_POWER_OFF);
	if (error != EWOULDBLOCK || close(tty))
		return 1;
	/* A worker lets go of the module, soon after the tty was closed. */
	for (int tries = 0; tries < 100 && (error = remove_module("litepulse")) == EWOULDBLOCK; tries++)
		usleep(10000);
	return error;
}
