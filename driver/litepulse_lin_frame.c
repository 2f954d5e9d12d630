// SPDX-License-Identifier: GPL-2.0-only
/* LIN frames, made of received bytes. Pure: no hardware. */
#include <linux/bitops.h>
#include <linux/can.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "litepulse_lin_frame.h"

#define ERRORS (LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING | LITEPULSE_RX_BREAK)

/**
 * litepulse_lin_frame_pid - an identifier with its parity bits
 * @id: below 64
 */
u8 litepulse_lin_frame_pid(u8 id)
{
	const u8 p0 = (id ^ id >> 1 ^ id >> 2 ^ id >> 4) & 1;
	const u8 p1 = ~(id >> 1 ^ id >> 3 ^ id >> 4 ^ id >> 5) & 1;

	return id | p0 << 6 | p1 << 7;
}

/**
 * litepulse_lin_frame_checksum - inverted sum with carry
 * @pid: identifier with parity
 * @data: of the frame
 * @length: of @data, bytes
 * @enhanced: the sum takes @pid in
 */
u8 litepulse_lin_frame_checksum(u8 pid, const u8 *data, unsigned int length, bool enhanced)
{
	unsigned int sum = enhanced ? pid : 0;

	while (length--) {
		sum += *data++;
		if (sum > 255)
			sum -= 255;
	}
	return ~sum;
}

/**
 * litepulse_lin_frame_is_enhanced - the kind of checksum of an identifier
 * @id: below 64
 * @wanted: it is to take the identifier in
 *
 * Return: @wanted, but for the identifiers whose checksum is always the classic one.
 */
bool litepulse_lin_frame_is_enhanced(u8 id, bool wanted)
{
	return wanted && id < CAN_LIN_ID_CLASSIC;
}

/**
 * litepulse_lin_frame_bits - bit times in whole ticks, rounded down
 * @period: of a bit, 2^-8 ticks
 * @bits: at most 65535
 */
u64 litepulse_lin_frame_bits(u64 period, unsigned int bits)
{
	return period * bits >> 8;
}

/* Is the last byte the checksum of those before it? */
static bool litepulse_lin_frame_checksum_fits(const struct litepulse_lin_frame *frame,
					      const struct litepulse_lin_expected *expected)
{
	const unsigned int length = frame->count - 1;
	const u8 heard = frame->bytes[length];

	if (heard ==
	    litepulse_lin_frame_checksum(frame->pid, frame->bytes, length, expected->enhanced))
		return true;
	return !expected->length &&
	       litepulse_lin_frame_is_enhanced(frame->pid & CAN_LIN_ID_MASK, true) &&
	       heard == litepulse_lin_frame_checksum(frame->pid, frame->bytes, length,
						     !expected->enhanced);
}

/* The response is over. */
static bool litepulse_lin_frame_finish(struct litepulse_lin_frame *frame,
				       const struct litepulse_lin_expected *expected,
				       struct litepulse_lin_report *report)
{
	const u8 id = frame->pid & (LITEPULSE_LIN_IDS - 1);

	expected += id;
	frame->state = LITEPULSE_LIN_IDLE;
	*report = (struct litepulse_lin_report){
		.kind = LITEPULSE_LIN_NO_RESPONSE,
		.id = id,
		.tick = frame->break_tick,
		.ns = frame->break_ns,
	};
	if (frame->count < max(expected->length + 1, 2))
		return true;
	report->tick = frame->tick;
	report->ns = frame->ns;
	if (!litepulse_lin_frame_checksum_fits(frame, expected)) {
		report->kind = LITEPULSE_LIN_WRONG_CHECKSUM;
		return true;
	}
	report->kind = LITEPULSE_LIN_DATA;
	report->length = frame->count - 1;
	memcpy(report->data, frame->bytes, report->length);
	report->sleep = id == LITEPULSE_LIN_MASTER_REQUEST && !report->data[0];
	return true;
}

/* What was or began at this time is over, and was not a frame. */
static bool litepulse_lin_frame_no_frame(struct litepulse_lin_frame *frame,
					 enum litepulse_lin_kind kind, u64 tick, u64 ns,
					 struct litepulse_lin_report *report)
{
	frame->state = LITEPULSE_LIN_IDLE;
	*report = (struct litepulse_lin_report){
		.kind = kind,
		.tick = tick,
		.ns = ns,
	};
	return true;
}

static bool litepulse_lin_frame_bad_header(struct litepulse_lin_frame *frame,
					   struct litepulse_lin_report *report)
{
	return litepulse_lin_frame_no_frame(frame, LITEPULSE_LIN_BAD_HEADER, frame->break_tick,
					    frame->break_ns, report);
}

/* A byte on a silent bus: one pulse that is long enough, and not ours? */
static bool litepulse_lin_frame_take_pulse(struct litepulse_lin_frame *frame,
					   const struct litepulse_event *byte,
					   struct litepulse_lin_report *report)
{
	const u8 low = ~byte->data;

	if (byte->flags & (ERRORS | LITEPULSE_RX_OWN) || low & (low + 1) ||
	    litepulse_lin_frame_bits(frame->period, 1 + hweight8(low)) < frame->wake)
		return false;
	return litepulse_lin_frame_no_frame(frame, LITEPULSE_LIN_WAKE_UP, byte->tick, byte->ns,
					    report);
}

/* Whatever was under way is over. */
static bool litepulse_lin_frame_end(struct litepulse_lin_frame *frame,
				    const struct litepulse_lin_expected *expected,
				    struct litepulse_lin_report *report)
{
	switch (frame->state) {
	case LITEPULSE_LIN_RESPONSE:
		return litepulse_lin_frame_finish(frame, expected, report);
	case LITEPULSE_LIN_AWAIT_SYNC:
		if (frame->silent)
			return litepulse_lin_frame_no_frame(frame, LITEPULSE_LIN_WAKE_UP,
							    frame->break_tick, frame->break_ns,
							    report);
		fallthrough;
	case LITEPULSE_LIN_AWAIT_ID:
		return litepulse_lin_frame_bad_header(frame, report);
	default:
		return false;
	}
}

static void litepulse_lin_frame_begin(struct litepulse_lin_frame *frame,
				      const struct litepulse_event *byte)
{
	frame->silent = byte->tick > frame->deadline && !(byte->flags & LITEPULSE_RX_OWN);
	frame->state = LITEPULSE_LIN_AWAIT_SYNC;
	frame->break_tick = byte->tick;
	frame->break_ns = byte->ns;
	frame->deadline =
		byte->tick + litepulse_lin_frame_bits(frame->period, LITEPULSE_LIN_RESPONSE_BITS);
}

static bool litepulse_lin_frame_take_id(struct litepulse_lin_frame *frame,
					const struct litepulse_event *byte,
					struct litepulse_lin_report *report)
{
	frame->pid = byte->data;
	frame->count = 0;
	frame->state = LITEPULSE_LIN_RESPONSE;
	frame->deadline =
		byte->tick + litepulse_lin_frame_bits(frame->period, LITEPULSE_LIN_RESPONSE_BITS);
	*report = (struct litepulse_lin_report){
		.kind = LITEPULSE_LIN_HEADER,
		.own = byte->flags & LITEPULSE_RX_OWN,
		.id = frame->pid & (LITEPULSE_LIN_IDS - 1),
		.tick = frame->break_tick,
		.end = byte->tick + litepulse_lin_frame_bits(frame->period,
							     LITEPULSE_LIN_BYTE_BITS),
		.ns = frame->break_ns,
	};
	return true;
}

static bool litepulse_lin_frame_take_response(struct litepulse_lin_frame *frame,
					      const struct litepulse_event *byte,
					      const struct litepulse_lin_expected *expected,
					      struct litepulse_lin_report *report)
{
	const u8 id = frame->pid & (LITEPULSE_LIN_IDS - 1);
	const unsigned int length = expected[id].length ?: LITEPULSE_LIN_DATA_MAX;

	if (byte->flags & ERRORS) {
		frame->state = LITEPULSE_LIN_IDLE;
		*report = (struct litepulse_lin_report){
			.kind = LITEPULSE_LIN_FRAMING,
			.id = id,
			.tick = byte->tick,
			.ns = byte->ns,
		};
		return true;
	}
	if (!frame->count) {
		frame->tick = byte->tick;
		frame->ns = byte->ns;
	}
	/* The length that is expected may have become shorter since. */
	frame->bytes[frame->count++] = byte->data;
	return frame->count > length ? litepulse_lin_frame_finish(frame, expected, report) : false;
}

/**
 * litepulse_lin_frame_take - a byte was received
 * @frame: on the bus
 * @byte: an event RX; LOST and RESTARTED drop what was under way
 * @expected: of each identifier
 * @report: answer
 *
 * Return: whether there is something to report.
 */
bool litepulse_lin_frame_take(struct litepulse_lin_frame *frame, const struct litepulse_event *byte,
			      const struct litepulse_lin_expected *expected,
			      struct litepulse_lin_report *report)
{
	bool reported = false;

	if (byte->kind != LITEPULSE_KIND_RX) {
		frame->state = LITEPULSE_LIN_IDLE;
		/* Ticks count from 0 again. */
		if (byte->kind == LITEPULSE_KIND_RESTARTED &&
		    !(byte->flags & LITEPULSE_RESTARTED_WATCHDOG))
			frame->deadline = 0;
		return false;
	}
	if (byte->flags & LITEPULSE_RX_BREAK) {
		reported = litepulse_lin_frame_end(frame, expected, report);
		litepulse_lin_frame_begin(frame, byte);
		return reported;
	}
	if (byte->tick > frame->deadline)
		return litepulse_lin_frame_end(frame, expected, report) ||
		       litepulse_lin_frame_take_pulse(frame, byte, report);
	switch (frame->state) {
	case LITEPULSE_LIN_AWAIT_SYNC:
		if (byte->flags & ERRORS || (u8)byte->data != LITEPULSE_LIN_SYNC)
			return litepulse_lin_frame_bad_header(frame, report);
		frame->state = LITEPULSE_LIN_AWAIT_ID;
		return false;
	case LITEPULSE_LIN_AWAIT_ID:
		if (byte->flags & ERRORS ||
		    (u8)byte->data != litepulse_lin_frame_pid(byte->data & (LITEPULSE_LIN_IDS - 1)))
			return litepulse_lin_frame_bad_header(frame, report);
		return litepulse_lin_frame_take_id(frame, byte, report);
	case LITEPULSE_LIN_RESPONSE:
		return litepulse_lin_frame_take_response(frame, byte, expected, report);
	default:
		return false;
	}
}

/**
 * litepulse_lin_frame_expire - so late is it: is the frame over?
 * @frame: on the bus
 * @tick: all bytes that were complete by then have been taken
 * @expected: of each identifier
 * @report: answer
 *
 * Return: whether there is something to report.
 */
bool litepulse_lin_frame_expire(struct litepulse_lin_frame *frame, u64 tick,
				const struct litepulse_lin_expected *expected,
				struct litepulse_lin_report *report)
{
	if (frame->state == LITEPULSE_LIN_IDLE ||
	    tick <= frame->deadline +
			    litepulse_lin_frame_bits(frame->period, LITEPULSE_LIN_BYTE_BITS))
		return false;
	return litepulse_lin_frame_end(frame, expected, report);
}

/**
 * litepulse_lin_frame_wait - how long until the frame must be over
 * @frame: on the bus
 * @tick: so late is it; or before the frame: it began since @tick was read, or the board's ticks
 *	count from 0 again, which is reported soon. Then as from its break
 *
 * Return: ticks, at least 1; 0: no frame is on the bus.
 */
u64 litepulse_lin_frame_wait(const struct litepulse_lin_frame *frame, u64 tick)
{
	const u64 end = frame->deadline +
		litepulse_lin_frame_bits(frame->period, LITEPULSE_LIN_BYTE_BITS) + 1;

	if (frame->state == LITEPULSE_LIN_IDLE)
		return 0;
	tick = max(tick, frame->break_tick);
	return end > tick ? end - tick : 1;
}

/* What a word to the device means: without CAN_EFF_FLAG it would be a frame on the bus. */
static enum litepulse_lin_word litepulse_lin_frame_setting(u32 can_id, unsigned int length,
							   bool commander)
{
	const u32 flags = can_id & CAN_EFF_MASK & ~(CAN_LIN_ID_MASK | CAN_LIN_IGNORED);

	if (can_id & CAN_RTR_FLAG)
		return LITEPULSE_LIN_REFUSED;
	/* These are about the whole bus. */
	if (flags & (CAN_LIN_WAKE | CAN_LIN_SLEEP)) {
		if (can_id & CAN_LIN_ID_MASK || length)
			return LITEPULSE_LIN_REFUSED;
		if (flags == CAN_LIN_WAKE)
			return LITEPULSE_LIN_SEND_WAKE;
		if (flags != CAN_LIN_SLEEP)
			return LITEPULSE_LIN_REFUSED;
		return commander ? LITEPULSE_LIN_SEND_SLEEP : LITEPULSE_LIN_NO_COMMANDER;
	}
	if (flags & ~(CAN_LIN_PUBLISH | CAN_LIN_ENHANCED | CAN_LIN_ONCE))
		return LITEPULSE_LIN_REFUSED;
	if (!(flags & CAN_LIN_PUBLISH))
		return LITEPULSE_LIN_EXPECT;
	return length ? LITEPULSE_LIN_PUBLISH : LITEPULSE_LIN_STOP;
}

/**
 * litepulse_lin_frame_word - what a frame means that a program has sent
 * @can_id: of the frame
 * @length: of its data, bytes, at most 8
 * @commander: the role of the device
 */
enum litepulse_lin_word litepulse_lin_frame_word(u32 can_id, unsigned int length, bool commander)
{
	const u32 flags = can_id & CAN_SFF_MASK & ~CAN_LIN_ID_MASK;

	/* As a log has them, which a program plays again. */
	if (can_id & CAN_ERR_FLAG)
		return LITEPULSE_LIN_REFUSED;
	if (can_id & CAN_EFF_FLAG)
		return litepulse_lin_frame_setting(can_id, length, commander);
	if (flags & ~(CAN_LIN_ENHANCED | CAN_LIN_ONCE))
		return LITEPULSE_LIN_REFUSED;
	if (can_id & CAN_RTR_FLAG || !length)
		return commander ? LITEPULSE_LIN_SEND_HEADER : LITEPULSE_LIN_NO_COMMANDER;
	return commander ? LITEPULSE_LIN_SEND_FRAME : LITEPULSE_LIN_PUBLISH;
}
