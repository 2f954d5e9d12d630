// SPDX-License-Identifier: BSD-2-Clause
/* uartbone TTY ADDRESS COUNT: reads words from a board by plain UARTBone, without any driver of ours; one a line, in hexadecimal. */
#include "files.h"
#include "ports.h"

int main(int count, char *words[])
{
	unsigned long address = count > 2 ? strtoul(words[2], NULL, 0) / 4 : 0;
	int wanted = count > 3 ? atoi(words[3]) : 1, got = 0;
	unsigned char ask[] = { 0x02, wanted, address >> 24, address >> 16, address >> 8, address }, answer[1024];
	int tty = count > 1 ? open_port(words[1], TCSETSF2) : -1;

	if (tty < 0 || write(tty, ask, sizeof(ask)) != sizeof(ask))
		return 2;
	while (got < 4 * wanted && readable(tty, 2000) > 0) {
		ssize_t part = read(tty, answer + got, sizeof(answer) - got);

		if (part <= 0)
			break;
		got += part;
	}
	for (int i = 0; i + 4 <= got; i += 4)
		printf("%02x%02x%02x%02x\n", answer[i], answer[i + 1], answer[i + 2], answer[i + 3]);
	return got != 4 * wanted;
}
