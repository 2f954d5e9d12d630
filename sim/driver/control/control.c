// SPDX-License-Identifier: BSD-2-Clause
/* Mistakes that the debug kernel must report, one per load: insmod control.ko fault=NAME. And a KUnit suite of which one case fails. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "which mistake to make");

static DEFINE_SPINLOCK(lock);
static DEFINE_MUTEX(one);
static DEFINE_MUTEX(two);
static volatile int amount = 40;	/* volatile: the compiler must not see through it */

static void overrun(void)
{
	u8 *bytes = kmalloc(48, GFP_KERNEL);

	if (bytes)
		bytes[8 + amount] = 1;
	kfree(bytes);
}

static void use_after_free(void)
{
	u8 *bytes = kmalloc(48, GFP_KERNEL);

	kfree(bytes);
	amount = ((volatile u8 *)bytes)[3] & 0x1f;
}

static void sleep_in_atomic(void)
{
	spin_lock(&lock);
	msleep(1);
	spin_unlock(&lock);
}

static void lock_inversion(void)
{
	mutex_lock(&one);
	mutex_lock(&two);
	mutex_unlock(&two);
	mutex_unlock(&one);
	mutex_lock(&two);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&two);
}

static void still_locked(void)
{
	mutex_lock(&one);
}

static void shift(void)
{
	amount = 1 << amount;
}

static struct timer_list *lost_timer;

static void nothing(struct timer_list *timer)
{
}

static void free_armed_timer(void)
{
	lost_timer = kzalloc(sizeof(*lost_timer), GFP_KERNEL);
	timer_setup(lost_timer, nothing, 0);
	mod_timer(lost_timer, jiffies + HZ);
	kfree(lost_timer);
}

static void leak(void)
{
	amount = !kmalloc(200, GFP_KERNEL);
}

static void list_corruption(void)
{
	struct list_head head, entry;

	INIT_LIST_HEAD(&head);
	list_add(&entry, &head);
	list_del(&entry);
	list_del(&entry);
}

static void warn(void)
{
	WARN_ON(amount);
}

static int contended;

static void count_for_a_second(struct work_struct *work)
{
	unsigned long end = jiffies + HZ;

	for (; time_before(jiffies, end); cpu_relax())
		contended++;
}
static DECLARE_WORK(other, count_for_a_second);

static void race(void)
{
	schedule_work_on(num_online_cpus() - 1, &other);
	count_for_a_second(NULL);
	flush_work(&other);
}

static const struct {
	const char *name;
	void (*make)(void);
} faults[] = {
	{ "overrun", overrun }, { "use_after_free", use_after_free }, { "sleep_in_atomic", sleep_in_atomic },
	{ "lock_inversion", lock_inversion }, { "still_locked", still_locked }, { "shift", shift },
	{ "free_armed_timer", free_armed_timer }, { "leak", leak }, { "list_corruption", list_corruption }, { "warn", warn },
	{ "race", race },
};

static void passes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 4, 2 + 2);
}

static void fails(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 5, 2 + 2);
}

static void is_skipped(struct kunit *test)
{
	kunit_skip(test, "as control");
}

static struct kunit_case cases[] = { KUNIT_CASE(passes), KUNIT_CASE(fails), KUNIT_CASE(is_skipped), {} };
static struct kunit_suite suite = { .name = "control", .test_cases = cases };
kunit_test_suite(suite);

static int __init control_init(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(fault, faults[i].name)) {
			faults[i].make();
			return 0;
		}
	}
	return strcmp(fault, "none") ? -EINVAL : 0;
}
module_init(control_init);

static void __exit control_exit(void)
{
}
module_exit(control_exit);

MODULE_DESCRIPTION("mistakes on purpose");
MODULE_LICENSE("Dual BSD/GPL");
