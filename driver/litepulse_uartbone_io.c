// SPDX-License-Identifier: GPL-2.0-only
/*
 * A board behind a serial port: the transport of litepulse.ko
 *
 * A thread asks the board for what there is: as soon as the last answer has come while there is
 * more, every poll_us while something happens, and less and less often, down to every idle_us,
 * while nothing does. Each answer tells the board's tick, too, so each is a reading of its clock.
 *
 * Records are acknowledged in the request after the one that brought them, and only if they are
 * still the oldest: so none is taken twice or thrown away, whatever becomes of either request.
 */
#include <linux/bitfield.h>
#include <linux/freezer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "litepulse_compat.h"
#include "litepulse_uartbone.h"

/* Records asked for when nobody knows how many there are. */
#define GUESS 4
/* An answer of so many of each stream is not made shorter. */
#define SHORT 16
/* The longest interval is so much longer while nobody wants to know anything. */
#define NOBODY_LISTENS 30
/* Between attempts to find a board that does not answer. */
#define RETRY_US 500000
/* So many answers in a row with an unbelievable tick are believed after all. */
#define DOUBTS 4
/* How long the core may take for a configuration word: a flush of all bytes takes longest. */
#define CONFIGURE_MS 1000

static u32 csr(u32 offset)
{
	return litepulse_csr_base + offset;
}

static u32 window(u32 offset)
{
	return litepulse_window_base + offset;
}

static void kick(struct litepulse_link *link)
{
	WRITE_ONCE(link->kicked, true);
	wake_up(&link->kick);
}

/* What every look at the board tells: from READY to STATUS. */
#define STATE_FIRST LITEPULSE_CSR_READY
#define STATE_WORDS ((LITEPULSE_CSR_STATUS - STATE_FIRST) / 4 + 1)
#define STATE(words, name) ((words)[(LITEPULSE_CSR_##name - STATE_FIRST) / 4])

static void read_state(struct litepulse_request *request)
{
	litepulse_request_read(request, csr(STATE_FIRST), STATE_WORDS);
}

static void take_state(struct litepulse_link *link, const u32 *words)
{
	link->free_transmit = FIELD_GET(LITEPULSE_CSR_FREE_TRANSMIT_MASK, STATE(words, FREE));
	link->free_launch = FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK, STATE(words, FREE));
}

/* --- what the driver asks for ---------------------------------------------------------------- */

static int link_read_csr(void *context, u32 offset, u32 *words, unsigned int count)
{
	struct litepulse_link *link = context;
	int error;

	mutex_lock(&link->bus);
	litepulse_request_read(litepulse_request(link), csr(offset), count);
	error = litepulse_transact(link, words, NULL);
	mutex_unlock(&link->bus);
	return error;
}

static int link_write_csr(void *context, u32 offset, u32 word)
{
	struct litepulse_link *link = context;
	int error;

	mutex_lock(&link->bus);
	litepulse_request_write(litepulse_request(link), csr(offset), &word, 1);
	error = litepulse_transact(link, NULL, NULL);
	mutex_unlock(&link->bus);
	return error;
}

static u64 header_tick(const u32 *header)
{
	return (u64)header[LITEPULSE_HEADER_TICK_HI / 4] << 32 |
		header[LITEPULSE_HEADER_TICK_LO / 4];
}

/* Is @tick at most as far ahead of @from as the board's clock can have gone in @ns? */
static bool is_reachable(const struct litepulse_link *link, u64 from, u64 tick, u64 ns)
{
	return tick >= from &&
		litepulse_clock_map_reachable(&link->rate, tick - from, ns, link->simulated);
}

/*
 * The answer is wrong, unless the board was reset or it was the earlier answer that was wrong:
 * then the next answers say the same. Return: whether it is to be asked for again.
 */
static bool doubt(struct litepulse_link *link)
{
	if (++link->doubts < DOUBTS) {
		link->repeats++;
		return true;
	}
	link->doubts = 0;
	return false;
}

static void believe(struct litepulse_link *link, u64 tick)
{
	link->doubts = 0;
	link->tick = tick;
	link->tick_boot = ktime_get_boottime_ns();
}

/* Return: whether the tick of an answer is wrong, and it has to be asked for again. */
static bool doubt_tick(struct litepulse_link *link, u64 tick)
{
	if (link->tick_boot &&
	    !is_reachable(link, link->tick, tick, ktime_get_boottime_ns() - link->tick_boot) &&
	    doubt(link))
		return true;
	believe(link, tick);
	return false;
}

static int link_time(void *context, u64 *tick, const struct litepulse_stamper *stamper)
{
	struct litepulse_link *link = context;
	u32 header[LITEPULSE_HEADER_WORDS];
	int error;

	mutex_lock(&link->bus);
	do {
		litepulse_request_read(litepulse_request(link), window(LITEPULSE_WIN_EVENTS),
				       LITEPULSE_HEADER_WORDS);
		error = litepulse_transact(link, header, stamper);
	} while (!error && doubt_tick(link, header_tick(header)));
	mutex_unlock(&link->bus);
	if (!error)
		*tick = header_tick(header);
	return error;
}

/* Waits for the answer to the configuration words written last; takes the count of refused. */
static int await_configured(struct litepulse_link *link, u8 *refused)
{
	unsigned long end = jiffies + msecs_to_jiffies(CONFIGURE_MS);
	u32 state[STATE_WORDS];
	int error;

	do {
		read_state(litepulse_request(link));
		error = litepulse_transact(link, state, NULL);
		if (error)
			return error;
		take_state(link, state);
		*refused = FIELD_GET(LITEPULSE_CSR_CONFIGS_REFUSED_MASK, STATE(state, CONFIGS));
		if (!(STATE(state, STATUS) & LITEPULSE_CSR_STATUS_CONFIG_BUSY_MASK))
			return 0;
	} while (time_before(jiffies, end));
	return -EIO;
}

/* As many words as fit one request; returns how many. */
static unsigned int add_words(struct litepulse_request *request,
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
		litepulse_request_write(request, window(words[done].offset), values, burst);
		done += burst;
	}
	return done;
}

static int configure(struct litepulse_link *link, const struct litepulse_word *words,
		     unsigned int count)
{
	struct litepulse_request *request;
	u32 answer[1 + STATE_WORDS];
	unsigned int done;
	u8 refused;
	int error;

	if (!link->refused_known) {
		error = await_configured(link, &link->refused);
		if (error)
			return error;
		link->refused_known = true;
	}
	while (count) {
		request = litepulse_request(link);
		request->once = true;
		done = add_words(request, words, count);
		words += done;
		count -= done;
		/* The window holds this read until the word before it is answered. */
		litepulse_request_read(request, window(LITEPULSE_CFG_LINE), 1);
		read_state(request);
		error = litepulse_transact(link, answer, NULL);
		if (error)
			return error;
		take_state(link, answer + 1);
	}
	refused = FIELD_GET(LITEPULSE_CSR_CONFIGS_REFUSED_MASK, STATE(answer + 1, CONFIGS));
	if (STATE(answer + 1, STATUS) & LITEPULSE_CSR_STATUS_CONFIG_BUSY_MASK) {
		error = await_configured(link, &refused);
		if (error)
			return error;
	}
	error = refused == link->refused ? 0 : -EINVAL;
	link->refused = refused;
	return error;
}

static int link_configure(void *context, const struct litepulse_word *words, unsigned int count)
{
	struct litepulse_link *link = context;
	int error;

	mutex_lock(&link->bus);
	error = configure(link, words, count);
	if (error && error != -EINVAL)
		link->refused_known = false;
	mutex_unlock(&link->bus);
	kick(link);
	return error;
}

/* Room, if it is known to be too little asked for anew. */
static int look_for_room(struct litepulse_link *link, const unsigned int *room, unsigned int count)
{
	u32 state[STATE_WORDS];
	int error = 0;

	if (*room < count) {
		read_state(litepulse_request(link));
		error = litepulse_transact(link, state, NULL);
		if (!error)
			take_state(link, state);
	}
	return error;
}

/* Launches that fit one request. */
#define LAUNCHES_AT_ONCE 14

static int launch_some(struct litepulse_link *link, const u32 *words, unsigned int count)
{
	struct litepulse_request *request;
	u32 state[STATE_WORDS];
	int error = look_for_room(link, &link->free_launch, count);

	count = min3(count, link->free_launch, LAUNCHES_AT_ONCE);
	if (error || !count)
		return error;
	request = litepulse_request(link);
	request->once = true;
	litepulse_request_write(request, window(LITEPULSE_WIN_LAUNCH), words, 4 * count);
	read_state(request);
	error = litepulse_transact(link, state, NULL);
	if (error)
		return error;
	take_state(link, state);
	return count;
}

static int link_launch(void *context, const u32 *words, unsigned int count)
{
	struct litepulse_link *link = context;
	unsigned int done = 0;
	int taken = 0;

	mutex_lock(&link->bus);
	while (done < count) {
		taken = launch_some(link, words + 4 * done, count - done);
		if (taken <= 0)
			break;
		done += taken;
	}
	mutex_unlock(&link->bus);
	kick(link);
	return done ?: taken;
}

/* Bytes that fit one request, in words of four and one of what is left. */
#define BYTES_AT_ONCE 220

/*
 * A tty cannot tell its writers that bytes may be lost. Those that were sent when the link failed
 * count as sent: some may be lost then, but none is sent twice.
 */
static int transmit_some(struct litepulse_link *link, const u8 *bytes, unsigned int count)
{
	u32 words[BYTES_AT_ONCE / 4], rest = 0, state[STATE_WORDS];
	struct litepulse_request *request;
	unsigned int whole, i;
	int error = look_for_room(link, &link->free_transmit, count);

	count = min3(count, link->free_transmit, BYTES_AT_ONCE);
	if (error || !count)
		return error;
	whole = count / 4;
	for (i = 0; i < whole; i++)
		words[i] = get_unaligned_le32(bytes + 4 * i);
	for (i = count; i-- > 4 * whole;)
		rest = rest << 8 | bytes[i];
	request = litepulse_request(link);
	request->once = true;
	if (whole)
		litepulse_request_write(request,
					window(LITEPULSE_WIN_TX + 3 * LITEPULSE_TX_PART_SIZE),
					words, whole);
	if (count % 4)
		litepulse_request_write(request,
					window(LITEPULSE_WIN_TX +
					       (count % 4 - 1) * LITEPULSE_TX_PART_SIZE),
					&rest, 1);
	read_state(request);
	error = litepulse_transact(link, state, NULL);
	if (error && error != -EIO)
		return error;
	if (error)
		pr_warn_ratelimited("%s: up to %u bytes were lost\n", link->name, count);
	else
		take_state(link, state);
	return count;
}

static int link_transmit(void *context, const u8 *bytes, unsigned int count)
{
	struct litepulse_link *link = context;
	unsigned int done = 0;
	int taken = 0;

	mutex_lock(&link->bus);
	while (done < count && !link->lost) {
		taken = transmit_some(link, bytes + done, count - done);
		if (taken <= 0)
			break;
		done += taken;
	}
	mutex_unlock(&link->bus);
	kick(link);
	/* While the board does not answer there is no room. */
	return done ?: taken == -EIO ? 0 : taken;
}

static void link_want(void *context, u32 mask, u32 wanted)
{
	struct litepulse_link *link = context;
	unsigned long flags;

	spin_lock_irqsave(&link->io_lock, flags);
	link->wants = (link->wants & ~mask) | (wanted & mask);
	spin_unlock_irqrestore(&link->io_lock, flags);
	kick(link);
}

/* The board cannot call: how often it is asked does not depend on how patient its readers are. */
static void link_moderate(void *context, const struct litepulse_moderation *events,
			  const struct litepulse_moderation *bytes)
{
	kick(context);
}

const struct litepulse_io_ops litepulse_link_ops = {
	.sleeps = true,
	.read_csr = link_read_csr,
	.write_csr = link_write_csr,
	.time = link_time,
	.configure = link_configure,
	.launch = link_launch,
	.transmit = link_transmit,
	.want = link_want,
	.moderate = link_moderate,
};

/* --- what the board has for us --------------------------------------------------------------- */

/* One of the two streams, and what differs. */
struct kind {
	u32 window;
	unsigned int words;
	unsigned int most;
	void (*hand_over)(struct litepulse *lp, const struct litepulse_header *header,
			  const u32 *words, unsigned int count);
};

/*
 * At most half of what a board holds at a time: while that is on its way, and is not yet freed, the
 * other half takes what comes.
 */
static const struct kind event_kind = { LITEPULSE_WIN_EVENTS, LITEPULSE_EVENT_WORDS, 128,
					litepulse_take_events };
static const struct kind byte_kind = { LITEPULSE_WIN_RECEIVE, LITEPULSE_RECEIVE_WORDS, 256,
				       litepulse_take_bytes };

/* Frees what we have had, if the board still holds it and nobody else freed any. */
static void add_ack(struct litepulse_request *request, const struct kind *kind,
		    const struct litepulse_link_stream *stream)
{
	u16 oldest = stream->position - stream->unacked;
	u32 word = FIELD_PREP(LITEPULSE_STREAM_ACK_COUNT_MASK, stream->unacked) |
		FIELD_PREP(LITEPULSE_STREAM_ACK_POSITION_MASK,
			   oldest & FIELD_MAX(LITEPULSE_STREAM_ACK_POSITION_MASK)) |
		LITEPULSE_STREAM_ACK_GUARD_MASK;

	if (stream->unacked)
		litepulse_request_write(request, window(kind->window + LITEPULSE_STREAM_ACK), &word,
					1);
}

static void add_stream(struct litepulse_request *request, const struct kind *kind,
		       unsigned int count)
{
	litepulse_request_read(request, window(kind->window),
			       LITEPULSE_HEADER_WORDS + count * kind->words);
}

/*
 * What an answer has of a stream, of which @asked records were asked for. Sets @more if there is
 * more than it has, @busy if it has any.
 */
static void take_stream(struct litepulse_link *link, const struct kind *kind,
			struct litepulse_link_stream *stream, const u32 *words, unsigned int asked,
			bool *more, bool *busy)
{
	u32 level = words[LITEPULSE_HEADER_LEVEL / 4];
	u16 position = FIELD_GET(LITEPULSE_HEADER_LEVEL_POSITION_MASK, level);
	unsigned int ready = FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK, level);
	unsigned int had = (u16)(stream->position - position), count = min(ready, asked);
	struct litepulse_header header = {
		.ready = ready,
		.tick = header_tick(words),
		.mono = litepulse_clock_map_ns(&link->map),
		.uncertainty = litepulse_clock_map_uncertainty(&link->map),
	};

	/* Other than that it is not ours: the board was reset, or somebody else has read. */
	if (had > stream->unacked)
		had = 0;
	/* Somewhat more than last time; what is asked for in vain costs time, too. */
	stream->hint = min(ready + ready / 8 + GUESS, kind->most);
	*more |= ready > max(count, had);
	if (had && had >= count)
		return;
	stream->position = position + count;
	stream->unacked = count;
	/* The clock was read with the tick of the request's first stream. */
	if (header.tick > link->map.tick)
		header.mono += litepulse_ticks_to_ns(&link->lp->rate, header.tick - link->map.tick);
	if (count > had)
		*busy = true;
	kind->hand_over(link->lp, &header, words + LITEPULSE_HEADER_WORDS + had * kind->words,
			count - had);
}

/*
 * Are the ticks of an answer those of one moment and of what was before it? A launch is reported
 * a few ticks before its tick. Received bytes have no more of their ticks than must fit.
 */
static bool ticks_agree(const struct litepulse_link *link, const u32 *events,
			unsigned int count, const u32 *bytes)
{
	u64 tick = header_tick(events);

	if (bytes && !is_reachable(link, tick, header_tick(bytes), 0))
		return false;
	count = min(count, FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK,
				     events[LITEPULSE_HEADER_LEVEL / 4]));
	events += LITEPULSE_HEADER_WORDS;
	for (; count; count--, events += LITEPULSE_EVENT_WORDS) {
		u64 event = (u64)events[LITEPULSE_EVENT_TICK_HI / 4] << 32 |
			events[LITEPULSE_EVENT_TICK_LO / 4];

		if (event > tick && !is_reachable(link, tick, event, 0))
			return false;
	}
	return true;
}

/* What was asked for and has come is asked for no longer; returns whether anything still is. */
static bool take_room(struct litepulse_link *link, const u32 *state)
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

/* Asks once. @more: there was more than fitted; @busy: something came, or is waited for. */
static int poll(struct litepulse_link *link, bool *more, bool *busy)
{
	u32 wants = READ_ONCE(link->wants), *words = link->words, *byte_words = NULL;
	struct litepulse_request *request;
	unsigned int asked_events, asked_bytes;
	struct litepulse_times times;
	bool again = false;
	int error;

	/* Waiters get the mutex in turn: others delay this by one request each, however many. */
	mutex_lock(&link->bus);
	do {
		asked_events = wants & LITEPULSE_WANT_EVENTS ? link->events.hint : 0;
		asked_bytes = wants & LITEPULSE_WANT_BYTES ? link->bytes.hint : 0;
		request = litepulse_request(link);
		request->shorter = max(asked_events, asked_bytes) > SHORT;
		add_ack(request, &event_kind, &link->events);
		add_ack(request, &byte_kind, &link->bytes);
		/* Its tick is taken just before the answer's first byte is sent. */
		add_stream(request, &event_kind, asked_events);
		if (wants & LITEPULSE_WANT_BYTES)
			add_stream(request, &byte_kind, asked_bytes);
		read_state(request);
		error = litepulse_transact(link, words, NULL);
		if (error) {
			link->events.hint = min(link->events.hint, max(asked_events / 2, SHORT));
			link->bytes.hint = min(link->bytes.hint, max(asked_bytes / 2, SHORT));
			continue;
		}
		if (wants & LITEPULSE_WANT_BYTES)
			byte_words = words + LITEPULSE_HEADER_WORDS +
				asked_events * LITEPULSE_EVENT_WORDS;
		/* Nothing was taken of it yet, so all of it is there once more. */
		again = ticks_agree(link, words, asked_events, byte_words) ?
			doubt_tick(link, header_tick(words)) : doubt(link);
	} while (error == -EAGAIN || (!error && again));
	times = link->times;
	if (!error)
		take_state(link, words + request->words - STATE_WORDS);
	mutex_unlock(&link->bus);
	if (error)
		return error;
	litepulse_clock_map_add(&link->map, &link->lp->rate, header_tick(words), times.before,
				times.after);
	if (wants & LITEPULSE_WANT_EVENTS)
		take_stream(link, &event_kind, &link->events, words, asked_events, more, busy);
	words += LITEPULSE_HEADER_WORDS + asked_events * LITEPULSE_EVENT_WORDS;
	if (byte_words) {
		take_stream(link, &byte_kind, &link->bytes, words, asked_bytes, more, busy);
		words += LITEPULSE_HEADER_WORDS + asked_bytes * LITEPULSE_RECEIVE_WORDS;
	}
	*busy |= take_room(link, words);
	return 0;
}

/* Time until the next poll, us. */
static u64 next_interval(struct litepulse_link *link, u64 interval, bool busy)
{
	u64 shortest = READ_ONCE(link->poll_us), longest = READ_ONCE(link->idle_us);

	if (busy)
		return shortest;
	if (!READ_ONCE(link->lp->listened_to))
		longest = min_t(u64, longest * NOBODY_LISTENS, LITEPULSE_POLL_MAX_US);
	return clamp(2 * interval, shortest, max(shortest, longest));
}

static bool is_kicked(struct litepulse_link *link)
{
	return READ_ONCE(link->kicked) || kthread_should_stop();
}

static int poller(void *context)
{
	struct litepulse_link *link = context;
	u64 interval = 0;
	bool more, busy;
	int error;

	/* The port may be suspended before the board's device is resumed. */
	set_freezable();
	while (!kthread_should_stop()) {
		try_to_freeze();
		WRITE_ONCE(link->kicked, false);
		more = false;
		busy = false;
		error = poll(link, &more, &busy);
		if (error && error != -ENODEV) {
			mutex_lock(&link->bus);
			error = litepulse_link_recover(link);
			mutex_unlock(&link->bus);
			interval = error ? RETRY_US : 0;
			/* Who asked did not get through; only time helps. */
			WRITE_ONCE(link->kicked, false);
		} else {
			interval = next_interval(link, interval, busy);
		}
		if (more)
			continue;
		if (error)
			wait_event_interruptible_timeout(link->kick, kthread_should_stop(),
							 usecs_to_jiffies(RETRY_US));
		else
			wait_event_interruptible_hrtimeout(link->kick, is_kicked(link),
							   ns_to_ktime(interval * NSEC_PER_USEC));
		if (READ_ONCE(link->kicked))
			interval = 0;
	}
	return 0;
}

/* What lies there from before we came is nobody's, and freed unread. */
static void begin_stream(struct litepulse_link_stream *stream, const u32 *header)
{
	u32 level = header[LITEPULSE_HEADER_LEVEL / 4];
	unsigned int ready = FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK, level);

	*stream = (struct litepulse_link_stream){
		.position = FIELD_GET(LITEPULSE_HEADER_LEVEL_POSITION_MASK, level) + ready,
		.unacked = ready,
		.hint = GUESS,
	};
}

static int begin(struct litepulse_link *link)
{
	u32 headers[2 * LITEPULSE_HEADER_WORDS];
	struct litepulse_request *request;
	int error;

	mutex_lock(&link->bus);
	request = litepulse_request(link);
	add_stream(request, &event_kind, 0);
	add_stream(request, &byte_kind, 0);
	error = litepulse_transact(link, headers, NULL);
	mutex_unlock(&link->bus);
	if (error)
		return error;
	begin_stream(&link->events, headers);
	begin_stream(&link->bytes, headers + LITEPULSE_HEADER_WORDS);
	return 0;
}

/**
 * litepulse_link_attach - begins or ends handing over records
 * @context: the link
 * @lp: who gets them; NULL: nobody any more
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
	link->map = (struct litepulse_clock_map){};
	link->wants = 0;
	mutex_lock(&link->bus);
	link->rate = lp->rate;
	link->simulated = lp->simulated;
	link->tick_boot = 0;
	mutex_unlock(&link->bus);
	error = begin(link);
	if (error)
		return error;
	task = kthread_run(poller, link, "litepulse%d", lp->id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	link->poller = task;
	return 0;
}
