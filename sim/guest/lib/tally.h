/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a measurement costs: the time that passed, what another process (load.h) got done meanwhile,
 * interrupts. MARK, stored to the console's register, is a moment that the simulator records.
 */
#ifndef TALLY_H
#define TALLY_H

#include "guest.h"
#include "load.h"

#define MARK	'~'

struct moment {
	long long ns;
	uint32_t spun;
};

static inline struct moment moment(void)
{
	return (struct moment) { ns_of(CLOCK_MONOTONIC), spun ? *spun : 0 };
}

/* `label NS ROUNDS`: what passed, and what the other process did meanwhile. */
static inline void tell_passed(const char *label, struct moment since, struct moment until)
{
	printf("%s %lld %u\n", label, until.ns - since.ns, until.spun - since.spun);
}

/* What the other process does when nothing else happens but the timer's ticks. */
static inline void calibrate(void)
{
	struct moment since;

	sleep_ms(30);
	since = moment();
	sleep_ms(100);
	tell_passed("free", since, moment());
}

/* `interrupts COUNT NAME` of each port. */
static inline void tell_interrupts(void)
{
	char line[160];
	FILE *file = fopen("/proc/interrupts", "r");

	while (file && fgets(line, sizeof(line), file)) {
		char *name = strrchr(line, ' ');
		char *colon = strchr(line, ':');

		if (!colon || !name)
			continue;
		if (strstr(name, "litepulse") || strstr(name, "liteuart") || strstr(name, "serial"))
			printf("interrupts %lu %s", strtoul(colon + 1, NULL, 10), name + 1);
	}
	if (file)
		fclose(file);
}

#endif
