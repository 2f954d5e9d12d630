/* SPDX-License-Identifier: BSD-2-Clause */
/* What ends a program: a line that says what was not as it should be, and exit status 1. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static inline _Noreturn void die(const char *what)
{
	printf("died %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline _Noreturn void not_so(const char *file, int line, const char *what)
{
	printf("%s:%d: not so: %s (errno %d, %s)\n", file, line, what, errno, strerror(errno));
	exit(1);
}

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			not_so(__FILE__, __LINE__, #condition); \
	} while (0)

/* Did a call fail so? */
static inline int fails(long result, int error)
{
	return result == -1 && errno == error;
}

#endif /* CHECK_H */
