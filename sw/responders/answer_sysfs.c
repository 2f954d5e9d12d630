// SPDX-License-Identifier: BSD-2-Clause
/*
 * A GPIO line follows another one, by /sys/class/gpio: the program sleeps in poll() until the kernel reports an edge.
 *
 *	answer-sysfs 529 530		pins 17 and 18 of a Raspberry Pi with Linux 6.6 or newer; 17 18 before
 */
#include "sysfs.h"

int main(int argc, char **argv)
{
	int in, out;

	program = "answer-sysfs";
	if (argc > 3 && !strcmp(argv[1], "-d")) {	/* another folder, for tests */
		sysfs = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc != 3)
		fail("usage: answer-sysfs IN OUT, numbers as in /sys/class/gpio");
	in = sysfs_line(line_of(argv[1]), "in");
	out = sysfs_line(line_of(argv[2]), "out");
	sysfs_level(in);
	for (;;) {
		if (pwrite(out, sysfs_wait(in) ? "1" : "0", 1, 0) < 0)
			fail("writing the output: %s", strerror(errno));
	}
}
