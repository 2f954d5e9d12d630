/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks for a line profile that the core refuses; exit status 0 if it does */
#include "guest.h"

int main(void)
{
	struct litepulse_profile impossible = { .index = 1, .data_bits = 8, .period = 1 };
	struct litepulse_claim claim = { 0 };
	int fd = open("/dev/litepulse0", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, LITEPULSE_IOC_CLAIM, &claim))
		return 1;
	return !(ioctl(claim.fd, LITEPULSE_IOC_PROFILE, &impossible) == -1 && errno == EINVAL);
}
