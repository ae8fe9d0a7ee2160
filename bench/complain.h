/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Errors of schedshard-live: one line on stderr that begins with the program's name. */
#ifndef BENCH_COMPLAIN_H
#define BENCH_COMPLAIN_H

/* Print one line on stderr, and return @status. Any thread may call it. */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
