/* SPDX-License-Identifier: BSD-2-Clause */
/* The two kinds of serial ports that are measured beside each other, and the registers that a driver does not offer. */
#ifndef PORTS_H
#define PORTS_H

#include <sys/mman.h>

#include "guest.h"
#include "termios2.h"

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

/*
 * Raw, 8N1. Without IGNBRK a break reads as a NUL, but LiteX's receiver drops each character whose stop bit is low: LitePulse's tty would
 * give its program a byte more than liteuart's.
 */
static inline int open_tty(const char *path, const char *baud)
{
	int fd = open(path, O_RDWR | O_NOCTTY);
	unsigned int rate = strtoul(baud, NULL, 10);
	struct termios2 t;

	if (fd < 0)
		die(path);
	if (ioctl(fd, TCGETS2, &t))
		die("TCGETS2");
	t.c_iflag = IGNBRK | IGNPAR;
	t.c_oflag = t.c_lflag = 0;
	t.c_cflag = CS8 | CREAD | CLOCAL | BOTHER;
	t.c_ispeed = t.c_ospeed = rate;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	if (ioctl(fd, TCSETS2, &t))
		die("TCSETS2");
	if (strstr(path, "LXU"))
		set_peer_baud(rate);
	return fd;
}

#endif
