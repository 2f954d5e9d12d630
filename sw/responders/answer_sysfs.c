// SPDX-License-Identifier: BSD-2-Clause
/*
 * A GPIO line follows another one, by /sys/class/gpio: the program sleeps in poll() until the kernel reports an edge.
 *
 *	answer-sysfs 529 530		pins 17 and 18 of a Raspberry Pi with Linux 6.6 or newer; 17 18 before
 */
#include "sysfs.h"

int main(int argc, char **argv)
{
	unsigned int line_in, line_out;
	int in, out;

	program = "answer-sysfs";
	if (argc > 3 && !strcmp(argv[1], "-d")) {	/* another folder, for tests */
		sysfs = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc != 3)
		fail("usage: answer-sysfs IN OUT, numbers as in /sys/class/gpio");
	line_in = line_of(argv[1]);
	line_out = line_of(argv[2]);
	in = sysfs_line(line_in, "in");
	out = sysfs_line(line_out, "out");
	for (bool level = sysfs_level(in);; level = sysfs_wait(in)) {
		if (pwrite(out, level ? "1" : "0", 1, 0) < 0)
			fail("writing the output: %s", strerror(errno));
	}
}
