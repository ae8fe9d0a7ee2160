/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* A check that prints the failed condition and ends the program; for tests without core/. */
#ifndef TESTS_SIM_CHECK_H
#define TESTS_SIM_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                          \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

#endif
