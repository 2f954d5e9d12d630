/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/litepulseN */
#ifndef LITEPULSE_CHARDEV_H
#define LITEPULSE_CHARDEV_H

#include "litepulse.h"

int litepulse_chardev_add(struct litepulse *lp);
void litepulse_chardev_remove(struct litepulse *lp);

#endif /* LITEPULSE_CHARDEV_H */
