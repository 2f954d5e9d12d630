// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to a board behind a serial port: each is carried out once and answered, or fails
 *
 * A request is one or more commands of LiteX's UARTBone. LitePulse's own bridge takes them in
 * frames with a checksum and a number, carries out nothing of a damaged one, and of a repeated
 * one only the reads: so whatever is lost, doubled or damaged on the way, the frame is sent again
 * until its answer arrives (docs/bridge.md).
 *
 * Any other UARTBone knows no frames. There a request ends with a read of a register whose value
 * is known, at which a lost or doubled byte shows; what only reads is repeated, what writes fails.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitfield.h>
#include <linux/crc-itu-t.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>

#include "litepulse_compat.h"
#include "litepulse_uartbone.h"

#define CREATE_TRACE_POINTS
#include "litepulse_uartbone_trace.h"

#define COMMAND_BYTES 6

/* Frame: marker, number, length - 1, payload, checksum. */
#define FRAME_HEAD 3
#define CHECKSUM_BYTES 2

/* Of the frames, from which on answers can be packed, and frames wait. */
#define PACKING_VERSION 2
#define WAITING_VERSION 3
#define ATTEMPTS 6
/* Time for an answer, besides that on the line: adapters and schedulers. */
#define ANSWER_MS 200
/* Of silence, after which a bridge that knows no frames expects a command. */
#define PLAIN_SILENCE_MS 130
/* The bridge has certainly not fallen back so soon after an answer: well below its 2 s. */
#define SURE_MS 1500
/* After which a raised bit rate has certainly fallen back. */
#define FALLBACK_MS (LITEPULSE_BRIDGE_FALLBACK_SECONDS * 1000 + 300)
/* A port has sent what it was given. */
#define SETTLE_MS 30

/*
 * All times that have to fit together, from one answer of the bridge to the next access to the
 * core's window, with a cable that works again and answers every request, though late:
 *
 *	polls			at most LITEPULSE_POLL_MAX_US apart, and each answered in time
 *	  < SURE_MS		the driver speaks at the raised rate
 *	  < 2 s			the bridge goes back to its base rate
 *	  < FALLBACK_MS		the driver takes that for certain
 *	FIND_MS			to find a bridge that has gone back, raise its rate, reach the core
 *	LOST_MS			the same if the cable failed first, and the bridge had not gone back
 *	  < 8 s			the board's watchdog stops what runs
 *	  <= patience		of who waits for the core's answer
 *	  < FREEZE_MS		the kernel waits this long for threads that are to be frozen
 */
#define BAUD_MS (LITEPULSE_DRAIN_MS + LITEPULSE_ADAPTER_MS)
#define RAISE_MS (ANSWER_MS + BAUD_MS + SETTLE_MS + ANSWER_MS)
#define FIND_MS (ANSWER_MS + BAUD_MS + PLAIN_SILENCE_MS + ANSWER_MS + RAISE_MS + ANSWER_MS)
#define LOST_MS (SURE_MS + ANSWER_MS + LITEPULSE_BRIDGE_FRAME_SILENCE_MS + FALLBACK_MS + \
		 ANSWER_MS + RAISE_MS + ANSWER_MS)
/* This long a machine may stand still, and what runs on its boards goes on. */
#define STALL_MS 5000
/* Default of /sys/power/pm_freeze_timeout. */
#define FREEZE_MS 20000

#define BRIDGE_MS (LITEPULSE_BRIDGE_FALLBACK_SECONDS * 1000)
#define WATCHDOG_MS (LITEPULSE_WATCHDOG_SECONDS * 1000)
#define PATIENCE_MS (LITEPULSE_PATIENCE_SLEEPS_SECONDS * 1000)
static_assert(LITEPULSE_POLL_MAX_US / 1000 + ANSWER_MS < SURE_MS);
static_assert(SURE_MS + ANSWER_MS < BRIDGE_MS);
/* Half a command delays the bridge by up to this much. */
static_assert(BRIDGE_MS + PLAIN_SILENCE_MS < FALLBACK_MS);
static_assert(BRIDGE_MS <= STALL_MS && STALL_MS + FIND_MS < WATCHDOG_MS);
static_assert(LOST_MS < WATCHDOG_MS);
static_assert(LOST_MS <= PATIENCE_MS);
static_assert(LOST_MS + PATIENCE_MS < FREEZE_MS);

unsigned int litepulse_csr_base = LITEPULSE_CSR_BASE;
module_param_named(csr_base, litepulse_csr_base, uint, 0444);
MODULE_PARM_DESC(csr_base, "address of the core's registers on the board's bus");

unsigned int litepulse_window_base = LITEPULSE_WINDOW_BASE;
module_param_named(window_base, litepulse_window_base, uint, 0444);
MODULE_PARM_DESC(window_base, "address of the core's window on the board's bus");

/* --- requests -------------------------------------------------------------------------------- */

/* An empty request, behind those under way. */
static struct litepulse_request *litepulse_bus_begin(struct litepulse_link *link)
{
	struct litepulse_request *request = &litepulse_link_flight(link, link->ahead)->request;

	lockdep_assert_held(&link->bus);
	request->length = 0;
	request->words = 0;
	request->writes = false;
	request->once = false;
	request->repeatable = false;
	request->shorter = false;
	request->full = false;
	return request;
}

/* Space for a command with @data further bytes. */
static u8 *litepulse_bus_add_command(struct litepulse_request *request, u8 code, u32 address,
				     unsigned int count,
				     unsigned int data)
{
	u8 *command = request->payload + request->length;

	if (request->length + COMMAND_BYTES + data > sizeof(request->payload)) {
		request->full = true;
		return NULL;
	}
	request->length += COMMAND_BYTES + data;
	command[0] = code;
	command[1] = count;
	put_unaligned_be32(address / 4, command + 2);
	return command + COMMAND_BYTES;
}

/**
 * litepulse_bus_read() - adds reads
 * @request: to this
 * @address: of the first word, in bytes
 * @count: of words; as many commands as they need
 */
void litepulse_bus_read(struct litepulse_request *request, u32 address, unsigned int count)
{
	unsigned int part;

	for (; count; count -= part, address += 4 * part) {
		part = min_t(unsigned int, count, LITEPULSE_BURST_WORDS);
		if (request->words + part > LITEPULSE_ANSWER_WORDS)
			request->full = true;
		else if (litepulse_bus_add_command(request, LITEPULSE_BONE_READ, address, part, 0))
			request->words += part;
	}
}

/**
 * litepulse_bus_write() - adds a write
 * @request: to this
 * @address: of the first word, in bytes
 * @words: what
 * @count: of words
 */
void litepulse_bus_write(struct litepulse_request *request, u32 address, const u32 *words,
			 unsigned int count)
{
	u8 *data = litepulse_bus_add_command(request, LITEPULSE_BONE_WRITE, address, count,
					     4 * count);

	request->writes = true;
	for (; data && count; count--, words++, data += 4)
		put_unaligned_be32(*words, data);
}

/* --- the line -------------------------------------------------------------------------------- */

/* Milliseconds within which @count bytes must have passed. */
static unsigned int litepulse_bus_limit_ms(const struct litepulse_link *link, unsigned int count)
{
	return ANSWER_MS + count * 10 * 1000 / link->baud;
}

static unsigned int litepulse_bus_frame_bytes(const struct litepulse_request *request)
{
	return FRAME_HEAD + request->length + CHECKSUM_BYTES;
}

/*
 * The time that @count bytes are on the line at least, ns: to the middle of the last stop bit, with
 * a port that is faster than it says by 1 in 32, beyond which a bridge hears nothing.
 */
static u64 litepulse_bus_line_ns(const struct litepulse_link *link, unsigned int count)
{
	u64 ns = div_u64((10 * (u64)count - 1) * NSEC_PER_SEC, link->baud);

	return count ? ns - (ns >> 5) - 1 : 0;
}

/*
 * Takes off what the line needs. The bridge carries out a frame when all of it has come, a plain
 * command before. The board's tick is older than the answer's first byte. A simulated board may
 * have no such line.
 */
static void litepulse_bus_trim_times(struct litepulse_link *link,
				     const struct litepulse_flight *flight)
{
	u64 request, answer;

	link->request_ns = 0;
	link->answer_ns = 0;
	if (!link->lp || link->simulated)
		return;
	request = link->framed ?
		litepulse_bus_line_ns(link, litepulse_bus_frame_bytes(&flight->request)) : 0;
	answer = litepulse_bus_line_ns(link, flight->first);
	/* Shorter than the line allows: it is no such line. */
	if (request + answer > link->round_trip_ns)
		return;
	link->request_ns = request;
	link->answer_ns = answer;
	link->times.before += request;
	link->times.after -= answer;
}

/*
 * Waits for the whole answer to what was sent, @count bytes, of which the answer has @most. Sets
 * the times of the latest answer.
 */
static int litepulse_bus_await(struct litepulse_link *link, struct litepulse_flight *flight,
			       unsigned int count, unsigned int most)
{
	int error = litepulse_line_await(link, flight, litepulse_bus_limit_ms(link, count + most));

	if (!error) {
		/* This machine may have stood still since the answer came. */
		link->answered = flight->begun;
		link->times = flight->times;
		link->round_trip_ns = link->times.after - link->times.before;
		litepulse_bus_trim_times(link, flight);
	}
	return error;
}

/*
 * The number of groups in the answer to a request; 0 if it is not to be packed, because the bridge
 * cannot, or because it would not get shorter.
 */
static unsigned int litepulse_bus_groups(const struct litepulse_link *link,
					 const struct litepulse_request *request)
{
	return link->packs && 4 * request->words > LITEPULSE_PACKED_PERIOD ?
		litepulse_packed_groups(request->words) : 0;
}

/* Writes the frame of a request to link->out; returns its length. */
static unsigned int litepulse_bus_make_frame(struct litepulse_link *link,
					     const struct litepulse_flight *flight)
{
	const struct litepulse_request *request = &flight->request;
	u8 *frame = link->out;

	frame[0] = litepulse_bus_groups(link, request) ? LITEPULSE_BRIDGE_PACKED_MARKER :
							 LITEPULSE_BRIDGE_FRAME_MARKER;
	frame[1] = flight->sequence;
	frame[2] = request->length - 1;
	memcpy(frame + FRAME_HEAD, request->payload, request->length);
	put_unaligned_be16(crc_itu_t(0xffff, frame + 1, FRAME_HEAD - 1 + request->length),
			   frame + FRAME_HEAD + request->length);
	return litepulse_bus_frame_bytes(request);
}

/* Are the received bytes the answer to the frame? */
static bool litepulse_bus_answer_is_good(const struct litepulse_flight *flight, bool packed)
{
	unsigned int length = flight->got - LITEPULSE_TRAILER_BYTES;
	u16 checksum = crc_itu_t(packed ? LITEPULSE_PACKED_CHECKSUM : 0xffff, flight->buffer,
				 length + 1);

	return flight->buffer[length] == flight->sequence &&
		get_unaligned_be16(flight->buffer + length + 1) == checksum;
}

static void litepulse_bus_take_words(const struct litepulse_flight *flight, u32 *words,
				     unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		words[i] = get_unaligned_be32(flight->buffer + 4 * i);
}

static int litepulse_bus_send_frame(struct litepulse_link *link, struct litepulse_flight *flight,
				    const struct litepulse_stamper *stamper)
{
	unsigned int groups = litepulse_bus_groups(link, &flight->request);
	unsigned int wanted = groups ? 1 : 4 * flight->request.words + LITEPULSE_TRAILER_BYTES;

	return litepulse_line_send(link, flight, litepulse_bus_make_frame(link, flight), wanted,
				   groups, stamper);
}

static int litepulse_bus_await_frame(struct litepulse_link *link, struct litepulse_flight *flight,
				     u32 *words)
{
	unsigned int count = flight->request.words;
	unsigned int groups = litepulse_bus_groups(link, &flight->request);
	int error = litepulse_bus_await(link, flight, litepulse_bus_frame_bytes(&flight->request),
					4 * count + groups + LITEPULSE_TRAILER_BYTES);

	if (error)
		return error;
	if (!litepulse_bus_answer_is_good(flight, groups))
		return -EIO;
	if (!groups)
		litepulse_bus_take_words(flight, words, count);
	else if (!litepulse_packed_unpack(flight->buffer, words, count))
		return -EIO;
	return 0;
}

static int litepulse_bus_send_plain(struct litepulse_link *link, struct litepulse_flight *flight,
				    const struct litepulse_stamper *stamper)
{
	unsigned int length = flight->request.length;

	memcpy(link->out, flight->request.payload, length);
	link->out[length] = LITEPULSE_BONE_READ;
	link->out[length + 1] = 1;
	put_unaligned_be32((litepulse_csr_base + LITEPULSE_CSR_ID_MAGIC) / 4,
			   link->out + length + 2);
	return litepulse_line_send(link, flight, length + COMMAND_BYTES,
				   4 * flight->request.words + 4, 0, stamper);
}

static int litepulse_bus_await_plain(struct litepulse_link *link, struct litepulse_flight *flight,
				     u32 *words)
{
	unsigned int count = flight->request.words;
	int error = litepulse_bus_await(link, flight, flight->request.length + COMMAND_BYTES,
					4 * count + 4);

	if (error)
		return error;
	if (get_unaligned_be32(flight->buffer + 4 * count) != LITEPULSE_MAGIC)
		return -EIO;
	litepulse_bus_take_words(flight, words, count);
	return 0;
}

/* Waits for the answer to what was sent. */
static int litepulse_bus_hear(struct litepulse_link *link, struct litepulse_flight *flight,
			      u32 *words)
{
	return link->framed ? litepulse_bus_await_frame(link, flight, words) :
			      litepulse_bus_await_plain(link, flight, words);
}

static unsigned int litepulse_bus_silence_ms(const struct litepulse_link *link)
{
	return link->framed ? LITEPULSE_BRIDGE_FRAME_SILENCE_MS : PLAIN_SILENCE_MS;
}

/* Sends the request. @first: not again, so its times begin now. */
static int litepulse_bus_send(struct litepulse_link *link, struct litepulse_flight *flight,
			      const struct litepulse_stamper *stamper, bool first)
{
	/* Bytes without a request may go on coming; what was sent last may be half a command. */
	int error = link->unsettled || READ_ONCE(link->stray) ?
		litepulse_line_silence(link, litepulse_bus_silence_ms(link)) : 0;

	/* A late answer may be to what was sent first. */
	if (first) {
		flight->sequence = ++link->sequence;
		if (stamper)
			stamper->before(stamper->data);
		flight->times.before = ktime_get_raw_ns();
		flight->begun = ktime_get_boottime_ns();
	}
	if (error)
		return error;
	return link->framed ? litepulse_bus_send_frame(link, flight, stamper) :
			      litepulse_bus_send_plain(link, flight, stamper);
}

/* Whether the bridge has certainly not fallen back: it has the port's bit rate, and is locked. */
static bool litepulse_bus_is_sure(const struct litepulse_link *link)
{
	return ktime_get_boottime_ns() - link->answered < SURE_MS * (u64)NSEC_PER_MSEC;
}

/*
 * Whether a request may be sent to a bridge that may have fallen back. At the base rate it hears
 * all, but takes a frame that lost its marker for plain commands: that must not write.
 */
static bool litepulse_bus_is_safe(const struct litepulse_link *link, bool writes)
{
	return link->baud == link->base_baud && !(link->framed && writes);
}

/* Sends the oldest request, until it is answered, or it must not be sent again. */
static int litepulse_bus_attempt(struct litepulse_link *link, u32 *words,
				 const struct litepulse_stamper *stamper, unsigned int attempts)
{
	struct litepulse_flight *flight = litepulse_link_flight(link, 0);
	bool first = true;
	int error = -EIO;

	flight->tries = 0;
	while (attempts--) {
		flight->tries++;
		error = litepulse_bus_send(link, flight, stamper, first) ?:
			litepulse_bus_hear(link, flight, words);
		first = false;
		link->unsettled = error;
		if (!error || error == -ENODEV)
			return error;
		if ((!link->framed && flight->request.once) ||
		    !(litepulse_bus_is_sure(link) ||
		      litepulse_bus_is_safe(link, flight->request.writes)))
			break;
		link->repeats++;
	}
	return error;
}

/**
 * litepulse_bus_send_ahead() - send a request whose answer is awaited later
 * @link: the bus is held until litepulse_bus_transact() has returned for all requests sent ahead,
 *	which must be called next, without a stamper
 *
 * If it cannot be sent now, litepulse_bus_transact() sends it. If another is under way, it must do
 * no harm to carry out this one twice: its answer may be lost with that of the other.
 */
void litepulse_bus_send_ahead(struct litepulse_link *link)
{
	struct litepulse_flight *flight = litepulse_link_flight(link, link->ahead);

	lockdep_assert_held(&link->bus);
	if (WARN_ON_ONCE(link->ahead == LITEPULSE_FLIGHTS || flight->request.full))
		return;
	flight->sent = !link->lost && !(link->ahead && link->unsettled) &&
		(!link->ahead ||
		 litepulse_bus_frame_bytes(&flight->request) <= LITEPULSE_BRIDGE_FRAME_WAITING);
	link->ahead++;
	if (!flight->sent)
		return;
	link->unsettled = litepulse_bus_send(link, flight, NULL, true);
	flight->sent = !link->unsettled;
}

/* The oldest request is over. */
static void litepulse_bus_next(struct litepulse_link *link)
{
	litepulse_link_flight(link, 0)->sent = false;
	if (link->ahead) {
		link->ahead--;
		litepulse_line_next(link);
	}
}

/**
 * litepulse_bus_forget() - await no answer any more
 * @link: the bus is held
 *
 * Requests that were sent ahead must be repeated.
 */
void litepulse_bus_forget(struct litepulse_link *link)
{
	lockdep_assert_held(&link->bus);
	while (link->ahead) {
		if (litepulse_link_flight(link, 0)->sent) {
			link->repeats++;
			link->unsettled = true;
		}
		litepulse_bus_next(link);
	}
}

static void litepulse_bus_lose(struct litepulse_link *link)
{
	link->failures++;
	link->lost = true;
	litepulse_link_kick(link);
	pr_warn_ratelimited("%s: the board does not answer\n", link->name);
}

/**
 * litepulse_bus_transact() - have the oldest request carried out
 * @link: the bus is held
 * @words: answers to the reads, in order; room for request.words
 * @stamper: called before anything is sent, and when the answer begins; may be NULL
 *
 * Return: 0; -ENODEV if the port is gone, -EIO if there was no good answer: what it wrote may have
 * been written, but at most once; -EAGAIN if there was none and the caller must repeat the request,
 * shorter if it can be. After an error no request is under way.
 */
int litepulse_bus_transact(struct litepulse_link *link, u32 *words,
			   const struct litepulse_stamper *stamper)
{
	struct litepulse_flight *flight = litepulse_link_flight(link, 0);
	bool again = flight->sent || flight->request.shorter;
	bool repeatable = flight->request.repeatable;
	int error;

	lockdep_assert_held(&link->bus);
	flight->tries = flight->sent;
	if (WARN_ON_ONCE(flight->request.full || !flight->request.length))
		error = -EINVAL;
	else if (READ_ONCE(link->gone))
		error = -ENODEV;
	else if (link->lost)
		error = -EIO;
	else if (flight->sent)
		error = litepulse_bus_hear(link, flight, words);
	else
		error = litepulse_bus_attempt(link, words, stamper, again ? 1 : ATTEMPTS);
	if (flight->tries)
		trace_litepulse_transaction(link, flight, error);
	if (error)
		litepulse_bus_forget(link);
	else
		litepulse_bus_next(link);
	if (!error) {
		link->transactions++;
	} else if (error != -EIO || link->lost) {
		return error;
	} else if (again) {
		error = -EAGAIN;
	} else if (repeatable && !litepulse_bus_is_sure(link)) {
		/* This machine was late. litepulse_bus_assure() looks at the bridge first. */
		link->repeats++;
		error = -EAGAIN;
	} else {
		litepulse_bus_lose(link);
		error = -EIO;
	}
	return error;
}

/* --- finding the bridge, and its bit rate ---------------------------------------------------- */

/*
 * Does it answer, and does it know frames? A frame that only reads, with a number and a checksum
 * that are no commands to a bridge that does not: that one answers the read in it.
 */
static int litepulse_bus_find(struct litepulse_link *link)
{
	struct litepulse_request *request = litepulse_bus_begin(link);
	struct litepulse_flight *flight = litepulse_link_flight(link, 0);
	unsigned int length, got, tries;
	u8 *checksum;
	u32 version;
	int error;

	litepulse_bus_read(request, LITEPULSE_BRIDGE_BASE + LITEPULSE_BRIDGE_FRAMES, 1);
	for (tries = 0; tries < 256; tries++) {
		flight->sequence = 0x80 | (get_random_u32() & 0x7f);
		length = litepulse_bus_make_frame(link, flight);
		checksum = link->out + length - CHECKSUM_BYTES;
		/* The answer to another number may still come. */
		if (checksum[0] > 4 && checksum[1] > 4 && flight->sequence != link->sequence)
			break;
	}
	link->sequence = flight->sequence;
	flight->begun = ktime_get_boottime_ns();
	error = litepulse_line_send(link, flight, length, 4 + LITEPULSE_TRAILER_BYTES, 0, NULL) ?:
		litepulse_bus_await(link, flight, length, 4 + LITEPULSE_TRAILER_BYTES);
	got = READ_ONCE(flight->got);
	link->framed = !error && litepulse_bus_answer_is_good(flight, false);
	version = link->framed ? get_unaligned_be32(flight->buffer) : 0;
	link->packs = version >= PACKING_VERSION;
	link->overlaps = version >= WAITING_VERSION;
	if (link->framed)
		return 0;
	if (error == -ENODEV)
		return error;
	error = litepulse_line_silence(link, PLAIN_SILENCE_MS);
	if (error || got != 4)
		return error ?: -EIO;
	/* What answers there may be anything: it must know the core, too. */
	litepulse_bus_read(litepulse_bus_begin(link), litepulse_csr_base, 1);
	return litepulse_bus_attempt(link, &version, NULL, 1);
}

static int litepulse_bus_read_rate(struct litepulse_link *link, u32 *rate, unsigned int attempts)
{
	litepulse_bus_read(litepulse_bus_begin(link),
			   LITEPULSE_BRIDGE_BASE + LITEPULSE_BRIDGE_RATE, 1);
	return litepulse_bus_attempt(link, rate, NULL, attempts);
}

/* Sets another rate of the bridge, then of the port; whether it worked is not known. */
static int litepulse_bus_change_rate(struct litepulse_link *link, u32 rate, unsigned int baud)
{
	struct litepulse_request *request = litepulse_bus_begin(link);
	struct litepulse_flight *flight = litepulse_link_flight(link, 0);
	unsigned int length;
	int error;

	litepulse_bus_write(request, LITEPULSE_BRIDGE_BASE + LITEPULSE_BRIDGE_RATE, &rate, 1);
	flight->sequence = ++link->sequence;
	if (link->framed) {
		length = litepulse_bus_make_frame(link, flight);
	} else {
		length = request->length;
		memcpy(link->out, request->payload, length);
	}
	/* The answer comes at the new rate, while the port still has the old one. */
	error = litepulse_line_send(link, flight, length, 0, 0, NULL) ?:
		litepulse_line_set_baud(link, baud);
	if (error)
		return error;
	return litepulse_line_silence(link, max_t(unsigned int, SETTLE_MS,
						  litepulse_bus_silence_ms(link)));
}

/* Does the rate register read @rate at the base rate, with the clock that it reports? */
static bool litepulse_bus_is_base_rate(u32 rate)
{
	u64 word = FIELD_GET(LITEPULSE_BRIDGE_RATE_WORD_MASK, rate);
	u64 hz = (u64)FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) *
		LITEPULSE_BRIDGE_CLOCK_UNIT;
	s64 off = word * hz - (u64)LITEPULSE_BRIDGE_BAUD * LITEPULSE_BRIDGE_WORD_ONE;

	/* The word is rounded to the nearest, and so is the clock. */
	return abs(off) <= hz / 2 + word * (LITEPULSE_BRIDGE_CLOCK_UNIT / 2);
}

/*
 * Can the bridge whose rate register reads @rate do @baud bits per second? If it does not read
 * as at the base rate while it is there, it is another bridge's, or something else.
 */
static bool litepulse_bus_can_do(const struct litepulse_link *link, u32 rate, unsigned int baud)
{
	u64 hz = (u64)FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) *
		LITEPULSE_BRIDGE_CLOCK_UNIT;

	if (link->baud == link->base_baud && !litepulse_bus_is_base_rate(rate))
		return false;
	return hz && 8ULL * baud <= hz + LITEPULSE_BRIDGE_CLOCK_UNIT / 2;
}

/* What the register has to read at @baud. */
static u32 litepulse_bus_rate_for(u32 rate, unsigned int baud)
{
	u32 word = FIELD_GET(LITEPULSE_BRIDGE_RATE_WORD_MASK, rate);
	u32 hz = FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) * LITEPULSE_BRIDGE_CLOCK_UNIT;
	u64 wanted = litepulse_mul_div(2ULL * baud, LITEPULSE_BRIDGE_WORD_ONE, hz, NULL);

	/* To the nearest. */
	return rate - word + min_t(u64, (wanted + 1) / 2, LITEPULSE_BRIDGE_WORD_MAX);
}

/* Raises the rate of a bridge that answers at the base rate. */
static int litepulse_bus_raise(struct litepulse_link *link, unsigned int baud)
{
	u32 rate, word, answer;
	int error;

	error = litepulse_bus_read_rate(link, &rate, 2);
	if (error)
		return error;
	if (!litepulse_bus_can_do(link, rate, baud))
		return -EINVAL;
	word = litepulse_bus_rate_for(rate, baud);
	link->base_rate = rate;
	error = litepulse_bus_change_rate(link, word, baud);
	if (error)
		return error;
	error = litepulse_bus_read_rate(link, &answer, 2);
	return error ?: answer == word ? 0 : -EIO;
}

/* Waits until the bridge is at its base rate, whatever it was, and sets the port to that. */
static int litepulse_bus_fall_back(struct litepulse_link *link)
{
	int error = litepulse_line_set_baud(link, link->base_baud);

	return error ?: litepulse_line_silence(link, FALLBACK_MS);
}

/* Back to the base rate from one that works. */
static int litepulse_bus_lower(struct litepulse_link *link)
{
	int error = litepulse_bus_change_rate(link, link->base_rate, link->base_baud) ?:
		litepulse_bus_find(link);

	if (error && error != -ENODEV)
		error = litepulse_bus_fall_back(link) ?: litepulse_bus_find(link);
	return error;
}

/* Until then, in ms; at least as long as a bridge takes to forget half a command. */
static unsigned int litepulse_bus_left_ms(unsigned long end)
{
	long left = end - jiffies;

	return max_t(unsigned int, left > 0 ? jiffies_to_msecs(left) : 0, PLAIN_SILENCE_MS);
}

/*
 * Finds a bridge that may have fallen back, at its base rate, and raises that again. Most often it
 * has fallen back by now; what is sent too early it cannot take for a command.
 */
static int litepulse_bus_find_again(struct litepulse_link *link)
{
	/* From now on nothing is sent to it at the raised rate. */
	const unsigned long fallen = jiffies + msecs_to_jiffies(FALLBACK_MS);
	bool raised = link->baud != link->base_baud;
	int error = 0;

	if (raised)
		error = litepulse_line_set_baud(link, link->base_baud);
	error = error ?: litepulse_line_silence(link, PLAIN_SILENCE_MS) ?: litepulse_bus_find(link);
	if (raised && error && error != -ENODEV)
		error = litepulse_line_silence(link, litepulse_bus_left_ms(fallen)) ?:
			litepulse_bus_find(link);
	if (!error && link->target_baud != link->baud)
		error = litepulse_bus_raise(link, link->target_baud);
	return error;
}

/*
 * Before a request. If the bridge may have fallen back, because the machine was suspended, say,
 * only a read of its rate may be sent: at another rate that is no command, and a bridge that checks
 * frames is locked by it. Sets link->lost if the bridge is not found.
 */
static void litepulse_bus_assure(struct litepulse_link *link)
{
	bool raised = link->baud != link->base_baud;
	u32 rate;

	if (link->ahead || link->lost || READ_ONCE(link->gone) || litepulse_bus_is_sure(link) ||
	    litepulse_bus_is_safe(link, true))
		return;
	if (litepulse_bus_read_rate(link, &rate, raised ? 1 : ATTEMPTS) &&
	    litepulse_bus_find_again(link))
		litepulse_bus_lose(link);
}

/**
 * litepulse_bus_request() - an empty one, behind those under way
 * @link: the bus is held, until litepulse_bus_transact() returns
 */
struct litepulse_request *litepulse_bus_request(struct litepulse_link *link)
{
	litepulse_bus_assure(link);
	return litepulse_bus_begin(link);
}

/**
 * litepulse_bus_connect() - finds the bridge
 * @link: the bus is held; the port is at the bridge's rate
 *
 * Return: 0; -EIO if none answers, also not when a raised rate has fallen back; -ENODEV.
 */
int litepulse_bus_connect(struct litepulse_link *link)
{
	unsigned int tries;
	int error;

	lockdep_assert_held(&link->bus);
	for (tries = 0; tries < 2; tries++) {
		error = litepulse_bus_find(link);
		if (!error || error == -ENODEV)
			return error;
	}
	error = litepulse_line_silence(link, FALLBACK_MS);
	return error ?: litepulse_bus_find(link);
}

/**
 * litepulse_bus_hz() - clock of the board's bus, as its bridge says
 * @link: connected; the bus is held
 *
 * Return: Hz, 0 if the bridge does not know it.
 */
u32 litepulse_bus_hz(struct litepulse_link *link)
{
	u32 rate;

	lockdep_assert_held(&link->bus);
	if (litepulse_bus_read_rate(link, &rate, 2))
		return 0;
	return FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) * LITEPULSE_BRIDGE_CLOCK_UNIT;
}

/**
 * litepulse_bus_set_baud() - changes the bit rate of bridge and port
 * @link: the bus is held
 * @baud: bits per second
 *
 * Return: 0; -EINVAL if the bridge cannot do it, both are as before then; -EINVAL also if the port
 * cannot, or -EIO if they do not understand each other: both are at the base rate then; -ENODEV.
 */
int litepulse_bus_set_baud(struct litepulse_link *link, unsigned int baud)
{
	int error, back;
	u32 rate;

	lockdep_assert_held(&link->bus);
	if (baud == link->baud)
		return 0;
	litepulse_bus_assure(link);
	if (link->lost)
		return -EIO;
	/* Between these a command at the one rate could be one at the other. */
	if (baud < 2 * link->base_baud && baud != link->base_baud)
		return -EINVAL;
	if (baud != link->base_baud) {
		error = litepulse_bus_read_rate(link, &rate, 2);
		if (error)
			return error;
		if (!litepulse_bus_can_do(link, rate, baud))
			return -EINVAL;
	}
	error = 0;
	if (link->baud != link->base_baud) {
		link->target_baud = link->base_baud;
		error = litepulse_bus_lower(link);
	}
	if (!error && baud != link->base_baud) {
		error = litepulse_bus_raise(link, baud);
		back = error;
		if (error && error != -ENODEV)
			back = litepulse_bus_fall_back(link) ?: litepulse_bus_find(link);
		if (!error)
			link->target_baud = baud;
		else if (back)
			link->lost = true;
	} else if (error) {
		link->lost = true;
	}
	return error;
}

/**
 * litepulse_bus_recover() - looks whether a board that did not answer does again
 * @link: the bus is held
 *
 * Return: 0 if so, -EIO if not, -ENODEV.
 */
int litepulse_bus_recover(struct litepulse_link *link)
{
	int error;

	lockdep_assert_held(&link->bus);
	if (READ_ONCE(link->gone))
		return -ENODEV;
	error = litepulse_bus_find_again(link);
	if (!error) {
		pr_info_ratelimited("%s: the board answers again\n", link->name);
		link->lost = false;
		link->refused_known = false;
		link->free_transmit = 0;
		link->free_launch = 0;
	}
	return error;
}
