/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks for a line profile that the core refuses; exit status 0 if it does */
#include "guest.h"

int main(void)
{
	struct litepulse_profile impossible = { .index = 1, .data_bits = 8, .period = 1 };
	int claim = claim_device(open_device(0), 0, 0);

	return !(ioctl(claim, LITEPULSE_IOC_PROFILE, &impossible) == -1 && errno == EINVAL);
}
