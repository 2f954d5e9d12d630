// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Answers each rising edge of input 0 with a pulse on tx, in the interrupt that reports the edge: what another module of the kernel can
 * do with the driver's sinks. On a transport that sleeps a worker answers, if `defer` is set. It binds to the device that
 * litepulse_lin.ko would take.
 *
 *	insmod litepulse_echo.ko lead=2000 width=40
 *	cat /sys/module/litepulse_echo/parameters/{seen,refused}
 */
#include <linux/array_size.h>
#include <linux/bits.h>
#include <linux/kfifo.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "litepulse_consumer.h"

/* Of the line while it is lent: any that the core can do. A pulse has the level of a start bit. */
#define BITRATE 9600

static unsigned int lead = 2000;
module_param(lead, uint, 0444);
MODULE_PARM_DESC(lead, "ticks from the handler to the answer");

static unsigned int width = 40;
module_param(width, uint, 0444);
MODULE_PARM_DESC(width, "ticks that the answer lasts");

static unsigned char kind = LITEPULSE_LAUNCH_PULSE, launch_flags;
module_param(kind, byte, 0444);
MODULE_PARM_DESC(kind, "of the answer: LITEPULSE_LAUNCH_*; a wait is no answer, and is refused");
module_param_named(flags, launch_flags, byte, 0444);
MODULE_PARM_DESC(flags, "of the answer: LITEPULSE_LAUNCH_RELATIVE is refused, too");

static bool defer;
module_param(defer, bool, 0444);
MODULE_PARM_DESC(defer, "what cannot be launched in the interrupt a worker launches");

static unsigned int seen;
module_param(seen, uint, 0444);
MODULE_PARM_DESC(seen, "edges that came");

/* Without an entry for the rest. */
static unsigned short refused[512];
static unsigned int refusals;
module_param_array(refused, ushort, &refusals, 0444);
MODULE_PARM_DESC(refused, "numbers of the edges whose answer was refused, from 0 on");

static struct echo {
	struct litepulse *lp;
	struct litepulse_claimant claimant;
	struct litepulse_sink sink;
} echo;

/* Edges that the worker has to answer. */
static DEFINE_KFIFO(deferred, unsigned short, 512);
static DEFINE_SPINLOCK(refused_lock);

static void note_refused(unsigned int number)
{
	unsigned long flags;

	spin_lock_irqsave(&refused_lock, flags);
	if (refusals < ARRAY_SIZE(refused))
		refused[refusals++] = number;
	spin_unlock_irqrestore(&refused_lock, flags);
}

static void echo_answer_deferred(struct work_struct *work)
{
	unsigned short number;

	while (kfifo_get(&deferred, &number)) {
		struct litepulse_launch launch = {
			.width = width,
			.tag = number,
			.kind = LITEPULSE_LAUNCH_PULSE,
		};
		int error = litepulse_consumer_now(echo.lp, &launch.tick);
		bool flushed;	/* answers that are lost this way are not counted */

		launch.tick += lead;
		if (error || litepulse_consumer_launch(echo.lp, &echo.claimant, &launch, 1, &flushed))
			note_refused(number);
	}
}

static DECLARE_WORK(answer_work, echo_answer_deferred);

/* Whether the edge is answered, now or by the worker. */
static bool echo_answers(struct litepulse_launch *launch)
{
	int error = litepulse_output_answer(echo.lp, &echo.claimant, launch, lead);

	if (error != -EOPNOTSUPP || !defer)
		return !error;
	if (!kfifo_put(&deferred, launch->tag))
		return false;
	schedule_work(&answer_work);
	return true;
}

/* Under litepulse.feed.lock, in the interrupt. */
static void echo_put(struct litepulse_sink *sink, const struct litepulse_record *record, u32 data,
		     const struct litepulse_stamp *stamp)
{
	struct litepulse_launch launch = {
		.width = kind == LITEPULSE_LAUNCH_PULSE ? width : 0,
		.tag = seen,
		.kind = kind,
		.flags = launch_flags,
	};

	switch (record->kind) {
	case LITEPULSE_KIND_EDGE:
		if (!echo_answers(&launch))
			note_refused(seen);
		seen++;
		break;
	case LITEPULSE_KIND_REFUSED:
		note_refused(data >> 16);
		break;
	}
}

static int echo_probe(struct platform_device *pdev)
{
	struct litepulse **lp = dev_get_platdata(&pdev->dev);
	int error;

	if (echo.lp)
		return -EBUSY;
	echo = (struct echo){
		.sink = {
			.want = {
				.kinds = BIT(LITEPULSE_KIND_EDGE) | BIT(LITEPULSE_KIND_REFUSED),
				.sources = BIT(LITEPULSE_SRC_QUEUE),
				.rise = BIT(0),
				.clock = LITEPULSE_CLOCK_NONE,
			},
			.put = echo_put,
		},
	};
	error = litepulse_consumer_claim(*lp, &echo.claimant,
					 litepulse_bit_period(&(*lp)->rate, BITRATE), false);
	if (error)
		return error;
	echo.lp = *lp;
	error = litepulse_consumer_subscribe(*lp, &echo.sink);
	if (error) {
		litepulse_consumer_release(*lp, &echo.claimant);
		echo.lp = NULL;
	}
	return error;
}

static void echo_remove(struct platform_device *pdev)
{
	litepulse_consumer_unsubscribe(echo.lp, &echo.sink);
	cancel_work_sync(&answer_work);
	kfifo_reset(&deferred);
	litepulse_consumer_release(echo.lp, &echo.claimant);
	echo.lp = NULL;
}

static const struct platform_device_id echo_ids[] = { { .name = LITEPULSE_CONSUMER_DEVICE }, {} };
MODULE_DEVICE_TABLE(platform, echo_ids);

static struct platform_driver echo_driver = {
	.probe = echo_probe,
	.remove = echo_remove,
	.id_table = echo_ids,
	.driver = { .name = "litepulse_echo" },
};
module_platform_driver(echo_driver);

MODULE_DESCRIPTION("Answers edges from the interrupt, for a measurement");
MODULE_LICENSE("Dual BSD/GPL");
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("LITEPULSE");
#else
MODULE_IMPORT_NS(LITEPULSE);
#endif
