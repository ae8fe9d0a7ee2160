/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Shared by all measurements of this host: reads the clock, pins threads, sorts values. */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include "port.h"

/* Nanoseconds of CLOCK_MONOTONIC. */
double sample_now_ns(void);

/* Pin the calling thread to @cpu. Return: 0 or a positive errno value. */
int sample_pin(u32 cpu);

/* Sort @nr values in ascending order. */
void sample_sort(double *value, u32 nr);

#endif
