/* SPDX-License-Identifier: BSD-2-Clause */
/* What the C programs of this folder share: their errors, which are one line each, and numbers of lines. */
#ifndef LINE_H
#define LINE_H

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *program;

/* Ends the program. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(2);
}

static inline unsigned int line_of(const char *text)
{
	char *end;
	unsigned long line = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || line > 65535)
		fail("%s is no number of a line", text);
	return line;
}

#endif
