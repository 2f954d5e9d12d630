/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's console on /dev/ttyPULSEn. */
#ifndef LITEPULSE_CONSOLE_H
#define LITEPULSE_CONSOLE_H

#include <linux/kconfig.h>
#include <linux/stddef.h>

struct console;

#if IS_ENABLED(CONFIG_LITEPULSE_CONSOLE)
struct console *litepulse_console_init(void);
void litepulse_console_exit(void);
#else
static inline struct console *litepulse_console_init(void)
{
	return NULL;
}

static inline void litepulse_console_exit(void)
{
}
#endif

#endif /* LITEPULSE_CONSOLE_H */
