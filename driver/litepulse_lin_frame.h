/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LIN frames, made of received bytes. Pure: no hardware.
 *
 * The rules are those of the core (docs/core.md): a break, 0x55 and an identifier with right parity
 * are a header; a break always restarts.
 */
#ifndef LITEPULSE_LIN_FRAME_H
#define LITEPULSE_LIN_FRAME_H

#include <linux/types.h>

#include "uapi/linux/can_lin.h"
#include "uapi/linux/litepulse.h"

#define LITEPULSE_LIN_DATA_MAX	8
/* identifier of what the master asks nodes; data that begin with 0 send them to sleep */
#define LITEPULSE_LIN_MASTER_REQUEST 0x3c
/* A break, and the stop bit after it, in bit times. */
#define LITEPULSE_LIN_BREAK	13
#define LITEPULSE_LIN_SYNC	0x55
#define LITEPULSE_LIN_BYTE_BITS 10
/* A response is waited for during this many bit times after the header. */
#define LITEPULSE_LIN_RESPONSE_BITS 240
/* A header takes up to 1.4 times its 34 bit times, and its last byte is known when it is over. */
#define LITEPULSE_LIN_HEADER_BITS 60

/**
 * enum litepulse_lin_kind - what is reported
 * @LITEPULSE_LIN_NOTHING: no report
 * @LITEPULSE_LIN_HEADER: a header; time of its break
 * @LITEPULSE_LIN_DATA: the data of a response; time of its first byte
 * @LITEPULSE_LIN_NO_RESPONSE: none came, or too little of one; time of the break
 * @LITEPULSE_LIN_WRONG_CHECKSUM: time of the first byte
 * @LITEPULSE_LIN_FRAMING: a byte of the response had no stop bit; time of this byte
 * @LITEPULSE_LIN_BAD_HEADER: a break without a header behind it; time of the break, no identifier
 * @LITEPULSE_LIN_WAKE_UP: another node's pulse on a silent bus; its time, no identifier
 */
enum litepulse_lin_kind {
	LITEPULSE_LIN_NOTHING,
	LITEPULSE_LIN_HEADER,
	LITEPULSE_LIN_DATA,
	LITEPULSE_LIN_NO_RESPONSE,
	LITEPULSE_LIN_WRONG_CHECKSUM,
	LITEPULSE_LIN_FRAMING,
	LITEPULSE_LIN_BAD_HEADER,
	LITEPULSE_LIN_WAKE_UP,
};

/**
 * enum litepulse_lin_word - what a program wants with a frame that it sends
 * @LITEPULSE_LIN_REFUSED: nothing that has a meaning
 * @LITEPULSE_LIN_NO_COMMANDER: what only a commander can send
 * @LITEPULSE_LIN_SEND_HEADER: a header
 * @LITEPULSE_LIN_SEND_FRAME: header and response
 * @LITEPULSE_LIN_SEND_WAKE: a pulse that wakes the bus
 * @LITEPULSE_LIN_SEND_SLEEP: the request to sleep
 * @LITEPULSE_LIN_PUBLISH: the device answers headers of the identifier with these data
 * @LITEPULSE_LIN_STOP: it no longer does
 * @LITEPULSE_LIN_EXPECT: how others' responses are
 */
enum litepulse_lin_word {
	LITEPULSE_LIN_REFUSED,
	LITEPULSE_LIN_NO_COMMANDER,
	LITEPULSE_LIN_SEND_HEADER,
	LITEPULSE_LIN_SEND_FRAME,
	LITEPULSE_LIN_SEND_WAKE,
	LITEPULSE_LIN_SEND_SLEEP,
	LITEPULSE_LIN_PUBLISH,
	LITEPULSE_LIN_STOP,
	LITEPULSE_LIN_EXPECT,
};

/**
 * struct litepulse_lin_report - what has happened on the bus
 * @kind: what
 * @own: header: we have sent it
 * @sleep: these data send all nodes to sleep
 * @id: identifier, without parity
 * @length: of @data, bytes
 * @data: of a response
 * @tick: start edge, see @kind
 * @end: of a header, the tick at which it was complete
 * @ns: the same by the PTP clock
 */
struct litepulse_lin_report {
	enum litepulse_lin_kind kind;
	bool own;
	bool sleep;
	u8 id;
	u8 length;
	u8 data[LITEPULSE_LIN_DATA_MAX];
	u64 tick;
	u64 end;
	u64 ns;
};

/**
 * struct litepulse_lin_expected - what is known of an identifier's response
 * @length: of its data, bytes; 0: any, and either checksum is right
 * @enhanced: the checksum takes the identifier in
 */
struct litepulse_lin_expected {
	u8 length;
	bool enhanced;
};

enum litepulse_lin_state {
	LITEPULSE_LIN_IDLE,
	LITEPULSE_LIN_AWAIT_SYNC,
	LITEPULSE_LIN_AWAIT_ID,
	LITEPULSE_LIN_RESPONSE,
};

/**
 * struct litepulse_lin_frame - the frame that is on the bus
 * @period: of a bit, 2^-8 ticks
 * @state: what comes next
 * @pid: identifier with parity
 * @count: bytes of the response so far
 * @bytes: they
 * @break_tick: start of the header
 * @break_ns: the same by the PTP clock
 * @tick: start of the response
 * @ns: the same by the PTP clock
 * @deadline: a byte that starts later is none of this response
 * @wake: a pulse of this many ticks wakes a silent bus
 * @silent: nothing was on the bus when the break came
 */
struct litepulse_lin_frame {
	u64 period;
	enum litepulse_lin_state state;
	u8 pid;
	u8 count;
	u8 bytes[LITEPULSE_LIN_DATA_MAX + 1];
	u64 break_tick;
	u64 break_ns;
	u64 tick;
	u64 ns;
	u64 deadline;
	u64 wake;
	bool silent;
};

u8 litepulse_lin_frame_pid(u8 id);
u8 litepulse_lin_frame_checksum(u8 pid, const u8 *data, unsigned int length, bool enhanced);
bool litepulse_lin_frame_is_enhanced(u8 id, bool wanted);
u64 litepulse_lin_frame_bits(u64 period, unsigned int bits);
bool litepulse_lin_frame_take(struct litepulse_lin_frame *frame, const struct litepulse_event *byte,
			      const struct litepulse_lin_expected *expected,
			      struct litepulse_lin_report *report);
bool litepulse_lin_frame_expire(struct litepulse_lin_frame *frame, u64 tick,
				const struct litepulse_lin_expected *expected,
				struct litepulse_lin_report *report);
u64 litepulse_lin_frame_wait(const struct litepulse_lin_frame *frame, u64 tick);
enum litepulse_lin_word litepulse_lin_frame_word(u32 can_id, unsigned int length, bool commander);

#endif /* LITEPULSE_LIN_FRAME_H */
