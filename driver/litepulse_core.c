// SPDX-License-Identifier: GPL-2.0-only
/*
 * LitePulse, a serial port whose every edge has a known time: the platform driver
 *
 * Ties board, transport, streams, output and devices together, and undoes it; does the same in part
 * after a reset of the board and over a suspend.
 */
#include <linux/bitfield.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>

#include "litepulse_chardev.h"
#include "litepulse_compat.h"
#include "litepulse_console.h"
#include "litepulse_consumer.h"
#include "litepulse_debugfs.h"
#include "litepulse_ingest.h"
#include "litepulse_mmio.h"
#include "litepulse_output.h"
#include "litepulse_ptp.h"
#include "litepulse_sink.h"
#include "litepulse_tty.h"
#include "litepulse_tty_serial.h"

/* How often the driver checks that a silent board is still the same one. */
#define WATCH_INTERVAL HZ

/* --- what the board is to have --- */

/* Whether the name that the board has is not the one that we gave it. 0 or an error. */
static int litepulse_core_was_reset(struct litepulse *lp, bool *reset)
{
	const unsigned int breaks = READ_ONCE(lp->clock.breaks);
	u32 session;
	int error = litepulse_board_read_csr(lp, LITEPULSE_CSR_SESSION, &session);

	lockdep_assert_held(&lp->claim.mutex);
	if (error)
		return error;
	*reset = FIELD_GET(LITEPULSE_CSR_SESSION_SESSION_MASK, session) != lp->session;
	/* A wrong tick, or this machine's clock stood still. */
	if (!*reset)
		lp->restart.breaks_known = breaks;
	return 0;
}

/* Whether the board's ticks go on, although it has another name. 0 or an error. */
static int litepulse_core_ticks_go_on(struct litepulse *lp, bool *go_on)
{
	unsigned int breaks;
	u64 tick;
	int error = litepulse_board_now(lp, &tick);

	lockdep_assert_held(&lp->claim.mutex);
	if (error)
		return error;
	breaks = READ_ONCE(lp->clock.breaks);
	*go_on = lp->keeps && breaks == lp->restart.breaks_known;
	lp->restart.breaks_known = breaks;
	return 0;
}

/*
 * Its name, and what it does when it hears nothing. If it has another name it was reset: its
 * settings are gone, and so is what ran on it. Or its watchdog has fired, because this machine
 * stood still: then only its output has stopped. Its settings are written once more all the same.
 */
static int litepulse_core_apply_session(struct litepulse *lp)
{
	bool reset, go_on;
	int error = litepulse_core_was_reset(lp, &reset);

	lockdep_assert_held(&lp->claim.mutex);
	if (error)
		return error;
	if (!reset)
		return litepulse_board_pledge(lp, lp->claim.kept, true);
	error = litepulse_core_ticks_go_on(lp, &go_on);
	if (error)
		return error;
	/* If ticks go on since a reset that has not been handled yet, this is that one. */
	if (!lp->restart.pending || !go_on) {
		dev_warn(lp->dev, "%s: what ran on it has stopped\n",
			 go_on ? "the board heard nothing for long" : "the board was reset");
		lp->restart.pending = true;
		lp->restart.unreported = true;
		lp->restart.ticks_go_on = go_on;
	}
	lp->claim.kept = false;
	/* A launch of the old claim may have come just after the reset: it must not start. */
	lp->claim.unstopped = true;
	if (!go_on) {
		lp->claim.profiles_set = 0;
		lp->claim.profiles_found = false;
		if (lp->ops->restarted)
			lp->ops->restarted(lp->context);
	}
	/* litepulse_output_answer() reads it without the mutex. */
	if (lp->claim.claimant)
		WRITE_ONCE(lp->claim.claimant->stale, true);
	litepulse_board_set_line(lp, LITEPULSE_LINE_REST, 0);
	mutex_lock(&lp->setup.mutex);
	lp->setup.responder_listens = false;
	litepulse_sink_forget_trigger(lp);
	mutex_unlock(&lp->setup.mutex);
	return litepulse_board_name_session(lp);
}

/* 0 or an error: it is still to be reported. */
static int litepulse_core_report_restart(struct litepulse *lp)
{
	struct litepulse_header now;
	int error = litepulse_board_header(lp, &now);

	lockdep_assert_held(&lp->claim.mutex);
	if (error)
		return error;
	lp->restart.unreported = false;
	if (!lp->restart.ticks_go_on)
		litepulse_ptp_restart_clock(lp, &now);
	litepulse_ingest_report_restart(lp, &now,
					lp->restart.ticks_go_on ? LITEPULSE_RESTARTED_WATCHDOG : 0);
	wake_up_interruptible_all(&lp->queue.wait);
	return 0;
}

static int litepulse_core_apply_output(struct litepulse *lp)
{
	int error = 0, unreported;

	lockdep_assert_held(&lp->claim.mutex);
	/* Once: what was started since must not be stopped when a later part has failed. */
	if (lp->restart.pending || !lp->claim.claimant)
		error = litepulse_output_stop_owed(lp);
	unreported = lp->restart.unreported ? litepulse_core_report_restart(lp) : 0;
	return error ?: unreported;
}

/* The last of what a reset undoes, but for the streams. */
static int litepulse_core_apply_clock(struct litepulse *lp)
{
	lockdep_assert_held(&lp->claim.mutex);
	if (lp->restart.pending)
		litepulse_ptp_restarted(lp);
	lp->restart.pending = false;
	return 0;
}

static int litepulse_core_apply_streams(struct litepulse *lp)
{
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (!READ_ONCE(lp->feed.events.started))
		return litepulse_ingest_start(lp);
	mutex_lock(&lp->setup.mutex);
	error = litepulse_sink_apply(lp);
	mutex_unlock(&lp->setup.mutex);
	return error;
}

/* In order: the streams come last, when all settings are as their readers know them. */
static const struct {
	const char *name;
	int (*apply)(struct litepulse *lp);
} litepulse_core_parts[] = {
	{ "its session", litepulse_core_apply_session },
	{ "the end of output", litepulse_core_apply_output },
	{ "the line's settings", litepulse_board_write_line },
	{ "settings of the tty", litepulse_tty_apply },
	{ "the PTP clock", litepulse_core_apply_clock },
	{ "the streams", litepulse_core_apply_streams },
};

/**
 * litepulse_core_apply - gives the board all that the driver wants it to have
 * @lp: device, attached, whose claim.mutex is held
 *
 * It is idempotent: what fails is tried again, from the beginning, until all has succeeded.
 *
 * Return: 0 or the first error, which the log has.
 */
static int litepulse_core_apply(struct litepulse *lp)
{
	const int doubts = atomic_read(&lp->restart.doubts);
	unsigned int part;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	for (part = 0; part < ARRAY_SIZE(litepulse_core_parts); part++) {
		error = litepulse_core_parts[part].apply(lp);
		if (error)
			goto failed;
	}
	WRITE_ONCE(lp->restart.settled, doubts);
	if (lp->restart.failing)
		dev_info(lp->dev, "the board has its settings again\n");
	lp->restart.failing = false;
	return 0;

failed:
	litepulse_board_doubt(lp);
	if (lp->restart.failing || error == -ENODEV)
		return error;
	lp->restart.failing = true;
	if (error == -ETIMEDOUT)
		dev_err(lp->dev, "its %s\n",
			lp->ops->sleeps ? "events do not arrive" : "interrupt does not arrive");
	else
		dev_warn(lp->dev, "the board does not take %s: error %d\n",
			 litepulse_core_parts[part].name, error);
	return error;
}

/* Whether the board may lack something. */
static bool litepulse_core_is_behind(struct litepulse *lp)
{
	return READ_ONCE(lp->restart.pending) || !READ_ONCE(lp->feed.events.started) ||
	       (READ_ONCE(lp->claim.unstopped) && !READ_ONCE(lp->claim.claimant)) ||
	       atomic_read(&lp->restart.doubts) != READ_ONCE(lp->restart.settled);
}

static void litepulse_core_restart_work(struct work_struct *work)
{
	struct litepulse *lp = container_of(work, struct litepulse, restart.work);
	bool reset;

	down_read(&lp->gone_sem);
	mutex_lock(&lp->claim.mutex);
	/* If it cannot be reached litepulse.restart.watch_work looks again. */
	if (lp->gone || litepulse_core_was_reset(lp, &reset))
		goto unlock;
	if (!reset && litepulse_ingest_resume(lp))
		litepulse_board_doubt(lp);
	/* What fails is behind still. */
	if (reset || litepulse_core_is_behind(lp))
		(void)litepulse_core_apply(lp);
unlock:
	mutex_unlock(&lp->claim.mutex);
	up_read(&lp->gone_sem);
}

static void litepulse_core_watch_work(struct work_struct *work)
{
	struct litepulse *lp =
		container_of(to_delayed_work(work), struct litepulse, restart.watch_work);

	if (!litepulse_board_check_session(lp) && litepulse_core_is_behind(lp))
		litepulse_board_schedule_restart(lp);
	/* It must not wait for a command, which may take seconds. */
	if (mutex_trylock(&lp->claim.mutex)) {
		litepulse_output_look_for_end(lp);
		mutex_unlock(&lp->claim.mutex);
	}
	queue_delayed_work(litepulse_board_workers, &lp->restart.watch_work,
			   round_jiffies_relative(WATCH_INTERVAL));
}

/* --- probe --- */

/*
 * Nothing waits or is recorded, and, unless it is @kept, nothing runs: at the beginning, whatever
 * a boot loader left, and at the end.
 */
static int litepulse_core_settle(struct litepulse *lp, bool kept)
{
	const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_FLUSH_TTY_MASK },
		{ LITEPULSE_CFG_EVENT_MASK, 0 },
		{ LITEPULSE_CFG_CAPTURE_EDGES, 0 },
		{ LITEPULSE_CFG_LINE, lp->line.word },
		/* not of a board that is kept */
		{ LITEPULSE_CFG_DRIVER_ENABLE, 0 },
		{ LITEPULSE_CFG_ECHO, LITEPULSE_ECHO_CYCLES_RESET * lp->samples },
	};
	int error = 0;

	if (!kept) {
		mutex_lock(&lp->claim.mutex);
		error = litepulse_output_stop(lp);
		mutex_unlock(&lp->claim.mutex);
	}
	return error ?: litepulse_board_configure(lp, words, ARRAY_SIZE(words) - (kept ? 2 : 0));
}

static int litepulse_core_probe(struct platform_device *pdev)
{
	struct litepulse_platform_data transport = {}, *given = dev_get_platdata(&pdev->dev);
	struct litepulse *lp;
	bool kept = false;
	int error;

	if (given) {
		transport = *given;
	} else {
		error = litepulse_mmio_probe(pdev, &transport);
		if (error)
			return error;
	}
	lp = litepulse_board_create(&pdev->dev, &transport);
	if (IS_ERR(lp))
		return PTR_ERR(lp);
	lp->take = &litepulse_ingest_ops;
	lp->port_ops = &litepulse_tty_port_ops;
	INIT_DELAYED_WORK(&lp->restart.watch_work, litepulse_core_watch_work);
	INIT_WORK(&lp->restart.work, litepulse_core_restart_work);
	error = litepulse_board_identify(lp);
	if (error)
		goto put;
	lp->watch_limit = litepulse_board_watch_limit(lp, transport.bus_hz);
	error = litepulse_board_find_kept(lp, &kept) ?: litepulse_core_settle(lp, kept);
	if (error) {
		dev_err_probe(lp->dev, error, "the core does not take its settings\n");
		goto put;
	}
	error = lp->session ? litepulse_board_write_session(lp, kept, true) :
			      litepulse_board_name_session(lp);
	if (error)
		goto put;
	lp->claim.kept = kept;
	platform_set_drvdata(pdev, lp);
	/* What was received before is discarded. */
	error = litepulse_board_now(lp, &lp->feed.bytes.since);
	if (error)
		goto put;
	error = lp->attach(lp->context, lp);
	if (error)
		goto put;
	mutex_lock(&lp->claim.mutex);
	error = litepulse_core_apply(lp);
	mutex_unlock(&lp->claim.mutex);
	if (error)
		goto detach;
	error = litepulse_tty_add(lp);
	if (error)
		goto detach;
	error = litepulse_ptp_add(lp);
	if (error)
		goto tty;
	error = litepulse_chardev_add(lp);
	if (error)
		goto ptp;
	error = litepulse_consumer_add(lp);
	if (error)
		goto chardev;
	litepulse_debugfs_add(lp);
	queue_delayed_work(litepulse_board_workers, &lp->restart.watch_work, WATCH_INTERVAL);
	dev_info(lp->dev, "litepulse%d: version %u.%u, %llu/%u ticks per second, %u inputs%s\n",
		 lp->id, lp->version >> 16, lp->version & 0xffff, lp->rate.num, lp->rate.den,
		 lp->inputs, lp->simulated ? ", simulated" : "");
	return 0;

chardev:
	litepulse_chardev_remove(lp);
ptp:
	litepulse_board_set_gone(lp);
	litepulse_ptp_remove(lp);
tty:
	litepulse_board_set_gone(lp);
	litepulse_tty_remove(lp);
detach:
	litepulse_board_set_gone(lp);
	(void)lp->attach(lp->context, NULL); /* the end of it cannot fail */
	cancel_work_sync(&lp->restart.work);
	cancel_work_sync(&lp->line.work);
put:
	litepulse_board_put(lp);
	return error;
}

static void litepulse_core_remove(struct platform_device *pdev)
{
	struct litepulse *lp = platform_get_drvdata(pdev);
	bool kept;
	int error;

	litepulse_debugfs_remove(lp);
	litepulse_consumer_remove(lp);
	/* Calls under way are finished; programs that wait are woken and get an error. */
	litepulse_chardev_remove(lp);
	wake_up_all(&lp->queue.wait);
	mutex_lock(&lp->claim.mutex);
	kept = lp->keeps && lp->claim.kept;
	error = 0;
	if (!kept)
		error = litepulse_output_stop(lp) ?: litepulse_board_pledge(lp, false, false);
	mutex_unlock(&lp->claim.mutex);
	cancel_delayed_work_sync(&lp->restart.watch_work);
	litepulse_ptp_remove(lp);
	litepulse_tty_remove(lp);
	/* Output that goes on may need these. */
	lp->line.word &= kept ? LITEPULSE_CFG_LINE_RX_ENABLE_MASK | LITEPULSE_LINE_REST |
				LITEPULSE_CFG_LINE_LOOPBACK_MASK : 0;
	error = litepulse_core_settle(lp, kept) ?: error;
	/* It then stops by itself, or is stopped when it is found again. */
	if (error && error != -ENODEV)
		dev_warn(lp->dev, "the board could not be left at rest: error %d\n", error);
	(void)lp->attach(lp->context, NULL); /* the end of it cannot fail */
	cancel_work_sync(&lp->restart.work);
	cancel_work_sync(&lp->line.work);
	litepulse_board_put(lp);
}

/*
 * The machine goes down, or to another kernel: as at the removal, but the tty stays, as the
 * kernel's console may be on it. Programs may still run: they can start nothing any more.
 */
static void litepulse_core_shutdown(struct platform_device *pdev)
{
	struct litepulse *lp = platform_get_drvdata(pdev);
	int error = 0;

	cancel_delayed_work_sync(&lp->restart.watch_work);
	litepulse_board_set_gone(lp);
	mutex_lock(&lp->claim.mutex);
	if (!lp->keeps || !lp->claim.kept) {
		error = litepulse_output_stop(lp) ?: litepulse_board_pledge(lp, false, false);
		/* Else the console's last messages would wait. */
		litepulse_board_set_line(lp, LITEPULSE_LINE_REST, 0);
		error = error ?: litepulse_board_flush_line(lp);
	}
	mutex_unlock(&lp->claim.mutex);
	if (error)
		dev_warn(lp->dev, "what runs on the board could not be stopped: error %d\n", error);
}

static void litepulse_core_pause(struct litepulse *lp, bool pause)
{
	if (lp->ops->pause)
		lp->ops->pause(lp->context, pause);
}

static int litepulse_core_resume(struct device *dev)
{
	struct litepulse *lp = dev_get_drvdata(dev);

	litepulse_core_pause(lp, false);
	mutex_lock(&lp->claim.mutex);
	/* The machine resumes also if it fails. That it is doubted repeats it. */
	(void)litepulse_core_apply(lp);
	mutex_unlock(&lp->claim.mutex);
	litepulse_board_doubt(lp);
	litepulse_ptp_resume(lp);
	queue_delayed_work(litepulse_board_workers, &lp->restart.watch_work, WATCH_INTERVAL);
	return litepulse_tty_resume(lp);
}

/* A train stops: no program could follow it meanwhile. 0 or an error of the transport. */
static int litepulse_core_suspend_output(struct litepulse *lp)
{
	struct litepulse_header now;
	bool ended;
	int error = litepulse_output_suspend(lp, &ended);

	if (error || !ended)
		return error;
	error = litepulse_board_header(lp, &now);
	if (!error)
		litepulse_ingest_report_restart(lp, &now, LITEPULSE_RESTARTED_SUSPEND);
	return error;
}

static int litepulse_core_suspend(struct device *dev)
{
	struct litepulse *lp = dev_get_drvdata(dev);
	int error = litepulse_tty_suspend(lp);

	if (error)
		return error;
	cancel_delayed_work_sync(&lp->restart.watch_work);
	/* Failed writes are repeated at the resume. */
	(void)litepulse_board_flush_line(lp);
	litepulse_ptp_suspend(lp);
	/* Whatever was kept, too. */
	mutex_lock(&lp->claim.mutex);
	error = litepulse_core_suspend_output(lp) ?:
		litepulse_board_pledge(lp, lp->claim.kept, false);
	mutex_unlock(&lp->claim.mutex);
	if (error) {
		dev_err(dev, "what runs on the board could not be stopped: no suspend\n");
		/* The first error counts. */
		(void)litepulse_core_resume(dev);
		return error;
	}
	/* From here on the port that the board is behind may be suspended. */
	litepulse_core_pause(lp, true);
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(litepulse_pm_ops, litepulse_core_suspend, litepulse_core_resume);

static const struct of_device_id litepulse_of_match[] = { { .compatible = "litex,litepulse" }, {} };
MODULE_DEVICE_TABLE(of, litepulse_of_match);

static const struct platform_device_id litepulse_ids_match[] = { { .name = "litepulse" }, {} };
MODULE_DEVICE_TABLE(platform, litepulse_ids_match);

static struct platform_driver litepulse_driver = {
	.probe = litepulse_core_probe,
	.litepulse_remove_op = litepulse_core_remove,
	.shutdown = litepulse_core_shutdown,
	.id_table = litepulse_ids_match,
	.driver = {
		.name = "litepulse",
		.of_match_table = litepulse_of_match,
		.pm = pm_sleep_ptr(&litepulse_pm_ops),
	},
};

static int __init litepulse_core_init(void)
{
	int error = litepulse_board_init();

	if (error)
		return error;
	error = litepulse_tty_serial_init(litepulse_console_init());
	if (error)
		goto console;
	litepulse_debugfs_init();
	error = platform_driver_register(&litepulse_driver);
	if (!error)
		return 0;
	litepulse_debugfs_exit();
	litepulse_tty_serial_exit();
console:
	litepulse_console_exit();
	litepulse_board_exit();
	return error;
}
module_init(litepulse_core_init);

static void __exit litepulse_core_exit(void)
{
	platform_driver_unregister(&litepulse_driver);
	litepulse_debugfs_exit();
	litepulse_tty_serial_exit();
	litepulse_console_exit();
	litepulse_board_exit();
}
module_exit(litepulse_core_exit);

MODULE_DESCRIPTION("LitePulse: a serial port whose every edge has a known time");
MODULE_VERSION(LITEPULSE_VERSION);
MODULE_AUTHOR("The LitePulse authors");
MODULE_LICENSE("GPL");
