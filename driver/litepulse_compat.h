/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernels from 6.1 to 7.2 differ: nothing else of the driver asks for a version. */
#ifndef LITEPULSE_COMPAT_H
#define LITEPULSE_COMPAT_H

#include <linux/cacheinfo.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/serial_core.h>
#include <linux/timer.h>
#include <linux/uio.h>
#include <linux/version.h>

/* moved in 6.12 */
#ifdef LITEPULSE_HAS_LINUX_UNALIGNED	/* by Kbuild */
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* for all architectures since 6.9 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#if defined(CONFIG_ARM)
#include <asm/cachetype.h>
#define cpu_dcache_is_aliasing() (cache_is_vivt() || cache_is_vipt_aliasing())
#elif defined(CONFIG_MIPS)
#include <asm/cpu-features.h>
#define cpu_dcache_is_aliasing() cpu_has_dc_aliases
#else
#define cpu_dcache_is_aliasing() false
#endif
#endif

/* renamed in 6.14 */
#ifndef kthread_run_worker
#define kthread_run_worker kthread_create_worker
#endif

/* renamed in 6.16 */
#ifndef timer_container_of
#define timer_container_of from_timer
#endif

/**
 * struct litepulse_clocks - the host's clocks at one moment
 * @raw: CLOCK_MONOTONIC_RAW, ns
 * @real: CLOCK_REALTIME, ns
 * @set_count: changes whenever CLOCK_REALTIME is set
 * @cycles: the counter that they are made from
 * @source_count: changes whenever that is another one
 */
struct litepulse_clocks {
	u64 raw;
	u64 real;
	unsigned int set_count;
	u64 cycles;
	u8 source_count;
};

static inline void litepulse_read_clocks(struct litepulse_clocks *clocks)
{
	struct system_time_snapshot snapshot;

#ifdef LITEPULSE_HAS_SNAPSHOT_ID	/* by Kbuild */
	ktime_get_snapshot_id(CLOCK_REALTIME, &snapshot);
	clocks->raw = ktime_to_ns(snapshot.monoraw);
	clocks->real = ktime_to_ns(snapshot.systime);
#else
	ktime_get_snapshot(&snapshot);
	clocks->raw = ktime_to_ns(snapshot.raw);
	clocks->real = ktime_to_ns(snapshot.real);
#endif
	clocks->set_count = snapshot.clock_was_set_seq;
	clocks->cycles = snapshot.cycles;
	clocks->source_count = snapshot.cs_was_changed_seq;
}

/* hrtimer_init() and its function in one, since 6.13 */
static inline void
litepulse_hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
			clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/**
 * litepulse_iter_piece - the program's memory that comes next
 * @iter: of a program's memory, not at its end
 * @size: set to its length; 0 if the program has given an empty piece
 */
static inline char __user *litepulse_iter_piece(const struct iov_iter *iter, size_t *size)
{
	*size = iov_iter_count(iter);
	if (iter_is_ubuf(iter))
		return iter->ubuf + iter->iov_offset;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*size = min(*size, iter_iov_len(iter));
	return iter_iov_addr(iter);
#else
	*size = iov_iter_iovec(iter).iov_len;
	return iov_iter_iovec(iter).iov_base;
#endif
}

static inline void litepulse_set_vm_flags(struct vm_area_struct *vma, vm_flags_t flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* of the functions that other modules may call; a string since 6.13 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define LITEPULSE_NAMESPACE "LITEPULSE"
#else
#define LITEPULSE_NAMESPACE LITEPULSE
#endif

/* platform_driver: the remove function that returns nothing */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define litepulse_remove_op remove
#else
#define litepulse_remove_op remove_new
#endif

/* By Kbuild: since 6.7, and in 6.1 and 6.6 as they are now */
#ifndef LITEPULSE_HAS_UART_PORT_LOCK
static inline void uart_port_lock_irqsave(struct uart_port *port, unsigned long *flags)
{
	spin_lock_irqsave(&port->lock, *flags);
}

static inline bool uart_port_trylock_irqsave(struct uart_port *port, unsigned long *flags)
{
	return spin_trylock_irqsave(&port->lock, *flags);
}

static inline void uart_port_unlock_irqrestore(struct uart_port *port, unsigned long flags)
{
	spin_unlock_irqrestore(&port->lock, flags);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#include <linux/circ_buf.h>
#include <linux/string.h>
#endif

/**
 * litepulse_xmit_pending - bytes that wait to be sent
 * @port: its lock is held
 */
static inline unsigned int litepulse_xmit_pending(struct uart_port *port)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	return kfifo_len(&port->state->port.xmit_fifo);
#else
	return uart_circ_chars_pending(&port->state->xmit);
#endif
}

/**
 * litepulse_xmit_peek - copies bytes that wait to be sent; uart_xmit_advance() takes them away
 * @port: its lock is held
 * @bytes: room for @count
 * @count: at most this many
 *
 * Return: how many.
 */
static inline unsigned int litepulse_xmit_peek(struct uart_port *port, u8 *bytes,
					       unsigned int count)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	return kfifo_out_peek(&port->state->port.xmit_fifo, bytes, count);
#else
	const struct circ_buf *xmit = &port->state->xmit;
	unsigned int first;

	count = min_t(unsigned int, count, uart_circ_chars_pending(xmit));
	first = CIRC_CNT_TO_END(xmit->head, xmit->tail, UART_XMIT_SIZE);
	first = min(first, count);
	memcpy(bytes, xmit->buf + xmit->tail, first);
	memcpy(bytes + first, xmit->buf, count - first);
	return count;
#endif
}

/**
 * litepulse_set_ldisc_ok - which line disciplines a tty takes; older kernels do not ask
 * @ops: of the tty
 * @ok: 0, or an error
 */
static inline void
litepulse_set_ldisc_ok(struct tty_operations *ops, int (*ok)(struct tty_struct *tty, int ldisc))
{
#ifdef LITEPULSE_TTY_HAS_LDISC_OK /* says Kbuild: it has come to older kernels, too */
	ops->ldisc_ok = ok;
#endif
}

#if IS_ENABLED(CONFIG_LITEPULSE_PTP)
#include <linux/ptp_clock_kernel.h>

/**
 * litepulse_ptp_flags - what requests may ask for; older kernels leave it to the driver to look
 * @info: the clock, not yet registered
 * @extts: PTP_EXTTS_REQUEST flags
 * @perout: PTP_PEROUT_REQUEST flags
 */
static inline void litepulse_ptp_flags(struct ptp_clock_info *info, unsigned int extts,
				       unsigned int perout)
{
#ifdef LITEPULSE_PTP_HAS_FLAGS /* says Kbuild: it may come to older kernels, too */
	info->supported_extts_flags = extts;
	info->supported_perout_flags = perout;
#endif
}
#endif

/* the kernel's own copy of the structure, since 6.11 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define litepulse_ts_info kernel_ethtool_ts_info
#else
#define litepulse_ts_info ethtool_ts_info
#endif

/* a CAN device's MTU: newer kernels look after it themselves */
#ifdef LITEPULSE_CAN_HAS_CHANGE_MTU	/* by Kbuild */
#define LITEPULSE_LIN_CHANGE_MTU .ndo_change_mtu = can_change_mtu,
#else
#define LITEPULSE_LIN_CHANGE_MTU
#endif

/* which packets get a time stamp: two operations of their own since 6.6, an ioctl before */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define LITEPULSE_HAS_NDO_HWTSTAMP
#define litepulse_hwtstamp kernel_hwtstamp_config
#else
#define litepulse_hwtstamp hwtstamp_config
#endif

#endif /* LITEPULSE_COMPAT_H */
