// SPDX-License-Identifier: BSD-2-Clause
/* uartbone TTY ADDRESS COUNT: reads words from a board by plain UARTBone, without any driver of ours; one a line, in hexadecimal. */
#include <asm/termbits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "open_port.h"

int main(int count, char *words[])
{
	unsigned long address = count > 2 ? strtoul(words[2], NULL, 0) / 4 : 0;
	int wanted = count > 3 ? atoi(words[3]) : 1, got = 0;
	unsigned char ask[] = { 0x02, wanted, address >> 24, address >> 16, address >> 8, address }, answer[1024];
	int tty = count > 1 ? open_port(words[1]) : -1;
	struct pollfd ready = { .fd = tty, .events = POLLIN };
	struct termios2 raw;

	if (tty < 0 || ioctl(tty, TCGETS2, &raw))
		return 2;
	raw.c_iflag = raw.c_oflag = raw.c_lflag = 0;
	raw.c_cflag = B115200 | CS8 | CREAD | CLOCAL;
	if (ioctl(tty, TCSETSF2, &raw) || write(tty, ask, sizeof(ask)) != sizeof(ask))
		return 2;
	while (got < 4 * wanted && poll(&ready, 1, 2000) > 0) {
		ssize_t part = read(tty, answer + got, sizeof(answer) - got);

		if (part <= 0)
			break;
		got += part;
	}
	for (int i = 0; i + 4 <= got; i += 4)
		printf("%02x%02x%02x%02x\n", answer[i], answer[i + 1], answer[i + 2], answer[i + 3]);
	return got != 4 * wanted;
}
