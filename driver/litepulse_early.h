/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of the kernel before the driver is bound: earlycon. */
#ifndef LITEPULSE_EARLY_H
#define LITEPULSE_EARLY_H

#include <linux/ioport.h>
#include <linux/kconfig.h>

#if IS_ENABLED(CONFIG_LITEPULSE_CONSOLE)
unsigned int litepulse_early_baud(const struct resource *csr);
#else
static inline unsigned int litepulse_early_baud(const struct resource *csr)
{
	return 0;
}
#endif

#endif /* LITEPULSE_EARLY_H */
