/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/ttyPULSEn */
#ifndef LITEPULSE_TTY_H
#define LITEPULSE_TTY_H

#include "litepulse.h"

struct console;
struct uart_port;

/* For what is below the tty; they work once it was added, @room before, too. */
extern const struct litepulse_port_ops litepulse_tty_port_ops;

int litepulse_tty_add(struct litepulse *lp);
void litepulse_tty_remove(struct litepulse *lp);
int litepulse_tty_suspend(struct litepulse *lp);
int litepulse_tty_resume(struct litepulse *lp);
int litepulse_tty_apply(struct litepulse *lp);
int litepulse_tty_lend(struct litepulse *lp, u32 format, u64 period);
void litepulse_tty_take_back(struct litepulse *lp);
struct uart_port *litepulse_tty_console_port(const struct console *console);
int litepulse_tty_console_set(struct uart_port *port, bool on);
unsigned int litepulse_tty_console_send(struct uart_port *port, const u8 *bytes,
					unsigned int count);
void litepulse_tty_console_sent(struct uart_port *port);
bool litepulse_tty_console_idle(struct uart_port *port);

#endif /* LITEPULSE_TTY_H */
