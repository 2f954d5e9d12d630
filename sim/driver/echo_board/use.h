/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cases of `use` have in common: the echo board, and what works on any good one. */
#ifndef USE_H
#define USE_H

#include "board.h"
#include "cases.h"
#include "clocks.h"

#include <linux/serial.h>

#define BYTES 1500
#define LIN_ENTRIES 16 /* of the first board; the second is no LIN slave */

extern const struct guest_case abi_cases[], event_cases[], output_cases[], ring_cases[],
	sequence_cases[], session_cases[], tty_cases[];

/* A train that runs until it is stopped. */
extern const struct litepulse_train endless;

#define REALTIME(kinds) WANT(kinds, REALTIME, .fifo = 4096)
#define NO_RESPONDER ((struct litepulse_responder){ 0 })
/* A valid entry, except for the members that are named. */
#define ENTRY(...) \
	((struct litepulse_lin_entry){ .id = 1, .length = 2, .data = { 1, 2 }, __VA_ARGS__ })
#define SLAVE(...) \
	((struct litepulse_responder){ .trigger = LITEPULSE_TRIGGER_LIN, .delay = 100, \
				       .flags = LITEPULSE_RESPONDER_REARM, __VA_ARGS__ })

/* --- the board that is used --- */

void choose_board(int which);
void unbind(void);
void bind_again(void);
void rebind(void);

/* A number that the boards know: see echo_board.c. */
int known(const char *name);
int de_is(int lead, int lag, int echo);
int is(const char *path, const char *expected);	/* a parameter of a module */

/* --- calls that return 0, or -errno --- */

/* A tick is a nanosecond here, and a cycle is a tick. */
int driver_enable(int fd, unsigned int lead, unsigned int lag, unsigned int flags,
		  unsigned int echo);
int rs485(int tty, unsigned int flags);
int respond(int fd, struct litepulse_responder request);
int entry(int fd, struct litepulse_lin_entry request);
int set_profile(int fd, unsigned int index, unsigned int baud, unsigned int flags);
int set_port(int fd, unsigned int flags, unsigned int width, unsigned int tty);

/* --- claims --- */

int claim(int pulse);
int keeper(int pulse);		/* a claim that ends, and whose output goes on */
void keep_output(int fd);	/* the same from now on */
int is_claimed(int pulse);	/* by another file */
int is_stale(int fd);		/* has what the claim's file started ended? */
int is_gone(int pulse);

/* --- what works on any good board --- */

int open_clock(int pulse);
void bytes(int pulse);
void train(int pulse);
void use_all(int pulse);
void reset(int pulse);

/* Launches that many, the first one soon, and ticks apart. */
void launch_many(int claimed, int pulse, unsigned int count, unsigned int apart);

/* An event that the driver made itself is of a moment between `before` and now. */
void made_since(int pulse, struct litepulse_time before, struct litepulse_event event);

#endif /* USE_H */
