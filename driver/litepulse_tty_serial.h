/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver of all ttys, before and after there are ports. */
#ifndef LITEPULSE_TTY_SERIAL_H
#define LITEPULSE_TTY_SERIAL_H

struct console;
struct tty_struct;

int litepulse_tty_serial_init(struct console *console);
void litepulse_tty_serial_exit(void);

/* The tty layer exports it, but declares it in a header of its own. */
int tty_check_change(struct tty_struct *tty);

#endif /* LITEPULSE_TTY_SERIAL_H */
