/* SPDX-License-Identifier: BSD-2-Clause */
/* The board that a program uses: its devices, its driver, the port that it is attached to. */
#ifndef BOARD_H
#define BOARD_H

#include "device.h"
#include "tty.h"

/* The name of its platform device, and the numbers of its devices. */
struct board {
	char name[64];
	int pulse, tty, ptp;
};

extern struct board board;

/* Has it its devices? 1 if so, and their numbers. */
int has_devices(void);

/* The number of its device now, or -1: while an old file is open its number is not given again. */
int device_number(void);

/* Takes it from its driver, which reaches it meanwhile, or gives it back: 0, or -1. */
int unbind_board(void);
int bind_board(void);

int open_pulse(void);
int open_tty(speed_t speed);		/* all other settings are those that it has */
int try_open_tty(speed_t speed);	/* or -1 */

/* Parameters of the module echo_board, see echo_board.c: boards without hardware. */
void write_parameter(const char *name, const char *text);

/* Opens a port, raw at 115200 baud, and sets the line discipline: the file, or -1 with errno. */
int attach_port(const char *port);

/* Waits until the board behind a port has its devices, or until none is there: 0 if so. */
int find_board(const char *port, double timeout);
int wait_gone(const char *port, double timeout);

/* Both at once, in 20 s at most. */
int attach(const char *port);
void detach(int fd, const char *port);

/* A file of its platform device's folder uartbone/, without the newline: 0, or -1 with errno. */
int read_attribute(const char *name, char *text, size_t size);
int write_attribute(const char *name, const char *text);

#endif /* BOARD_H */
