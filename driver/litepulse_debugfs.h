/* SPDX-License-Identifier: GPL-2.0-only */
/* /sys/kernel/debug/litepulse; empty without CONFIG_DEBUG_FS. */
#ifndef LITEPULSE_DEBUGFS_H
#define LITEPULSE_DEBUGFS_H

struct litepulse;

void litepulse_debugfs_init(void);
void litepulse_debugfs_exit(void);
void litepulse_debugfs_add(struct litepulse *lp);
void litepulse_debugfs_remove(struct litepulse *lp);

#endif /* LITEPULSE_DEBUGFS_H */
