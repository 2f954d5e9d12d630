/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * LitePulse, a serial port whose every edge has a known time: interface of /dev/litepulseN
 *
 * A tick is the unit of all times here; struct litepulse_info has their number in a
 * second. Ticks count from the reset of the board and are never stepped or adjusted. Every
 * structure has the same layout for 32-bit and 64-bit programs. Reserved fields and unknown flags
 * must be 0, else -EINVAL; nothing is ever clamped. A later version may make the argument of an
 * ioctl longer: the kernel takes its size from the ioctl number, reads a shorter one as if it
 * were followed by zeros, and answers -E2BIG to a longer one whose unknown part is not 0. An
 * argument shorter than in version 1 is -ENOTTY.
 *
 * docs/chardev.md has the semantics and examples. Codes that the hardware shares are named as in
 * its register header.
 */
#ifndef _UAPI_LINUX_LITEPULSE_H
#define _UAPI_LINUX_LITEPULSE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Version of this interface; it only grows. */
#define LITEPULSE_ABI 9

/*
 * Number of the line discipline for a board behind a serial port, unless the module's parameter
 * `ldisc` says otherwise. The kernel assigns no numbers, and the module that registers one last
 * owns it: 29, N_DEVELOPMENT, belongs to whatever else is under development (sllin); 8 is N_MASC,
 * which never had a driver in the kernel. /proc/tty/ldiscs says who owns it.
 */
#define LITEPULSE_LDISC 8

/* Boards that a machine can have at once: N of /dev/litepulseN and /dev/ttyPULSEN is below it. */
#define LITEPULSE_DEVICES 16

/*
 * litepulse_event.kind: what happened. Below 16: reported by the hardware; 4 and 8 are between it
 * and the driver: programs do not get them, and cannot subscribe to them.
 */
#define LITEPULSE_KIND_TX		1 /* a launch started, or a wait ended, at the tick */
#define LITEPULSE_KIND_EDGE		2 /* inputs changed */
#define LITEPULSE_KIND_REFUSED		3 /* a launch, pulse or command was refused; flags: why */
#define LITEPULSE_KIND_APPLIED		5 /* a command took effect */
#define LITEPULSE_KIND_TRAIN_DONE	6 /* the train had all its pulses; data: how many */
#define LITEPULSE_KIND_RESPONDER_MISSED 7 /* the responder could not answer; flags: why */
#define LITEPULSE_KIND_RX		16 /* a byte was received; tick: its start edge */
#define LITEPULSE_KIND_LOST		17 /* records are missing here; always delivered */
#define LITEPULSE_KIND_RESTARTED	18 /* what ran on the board has stopped; always delivered */
#define LITEPULSE_KIND_RUN		19 /* in a packed ring: received bytes; data: how many */

/* litepulse_event.source, and what litepulse_event.data is for it */
#define LITEPULSE_SRC_QUEUE	   0 /* tag << 16 | kind << 10 | profile << 8 | byte */
#define LITEPULSE_SRC_TRAIN	   1 /* number of the pulse */
#define LITEPULSE_SRC_RESPONDER	   2 /* number << 16 | kind << 10 | profile << 8 | byte */
#define LITEPULSE_SRC_TTY	   3 /* the byte */
#define LITEPULSE_SRC_CAPTURE	   4 /* levels << 16 | changes; bit: channel * samples + sample */
#define LITEPULSE_SRC_TRAIN_CHANGE 5 /* number of the pulse from which it acts */
#define LITEPULSE_SRC_CONTROL	   6 /* the command */
#define LITEPULSE_SRC_RECEIVER	   7 /* RX: the byte, bit 8: its parity bit. LOST: of bytes */

/* litepulse_event.flags of REFUSED and RESPONDER_MISSED, low byte: why */
#define LITEPULSE_REASON_LATE	 1
#define LITEPULSE_REASON_BUSY	 2
#define LITEPULSE_REASON_ORDER	 3
#define LITEPULSE_REASON_INVALID 4

/* of EDGE: these inputs are behind the glitch filter; of APPLIED: this was a stop */
#define LITEPULSE_EVENT_FLAG_FILTERED 128
#define LITEPULSE_EVENT_FLAG_STOP     128
/* of TX of a wait: it ended at its own tick, not by an edge; since version 9 */
#define LITEPULSE_EVENT_FLAG_TIMEOUT  128

/* of RX */
#define LITEPULSE_RX_PARITY  0x01 /* parity error */
#define LITEPULSE_RX_FRAMING 0x02 /* the stop bit was space */
#define LITEPULSE_RX_BREAK   0x04 /* all bits were space */
#define LITEPULSE_RX_OWN     0x10 /* our own transmitter was busy meanwhile */
#define LITEPULSE_RX_NOISE   0x20 /* a bit's three samples differed */

/*
 * of RESTARTED: the board heard nothing for so long that its watchdog has stopped what ran. Ticks,
 * @seq and settings go on. Without it the board was reset; since version 4
 */
#define LITEPULSE_RESTARTED_WATCHDOG 0x01
/* of RESTARTED: the machine was suspended while something ran or waited. All goes on as above */
#define LITEPULSE_RESTARTED_SUSPEND 0x02

/* of all */
#define LITEPULSE_FLAG_NS	0x0100 /* ns is valid */
#define LITEPULSE_FLAG_HARDWARE 0x0200 /* LOST: by the board's FIFO, not by this file's */
#define LITEPULSE_FLAG_AT_LEAST 0x0400 /* LOST: at least count, the board stopped counting */

/**
 * struct litepulse_event - something that happened; read() gives these
 * @tick: when, in ticks. EDGE: of the cycle's first sample. LOST: of the first record lost; if
 *	neither the board nor this file lost it, but the driver found numbers missing or ticks
 *	that cannot be, then of the moment when it did: the records are missing before that.
 *	RESTARTED: 0, the reset; with LITEPULSE_RESTARTED_WATCHDOG when the driver noticed, with
 *	LITEPULSE_RESTARTED_SUSPEND before the machine slept
 * @ns: the same in the clock of this file, in ns, worked out when the driver took the record from
 *	the board
 * @seq: number of the record in its stream (received bytes: since the driver came, all others:
 *	 since the board's reset or the driver came), counting those that were lost and those this
 * file did not ask for. LOST: of the first. RESTARTED: that of the next event, if none had followed
 * @count: LOST: how many; with LITEPULSE_FLAG_AT_LEAST at least this many, and the next record's
 *	@seq may be more than @seq + @count. RESTARTED: how many there were since the driver came.
 *	Else 0
 * @data: depends on @source
 * @uncertainty: the event was within this many ns of @ns; at least 1. 0 if there is no @ns
 * @flags: LITEPULSE_FLAG_* and, in the low byte, what @kind says
 * @kind: LITEPULSE_KIND_*
 * @source: LITEPULSE_SRC_*
 * @subtick: 0; fraction of a tick in 2^-32, for a board that can tell
 */
struct litepulse_event {
	__aligned_u64 tick;
	__aligned_u64 ns;
	__aligned_u64 seq;
	__aligned_u64 count;
	__u32 data;
	__u32 subtick;
	__u32 uncertainty;
	__u16 flags;
	__u8 kind;
	__u8 source;
};

/**
 * struct litepulse_ring_event - an event in the ring of a file
 * @tick: as in struct litepulse_event
 * @data: as there; LOST and RESTARTED: litepulse_event.count. With LITEPULSE_FLAG_AT_LEAST at least
 *	this many
 * @flags: as there
 * @kind: as there
 * @source: as there
 */
struct litepulse_ring_event {
	__aligned_u64 tick;
	__u32 data;
	__u16 flags;
	__u8 kind;
	__u8 source;
};

/* A byte of a run: 32 bits, in the machine's byte order. */
#define LITEPULSE_RUN_TICKS(byte) ((byte) & 0xffff) /* since the one before; of the first: 0 */
#define LITEPULSE_RUN_DATA(byte)  ((byte) >> 16 & 0x1ff) /* as litepulse_event.data */
#define LITEPULSE_RUN_FLAGS(byte) ((byte) >> 25) /* LITEPULSE_RX_* */
#define LITEPULSE_RUN_PER_EVENT	  4 /* bytes of a run in the place of an event */
#define LITEPULSE_RUN_MAX	  64 /* bytes */
/* places that @bytes of a run have, behind that of LITEPULSE_KIND_RUN */
#define LITEPULSE_RUN_PLACES(bytes) \
	(((bytes) + LITEPULSE_RUN_PER_EVENT - 1) / LITEPULSE_RUN_PER_EVENT)

/**
 * struct litepulse_ring_state - how far driver and program are; the beginning of a mapped ring
 * @head: events that the driver has ever put into the ring, modulo 2^32. A program reads it with
 *	acquire semantics, then the events
 * @tail: events with which the program is done, modulo 2^32. It writes it with release semantics
 * @reserved: of the driver
 * @reserved2: of the program
 *
 * Event number n, modulo 2^32, lies at n modulo litepulse_ring.events. Those from @tail to @head
 * can be read; a tail that is not among them counts as a full ring.
 */
struct litepulse_ring_state {
	__u32 head;
	__u8 reserved[60];
	__u32 tail;
	__u8 reserved2[60];
};

/* litepulse_ring.flags */
#define LITEPULSE_RING_PACKED 0x1 /* received bytes may come as runs; since version 5 */

/**
 * struct litepulse_ring - events in memory that this file shares with the driver, instead of
 * read(): for high rates; since version 3
 * @events: how many it holds, a power of two from 64 to 262144; -ENOMEM as for
 *	litepulse_subscribe.fifo
 * @flags: LITEPULSE_RING_*
 * @offset: answer: of the first event, in bytes from the beginning of what is mapped
 * @reserved: 0
 * @length: answer: bytes to map, at offset 0 of the file, shared, for reading and writing
 *
 * Before the file subscribes to anything, and once, else -EBUSY. -EOPNOTSUPP if the CPU's data
 * cache has aliases: program and driver could see different contents. From then on read() is
 * -EINVAL, and litepulse_subscribe.clock must be LITEPULSE_CLOCK_NONE and .fifo 0. poll() waits for
 * litepulse_subscribe.watermark and .timeout_us as before. When the ring is full the newest events
 * are lost, and a LOST says how many, as soon as there is room for it: it is in the ring when
 * poll() returns, and EPOLLPRI says that one waits for room.
 *
 * With LITEPULSE_RING_PACKED received bytes that follow each other within 65535 ticks may come as a
 * run: an event LITEPULSE_KIND_RUN, with the tick of the first, and behind it the bytes, four
 * (LITEPULSE_RUN_PER_EVENT) in the place of an event, the last place filled up: in all
 * 1 + LITEPULSE_RUN_PLACES(litepulse_ring_event.data) places.
 * Others come as LITEPULSE_KIND_RX: a byte alone, the first ones after a subscription or a loss,
 * and all while another program receives bytes, too. A run is taken whole before @tail of the state
 * moves; .watermark counts places.
 */
struct litepulse_ring {
	__u32 events;
	__u32 flags;
	__u32 offset;
	__u32 reserved;
	__aligned_u64 length;
};

/* litepulse_launch.kind and others */
#define LITEPULSE_LAUNCH_FRAME 0 /* a UART frame of data */
#define LITEPULSE_LAUNCH_BREAK 1 /* data bit times of space */
#define LITEPULSE_LAUNCH_PULSE 2 /* width ticks of the active level */
/* litepulse_launch.kind only: nothing is sent, the queue waits for an edge; since version 9 */
#define LITEPULSE_LAUNCH_WAIT  3

/* litepulse_launch.data of a wait: the input, whose number @inputs is the line, and these */
#define LITEPULSE_WAIT_RISE	 0x10 /* a rising edge ends it */
#define LITEPULSE_WAIT_FALL	 0x20 /* a falling edge ends it */
#define LITEPULSE_WAIT_STOP	 0x40 /* if it ends without an edge, all behind it is refused */
#define LITEPULSE_WAIT_EXCLUSIVE 0x80 /* while it waits the tty's bytes wait */

/* litepulse_launch.flags */
#define LITEPULSE_LAUNCH_RELATIVE 0x1 /* tick counts from the entry before; since version 9 */

/**
 * struct litepulse_launch - a timed launch: happens at its tick exactly or not at all; write()
 * takes these
 * @tick: when; must not decrease from one to the next, must not have passed. With
 *	LITEPULSE_LAUNCH_RELATIVE: ticks from the tick of the entry before, whatever became of that,
 *	or from the end of a wait; from tick 0 if none came before since a flush or a reset
 * @width: of a pulse, in ticks; else 0
 * @tag: comes back in the event that reports the outcome
 * @kind: LITEPULSE_LAUNCH_*
 * @profile: line profile, 0 to 3
 * @data: byte of a frame, bit times of a break (1 to 255); of a wait: channel | LITEPULSE_WAIT_*;
 *	else 0
 * @flags: LITEPULSE_LAUNCH_RELATIVE or 0
 * @reserved: 0
 *
 * LITEPULSE_LAUNCH_WAIT: @profile is 0. It ends at the first edge that it names, or at @tick,
 * whichever comes first; without a direction at @tick. Its end is an event of kind TX, with
 * LITEPULSE_EVENT_FLAG_TIMEOUT if no edge ended it. With LITEPULSE_WAIT_STOP it then refuses what
 * is behind it, also what is written later, until LITEPULSE_IOC_FLUSH.
 *
 * Behind a wait, a relative entry or a flush the driver does not know the tick before: there the
 * board checks the order, and an event of kind REFUSED reports it. So it is with a relative entry
 * whose tick has passed. Waits and relative entries are -EOPNOTSUPP without
 * LITEPULSE_INFO_SEQUENCE.
 */
struct litepulse_launch {
	__aligned_u64 tick;
	__u32 width;
	__u16 tag;
	__u8 kind;
	__u8 profile;
	__u8 data;
	__u8 flags;
	__u8 reserved[14];
};

/* --- any file of the device --- */

#define LITEPULSE_INFO_SIMULATED 0x1 /* a simulation, no board */
#define LITEPULSE_INFO_PORT	 0x2 /* it has a marker port; since version 7 */
#define LITEPULSE_INFO_SEQUENCE	 0x4 /* it has waits and relative entries; since version 9 */

/**
 * struct litepulse_info - what this device is
 * @abi: LITEPULSE_ABI of the driver
 * @core: version of the core, major << 16 | minor
 * @tick_num: ticks per second are @tick_num / @tick_den, exactly
 * @tick_den: never 0
 * @flags: LITEPULSE_INFO_*
 * @samples: ticks per cycle of the core's clock
 * @inputs: capture inputs; channel number @inputs is the line
 * @event_depth: events the board holds
 * @receive_depth: received bytes the board holds
 * @transmit_depth: bytes of the tty the board holds
 * @launch_depth: timed launches the board holds
 * @session: named when the driver came; another one: the board was reset
 * @phc: number of its /dev/ptp, or -1
 * @tty: number of its /dev/ttyPULSE, or -1
 * @lin_entries: LIN identifiers below it can be answered by the core; 0: none; since version 2
 * @reserved: 0
 */
struct litepulse_info {
	__u32 abi;
	__u32 core;
	__aligned_u64 tick_num;
	__u32 tick_den;
	__u32 flags;
	__u16 samples;
	__u16 inputs;
	__u32 event_depth;
	__u32 receive_depth;
	__u32 transmit_depth;
	__u32 launch_depth;
	__u32 session;
	__s32 phc;
	__s32 tty;
	__u32 lin_entries;
	__u32 reserved;
};

/* litepulse_subscribe.clock: of litepulse_event.ns */
#define LITEPULSE_CLOCK_MONOTONIC 0
#define LITEPULSE_CLOCK_REALTIME  1
#define LITEPULSE_CLOCK_TAI	  2
#define LITEPULSE_CLOCK_PHC	  3 /* the device's own PTP clock */
#define LITEPULSE_CLOCK_NONE	  4 /* ticks only; cheapest */

#define LITEPULSE_SUBSCRIBERS_MAX 64

/**
 * struct litepulse_subscribe - what this file wants to read, from now on; replaces what it wanted
 * before. At most LITEPULSE_SUBSCRIBERS_MAX files of a device may want anything, else -EUSERS
 * @kinds: a bit for each LITEPULSE_KIND_*; 0: nothing more
 * @sources: a bit for each LITEPULSE_SRC_*, for TX, REFUSED and APPLIED; 0: all
 * @rise: channels whose rising edges are wanted; bit 0: input 0, bit @inputs: the line
 * @fall: channels whose falling edges are wanted
 * @filtered: channels to have behind the glitch filter; all files must agree on each channel, and
 *	so must an armed responder on that which triggers it, unless this is the file of the claim
 *	that has armed it; else -EBUSY. It changes what others get, so the file must be open for
 *	writing, else -EACCES
 * @filter: length of the filter in samples, 1 to 63, if @filtered; one for the device, else -EBUSY
 * @reserved: 0
 * @clock: LITEPULSE_CLOCK_*; -EOPNOTSUPP if the device has none
 * @fifo: records this file holds, a power of two from 16 to 65536; 0: as it is (1024 at first).
 *	  Can be changed only while it is empty, else -EBUSY. -ENOMEM if FIFOs and rings of all
 *	  files of the device would take more than 64 MiB, or than an eighth of the memory
 * @watermark: poll() and a read() that blocks wait for this many records, at most @fifo; 0: for 1
 * @timeout_us: ... or until the oldest has waited this long, counted from its tick, up to 1 s; 0:
 *		only for @watermark. The interrupt is held back likewise, as far as the hardware's
 *		FIFO allows
 */
struct litepulse_subscribe {
	__u32 kinds;
	__u32 sources;
	__u16 rise;
	__u16 fall;
	__u16 filtered;
	__u8 filter;
	__u8 reserved;
	__u32 clock;
	__u32 fifo;
	__u32 watermark;
	__u32 timeout_us;
};

/**
 * struct litepulse_stats - what this file got and lost, the tail included
 * @offered: records it subscribed to that reached the driver
 * @delivered: records read, those made by the driver not counted
 * @queued: records that wait to be read, those made by the driver not counted
 * @lost_host: records lost because this file was read too slowly
 * @lost_events: events lost by the board's FIFO since the driver was bound, of any kind
 * @lost_bytes: received bytes lost by the board's FIFO since the driver was bound. After a LOST
 *	with LITEPULSE_FLAG_AT_LEAST this, or @lost_events, is a lower bound
 * @restarts: times the board was reset since the driver came
 */
struct litepulse_stats {
	__aligned_u64 offered;
	__aligned_u64 delivered;
	__aligned_u64 queued;
	__aligned_u64 lost_host;
	__aligned_u64 lost_events;
	__aligned_u64 lost_bytes;
	__aligned_u64 restarts;
};

/**
 * struct litepulse_time - the board's and the host's clocks at one moment
 * @tick: the board's tick
 * @raw_before: CLOCK_MONOTONIC_RAW just before it was taken, ns. What a serial line needs for the
 *	request is taken off
 * @raw_after: CLOCK_MONOTONIC_RAW just after it was taken, ns. What a serial line needs for the
 *	answer is taken off
 * @monotonic: CLOCK_MONOTONIC for the middle of the two, ns
 * @realtime: CLOCK_REALTIME for the middle of the two, ns
 * @uncertainty: half of what lies between the two, rounded up, ns: the tick was taken within it
 *	of the middle
 * @reserved: 0
 */
struct litepulse_time {
	__aligned_u64 tick;
	__aligned_u64 raw_before;
	__aligned_u64 raw_after;
	__aligned_u64 monotonic;
	__aligned_u64 realtime;
	__u32 uncertainty;
	__u32 reserved;
};

#define LITEPULSE_CLAIM_KEEP 0x1 /* what runs goes on when the claim ends */

/**
 * struct litepulse_claim - the one file that may launch, run the train and program the responder
 * @flags: LITEPULSE_CLAIM_*
 * @fd_flags: O_NONBLOCK for the new file; O_CLOEXEC, which it always has
 * @fifo: as in struct litepulse_subscribe, for the outcomes it reads
 * @fd: answer: the new file. -EBUSY if another one holds the claim, -EIO if what the claim
 *	before it has left could not be stopped yet, because the cable fails
 *
 * The device must be open for writing, else -EACCES. The new file is closed on exec, so that only
 * fork() and SCM_RIGHTS pass a claim on: it ends when its last file is closed.
 *
 * Closing the file or the death of its holder flushes the queue, stops the train, disarms the
 * responder and switches off all LIN entries, unless KEEP is set. What was kept can be claimed
 * again, by any program that may open the device. read() on the claim gives the outcomes of the
 * queue, the train and the responder.
 */
struct litepulse_claim {
	__u32 flags;
	__u32 fd_flags;
	__u32 fifo;
	__s32 fd;
};

/* --- the claim --- */

#define LITEPULSE_PARITY_NONE	 0
#define LITEPULSE_PARITY_ODD	 1
#define LITEPULSE_PARITY_EVEN	 2
#define LITEPULSE_PARITY_MARK	 3
#define LITEPULSE_PARITY_SPACE	 4
#define LITEPULSE_STOP_1	 0
#define LITEPULSE_STOP_1_5	 1
#define LITEPULSE_STOP_2	 2
#define LITEPULSE_PROFILE_INVERT 0x1 /* active level 1; for the idle level see litepulse_rest */
#define LITEPULSE_PROFILE_TO_PORT 0x2 /* its frames are marks, see litepulse_port; version 7 */

/**
 * struct litepulse_profile - baud, format and polarity that launches name by number
 * @index: 1 to 3; 0 is the tty's
 * @data_bits: 5 to 8
 * @parity: LITEPULSE_PARITY_*
 * @stop: LITEPULSE_STOP_*
 * @flags: LITEPULSE_PROFILE_*
 * @baud: bits per second, to the nearest bit period; answer: what it became, rounded. 0: by @period
 * @reserved: 0
 * @period: bit period in 2^-8 ticks, if @baud is 0, else 0; answer: what it became
 *
 * It changes at once, also for what this claim has started. -EBUSY if a train, a responder or
 * launches that an earlier claim kept use it, unless it is set to what it is already; launches that
 * the driver has found waiting may use any. A claim that has stopped them can change it. After
 * LITEPULSE_IOC_CLAIM, litepulse_status.flags says whether there are any, and
 * litepulse_train.profile which profile the train uses.
 */
struct litepulse_profile {
	__u8 index;
	__u8 data_bits;
	__u8 parity;
	__u8 stop;
	__u32 flags;
	__u32 baud;
	__u32 reserved;
	__aligned_u64 period;
};

#define LITEPULSE_TRAIN_ASAP 0x1 /* as soon as possible, start is 0 */

/**
 * struct litepulse_train - pulse k starts at tick floor(start + k * period)
 * @start: tick of pulse 0; too near (docs/core.md: TRAIN_LMIN_CYCLES) or past: -ETIME
 * @period: whole ticks
 * @num: and @num / @den of a tick
 * @den: 0 means 2^32
 * @count: pulses; 0: forever
 * @width: of a pulse, in ticks; else 0
 * @kind: LITEPULSE_LAUNCH_*
 * @profile: line profile, 0 to 3
 * @data: byte of a frame, bit times of a break; else 0
 * @reserved: 0
 * @flags: LITEPULSE_TRAIN_*
 * @reserved2: 0
 *
 * -EBUSY while a train runs, -ENOENT if the profile was not set since the driver found the board,
 * or since the board's reset, and the core refuses it for that. Returns when the core has taken it.
 *
 * The period is at least 120 cycles of the core's clock and the lead of litepulse_driver_enable,
 * before version 7: 320, else -EINVAL. Only a train of 320 cycles and the lead, or more, can be
 * changed.
 *
 * LITEPULSE_IOC_TRAIN gives the train that runs as it was requested, with period and width of the
 * last change that the core took; @start is 0 if it began as soon as possible. -ENODATA if none
 * runs, or if it was started before the driver found the board, or if the board did not answer to
 * the latest start or change.
 */
struct litepulse_train {
	__aligned_u64 start;
	__u32 period;
	__u32 num;
	__u32 den;
	__u32 count;
	__u32 width;
	__u8 kind;
	__u8 profile;
	__u8 data;
	__u8 reserved;
	__u32 flags;
	__u32 reserved2;
};

#define LITEPULSE_ADJUST_WIDTH 0x1 /* width is given; since version 7 */

/**
 * struct litepulse_train_adjust - a new period, a step and, on request, a new width, from one pulse
 * on, without a glitch
 * @period: whole ticks
 * @num: and @num / @den of a tick
 * @den: 0 means 2^32
 * @at_pulse: first pulse at its new place, counted from 0; 0: as early as possible
 * @step: ticks by which this and all later pulses are moved, once
 * @flags: LITEPULSE_ADJUST_*; before version 7: 0
 * @width: with LITEPULSE_ADJUST_WIDTH: of a pulse, in ticks, from @at_pulse on; of a train of
 *	frames or breaks 0. Without the flag 0: the width stays
 * @reserved: 0
 *
 * -ETIME if it is too late for that, -EBUSY while another change waits. Returns when the core has
 * taken it; an event, APPLIED or REFUSED from TRAIN_CHANGE, has the pulse from which it acted,
 * or that the train ended before.
 *
 * -EOPNOTSUPP if the train that runs is too fast to be changed: its period is less than 320 cycles
 * of the core's clock and the lead of litepulse_driver_enable. -ENODATA if a width is given, and
 * the driver does not know what train runs (LITEPULSE_IOC_TRAIN).
 */
struct litepulse_train_adjust {
	__u32 period;
	__u32 num;
	__u32 den;
	__u32 at_pulse;
	__s32 step;
	__u32 flags;
	__u32 width;
	__u32 reserved;
};

#define LITEPULSE_FOLLOW_STEPS 0x1 /* after a step of the clock it starts again; count is 0 */

/**
 * struct litepulse_train_follow - a train by the PTP clock: pulse k starts when that shows
 * @origin + (@skipped + k) * @span / @pulses, less than a tick before or after; since version 8
 * @origin: a time of the PTP clock, ns
 * @span: ns of the PTP clock...
 * @pulses: ... in which there are this many pulses, 1 to 2^31 - 1
 * @count: pulses; 0: forever
 * @width: of a pulse, in ticks; else 0
 * @kind: LITEPULSE_LAUNCH_*
 * @profile: line profile, 0 to 3
 * @data: byte of a frame, bit times of a break; else 0
 * @reserved: 0
 * @flags: LITEPULSE_FOLLOW_*
 * @reserved2: 0
 * @skipped: answer: pulse 0 is the first that could be reached, and so many times had passed; 0
 * @start: answer: tick of pulse 0; 0
 *
 * It starts as a train of LITEPULSE_IOC_TRAIN_START that can be changed, with the errors of that,
 * but -ETIME only if the board answers too slowly for any start. Then it follows the PTP clock as
 * periodic output (PEROUT) does: a new rate of the clock changes period and phase, which APPLIED
 * from TRAIN_CHANGE reports. A step of the clock stops the train; with LITEPULSE_FOLLOW_STEPS it
 * starts again at its next pulse by the new time, with pulse 0. A train with a @count that has
 * begun and would have to start again ends instead.
 *
 * -ERANGE if the period is 2^32 ticks or more, or @span less than @pulses. -EOPNOTSUPP if the
 * device has no PTP clock. While it follows, LITEPULSE_IOC_TRAIN_START and
 * LITEPULSE_IOC_TRAIN_ADJUST are -EBUSY. It follows until LITEPULSE_IOC_TRAIN_STOP, until its last
 * pulse, and until the claim ends, also if LITEPULSE_CLAIM_KEEP lets the train go on.
 */
struct litepulse_train_follow {
	__aligned_u64 origin;
	__aligned_u64 span;
	__u32 pulses;
	__u32 count;
	__u32 width;
	__u8 kind;
	__u8 profile;
	__u8 data;
	__u8 reserved;
	__u32 flags;
	__u32 reserved2;
	__aligned_u64 skipped;
	__aligned_u64 start;
};

/**
 * struct litepulse_train_stop - no further pulse starts
 * @pulses: answer: number of the pulse that would have come next
 * @flags: 0
 */
struct litepulse_train_stop {
	__u32 pulses;
	__u32 flags;
};

#define LITEPULSE_TRIGGER_OFF	0
#define LITEPULSE_TRIGGER_EDGE	1
#define LITEPULSE_TRIGGER_BYTE	2
#define LITEPULSE_TRIGGER_BREAK 3
#define LITEPULSE_TRIGGER_LIN	4 /* header of a LIN bus that has an entry; since version 2 */

#define LITEPULSE_RESPONDER_RISE       0x01 /* rising edges trigger */
#define LITEPULSE_RESPONDER_FALL       0x02 /* falling edges trigger */
#define LITEPULSE_RESPONDER_REARM      0x04 /* answer every trigger, not only the first */
#define LITEPULSE_RESPONDER_EXCLUSIVE  0x08 /* while armed the tty's bytes wait */
#define LITEPULSE_RESPONDER_IGNORE_OWN 0x10 /* our own transmission triggers nothing */
/* a trigger is answered by a burst of n launches, 1 to LITEPULSE_RESPONDER_PULSES_MAX; version 6 */
#define LITEPULSE_RESPONDER_PULSES(n)	((__u32)((n) - 1) << 16)
#define LITEPULSE_RESPONDER_PULSES_MASK 0xffff0000
#define LITEPULSE_RESPONDER_PULSES_MAX	65536

/**
 * struct litepulse_responder - a launch a fixed time after a trigger, whatever the CPU does
 * @trigger: LITEPULSE_TRIGGER_*; OFF disarms, all else is 0 then
 * @channel: input of an edge; number @inputs is the line
 * @value: byte to look for...
 * @mask: ... in these bits
 * @flags: LITEPULSE_RESPONDER_*, and LITEPULSE_RESPONDER_PULSES(n); without it n is 1
 * @delay: ticks from the edge, from the end of the byte's frame or of the break to the launch;
 *	before version 6 below 2^24
 * @holdoff: ticks from the last launch in which nothing triggers; before version 6 below 2^24.
 *	If n is more than 1, also the period of the burst: ticks from each launch to the next
 * @width: of a pulse, in ticks; else 0
 * @kind: LITEPULSE_LAUNCH_*
 * @profile: line profile, 0 to 3
 * @data: byte of a frame, bit times of a break; else 0
 * @reserved: 0
 *
 * -ENOENT as for litepulse_train, if its profile was never set.
 *
 * If n is more than 1, launch k, from 0 to n - 1, is exactly @delay + k * @holdoff ticks after the
 * trigger. Until the last launch the tty's bytes wait. Until @holdoff ticks after it, unless it was
 * missed, nothing else triggers. Without LITEPULSE_RESPONDER_REARM the responder is off after one
 * burst. A launch that finds the line busy is reported as missed, and the burst goes on. One that
 * is late ends the burst: launch 0 if @delay is shorter than the core can do, launch 1 if the
 * period is. The number in litepulse_event.data of TX and RESPONDER_MISSED is k; if n is 1, it
 * counts the answers since the responder was armed.
 *
 * LITEPULSE_TRIGGER_LIN: n is 1, @delay is the space before each byte of an answer, @kind is
 * LITEPULSE_LAUNCH_FRAME, @flags has LITEPULSE_RESPONDER_REARM and perhaps
 * LITEPULSE_RESPONDER_EXCLUSIVE, all else is 0. The tty's settings are those of the bus: 8 data
 * bits, no parity, 1 stop bit, and a bit of at least 64 cycles of the core's clock, else -ERANGE.
 * -EOPNOTSUPP if the core is no LIN slave.
 */
struct litepulse_responder {
	__u8 trigger;
	__u8 channel;
	__u8 value;
	__u8 mask;
	__u32 flags;
	__u32 delay;
	__u32 holdoff;
	__u32 width;
	__u8 kind;
	__u8 profile;
	__u8 data;
	__u8 reserved;
};

#define LITEPULSE_LIN_IDS		 64 /* identifiers of LIN */
#define LITEPULSE_LIN_ENTRY_ENHANCED	 0x1 /* the checksum includes the identifier */
#define LITEPULSE_LIN_ENTRY_ONCE	 0x2 /* only the next header is answered */
#define LITEPULSE_LIN_ENTRY_OWN_CHECKSUM 0x4 /* checksum is sent instead of the right one */

/**
 * struct litepulse_lin_entry - how the core answers the headers of a LIN identifier
 * @id: identifier without its parity, 0 to 63; -EOPNOTSUPP if the core has no entry for it
 * @length: bytes of the answer, at most 8; 0: it is not answered, all else but @id is 0 then
 * @checksum: bits of the right checksum that are sent inverted. With
 *	LITEPULSE_LIN_ENTRY_OWN_CHECKSUM: what is sent instead
 * @reserved: 0
 * @flags: LITEPULSE_LIN_ENTRY_*
 * @data: the answer; 0 behind @length
 *
 * An entry changes whole: a header is answered by the old one or by the new one. All are off when
 * the driver comes, and again when a claim ends without LITEPULSE_CLAIM_KEEP.
 */
struct litepulse_lin_entry {
	__u8 id;
	__u8 length;
	__u8 checksum;
	__u8 reserved;
	__u32 flags;
	__u8 data[8];
};

#define LITEPULSE_STATUS_TRAIN	   0x1 /* a train runs */
#define LITEPULSE_STATUS_CHANGE	   0x2 /* a change of it waits for its pulse */
#define LITEPULSE_STATUS_RESPONDER 0x4 /* the responder is armed */
#define LITEPULSE_STATUS_QUEUE	   0x8 /* launches wait */

/**
 * struct litepulse_status - what is going on
 * @flags: LITEPULSE_STATUS_*
 * @launch_free: timed launches that can be written without waiting
 * @inputs: bit c: what is on the pin of input c, some cycles of the bus ago; since version 5
 * @rx: 0 or 1: the same of rx; since version 5. Neither the glitch filter nor TIOCM_LOOP changes
 *	what is on a pin
 */
struct litepulse_status {
	__u32 flags;
	__u32 launch_free;
	__u32 inputs;
	__u32 rx;
};

/**
 * struct litepulse_keep - changes what the end of the claim does
 * @flags: LITEPULSE_CLAIM_KEEP or 0
 * @reserved: 0
 */
struct litepulse_keep {
	__u32 flags;
	__u32 reserved;
};

#define LITEPULSE_REST_HIGH 0 /* the idle level of the tty */
#define LITEPULSE_REST_LOW  1

/**
 * struct litepulse_rest - level of the line between launches; since version 4
 * @level: LITEPULSE_REST_*; LITEPULSE_REST_LOW is the idle level of LITEPULSE_PROFILE_INVERT
 * @reserved: 0
 *
 * While it is low the tty's bytes wait, as their start bits would have no edge. It is high again
 * when the claim has ended, unless that keeps what runs. -EBUSY while something timed runs or
 * waits.
 *
 * A launch, train or responder whose profile's active level is the level at rest would make no
 * edge: -EINVAL.
 */
struct litepulse_rest {
	__u32 level;
	__u32 reserved;
};

#define LITEPULSE_DRIVER_ENABLE_ECHO	  0x1 /* echo_ns is given */
#define LITEPULSE_DRIVER_ENABLE_UNCHANGED 0x2 /* lead and lag stay; lead_ns and lag_ns are 0 */

/**
 * struct litepulse_driver_enable - how long the de pin is active around what is sent, by whomever,
 * and for how long its echo arrives
 * @lead_ns: before the first bit, rounded up to whole ticks
 * @lag_ns: after the last bit, rounded up to whole ticks
 * @flags: LITEPULSE_DRIVER_ENABLE_*
 * @echo_ns: with LITEPULSE_DRIVER_ENABLE_ECHO: what arrives until this long after the last bit is
 *	the echo of what was sent, for LITEPULSE_RX_OWN and LITEPULSE_RESPONDER_IGNORE_OWN.
 *	Rounded up to whole ticks, then to whole cycles of the core's clock. Without the flag 0,
 *	and the echo's tail stays as it is: 16 cycles when the driver came
 *
 * For times that TIOCSRS485 cannot say, which has milliseconds; whichever was set last acts, also
 * when the claim has ended. -EINVAL beyond 65535 ticks, and for @echo_ns beyond 1023 cycles of the
 * core's clock. The lead cannot change while a train runs: -EBUSY. After an error nothing has
 * changed; a board whose cable failed gets back what it had when it can be reached.
 */
struct litepulse_driver_enable {
	__u32 lead_ns;
	__u32 lag_ns;
	__u32 flags;
	__u32 echo_ns;
};

#define LITEPULSE_PORT_WIDTH 0x1 /* width is given */
#define LITEPULSE_PORT_TTY   0x2 /* tty is given */

/**
 * struct litepulse_port - the marker port, eight pins; since version 7
 * @flags: LITEPULSE_PORT_*: the settings that change, at least one
 * @width: ticks that each mark lasts, rounded up to whole cycles of the core's clock; then the pins
 *	are 0. 0: until the next mark, as after a reset of the board. A mark that is shown keeps its
 *	own
 * @tty: 1: each byte that is written to the tty is a mark, and leaves as soon as possible; 0: it
 *	goes to the line. What is received comes from the line in any case
 * @reserved: 0
 *
 * A launch of LITEPULSE_LAUNCH_FRAME whose profile has LITEPULSE_PROFILE_TO_PORT is a mark: its
 * byte appears on the port at its tick, whatever the line does, and the line does not change. It is
 * reported as any launch. -EOPNOTSUPP if the core has no port, also for such a profile. The
 * settings stay when the claim has ended. -EBUSY if @tty would change what an earlier claim has
 * kept. After an error a board whose cable failed gets back what it had when it can be reached.
 */
struct litepulse_port {
	__u32 flags;
	__u32 width;
	__u32 tty;
	__u32 reserved;
};

#define LITEPULSE_IOC_MAGIC 0xd1

/* any file */
#define LITEPULSE_IOC_INFO	_IOR(LITEPULSE_IOC_MAGIC, 0x00, struct litepulse_info)
#define LITEPULSE_IOC_SUBSCRIBE _IOW(LITEPULSE_IOC_MAGIC, 0x01, struct litepulse_subscribe)
#define LITEPULSE_IOC_STATS	_IOR(LITEPULSE_IOC_MAGIC, 0x02, struct litepulse_stats)
#define LITEPULSE_IOC_TIME	_IOR(LITEPULSE_IOC_MAGIC, 0x03, struct litepulse_time)
#define LITEPULSE_IOC_STATUS	_IOR(LITEPULSE_IOC_MAGIC, 0x04, struct litepulse_status)
#define LITEPULSE_IOC_CLAIM	_IOWR(LITEPULSE_IOC_MAGIC, 0x05, struct litepulse_claim)
#define LITEPULSE_IOC_TRAIN	_IOR(LITEPULSE_IOC_MAGIC, 0x06, struct litepulse_train)
#define LITEPULSE_IOC_RING	_IOWR(LITEPULSE_IOC_MAGIC, 0x07, struct litepulse_ring)
/* the claim only */
#define LITEPULSE_IOC_KEEP	   _IOW(LITEPULSE_IOC_MAGIC, 0x10, struct litepulse_keep)
#define LITEPULSE_IOC_PROFILE	   _IOWR(LITEPULSE_IOC_MAGIC, 0x11, struct litepulse_profile)
#define LITEPULSE_IOC_FLUSH	   _IO(LITEPULSE_IOC_MAGIC, 0x12)
#define LITEPULSE_IOC_TRAIN_START  _IOW(LITEPULSE_IOC_MAGIC, 0x13, struct litepulse_train)
#define LITEPULSE_IOC_TRAIN_ADJUST _IOW(LITEPULSE_IOC_MAGIC, 0x14, struct litepulse_train_adjust)
#define LITEPULSE_IOC_TRAIN_STOP   _IOWR(LITEPULSE_IOC_MAGIC, 0x15, struct litepulse_train_stop)
#define LITEPULSE_IOC_RESPONDER	   _IOW(LITEPULSE_IOC_MAGIC, 0x16, struct litepulse_responder)
#define LITEPULSE_IOC_DRIVER_ENABLE \
	_IOW(LITEPULSE_IOC_MAGIC, 0x17, struct litepulse_driver_enable)
/* since version 2 */
#define LITEPULSE_IOC_LIN_ENTRY _IOW(LITEPULSE_IOC_MAGIC, 0x18, struct litepulse_lin_entry)
/* since version 4 */
#define LITEPULSE_IOC_REST _IOW(LITEPULSE_IOC_MAGIC, 0x19, struct litepulse_rest)
/* since version 7 */
#define LITEPULSE_IOC_PORT _IOW(LITEPULSE_IOC_MAGIC, 0x1a, struct litepulse_port)
/* since version 8 */
#define LITEPULSE_IOC_TRAIN_FOLLOW \
	_IOWR(LITEPULSE_IOC_MAGIC, 0x1b, struct litepulse_train_follow)

#endif /* _UAPI_LINUX_LITEPULSE_H */
