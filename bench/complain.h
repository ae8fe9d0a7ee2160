/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* How schedshard-live refuses: one line on stderr, begun by its name. */
#ifndef BENCH_COMPLAIN_H
#define BENCH_COMPLAIN_H

/* One line on stderr; returns @status. Any thread. */
int complain(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
