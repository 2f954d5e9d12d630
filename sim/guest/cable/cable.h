/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs for a board on a cable share: attaching, finding the devices, and saying what was not as it should be. */
#ifndef CABLE_H
#define CABLE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/litepulse.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
			exit(1); \
		} \
	} while (0)

#define PLATFORM "/sys/devices/platform"

/* A board that is attached: the name of its platform device, and the numbers of its devices. */
struct board {
	char name[64];
	int pulse, tty, ptp;
};

/* Opens the port, raw at 115200 baud, and sets the line discipline; returns the file, or -1 with errno. */
int attach_port(const char *port);

/* Waits up to `seconds` until the board behind `port` (say, ttyUSB0) has its devices; 0 if it has. */
int find_board(const char *port, double seconds, struct board *board);

/* Has the board whose platform device is `name` its devices? 1 if so, and their numbers. */
int has_devices(struct board *board);

/* Takes the board from its driver, which reaches it while it does what it does then, or gives it back; 0 if so. */
int unbind_board(const struct board *board);
int bind_board(const struct board *board);

/* Waits until no board is behind `port`; 0 if so. */
int wait_gone(const char *port, double seconds);

/* A file of the board, of its platform device's folder uartbone/; `text` of it, without the newline. */
int read_attribute(const struct board *board, const char *name, char *text, size_t size);
int write_attribute(const struct board *board, const char *name, const char *text);
int write_file(const char *path, const char *text);	/* any file: 0, or -1 with errno */

int open_pulse(const struct board *board);
#define BAUD 230400
int open_tty(const struct board *board);	/* BAUD, 8N1, raw */

/* A call that must succeed, or fail with the errno that a step names before it. */
extern int wanted_errno;
void expect(int result);

double now(void);	/* seconds, CLOCK_MONOTONIC */

#endif
