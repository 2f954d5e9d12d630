/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs with cases: `PROGRAM NAME WORD...` runs one of a table, `PROGRAM` prints the table. */
#ifndef CASES_H
#define CASES_H

#include "check.h"

struct guest_case {
	const char *name;
	void (*run)(void);
	const char *what;
	void (*with)(char **words);	/* in place of run: gets what follows, then NULL */
	int words, more;		/* that must follow the name, and that may, too */
	long of;			/* what distinguishes cases with the same function */
};

/* The same one in all sources of a program. */
__attribute__((weak)) const struct guest_case *running;

/* `NAME  WHAT` of each. */
static inline void list_cases(const struct guest_case *cases)
{
	for (; cases->name; cases++)
		printf("%-20s%s\n", cases->name, cases->what ? cases->what : "");
}

static inline const struct guest_case *find_case(const struct guest_case *cases, const char *name)
{
	while (cases->name && strcmp(cases->name, name))
		cases++;
	return cases->name ? cases : NULL;
}

/* main() of such a program, whose table ends with an empty entry. Returns its exit status. */
static inline int run_case(const struct guest_case *cases, int argc, char **argv)
{
	int count = argc - 2;

	setvbuf(stdout, NULL, _IOLBF, 0);
	running = argc > 1 ? find_case(cases, argv[1]) : NULL;
	if (!running || count < running->words || count > running->words + running->more) {
		list_cases(cases);
		return 2;
	}
	if (running->with)
		running->with(argv + 2);
	else
		running->run();
	return 0;
}

#endif /* CASES_H */
