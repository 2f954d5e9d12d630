// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Halts the machine: while it lasts the only CPU runs one loop with interrupts disabled, so no driver and no program does anything.
 *
 *	echo 300 >/sys/module/litepulse_halt/parameters/ms	for 300 ms, now
 *	echo bye >/sys/module/litepulse_halt/parameters/panic	forever: a panic, with these words
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/panic.h>

static int halt(const char *text, const struct kernel_param *param)
{
	unsigned long flags;
	unsigned int ms;
	int error = kstrtouint(text, 0, &ms);

	if (error)
		return error;
	local_irq_save(flags);
	mdelay(ms);
	local_irq_restore(flags);
	return 0;
}

static const struct kernel_param_ops halt_ops = { .set = halt };

module_param_cb(ms, &halt_ops, NULL, 0200);
MODULE_PARM_DESC(ms, "write: halt the machine for so many milliseconds");

static int halt_panic(const char *text, const struct kernel_param *param)
{
	panic("%s", text);
}

static const struct kernel_param_ops halt_panic_ops = { .set = halt_panic };

module_param_cb(panic, &halt_panic_ops, NULL, 0200);
MODULE_PARM_DESC(panic, "write: panic with what is written");

MODULE_DESCRIPTION("Halts the simulated machine for a test");
MODULE_LICENSE("Dual BSD/GPL");
