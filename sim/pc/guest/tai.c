// SPDX-License-Identifier: BSD-2-Clause
/* tai SECONDS: sets the kernel's offset of TAI from UTC, as an NTP or PTP daemon does. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/timex.h>

int main(int count, char **words)
{
	struct timex change = { .modes = ADJ_TAI, .constant = count > 1 ? atoi(words[1]) : 0 };

	if (adjtimex(&change) < 0) {
		perror("adjtimex");
		return 1;
	}
	return 0;
}
