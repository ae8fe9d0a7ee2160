/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Shared by all measurements of this host: the time, one CPU to stay on, order in the values. */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include "port.h"

/* Nanoseconds of CLOCK_MONOTONIC. */
double sample_now_ns(void);

/* Run the calling thread only on @cpu from here on: 0 or a positive errno value. */
int sample_pin(u32 cpu);

/* Put @nr values in rising order. */
void sample_sort(double *value, u32 nr);

#endif
