// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Causes of late edges, planted for a test. Each is a parameter that is written:
 *
 *	storm=COUNT		so many interrupts of LiteX's timer, 1.2 ms apart; each takes 1 ms
 *	irqs_off=US		interrupts off for so long, in the program that writes it
 *	slow_work=US		a work that keeps a worker of the kernel busy for so long
 *	idle_us=US		an idle state that takes so long to leave
 *	resume_us=US		how long the device of `runtime` sleeps until it is resumed
 *	runtime=DEVICE		a serial port's platform device may be suspended
 *
 * `log` has when each of them happened: BEGIN END in ns of CLOCK_MONOTONIC.
 */
#include <linux/cpuidle.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/workqueue.h>
#include <asm/cpuidle.h>

#define LOGGED 200
#define STORM_US 1200
#define STORM_BUSY_US 1000
#define CYCLES_PER_US 50

/* LiteX's timer */
enum { LOAD = 0, RELOAD = 4, ENABLE = 8, PENDING = 0x18, EVENTS = 0x1c };

static u64 logged[LOGGED][2];
static unsigned int count;

static void log_since(u64 begin)
{
	if (count < LOGGED) {
		logged[count][0] = begin;
		logged[count++][1] = ktime_get_ns();
	}
}

static int log_get(char *text, const struct kernel_param *param)
{
	int size = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		size += scnprintf(text + size, PAGE_SIZE - size, "%llu %llu\n", logged[i][0],
				  logged[i][1]);
	return size;
}

static const struct kernel_param_ops log_ops = { .get = log_get };

module_param_cb(log, &log_ops, NULL, 0400);

/* --- interrupts --- */

static void __iomem *timer;
static unsigned int timer_irq, storm_left;

static irqreturn_t storm_interrupt(int irq, void *data)
{
	u64 begin = ktime_get_ns();

	writel(1, timer + PENDING);
	udelay(STORM_BUSY_US);
	if (storm_left)
		storm_left--;
	if (!storm_left) {
		writel(0, timer + EVENTS);
		writel(0, timer + ENABLE);
	}
	log_since(begin);
	return IRQ_HANDLED;
}

static int storm_set(const char *text, const struct kernel_param *param)
{
	int error = kstrtouint(text, 0, &storm_left);

	if (error || !storm_left)
		return error;
	writel(0, timer + ENABLE);
	writel(STORM_US * CYCLES_PER_US, timer + LOAD);
	writel(STORM_US * CYCLES_PER_US, timer + RELOAD);
	writel(1, timer + PENDING);
	writel(1, timer + EVENTS);
	writel(1, timer + ENABLE);
	return 0;
}

static const struct kernel_param_ops storm_ops = { .set = storm_set };

module_param_cb(storm, &storm_ops, NULL, 0200);

static int irqs_off_set(const char *text, const struct kernel_param *param)
{
	unsigned int us;
	unsigned long flags;
	u64 begin;
	int error = kstrtouint(text, 0, &us);

	if (error)
		return error;
	local_irq_save(flags);
	begin = ktime_get_ns();
	udelay(us);
	log_since(begin);
	local_irq_restore(flags);
	return 0;
}

static const struct kernel_param_ops irqs_off_ops = { .set = irqs_off_set };

module_param_cb(irqs_off, &irqs_off_ops, NULL, 0200);

/* --- workers --- */

static unsigned int slow_us;

static void slow(struct work_struct *work)
{
	u64 begin = ktime_get_ns();

	udelay(slow_us);
	log_since(begin);
}

static DECLARE_WORK(slow_work, slow);

static int slow_work_set(const char *text, const struct kernel_param *param)
{
	int error = kstrtouint(text, 0, &slow_us);

	if (!error)
		schedule_work(&slow_work);
	return error;
}

static const struct kernel_param_ops slow_work_ops = { .set = slow_work_set };

module_param_cb(slow_work, &slow_work_ops, NULL, 0200);

/* --- idle states --- */

static unsigned int idle_us;

static int idle_usual(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	cpu_do_idle();
	return index;
}

/* The CPU is awake when it goes on, as one that was halted deeply is. */
static int idle_deep(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	u64 begin;

	cpu_do_idle();
	begin = ktime_get_ns();
	udelay(idle_us);
	log_since(begin);
	return index;
}

static struct cpuidle_driver idle_driver = {
	.name = "litepulse_causes",
	.owner = THIS_MODULE,
	.states = {
		{ .name = "usual", .exit_latency = 1, .target_residency = 1, .enter = idle_usual },
		{ .name = "deep", .exit_latency = 100, .target_residency = 200, .enter = idle_deep },
	},
	.state_count = 2,
};

static int idle_set(const char *text, const struct kernel_param *param)
{
	int error = kstrtouint(text, 0, &idle_us);

	return error ?: cpuidle_register(&idle_driver, NULL);
}

static const struct kernel_param_ops idle_ops = { .set = idle_set };

module_param_cb(idle_us, &idle_ops, NULL, 0200);

/* --- runtime power management --- */

static unsigned int resume_us;

module_param(resume_us, uint, 0600);

static int runtime_suspend(struct device *dev)
{
	return 0;
}

static int runtime_resume(struct device *dev)
{
	u64 begin = ktime_get_ns();

	if (resume_us)
		usleep_range(resume_us, resume_us + 10);
	log_since(begin);
	return 0;
}

static const struct dev_pm_ops runtime_ops = {
	.runtime_suspend = runtime_suspend,
	.runtime_resume = runtime_resume,
};

static int runtime_set(const char *text, const struct kernel_param *param)
{
	char name[32];
	struct device *dev;

	strscpy(name, text, sizeof(name));
	dev = bus_find_device_by_name(&platform_bus_type, NULL, strim(name));
	if (!dev || !dev->driver)
		return -ENODEV;
	dev->driver->pm = &runtime_ops;
	pm_runtime_set_active(dev);
	pm_runtime_enable(dev);
	return 0;
}

static const struct kernel_param_ops runtime_set_ops = { .set = runtime_set };

module_param_cb(runtime, &runtime_set_ops, NULL, 0200);

/* There is no exit: what a run leaves behind ends with the run. */
static int __init causes_init(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "litex,timer");

	if (!node)
		return -ENODEV;
	timer = of_iomap(node, 0);
	timer_irq = irq_of_parse_and_map(node, 0);
	of_node_put(node);
	if (!timer || !timer_irq)
		return -ENODEV;
	return request_irq(timer_irq, storm_interrupt, 0, "storm", timer);
}
module_init(causes_init);

MODULE_DESCRIPTION("Plants causes of late edges for a test");
MODULE_LICENSE("Dual BSD/GPL");
