/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that do one step after the other: `NAME` or `NAME=VALUE`, each of a table. */
#ifndef STEPS_H
#define STEPS_H

#include "check.h"

struct step {
	const char *name;
	void (*act)(const char *value);
	const char *what;	/* behind the name, in the list */
	long of;
};

static const struct step *doing;
static int wanted_errno;

/* A call must succeed, or fail with the errno that stands before its step. */
static inline void expect(int result)
{
	CHECK(wanted_errno ? result < 0 && errno == wanted_errno : result >= 0);
	wanted_errno = 0;
}

/* What a program without steps does, and its exit status. */
static inline int list_steps(const struct step *steps)
{
	printf("errno=N=STEP: it must fail so\n");
	for (; steps->name; steps++)
		printf("%s%s\n", steps->name, steps->what);
	return 2;
}

/* Does the step of a table whose last entry is empty; `errno=N=` before it: it must fail so. */
static inline void do_step(const struct step *steps, const char *word)
{
	const char *value;
	char *end;

	if (!strncmp(word, "errno=", 6)) {
		wanted_errno = strtol(word + 6, &end, 10);
		word = end + 1;
	}
	value = word + strcspn(word, "=");
	doing = steps;
	while (doing->name &&
	       (strncmp(doing->name, word, value - word) || doing->name[value - word]))
		doing++;
	if (!doing->name) {
		printf("no step: %s\n", word);
		exit(1);
	}
	doing->act(*value ? value + 1 : value);
	CHECK(!wanted_errno);
}

#endif /* STEPS_H */
