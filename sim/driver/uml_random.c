/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loaded in front of the C library of User-mode Linux: what the kernel takes for the host's random numbers follows from LITEPULSE_SEED,
 * so that a guest does the same each time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	static uint64_t state;
	unsigned char *bytes = buffer;

	(void)flags;
	if (!state) {
		const char *seed = getenv("LITEPULSE_SEED");

		state = 0x9e3779b97f4a7c15 ^ (seed ? strtoull(seed, NULL, 10) : 0);
	}
	for (size_t i = 0; i < length; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes[i] = state >> 32;
	}
	return length;
}
