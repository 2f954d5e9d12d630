/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/litepulseN */
#ifndef LITEPULSE_CHARDEV_H
#define LITEPULSE_CHARDEV_H

#include "litepulse.h"

#if IS_ENABLED(CONFIG_LITEPULSE_CHARDEV)
int litepulse_chardev_add(struct litepulse *lp);
void litepulse_chardev_remove(struct litepulse *lp);
#else
static inline int litepulse_chardev_add(struct litepulse *lp)
{
	return 0;
}

static inline void litepulse_chardev_remove(struct litepulse *lp)
{
	litepulse_board_set_gone(lp);
}
#endif

#endif /* LITEPULSE_CHARDEV_H */
