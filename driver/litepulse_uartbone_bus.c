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
#include <linux/bitfield.h>
#include <linux/crc-itu-t.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>

#include "litepulse_compat.h"
#include "litepulse_uartbone.h"

#define BONE_WRITE 1
#define BONE_READ 2
#define COMMAND_BYTES 6

/* Frame: marker, number, length - 1, payload, checksum; answer: words, number, checksum. */
#define FRAME_HEAD 3
#define CHECKSUM_BYTES 2
#define TRAILER_BYTES (1 + CHECKSUM_BYTES)

#define ATTEMPTS 6
/* Time for an answer, besides that on the line: adapters and schedulers. */
#define ANSWER_MS 200
/* Of silence, after which a bridge that knows no frames expects a command. */
#define PLAIN_SILENCE_MS 130
/* After which a raised bit rate has certainly fallen back. */
#define FALLBACK_MS (LITEPULSE_BRIDGE_FALLBACK_SECONDS * 1000 + 300)
/* The bridge has certainly not fallen back so soon after an answer. */
#define SURE_MS 1500
/* A port has sent what it was given. */
#define SETTLE_MS 30

unsigned int litepulse_csr_base = LITEPULSE_CSR_BASE;
module_param_named(csr_base, litepulse_csr_base, uint, 0444);
MODULE_PARM_DESC(csr_base, "address of the core's registers on the board's bus");

unsigned int litepulse_window_base = LITEPULSE_WINDOW_BASE;
module_param_named(window_base, litepulse_window_base, uint, 0444);
MODULE_PARM_DESC(window_base, "address of the core's window on the board's bus");

/* --- requests -------------------------------------------------------------------------------- */

/**
 * litepulse_request - an empty one
 * @link: the bus is held, until litepulse_transact() returns
 */
struct litepulse_request *litepulse_request(struct litepulse_link *link)
{
	struct litepulse_request *request = &link->request;

	lockdep_assert_held(&link->bus);
	request->length = 0;
	request->words = 0;
	request->once = false;
	request->shorter = false;
	request->full = false;
	return request;
}

/* Space for a command with @data further bytes. */
static u8 *add_command(struct litepulse_request *request, u8 code, u32 address, unsigned int count,
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
 * litepulse_request_read - adds reads
 * @request: to this
 * @address: of the first word, in bytes
 * @count: of words; as many commands as they need
 */
void litepulse_request_read(struct litepulse_request *request, u32 address, unsigned int count)
{
	unsigned int part;

	for (; count; count -= part, address += 4 * part) {
		part = min_t(unsigned int, count, LITEPULSE_BURST_WORDS);
		if (request->words + part > LITEPULSE_ANSWER_WORDS)
			request->full = true;
		else if (add_command(request, BONE_READ, address, part, 0))
			request->words += part;
	}
}

/**
 * litepulse_request_write - adds a write
 * @request: to this
 * @address: of the first word, in bytes
 * @words: what
 * @count: of words
 */
void litepulse_request_write(struct litepulse_request *request, u32 address, const u32 *words,
			     unsigned int count)
{
	u8 *data = add_command(request, BONE_WRITE, address, count, 4 * count);

	for (; data && count; count--, words++, data += 4)
		put_unaligned_be32(*words, data);
}

/* --- the line -------------------------------------------------------------------------------- */

/* Milliseconds within which @count bytes must have passed. */
static unsigned int limit_ms(const struct litepulse_link *link, unsigned int count)
{
	return ANSWER_MS + count * 10 * 1000 / link->baud;
}

/* Sends @count bytes of link->out and receives exactly @wanted. */
static int exchange(struct litepulse_link *link, unsigned int count, unsigned int wanted,
		    const struct litepulse_stamper *stamper)
{
	int error = litepulse_line_send(link, link->out, count, wanted, stamper);

	if (!error)
		error = litepulse_line_await(link, limit_ms(link, count + wanted));
	if (!error) {
		link->answered = jiffies;
		link->round_trip_ns = link->times.after - link->times.before;
	}
	return error;
}

static void take_words(struct litepulse_link *link, u32 *words, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		words[i] = get_unaligned_be32(link->buffer + 4 * i);
}

/* The frame of a request, in link->out; returns its length. */
static unsigned int make_frame(struct litepulse_link *link, const struct litepulse_request *request)
{
	u8 *frame = link->out;

	frame[0] = LITEPULSE_BRIDGE_FRAME_MARKER;
	frame[1] = link->sequence;
	frame[2] = request->length - 1;
	memcpy(frame + FRAME_HEAD, request->payload, request->length);
	put_unaligned_be16(crc_itu_t(0xffff, frame + 1, FRAME_HEAD - 1 + request->length),
			   frame + FRAME_HEAD + request->length);
	return FRAME_HEAD + request->length + CHECKSUM_BYTES;
}

/* Is what came the answer to the latest frame? */
static bool answer_is_good(const struct litepulse_link *link, unsigned int words)
{
	const u8 *trailer = link->buffer + 4 * words;

	return trailer[0] == link->sequence &&
		get_unaligned_be16(trailer + 1) == crc_itu_t(0xffff, link->buffer, 4 * words + 1);
}

static int try_frame(struct litepulse_link *link, const struct litepulse_stamper *stamper)
{
	unsigned int words = link->request.words;
	int error = exchange(link, make_frame(link, &link->request), 4 * words + TRAILER_BYTES,
			     stamper);

	if (!error && !answer_is_good(link, words))
		error = -EIO;
	return error;
}

static int try_plain(struct litepulse_link *link, const struct litepulse_stamper *stamper)
{
	unsigned int words = link->request.words, length = link->request.length;
	int error;

	memcpy(link->out, link->request.payload, length);
	link->out[length] = BONE_READ;
	link->out[length + 1] = 1;
	put_unaligned_be32((litepulse_csr_base + LITEPULSE_CSR_ID_MAGIC) / 4,
			   link->out + length + 2);
	error = exchange(link, length + COMMAND_BYTES, 4 * words + 4, stamper);
	if (!error && get_unaligned_be32(link->buffer + 4 * words) != LITEPULSE_MAGIC)
		error = -EIO;
	return error;
}

static unsigned int silence_ms(const struct litepulse_link *link)
{
	return link->framed ? LITEPULSE_BRIDGE_FRAME_SILENCE_MS : PLAIN_SILENCE_MS;
}

static int attempt(struct litepulse_link *link, u32 *words, const struct litepulse_stamper *stamper,
		   unsigned int attempts)
{
	bool first = true;
	int error = -EIO;

	link->sequence++;
	while (attempts--) {
		/* What came unasked may go on coming; what was sent last may be half a command. */
		error = link->unsettled || READ_ONCE(link->stray) ?
			litepulse_line_silence(link, silence_ms(link)) : 0;
		/* A late answer may be to what was sent first. */
		if (first) {
			first = false;
			if (stamper)
				stamper->before(stamper->data);
			link->times.before = ktime_get_ns();
		}
		if (!error)
			error = link->framed ? try_frame(link, stamper) : try_plain(link, stamper);
		link->unsettled = error;
		if (!error)
			take_words(link, words, link->request.words);
		if (!error || error == -ENODEV)
			return error;
		if (!link->framed && link->request.once)
			break;
		link->repeats++;
	}
	return error;
}

/**
 * litepulse_transact - has the request carried out
 * @link: the bus is held
 * @words: answers to the reads, in order; room for request.words
 * @stamper: called before anything is sent, and when the answer begins; may be NULL
 *
 * Return: 0; -ENODEV if the port is gone, -EIO if there was no good answer: what it wrote may have
 * been written, but at most once; -EAGAIN if there was none and the request is to be made shorter.
 */
int litepulse_transact(struct litepulse_link *link, u32 *words,
		       const struct litepulse_stamper *stamper)
{
	int error;

	lockdep_assert_held(&link->bus);
	if (WARN_ON_ONCE(link->request.full || !link->request.length))
		return -EINVAL;
	if (READ_ONCE(link->gone))
		return -ENODEV;
	if (link->lost)
		return -EIO;
	error = attempt(link, words, stamper, link->request.shorter ? 1 : ATTEMPTS);
	if (!error) {
		link->transactions++;
	} else if (error != -ENODEV && link->request.shorter) {
		error = -EAGAIN;
	} else if (error != -ENODEV) {
		link->failures++;
		link->lost = true;
		pr_warn_ratelimited("%s: the board does not answer\n", link->name);
		error = -EIO;
	}
	return error;
}

/* --- finding the bridge, and its bit rate ---------------------------------------------------- */

/*
 * Does it answer, and does it know frames? A frame that only reads, with a number and a checksum
 * that are no commands to a bridge that does not: that one answers the read in it.
 */
static int find(struct litepulse_link *link)
{
	struct litepulse_request *request = litepulse_request(link);
	unsigned int length, got, tries;
	u8 *checksum;
	u32 version;
	int error;

	litepulse_request_read(request, LITEPULSE_BRIDGE_BASE + LITEPULSE_BRIDGE_FRAMES, 1);
	for (tries = 0; tries < 256; tries++) {
		link->sequence = 0x80 | (get_random_u32() & 0x7f);
		length = make_frame(link, request);
		checksum = link->out + length - CHECKSUM_BYTES;
		if (checksum[0] > 4 && checksum[1] > 4)
			break;
	}
	error = exchange(link, length, 4 + TRAILER_BYTES, NULL);
	got = READ_ONCE(link->got);
	link->framed = !error && answer_is_good(link, 1);
	if (link->framed)
		return 0;
	if (error == -ENODEV)
		return error;
	error = litepulse_line_silence(link, PLAIN_SILENCE_MS);
	if (error || got != 4)
		return error ?: -EIO;
	/* What answers there may be anything: it must know the core, too. */
	litepulse_request_read(litepulse_request(link), litepulse_csr_base, 1);
	return attempt(link, &version, NULL, 1);
}

static int read_rate(struct litepulse_link *link, u32 *rate)
{
	litepulse_request_read(litepulse_request(link),
			       LITEPULSE_BRIDGE_BASE + LITEPULSE_BRIDGE_RATE, 1);
	return attempt(link, rate, NULL, 2);
}

/* Tells the bridge another rate, then the port; whether it worked is not known. */
static int change_rate(struct litepulse_link *link, u32 rate, unsigned int baud)
{
	struct litepulse_request *request = litepulse_request(link);
	unsigned int length;
	int error;

	litepulse_request_write(request, LITEPULSE_BRIDGE_BASE + LITEPULSE_BRIDGE_RATE, &rate, 1);
	link->sequence++;
	if (link->framed) {
		length = make_frame(link, request);
	} else {
		length = request->length;
		memcpy(link->out, request->payload, length);
	}
	/* The answer comes at the new rate, while the port still has the old one. */
	error = litepulse_line_send(link, link->out, length, 0, NULL) ?:
		litepulse_line_set_baud(link, baud);
	if (error)
		return error;
	return litepulse_line_silence(link, max_t(unsigned int, SETTLE_MS, silence_ms(link)));
}

/* Can the bridge whose rate register reads @rate do so many bits per second? */
static bool can_do(u32 rate, unsigned int baud)
{
	u64 hz = (u64)FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) *
		LITEPULSE_BRIDGE_CLOCK_UNIT;

	return hz && 8ULL * baud <= hz + LITEPULSE_BRIDGE_CLOCK_UNIT / 2;
}

/* What the register has to read at @baud. */
static u32 rate_for(u32 rate, unsigned int baud)
{
	u32 word = FIELD_GET(LITEPULSE_BRIDGE_RATE_WORD_MASK, rate);
	u32 hz = FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) * LITEPULSE_BRIDGE_CLOCK_UNIT;
	u64 wanted = litepulse_mul_div(2ULL * baud, LITEPULSE_BRIDGE_WORD_ONE, hz, NULL);

	/* To the nearest. */
	return rate - word + min_t(u64, (wanted + 1) / 2, LITEPULSE_BRIDGE_WORD_MAX);
}

/* Raises the rate of a bridge that answers at the base rate. */
static int raise(struct litepulse_link *link, unsigned int baud)
{
	u32 rate, told, answer;
	int error;

	error = read_rate(link, &rate);
	if (error)
		return error;
	if (!can_do(rate, baud))
		return -EINVAL;
	told = rate_for(rate, baud);
	link->base_rate = rate;
	error = change_rate(link, told, baud);
	if (error)
		return error;
	error = read_rate(link, &answer);
	return error ?: answer == told ? 0 : -EIO;
}

/* Waits until the bridge is at its base rate, whatever it was, and sets the port to that. */
static int fall_back(struct litepulse_link *link)
{
	int error = litepulse_line_set_baud(link, link->base_baud);

	return error ?: litepulse_line_silence(link, FALLBACK_MS);
}

/* Back to the base rate from one that works. */
static int lower(struct litepulse_link *link)
{
	int error = change_rate(link, link->base_rate, link->base_baud) ?: find(link);

	if (error && error != -ENODEV)
		error = fall_back(link) ?: find(link);
	return error;
}

/**
 * litepulse_link_connect - finds the bridge
 * @link: the bus is held; the port is at the bridge's rate
 *
 * Return: 0; -EIO if none answers, also not when a raised rate has fallen back; -ENODEV.
 */
int litepulse_link_connect(struct litepulse_link *link)
{
	unsigned int tries;
	int error;

	lockdep_assert_held(&link->bus);
	for (tries = 0; tries < 2; tries++) {
		error = find(link);
		if (!error || error == -ENODEV)
			return error;
	}
	error = litepulse_line_silence(link, FALLBACK_MS);
	return error ?: find(link);
}

/**
 * litepulse_link_bus_hz - clock of the board's bus, as its bridge says
 * @link: connected; the bus is held
 *
 * Return: Hz, 0 if the bridge does not know it.
 */
u32 litepulse_link_bus_hz(struct litepulse_link *link)
{
	u32 rate;

	lockdep_assert_held(&link->bus);
	if (read_rate(link, &rate))
		return 0;
	return FIELD_GET(LITEPULSE_BRIDGE_RATE_CLOCK_MASK, rate) * LITEPULSE_BRIDGE_CLOCK_UNIT;
}

/**
 * litepulse_link_set_baud - changes the bit rate of bridge and port
 * @link: the bus is held
 * @baud: bits per second
 *
 * Return: 0; -EINVAL if the bridge cannot do it, both are as before then; -EINVAL also if the port
 * cannot, or -EIO if they do not understand each other: both are at the base rate then; -ENODEV.
 */
int litepulse_link_set_baud(struct litepulse_link *link, unsigned int baud)
{
	int error, back;
	u32 rate;

	lockdep_assert_held(&link->bus);
	if (baud == link->baud)
		return 0;
	if (link->lost)
		return -EIO;
	/* Between these a command at the one rate could be one at the other. */
	if (baud < 2 * link->base_baud && baud != link->base_baud)
		return -EINVAL;
	if (baud != link->base_baud) {
		error = read_rate(link, &rate);
		if (error)
			return error;
		if (!can_do(rate, baud))
			return -EINVAL;
	}
	error = 0;
	if (link->baud != link->base_baud) {
		link->target_baud = link->base_baud;
		error = lower(link);
	}
	if (!error && baud != link->base_baud) {
		error = raise(link, baud);
		back = error && error != -ENODEV ? fall_back(link) ?: find(link) : error;
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
 * litepulse_link_recover - looks whether a board that did not answer does again
 * @link: the bus is held
 *
 * Return: 0 if so, -EIO if not, -ENODEV.
 */
int litepulse_link_recover(struct litepulse_link *link)
{
	int error;

	lockdep_assert_held(&link->bus);
	if (READ_ONCE(link->gone))
		return -ENODEV;
	if (link->baud != link->base_baud) {
		error = fall_back(link);
		if (error)
			return error;
	}
	error = litepulse_line_silence(link, PLAIN_SILENCE_MS) ?: find(link);
	if (!error && link->target_baud != link->baud)
		error = raise(link, link->target_baud);
	if (!error) {
		pr_info_ratelimited("%s: the board answers again\n", link->name);
		link->lost = false;
		link->refused_known = false;
		link->free_transmit = 0;
		link->free_launch = 0;
	}
	return error;
}
