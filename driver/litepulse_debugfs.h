/* SPDX-License-Identifier: GPL-2.0-only */
/* /sys/kernel/debug/litepulse */
#ifndef LITEPULSE_DEBUGFS_H
#define LITEPULSE_DEBUGFS_H

#include <linux/kconfig.h>

struct litepulse;

#if IS_ENABLED(CONFIG_LITEPULSE_DEBUGFS)
void litepulse_debugfs_init(void);
void litepulse_debugfs_exit(void);
void litepulse_debugfs_add(struct litepulse *lp);
void litepulse_debugfs_remove(struct litepulse *lp);
#else
static inline void litepulse_debugfs_init(void)
{
}

static inline void litepulse_debugfs_exit(void)
{
}

static inline void litepulse_debugfs_add(struct litepulse *lp)
{
}

static inline void litepulse_debugfs_remove(struct litepulse *lp)
{
}
#endif

#endif /* LITEPULSE_DEBUGFS_H */
