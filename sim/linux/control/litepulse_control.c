// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A module with one mistake of each kind that the rig must report, chosen by the parameter `fault`: were a checker silent, the
 * tests of the driver would say nothing.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

static char *fault = "none";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "none, sleep, order, irq, leak, warn, oops");

static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);

static void sleep_in_atomic_context(void)
{
	spin_lock(&first);
	msleep(20);
	spin_unlock(&first);
}

static void locks_in_both_orders(void)
{
	spin_lock(&first);
	spin_lock(&second);
	spin_unlock(&second);
	spin_unlock(&first);
	spin_lock(&second);
	spin_lock(&first);
	spin_unlock(&first);
	spin_unlock(&second);
}

static void take_lock_in_timer(struct timer_list *unused)
{
	spin_lock(&first);
	spin_unlock(&first);
}

static DEFINE_TIMER(timer, take_lock_in_timer);

/* The lock that a timer takes, with timers not held off: no deadlock this time, but one day. */
static void lock_shared_with_timer(void)
{
	spin_lock(&first);
	spin_unlock(&first);
	mod_timer(&timer, jiffies + 1);
	msleep(50);
	timer_delete_sync(&timer);
}

static noinline void lose_memory(void)
{
	void *lost = kmalloc(100, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(lost);
}

static void warn(void)
{
	WARN_ON(1);
}

static void write_to_nowhere(void)
{
	WRITE_ONCE(*(int *)4, 1);
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "sleep", sleep_in_atomic_context },
	{ "order", locks_in_both_orders },
	{ "irq", lock_shared_with_timer },
	{ "leak", lose_memory },
	{ "warn", warn },
	{ "oops", write_to_nowhere },
};

static int __init control_init(void)
{
	size_t i;

	pr_info("litepulse_control: fault %s\n", fault);
	for (i = 0; i < ARRAY_SIZE(faults); i++)
		if (!strcmp(fault, faults[i].name))
			faults[i].make();
	return 0;
}

static void __exit control_exit(void)
{
}

module_init(control_init);
module_exit(control_exit);
MODULE_DESCRIPTION("Mistakes on purpose, for the simulated Linux SoC");
MODULE_LICENSE("Dual BSD/GPL");
