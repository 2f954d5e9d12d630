/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another process beside a program that is measured. `idle`: one of the idle class, which counts
 * what the CPU has left; `loaded`: one of the program's own priority, which wants all the CPU;
 * `alone`: none.
 */
#ifndef LOAD_H
#define LOAD_H

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cases.h"
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
	if (!strcmp(kind, "idle") &&
	    syscall(SYS_sched_setscheduler, 0, SCHED_IDLE, &(struct sched_param) { }))
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

/* Halts the machine for that many milliseconds, with litepulse_halt. */
static inline void halt(const char *ms)
{
	write_file("/sys/module/litepulse_halt/parameters/ms", ms);
}

/* run_case() of a program that is measured so. */
static inline int run_loaded(const struct guest_case *cases, int argc, char **argv)
{
	int status = run_case(cases, argc, argv);

	end_load();
	return status;
}

#endif
