/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * PORT_WARN_ON() for user space and for the simulated machine: it prints a caller's programming
 * error and aborts the program. A port.h includes this file after gcc_atomics.h.
 */
#ifndef PORT_WARN_H
#define PORT_WARN_H

#include <stdio.h>
#include <stdlib.h>

static inline bool port_warn_on(bool cond, const char *what, const char *file, int line)
{
	if (unlikely(cond)) {
		fprintf(stderr, "schedshard: caller broke the contract: %s at %s:%d\n", what, file,
			line);
		abort();
	}
	return cond;
}

#define PORT_WARN_ON(cond) port_warn_on(!!(cond), #cond, __FILE__, __LINE__)

#endif /* PORT_WARN_H */
