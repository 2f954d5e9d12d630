/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another process beside a program that is measured. `idle`: one of the idle class, which counts what the CPU has left; `loaded`: one of
 * the program's own priority, which wants all the CPU; `alone`: none. And the cases of such a program.
 */
#ifndef LOAD_H
#define LOAD_H

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "guest.h"

static volatile uint32_t *spun;		/* rounds of the other process */
static pid_t other;

static inline void load(const char *kind)
{
	if (!strcmp(kind, "alone"))
		return;
	spun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spun == MAP_FAILED)
		die("mmap");
	other = fork();
	if (other < 0)
		die("fork");
	if (other)
		return;
	/* musl's own sched_setscheduler() refuses. */
	if (!strcmp(kind, "idle") && syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &(struct sched_param) { }))
		_exit(1);
	for (;;) {
		for (int i = 0; i < 50; i++)
			__asm__ volatile("");
		++*spun;
	}
}

static inline void end_load(void)
{
	if (other)
		kill(other, SIGKILL);
}

/* Halts the machine for so many milliseconds, with litepulse_halt. */
static inline void halt(const char *ms)
{
	FILE *file = fopen("/sys/module/litepulse_halt/parameters/ms", "w");

	if (!file || fputs(ms, file) < 0 || fclose(file))
		die("litepulse_halt");
}

struct load_case {
	const char *name;
	void (*run)(char **argv);
	int words;
};

/* What main() of a program with cases does: `PROGRAM NAME WORD...`. Its exit status. */
static inline int run_case(const struct load_case *cases, size_t count, int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < count; i++) {
		if (!strcmp(argv[1], cases[i].name) && argc == 2 + cases[i].words) {
			cases[i].run(argv + 2);
			end_load();
			return 0;
		}
	}
	return 2;
}

#endif
