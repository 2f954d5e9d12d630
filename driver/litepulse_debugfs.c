// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/litepulse/litepulseN/state: what one who debugs the driver wants to see
 *
 * Reading it changes nothing on the board: it reads registers without side effects.
 */
#include <linux/bitfield.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/seq_file.h>

#include "litepulse.h"
#include "litepulse_debugfs.h"
#include "litepulse_sink.h"

static struct dentry *litepulse_debugfs_root;

/* claim.mutex is held. */
static void litepulse_debugfs_show_claim(struct litepulse *lp, struct seq_file *file)
{
	const struct litepulse_claimant *claimant = lp->claim.claimant;

	lockdep_assert_held(&lp->claim.mutex);
	if (!claimant)
		seq_puts(file, "claim: none\n");
	else
		seq_printf(file, "claim: holder=%s pid=%d keep=%d stale=%d\n",
			   claimant->name ?: "module", claimant->pid, claimant->keep,
			   claimant->stale);
}

/* What runs, and how many records wait in the board. */
static void litepulse_debugfs_show_board(struct litepulse *lp, struct seq_file *file)
{
	u32 words[(LITEPULSE_CSR_STATUS - LITEPULSE_CSR_READY) / 4 + 1], status, ready;
	int error = lp->ops->read_csr(lp->context, LITEPULSE_CSR_READY, words, ARRAY_SIZE(words));

	if (error) {
		seq_printf(file, "output: error=%d\n", error);
		return;
	}
	ready = words[0];
	status = words[ARRAY_SIZE(words) - 1];
	seq_printf(file, "output: train=%d train_change=%d responder=%d queue=%d\n",
		   !!(status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK),
		   !!(status & LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK),
		   !!(status & LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK),
		   !(status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK));
	seq_printf(file, "ready: events=%u bytes=%u\n",
		   (u32)FIELD_GET(LITEPULSE_CSR_READY_EVENT_MASK, ready),
		   (u32)FIELD_GET(LITEPULSE_CSR_READY_RECEIVE_MASK, ready));
}

/* setup.mutex is held. */
static void litepulse_debugfs_show_stream(struct litepulse *lp, struct seq_file *file,
					  const char *name, enum litepulse_stream stream)
{
	const struct litepulse_sequence *sequence =
		stream == LITEPULSE_BYTES ? &lp->feed.bytes : &lp->feed.events;
	const struct litepulse_moderation *moderation = &lp->setup.moderation[stream];
	u64 taken, lost, dropped;

	lockdep_assert_held(&lp->setup.mutex);
	spin_lock_irq(&lp->feed.lock);
	taken = lp->ingest.taken[stream];
	lost = sequence->lost;
	dropped = sequence->dropped;
	spin_unlock_irq(&lp->feed.lock);
	seq_printf(file, "%s: taken=%llu lost=%llu dropped=%llu level=%u age_us=%u idle_us=%u\n",
		   name, taken, lost, dropped, moderation->level, moderation->age_us,
		   moderation->idle_us);
}

/* setup.mutex is held: sinks neither come nor go, and want the same. */
static void litepulse_debugfs_show_sinks(struct litepulse *lp, struct seq_file *file)
{
	const struct litepulse_sink *sink;

	lockdep_assert_held(&lp->setup.mutex);
	list_for_each_entry(sink, &lp->feed.sinks, node) {
		const struct litepulse_subscribe *want = &sink->want;

		seq_printf(file, "sink: name=%s kinds=%#x sources=%#x rise=%#x fall=%#x",
			   sink->name ?: "module", want->kinds, want->sources, want->rise,
			   want->fall);
		seq_printf(file, " filtered=%#x filter=%u clock=%u watermark=%u timeout_us=%u\n",
			   want->filtered, want->filter, want->clock, want->watermark,
			   want->timeout_us);
	}
}

static int litepulse_debugfs_state_show(struct seq_file *file, void *unused)
{
	struct litepulse *lp = file->private;
	int error = litepulse_board_begin_command(lp);

	if (error)
		return error;
	seq_printf(file, "board: device=%s session=0x%04x resets=%llu kept=%d unstopped=%d\n",
		   dev_name(lp->dev), lp->session, READ_ONCE(lp->feed.restarts), lp->claim.kept,
		   lp->claim.unstopped);
	litepulse_debugfs_show_claim(lp, file);
	litepulse_debugfs_show_board(lp, file);
	error = mutex_lock_killable(&lp->setup.mutex);
	if (!error) {
		litepulse_debugfs_show_stream(lp, file, "events", LITEPULSE_EVENTS);
		litepulse_debugfs_show_stream(lp, file, "bytes", LITEPULSE_BYTES);
		litepulse_debugfs_show_sinks(lp, file);
		mutex_unlock(&lp->setup.mutex);
	}
	if (!error && lp->ops->show)
		lp->ops->show(lp->context, file);
	litepulse_board_end_command(lp);
	return error;
}
DEFINE_SHOW_ATTRIBUTE(litepulse_debugfs_state);

/**
 * litepulse_debugfs_add - the files of a board
 * @lp: device
 */
void litepulse_debugfs_add(struct litepulse *lp)
{
	char name[16];

	snprintf(name, sizeof(name), "litepulse%d", lp->id);
	lp->debugfs = debugfs_create_dir(name, litepulse_debugfs_root);
	debugfs_create_file("state", 0400, lp->debugfs, lp, &litepulse_debugfs_state_fops);
}

/**
 * litepulse_debugfs_remove - removes them; who reads one has ended on return
 * @lp: device
 */
void litepulse_debugfs_remove(struct litepulse *lp)
{
	debugfs_remove(lp->debugfs);
}

/**
 * litepulse_debugfs_init - the folder that all boards are in
 */
void litepulse_debugfs_init(void)
{
	litepulse_debugfs_root = debugfs_create_dir("litepulse", NULL);
}

/**
 * litepulse_debugfs_exit - removes it
 */
void litepulse_debugfs_exit(void)
{
	debugfs_remove(litepulse_debugfs_root);
}
