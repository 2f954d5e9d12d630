// SPDX-License-Identifier: GPL-2.0-only
/*
 * A board behind a serial port: the transport of litepulse.ko
 *
 * A thread asks the board for what there is: as soon as the last answer has come while there is
 * more, every poll_us while something happens, and less and less often, down to every idle_us,
 * while nothing does. Each answer has the board's tick, too, so each is a reading of its clock.
 *
 * Records are acknowledged in the request after the one that brought them, and only if they are
 * still the oldest: so none is taken twice or thrown away, whatever becomes of either request.
 * While many come that request is sent before the driver is given them: so the board gets room
 * again, and answers, meanwhile. A board in which requests wait has one more: that asks for what
 * comes behind the records which the one before it asks for.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitfield.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "litepulse_compat.h"
#include "litepulse_uartbone.h"

/* Records requested while their number is unknown. */
#define GUESS 4
/* An answer of this many of each stream is not made shorter. */
#define SHORT 16u
/* While no program listens, the longest poll interval is longer by this factor. */
#define IDLE_FACTOR 30
/* Between attempts to find a board that does not answer. */
#define RETRY_US 500000
/* This many answers in a row with an unbelievable tick are believed after all. */
#define DOUBTS 4
/* Attempts to read the board if no answer comes. */
#define LOOKS 16
/* How long the core may take for a configuration word: a flush of all bytes takes longest. */
#define CONFIGURE_MS 1000

static u32 litepulse_link_csr(u32 offset)
{
	return litepulse_csr_base + offset;
}

static u32 litepulse_link_window(u32 offset)
{
	return litepulse_window_base + offset;
}

/* What every poll of the board reads: from READY to STATUS. */
#define STATE_FIRST LITEPULSE_CSR_READY
#define STATE_WORDS ((LITEPULSE_CSR_STATUS - STATE_FIRST) / 4 + 1)
#define STATE(words, name) ((words)[(LITEPULSE_CSR_##name - STATE_FIRST) / 4])

static void litepulse_link_read_state(struct litepulse_request *request)
{
	litepulse_bus_read(request, litepulse_link_csr(STATE_FIRST), STATE_WORDS);
}

static void litepulse_link_take_state(struct litepulse_link *link, const u32 *words)
{
	link->free_transmit = FIELD_GET(LITEPULSE_CSR_FREE_TRANSMIT_MASK, STATE(words, FREE));
	link->free_launch = FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK, STATE(words, FREE));
}

/* --- what the driver asks for ---------------------------------------------------------------- */

static int litepulse_link_read(struct litepulse_link *link, u32 address, u32 *words,
			       unsigned int count)
{
	int error = litepulse_bus_lock_killable(link);

	if (error)
		return error;
	litepulse_bus_read(litepulse_bus_request(link), address, count);
	error = litepulse_bus_transact(link, words, NULL);
	mutex_unlock(&link->bus);
	return error;
}

static int litepulse_link_read_csr(void *context, u32 offset, u32 *words, unsigned int count)
{
	return litepulse_link_read(context, litepulse_link_csr(offset), words, count);
}

static int litepulse_link_read_config(void *context, u32 offset, u32 *words, unsigned int count)
{
	return litepulse_link_read(context, litepulse_link_window(offset), words, count);
}

static int litepulse_link_write_csr(void *context, u32 offset, u32 word)
{
	struct litepulse_link *link = context;
	struct litepulse_request *request;
	int error;

	litepulse_bus_lock(link);
	request = litepulse_bus_request(link);
	/* SESSION must not get its name once more unless it was read again. */
	request->once = offset == LITEPULSE_CSR_SESSION;
	litepulse_bus_write(request, litepulse_link_csr(offset), &word, 1);
	error = litepulse_bus_transact(link, NULL, NULL);
	/* The board gets another name if it was reset: then it has refused nothing yet. */
	if (offset == LITEPULSE_CSR_SESSION)
		link->refused_known = false;
	mutex_unlock(&link->bus);
	return error;
}

/* Is @tick at most as far ahead of @from as the board's clock can have gone in @ns? */
static bool litepulse_link_is_reachable(const struct litepulse_link *link, u64 from, u64 tick,
					u64 ns)
{
	return tick >= from &&
		litepulse_clock_map_reachable(&link->rate, tick - from, ns, link->simulated);
}

/*
 * The answer is wrong, unless the board was reset or it was the earlier answer that was wrong:
 * then the next answers agree with it. Return: whether it has to be requested again.
 */
static bool litepulse_link_doubt(struct litepulse_link *link)
{
	if (++link->doubts < DOUBTS) {
		link->repeats++;
		return true;
	}
	link->doubts = 0;
	return false;
}

static void litepulse_link_believe(struct litepulse_link *link, u64 tick)
{
	link->doubts = 0;
	link->tick = tick;
	link->tick_boot = ktime_get_boottime_ns();
}

/* Return: whether the tick of an answer is wrong, and it has to be requested again. */
static bool litepulse_link_doubt_tick(struct litepulse_link *link, u64 tick)
{
	u64 passed = ktime_get_boottime_ns() - link->tick_boot;

	if (link->tick_boot && !litepulse_link_is_reachable(link, link->tick, tick, passed) &&
	    litepulse_link_doubt(link))
		return true;
	litepulse_link_believe(link, tick);
	return false;
}

static int litepulse_link_time(void *context, u64 *tick, const struct litepulse_stamper *stamper)
{
	struct litepulse_link *link = context;
	u32 header[LITEPULSE_HEADER_WORDS];
	int error = litepulse_bus_lock_killable(link);

	if (error)
		return error;
	do {
		litepulse_bus_read(litepulse_bus_request(link),
				   litepulse_link_window(LITEPULSE_WIN_EVENTS),
				   LITEPULSE_HEADER_WORDS);
		error = litepulse_bus_transact(link, header, stamper);
	} while (!error && litepulse_link_doubt_tick(link, litepulse_header_tick(header)));
	if (!error && stamper && stamper->request_ns) {
		*stamper->request_ns = link->request_ns;
		*stamper->answer_ns = link->answer_ns;
	}
	mutex_unlock(&link->bus);
	if (!error)
		*tick = litepulse_header_tick(header);
	return error;
}

/* Waits for the answer to the configuration words written last; takes the count of refused. */
static int litepulse_link_await_configured(struct litepulse_link *link, u8 *refused)
{
	unsigned long end = jiffies + msecs_to_jiffies(CONFIGURE_MS);
	u32 state[STATE_WORDS];
	int error;

	do {
		litepulse_link_read_state(litepulse_bus_request(link));
		error = litepulse_bus_transact(link, state, NULL);
		if (error)
			return error;
		litepulse_link_take_state(link, state);
		*refused = FIELD_GET(LITEPULSE_CSR_CONFIGS_REFUSED_MASK, STATE(state, CONFIGS));
		if (!(STATE(state, STATUS) & LITEPULSE_CSR_STATUS_CONFIG_BUSY_MASK))
			return 0;
	} while (time_before(jiffies, end));
	return -EIO;
}

/* As many words as fit one request; returns how many. */
static unsigned int litepulse_link_add_words(struct litepulse_request *request,
					     const struct litepulse_word *words, unsigned int count)
{
	unsigned int done = 0, burst;
	u32 values[16];

	while (done < count) {
		for (burst = 0; burst < ARRAY_SIZE(values) && done + burst < count; burst++) {
			if (words[done + burst].offset != words[done].offset + 4 * burst)
				break;
			values[burst] = words[done + burst].value;
		}
		/* Room for a write of them, and for the reads that follow. */
		if (request->length + 3 * 6 + 4 * burst > sizeof(request->payload))
			break;
		litepulse_bus_write(request, litepulse_link_window(words[done].offset), values,
				    burst);
		done += burst;
	}
	return done;
}

static int litepulse_link_configure_words(struct litepulse_link *link,
					  const struct litepulse_word *words,
					  unsigned int count)
{
	struct litepulse_request *request;
	u32 answer[1 + STATE_WORDS];
	unsigned int done;
	u8 refused;
	int error;

	if (!link->refused_known) {
		error = litepulse_link_await_configured(link, &link->refused);
		if (error)
			return error;
		link->refused_known = true;
	}
	while (count) {
		request = litepulse_bus_request(link);
		request->once = true;
		done = litepulse_link_add_words(request, words, count);
		words += done;
		count -= done;
		/* The window holds this read until the word before it is answered. */
		litepulse_bus_read(request, litepulse_link_window(LITEPULSE_CFG_LINE), 1);
		litepulse_link_read_state(request);
		error = litepulse_bus_transact(link, answer, NULL);
		if (error)
			return error;
		litepulse_link_take_state(link, answer + 1);
	}
	refused = FIELD_GET(LITEPULSE_CSR_CONFIGS_REFUSED_MASK, STATE(answer + 1, CONFIGS));
	if (STATE(answer + 1, STATUS) & LITEPULSE_CSR_STATUS_CONFIG_BUSY_MASK) {
		error = litepulse_link_await_configured(link, &refused);
		if (error)
			return error;
	}
	error = refused == link->refused ? 0 : -EINVAL;
	link->refused = refused;
	return error;
}

static int litepulse_link_configure(void *context, const struct litepulse_word *words,
				    unsigned int count)
{
	struct litepulse_link *link = context;
	int error;

	litepulse_bus_lock(link);
	error = litepulse_link_configure_words(link, words, count);
	if (error && error != -EINVAL)
		link->refused_known = false;
	mutex_unlock(&link->bus);
	litepulse_link_kick(link);
	return error;
}

/* Room; it is read again if it is known to be too little. */
static int litepulse_link_look_for_room(struct litepulse_link *link, const unsigned int *room,
					unsigned int count)
{
	u32 state[STATE_WORDS];
	int error = 0;

	if (*room < count) {
		litepulse_link_read_state(litepulse_bus_request(link));
		error = litepulse_bus_transact(link, state, NULL);
		if (!error)
			litepulse_link_take_state(link, state);
	}
	return error;
}

/* Launches that fit one request. */
#define LAUNCHES_AT_ONCE 14u

/* Sends launches for which there is room, and learns how much there is then. */
static int litepulse_link_send_launches(struct litepulse_link *link, const u32 *words,
					unsigned int count)
{
	struct litepulse_request *request = litepulse_bus_request(link);
	u32 state[STATE_WORDS];
	int error;

	request->once = true;
	litepulse_bus_write(request, litepulse_link_window(LITEPULSE_WIN_LAUNCH), words, 4 * count);
	litepulse_link_read_state(request);
	error = litepulse_bus_transact(link, state, NULL);
	if (!error)
		litepulse_link_take_state(link, state);
	return error;
}

static int litepulse_link_launch(void *context, const u32 *words, unsigned int count)
{
	struct litepulse_link *link = context;
	unsigned int done = 0, some;
	int error = litepulse_bus_lock_killable(link);

	/* Nothing was written. */
	if (error)
		return error;
	error = litepulse_link_look_for_room(link, &link->free_launch,
					     min(count, LAUNCHES_AT_ONCE));
	while (!error && done < count && link->free_launch) {
		some = min3(count - done, LAUNCHES_AT_ONCE, link->free_launch);
		error = litepulse_link_send_launches(link, words + 4 * done, some);
		if (!error)
			done += some;
	}
	mutex_unlock(&link->bus);
	litepulse_link_kick(link);
	return done ?: error;
}

/* Bytes that fit one request, in words of four and one of what is left. */
#define BYTES_AT_ONCE 220

/*
 * A tty cannot tell its writers that bytes may be lost. Those that were sent when the link failed
 * count as sent: some may be lost then, but none is sent twice.
 */
static int litepulse_link_transmit_some(struct litepulse_link *link, const u8 *bytes,
					unsigned int count)
{
	const u32 whole_words = LITEPULSE_WIN_TX + 3 * LITEPULSE_TX_PART_SIZE;
	u32 words[BYTES_AT_ONCE / 4], rest = 0, state[STATE_WORDS];
	struct litepulse_request *request;
	unsigned int whole, i;
	int error = litepulse_link_look_for_room(link, &link->free_transmit, count);

	count = min3(count, link->free_transmit, BYTES_AT_ONCE);
	if (error || !count)
		return error;
	whole = count / 4;
	for (i = 0; i < whole; i++)
		words[i] = get_unaligned_le32(bytes + 4 * i);
	for (i = count; i-- > 4 * whole;)
		rest = rest << 8 | bytes[i];
	request = litepulse_bus_request(link);
	request->once = true;
	if (whole)
		litepulse_bus_write(request, litepulse_link_window(whole_words), words, whole);
	if (count % 4)
		litepulse_bus_write(request,
				    litepulse_link_window(LITEPULSE_WIN_TX +
							  (count % 4 - 1) * LITEPULSE_TX_PART_SIZE),
				    &rest, 1);
	litepulse_link_read_state(request);
	error = litepulse_bus_transact(link, state, NULL);
	if (error && error != -EIO)
		return error;
	if (error)
		pr_warn_ratelimited("%s: up to %u bytes were lost\n", link->name, count);
	else
		litepulse_link_take_state(link, state);
	return count;
}

static int litepulse_link_transmit(void *context, const u8 *bytes, unsigned int count)
{
	struct litepulse_link *link = context;
	unsigned int done = 0;
	int taken = 0;

	litepulse_bus_lock(link);
	while (done < count && !link->lost) {
		taken = litepulse_link_transmit_some(link, bytes + done, count - done);
		if (taken <= 0)
			break;
		done += taken;
	}
	mutex_unlock(&link->bus);
	litepulse_link_kick(link);
	/* While the board does not answer there is no room. */
	return done ?: taken == -EIO ? 0 : taken;
}

static void litepulse_link_want(void *context, u32 mask, u32 wanted)
{
	struct litepulse_link *link = context;
	unsigned long flags;

	spin_lock_irqsave(&link->io_lock, flags);
	link->wants = (link->wants & ~mask) | (wanted & mask);
	spin_unlock_irqrestore(&link->io_lock, flags);
	litepulse_link_kick(link);
}

/*
 * The board cannot interrupt: how often it is polled does not depend on how long readers can wait.
 */
static void litepulse_link_moderate(void *context, const struct litepulse_moderation *events,
				    const struct litepulse_moderation *bytes)
{
	litepulse_link_kick(context);
}

/* The port is suspended after the board's device, and resumed before it. */
static void litepulse_link_pause(void *context, bool pause)
{
	struct litepulse_link *link = context;

	if (pause)
		kthread_park(link->poller);
	else
		kthread_unpark(link->poller);
}

static void litepulse_link_show(void *context, struct seq_file *file)
{
	struct litepulse_link *link = context;

	if (litepulse_bus_lock_killable(link))
		return;
	seq_printf(file, "cable: port=%s baud=%u checked=%d packed=%d answers=%d\n", link->name,
		   link->baud, link->framed, link->packs, !link->lost);
	seq_printf(file, "requests: answered=%llu repeated=%llu failed=%llu round_trip_ns=%llu\n",
		   link->transactions, link->repeats, link->failures, link->round_trip_ns);
	seq_printf(file, "polling: wants=%#x poll_us=%u idle_us=%u\n", READ_ONCE(link->wants),
		   READ_ONCE(link->poll_us), READ_ONCE(link->idle_us));
	mutex_unlock(&link->bus);
}

/*
 * Its first record has the same position as the first one since it was switched on: what we have
 * had of the old stream is not of the new one.
 */
static void litepulse_link_restarted(void *context)
{
	struct litepulse_link *link = context;

	litepulse_bus_lock(link);
	link->events = (struct litepulse_link_stream){ .most = SHORT };
	link->bytes = (struct litepulse_link_stream){ .most = SHORT };
	mutex_unlock(&link->bus);
}

const struct litepulse_io_ops litepulse_link_ops = {
	.sleeps = true,
	.read_csr = litepulse_link_read_csr,
	.write_csr = litepulse_link_write_csr,
	.time = litepulse_link_time,
	.read_config = litepulse_link_read_config,
	.configure = litepulse_link_configure,
	.launch = litepulse_link_launch,
	.transmit = litepulse_link_transmit,
	.want = litepulse_link_want,
	.moderate = litepulse_link_moderate,
	.pause = litepulse_link_pause,
	.restarted = litepulse_link_restarted,
	.show = litepulse_link_show,
};

/* --- what the board has for us --------------------------------------------------------------- */

/* One of the two streams, and what differs. */
struct litepulse_link_kind {
	u32 window;
	unsigned int words;
	unsigned int most; /* requested at a time */
	unsigned int many; /* are freed at once, and not when the next poll is due */
	void (*hand_over)(struct litepulse *lp, const struct litepulse_header *header,
			  const u32 *words, unsigned int count);
};

/*
 * At most half of what a board holds at a time: while that is on its way, and is not yet freed, the
 * other half takes what comes. Of two requests under way each asks for half as much. When the board
 * holds more, only for two thirds of the room that is left: a short answer is freed sooner, and the
 * last third is for the way there and back.
 */
static const struct litepulse_link_kind litepulse_link_events = {
	LITEPULSE_WIN_EVENTS, LITEPULSE_EVENT_WORDS, 128, 32, litepulse_take_events
};

static const struct litepulse_link_kind litepulse_link_bytes = {
	LITEPULSE_WIN_RECEIVE, LITEPULSE_RECEIVE_WORDS, 256, 64, litepulse_take_bytes
};

/* Records that a request asks for, behind @skip that the board has. */
struct litepulse_link_part {
	unsigned int skip;
	unsigned int count;
};

/* Frees what we have had, if the board still holds it and no other reader freed any. */
static void litepulse_link_add_ack(struct litepulse_request *request,
				   const struct litepulse_link_kind *kind,
				   struct litepulse_link_stream *stream)
{
	u32 address = litepulse_link_window(kind->window + LITEPULSE_STREAM_ACK);
	u16 count = stream->position - stream->freed;
	u32 word = FIELD_PREP(LITEPULSE_STREAM_ACK_COUNT_MASK, count) |
		FIELD_PREP(LITEPULSE_STREAM_ACK_POSITION_MASK,
			   stream->freed & FIELD_MAX(LITEPULSE_STREAM_ACK_POSITION_MASK)) |
		LITEPULSE_STREAM_ACK_GUARD_MASK;

	if (count)
		litepulse_bus_write(request, address, &word, 1);
	stream->freed = stream->position;
}

/* Reads the header of a stream, and records: not the first @skip. */
static void litepulse_link_add_stream(struct litepulse_request *request,
				      const struct litepulse_link_kind *kind, unsigned int skip,
				      unsigned int count)
{
	u32 address = litepulse_link_window(kind->window);

	if (skip) {
		litepulse_bus_read(request, address, LITEPULSE_HEADER_WORDS);
		litepulse_bus_read(request,
				   address + 4 * (LITEPULSE_HEADER_WORDS + skip * kind->words),
				   count * kind->words);
	} else {
		litepulse_bus_read(request, address, LITEPULSE_HEADER_WORDS + count * kind->words);
	}
}

/*
 * Which records a request asks for: those behind the ones that are under way, as many as there
 * are or as have come last time, and somewhat more. Asking for records that are not there costs
 * time.
 */
static struct litepulse_link_part litepulse_link_choose(const struct litepulse_link_kind *kind,
							struct litepulse_link_stream *stream)
{
	unsigned int requested = (u16)(stream->requested - stream->position);
	unsigned int known = (u16)(stream->end - stream->position);
	unsigned int holds = 2 * kind->most, skip = min3(requested, known, holds);
	unsigned int count = max(known - skip, stream->growth);

	count = min3(count + count / 8 + GUESS, stream->most, holds - skip);
	stream->requested = stream->position + skip + count;
	return (struct litepulse_link_part){ .skip = skip, .count = count };
}

/* No request is under way. */
static void litepulse_link_restart_stream(struct litepulse_link_stream *stream)
{
	stream->freed = stream->oldest;
	stream->requested = stream->position;
}

/* Records of an answer that the driver has not been given yet. */
struct litepulse_link_batch {
	struct litepulse_header header;
	const u32 *words;
	unsigned int count;
	bool any; /* @header is to be handed over, at least */
};

/* Records of @part that an answer has. */
static unsigned int litepulse_link_had(const u32 *words, const struct litepulse_link_part *part)
{
	unsigned int ready = FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK,
				       words[LITEPULSE_HEADER_LEVEL / 4]);

	return min(ready - min(ready, part->skip), part->count);
}

/* Records that the board holds. */
static unsigned int litepulse_link_depth(const struct litepulse_link *link,
					 const struct litepulse_link_kind *kind)
{
	return max(2 * kind->most, kind == &litepulse_link_events ? link->lp->event_depth :
								    link->lp->receive_depth);
}

/*
 * What an answer has of a stream, of which @part was requested, and what is to be requested and
 * freed next. Sets @more if that should be at once, @busy if there are any records.
 */
static void litepulse_link_take_stream(struct litepulse_link *link,
				       const struct litepulse_link_kind *kind,
				       struct litepulse_link_stream *stream, const u32 *words,
				       const struct litepulse_link_part *part,
				       struct litepulse_link_batch *batch, bool *more, bool *busy)
{
	u32 level = words[LITEPULSE_HEADER_LEVEL / 4];
	u16 position = FIELD_GET(LITEPULSE_HEADER_LEVEL_POSITION_MASK, level);
	unsigned int ready = FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK, level);
	unsigned int flights = link->overlaps ? LITEPULSE_FLIGHTS : 1, had, room;
	unsigned int depth = litepulse_link_depth(link, kind);
	unsigned int count = litepulse_link_had(words, part);
	u64 tick = litepulse_header_tick(words), mono;
	u32 uncertainty;

	/* Other than that it is not ours: the board was reset, or another program has read. */
	if ((u16)(stream->position - position) > (u16)(stream->position - stream->oldest)) {
		stream->position = position;
		stream->end = position;
		if (part->skip)
			count = 0;
	}
	stream->oldest = position;
	stream->growth = (u16)(position + ready - stream->end);
	stream->end = position + ready;
	room = depth - min(ready, depth);
	stream->most = max(min(kind->most / flights, room * 2 / 3), SHORT);
	had = (u16)(stream->position - position);
	/* Records before these have not come, and are requested next. */
	if (had < part->skip) {
		stream->requested = stream->position;
		count = 0;
	}
	had -= min(had, part->skip);
	*more |= stream->end != (u16)(stream->position + (count > had ? count - had : 0)) ||
		count >= had + kind->many;
	if (had && had >= count)
		return;
	stream->position += count - min(count, had);
	mono = litepulse_clock_map_mono(&link->view, &link->lp->rate, tick, &uncertainty);
	if (count > had)
		*busy = true;
	*batch = (struct litepulse_link_batch){
		.header = { .ready = ready,
			    .tick = tick,
			    .mono = mono,
			    .uncertainty = uncertainty,
			    .view = &link->view },
		.words = words + LITEPULSE_HEADER_WORDS + had * kind->words,
		.count = count - had,
		.any = true,
	};
}

static void litepulse_link_hand_over(struct litepulse_link *link,
				     const struct litepulse_link_kind *kind,
				     const struct litepulse_link_batch *batch)
{
	if (batch->any)
		kind->hand_over(link->lp, &batch->header, batch->words, batch->count);
}

/*
 * Are the ticks of an answer those of one moment and of what was before it? A launch is reported
 * a few ticks before its tick. Received bytes have no more of their ticks than must fit.
 */
static bool litepulse_link_ticks_agree(const struct litepulse_link *link, const u32 *events,
				       const struct litepulse_link_part *part, const u32 *bytes)
{
	unsigned int count = litepulse_link_had(events, part);
	u64 tick = litepulse_header_tick(events);

	if (bytes && !litepulse_link_is_reachable(link, tick, litepulse_header_tick(bytes), 0))
		return false;
	events += LITEPULSE_HEADER_WORDS;
	for (; count; count--, events += LITEPULSE_EVENT_WORDS) {
		u64 event = (u64)events[LITEPULSE_EVENT_TICK_HI / 4] << 32 |
			events[LITEPULSE_EVENT_TICK_LO / 4];

		if (event > tick && !litepulse_link_is_reachable(link, tick, event, 0))
			return false;
	}
	return true;
}

/* What has come is no longer requested; returns whether anything still is. */
static bool litepulse_link_take_room(struct litepulse_link *link, const u32 *state)
{
	const u32 room = LITEPULSE_WANT_TRANSMIT | LITEPULSE_WANT_LAUNCH | LITEPULSE_WANT_DRAINED;
	struct litepulse *lp = link->lp;
	unsigned long flags;
	u32 pending = 0;
	bool waiting;

	if (FIELD_GET(LITEPULSE_CSR_FREE_TRANSMIT_MASK, STATE(state, FREE)) >=
	    lp->transmit_depth - READ_ONCE(lp->transmit_low))
		pending |= LITEPULSE_WANT_TRANSMIT;
	if (FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK, STATE(state, FREE)) >=
	    max(lp->launch_depth / 4, 1u))
		pending |= LITEPULSE_WANT_LAUNCH;
	if (STATE(state, STATUS) & LITEPULSE_CSR_STATUS_TX_IDLE_MASK)
		pending |= LITEPULSE_WANT_DRAINED;
	spin_lock_irqsave(&link->io_lock, flags);
	pending &= link->wants;
	link->wants &= ~pending;
	waiting = link->wants & room;
	spin_unlock_irqrestore(&link->io_lock, flags);
	if (pending)
		litepulse_take_room(lp, pending);
	return waiting;
}

/**
 * struct litepulse_link_look - what a look at the board asks for
 * @wants: LITEPULSE_WANT_*
 * @events: records
 * @bytes: records
 * @state: words before the board's state
 */
struct litepulse_link_look {
	u32 wants;
	struct litepulse_link_part events;
	struct litepulse_link_part bytes;
	unsigned int state;
};

/*
 * Makes the request, which also frees what the answers before it have brought. It may be carried
 * out twice, and those before it not at all: then it frees nothing.
 */
static void litepulse_link_ask(struct litepulse_link *link, struct litepulse_link_look *look)
{
	struct litepulse_request *request = litepulse_bus_request(link);

	if (!link->ahead) {
		litepulse_link_restart_stream(&link->events);
		litepulse_link_restart_stream(&link->bytes);
	}
	*look = (struct litepulse_link_look){ .wants = READ_ONCE(link->wants) };
	if (look->wants & LITEPULSE_WANT_EVENTS)
		look->events = litepulse_link_choose(&litepulse_link_events, &link->events);
	if (look->wants & LITEPULSE_WANT_BYTES)
		look->bytes = litepulse_link_choose(&litepulse_link_bytes, &link->bytes);
	request->shorter = max(look->events.count, look->bytes.count) > SHORT;
	request->repeatable = true;
	litepulse_link_add_ack(request, &litepulse_link_events, &link->events);
	litepulse_link_add_ack(request, &litepulse_link_bytes, &link->bytes);
	/* Its tick is taken just before the answer's first byte is sent. */
	litepulse_link_add_stream(request, &litepulse_link_events, look->events.skip,
				  look->events.count);
	if (look->wants & LITEPULSE_WANT_BYTES)
		litepulse_link_add_stream(request, &litepulse_link_bytes, look->bytes.skip,
					  look->bytes.count);
	look->state = request->words;
	litepulse_link_read_state(request);
}

/* The words of the received bytes in the answer to a look; NULL if it did not ask for them. */
static const u32 *litepulse_link_byte_words(const struct litepulse_link *link,
					    const struct litepulse_link_look *look)
{
	return look->wants & LITEPULSE_WANT_BYTES ? link->words + LITEPULSE_HEADER_WORDS +
		look->events.count * LITEPULSE_EVENT_WORDS : NULL;
}

/*
 * Has the oldest request answered. Asks for less if no answer comes, and again if the answer is
 * wrong: then no other is under way any more.
 */
static int litepulse_link_hear(struct litepulse_link *link, struct litepulse_link_look *look)
{
	unsigned int looks = LOOKS;
	int error;

	for (;;) {
		error = litepulse_bus_transact(link, link->words, NULL);
		if (error) {
			link->events.most = min(link->events.most,
						max(look->events.count / 2, SHORT));
			link->bytes.most = min(link->bytes.most,
					       max(look->bytes.count / 2, SHORT));
			if (error != -EAGAIN || !--looks)
				return error;
		} else if (litepulse_link_ticks_agree(link, link->words, &look->events,
						      litepulse_link_byte_words(link, look))) {
			if (!litepulse_link_doubt_tick(link, litepulse_header_tick(link->words)))
				return 0;
		} else if (!litepulse_link_doubt(link)) {
			return 0;
		}
		/* Nothing was taken of it yet, so all of it is there once more. */
		litepulse_bus_forget(link);
		litepulse_link_ask(link, look);
	}
}

/*
 * The board's clock beside those of the host, from an answer. All of these but the board's stand
 * still while the machine sleeps.
 */
static void litepulse_link_take_clocks(struct litepulse_link *link, u64 tick)
{
	struct litepulse_clock_view *view = &link->view;
	u64 slept = ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT));

	if (slept != view->slept)
		view->map.valid = false;
	view->slept = slept;
	litepulse_clock_map_add(&view->map, &link->lp->rate, tick, link->times.before,
				link->times.after);
	litepulse_board_read_host(&link->host);
	litepulse_clock_map_beside(&view->mono, link->host.raw, link->host.mono, 1);
}

/* The poller is to end, or to pause. */
static bool litepulse_link_is_called_off(void)
{
	return kthread_should_stop() || kthread_should_park();
}

/* May the next request be sent before others have had their turn? */
static bool litepulse_link_may_go_on(const struct litepulse_link *link)
{
	return !atomic_read(&link->waiting) && !litepulse_link_is_called_off();
}

/*
 * Asks, once or more often. @more: there is more to be had, or much to be freed; @busy: something
 * came, or is waited for.
 *
 * While there is more and nothing else waits for the bus, the next request is on its way, which
 * frees what has come, before the driver is given the records; and one more if it waits there.
 */
static int litepulse_link_poll(struct litepulse_link *link, bool *more, bool *busy)
{
	struct litepulse_link_look looks[LITEPULSE_FLIGHTS], look;
	int error;

	litepulse_bus_lock(link);
	litepulse_link_ask(link, &looks[0]);
	do {
		struct litepulse_link_batch events = {}, bytes = {};
		const u32 *words = link->words, *state;

		look = looks[0];
		memmove(looks, looks + 1, sizeof(looks) - sizeof(look));
		*more = false;
		*busy = false;
		error = litepulse_link_hear(link, &look);
		if (error)
			break;
		state = words + look.state;
		litepulse_link_take_state(link, state);
		litepulse_link_take_clocks(link, litepulse_header_tick(words));
		if (look.wants & LITEPULSE_WANT_EVENTS)
			litepulse_link_take_stream(link, &litepulse_link_events, &link->events,
						   words, &look.events, &events, more, busy);
		if (look.wants & LITEPULSE_WANT_BYTES)
			litepulse_link_take_stream(link, &litepulse_link_bytes, &link->bytes,
						   litepulse_link_byte_words(link, &look),
						   &look.bytes, &bytes, more, busy);
		while (*more && link->ahead < (link->overlaps ? LITEPULSE_FLIGHTS : 1) &&
		       litepulse_link_may_go_on(link)) {
			litepulse_link_ask(link, &looks[link->ahead]);
			litepulse_bus_send_ahead(link);
		}
		litepulse_link_hand_over(link, &litepulse_link_events, &events);
		litepulse_link_hand_over(link, &litepulse_link_bytes, &bytes);
		*busy |= litepulse_link_take_room(link, state);
	} while (link->ahead);
	mutex_unlock(&link->bus);
	return error;
}

/* Time until the next poll, us. */
static u64 litepulse_link_next_interval(struct litepulse_link *link, u64 interval, bool busy)
{
	u64 shortest = READ_ONCE(link->poll_us), longest = READ_ONCE(link->idle_us);

	if (busy)
		return shortest;
	if (!READ_ONCE(link->lp->feed.listened_to))
		longest = min_t(u64, longest * IDLE_FACTOR, LITEPULSE_POLL_MAX_US);
	return clamp(2 * interval, shortest, max(shortest, longest));
}

static bool litepulse_link_is_kicked(struct litepulse_link *link)
{
	return READ_ONCE(link->kicked) || litepulse_link_is_called_off();
}

/*
 * It is not freezable: a frozen thread cannot be stopped, and the port may go away while threads
 * are frozen. litepulse_link_pause() has it pause when the board's device is suspended.
 */
static int litepulse_link_run(void *context)
{
	struct litepulse_link *link = context;
	u64 interval = 0;
	bool more, busy;
	int error;

	while (!kthread_should_stop()) {
		if (kthread_should_park()) {
			kthread_parkme();
			interval = 0;
			continue;
		}
		WRITE_ONCE(link->kicked, false);
		error = litepulse_link_poll(link, &more, &busy);
		if (error && error != -ENODEV) {
			litepulse_bus_lock(link);
			error = litepulse_bus_recover(link);
			mutex_unlock(&link->bus);
			if (!error)
				litepulse_take_reached(link->lp);
			interval = error ? RETRY_US : 0;
			/* The request that woke us failed, too; only time helps. */
			WRITE_ONCE(link->kicked, false);
		} else {
			interval = litepulse_link_next_interval(link, interval, busy);
		}
		if (more)
			continue;
		if (error)
			wait_event_interruptible_timeout(link->kick, litepulse_link_is_called_off(),
							 usecs_to_jiffies(RETRY_US));
		else
			wait_event_interruptible_hrtimeout(link->kick,
							   litepulse_link_is_kicked(link),
							   ns_to_ktime(interval * NSEC_PER_USEC));
		if (READ_ONCE(link->kicked))
			interval = 0;
	}
	return 0;
}

/* Records from before the driver attached are freed unread. */
static void litepulse_link_begin_stream(struct litepulse_link_stream *stream, const u32 *header)
{
	u32 level = header[LITEPULSE_HEADER_LEVEL / 4];
	unsigned int ready = FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK, level);

	stream->oldest = FIELD_GET(LITEPULSE_HEADER_LEVEL_POSITION_MASK, level);
	stream->position = stream->oldest + ready;
	stream->end = stream->position;
	stream->growth = 0;
	stream->most = SHORT;
}

static int litepulse_link_begin(struct litepulse_link *link)
{
	u32 headers[2 * LITEPULSE_HEADER_WORDS];
	struct litepulse_request *request;
	int error;

	litepulse_bus_lock(link);
	request = litepulse_bus_request(link);
	litepulse_link_add_stream(request, &litepulse_link_events, 0, 0);
	litepulse_link_add_stream(request, &litepulse_link_bytes, 0, 0);
	error = litepulse_bus_transact(link, headers, NULL);
	mutex_unlock(&link->bus);
	if (error)
		return error;
	litepulse_link_begin_stream(&link->events, headers);
	litepulse_link_begin_stream(&link->bytes, headers + LITEPULSE_HEADER_WORDS);
	return 0;
}

/**
 * litepulse_link_attach() - begins or ends handing over records
 * @context: the link
 * @lp: the device that gets them; NULL: none any more
 *
 * Return: 0, or an error: the board does not answer, or no thread could be made.
 */
int litepulse_link_attach(void *context, struct litepulse *lp)
{
	struct litepulse_link *link = context;
	struct task_struct *task;
	int error;

	if (!lp) {
		kthread_stop(link->poller);
		link->poller = NULL;
		return 0;
	}
	link->lp = lp;
	link->view = (struct litepulse_clock_view){ .map.coarse = lp->simulated };
	link->wants = 0;
	litepulse_bus_lock(link);
	link->rate = lp->rate;
	link->simulated = lp->simulated;
	link->tick_boot = 0;
	mutex_unlock(&link->bus);
	error = litepulse_link_begin(link);
	if (error)
		return error;
	task = kthread_run(litepulse_link_run, link, "litepulse%d", lp->id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* Before all ordinary programs, behind the interrupt threads that it waits for. */
	sched_set_fifo_low(task);
	link->poller = task;
	return 0;
}
