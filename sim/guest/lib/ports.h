/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serial ports at any rate. musl does not name the requests for that; its header and the kernel's
 * with all requests do not go together, nor does tty.h with this.
 */
#ifndef PORTS_H
#define PORTS_H

#include <asm/termbits.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "files.h"

#include <linux/serial.h>

#ifndef TCGETS2
#define TCGETS2 _IOR('T', 0x2a, struct termios2)
#define TCSETS2 _IOW('T', 0x2b, struct termios2)
#define TCSETSW2 _IOW('T', 0x2c, struct termios2)
#define TCSETSF2 _IOW('T', 0x2d, struct termios2)
#endif

/* --- ports that may have been plugged in a moment ago --- */

#define OPEN_PORT_MS 2000 /* how long to wait, as OPEN_SECONDS in sw/litepulse/ports.py */

/*
 * Opens it, raw at 115200 baud: the file, or -1 with errno. The kernel puts a tty's node into /dev
 * before its character device exists (ENXIO), and usb-serial opens no port before all ports of the
 * adapter are there (ENODEV). A path that does not exist fails at once.
 */
static inline int open_port(const char *path, unsigned long set)
{
	struct termios2 raw;
	int tty, ms = 0;

	while ((tty = open(path, O_RDWR | O_NOCTTY)) < 0 && ms < OPEN_PORT_MS &&
	       (errno == ENXIO || errno == ENODEV)) {
		usleep(10000);
		ms += 10;
	}
	if (tty < 0 || ioctl(tty, TCGETS2, &raw))
		return -1;
	raw.c_iflag = raw.c_oflag = raw.c_lflag = 0;
	raw.c_cflag = B115200 | CS8 | CREAD | CLOCAL;
	return ioctl(tty, set, &raw) ? -1 : tty;
}

/* --- the two kinds that are measured beside each other, and registers that no driver offers --- */

static inline volatile uint32_t *registers_at(unsigned long address)
{
	static int memory = -1;
	void *page;

	if (memory < 0)
		memory = open("/dev/mem", O_RDWR | O_SYNC);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, address & ~4095UL);
	if (memory < 0 || page == MAP_FAILED)
		die("/dev/mem");
	return (volatile uint32_t *)((char *)page + (address & 4095));
}

/* Addresses are in the environment: the SoC's description has them. */
static inline volatile uint32_t *register_named(const char *name)
{
	const char *address = getenv(name);

	if (!address)
		die(name);
	return registers_at(strtoul(address, NULL, 0));
}

/* The port of liteuart's second device at a rate: its driver cannot set one, but its core can. */
static inline void set_peer_baud(unsigned int rate)
{
	*register_named("PEER_TUNING") = (((uint64_t)rate << 32) + 25000000) / 50000000;
}

/* Opens a tty at any rate, raw and 8N1. */
static inline int open_raw(const char *path, int flags, unsigned int rate, tcflag_t iflag)
{
	int fd = open(path, O_RDWR | O_NOCTTY | flags);
	struct termios2 t;

	if (fd < 0)
		die(path);
	if (ioctl(fd, TCGETS2, &t))
		die("TCGETS2");
	t.c_iflag = iflag;
	t.c_oflag = t.c_lflag = 0;
	t.c_cflag = CS8 | CREAD | CLOCAL | BOTHER;
	t.c_ispeed = t.c_ospeed = rate;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	if (ioctl(fd, TCSETS2, &t))
		die("TCSETS2");
	return fd;
}

/*
 * One of the two kinds. Without IGNBRK a break reads as a NUL, but LiteX's receiver drops each
 * character whose stop bit is low: LitePulse's tty would have a byte more than liteuart's.
 */
static inline int open_serial(const char *path, const char *baud)
{
	unsigned int rate = strtoul(baud, NULL, 10);
	int fd = open_raw(path, 0, rate, IGNBRK | IGNPAR);

	if (strstr(path, "LXU"))
		set_peer_baud(rate);
	return fd;
}

/* `counts RX TX FRAME OVERRUN BUF_OVERRUN`, if the port has them: 0, or -1. */
static inline int tell_counts(int fd)
{
	struct serial_icounter_struct count = { };

	if (ioctl(fd, TIOCGICOUNT, &count))
		return -1;
	printf("counts %d %d %d %d %d\n", count.rx, count.tx, count.frame, count.overrun,
	       count.buf_overrun);
	return 0;
}

#endif
