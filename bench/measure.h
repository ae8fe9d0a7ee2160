/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * measure.h - the parts of schedshard-measure.
 *
 *   measure.c       arguments, progress, JSON
 *   measure_pair.c  one-way latency between two CPUs
 *   measure_ops.c   costs of operations that stay inside one core
 *
 * Not thread safe: one caller at a time, because concurrent measurements would disturb each other.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "port.h"
#include "sample.h"

/**
 * struct measure_ops - nanoseconds per operation, on one CPU
 * @cycle: an addition that needs the result of the previous one: one core cycle
 * @load_hit: load whose address is the result of the previous one, L1 hit
 * @store: plain store to a line that is in the core's cache
 * @locked: locked OR of a line that is in the core's cache
 * @fence: full barrier, as the kernel's smp_mb() on this architecture
 * @timestamp: read of the time-stamp counter
 * @memory: load that misses every cache
 * @yield_switch: sched_yield() from one thread to another on the same CPU; 0: it never switched
 */
struct measure_ops {
	double cycle, load_hit, store, locked, fence, timestamp, memory, yield_switch;
};

/*
 * Sort @nr values and return the lower quartile. Other load on the host only adds time, so on a
 * busy host the median is too high. The minimum would depend on a single value.
 */
double measure_quartile(double *value, u32 nr);

/**
 * measure_pair() - pass a line back and forth between two CPUs
 * @a: one CPU
 * @b: the other CPU
 * @home: CPU that touches the line's page first, which places the page on its node
 * @samples: number of samples, at least 1
 * @deadline: take no sample but the first after this time of sample_now_ns(); 0: no deadline
 * @ns: receives the one-way latency in nanoseconds, lower quartile of all samples
 *
 * Return: 0 or a positive errno value.
 */
int measure_pair(u32 a, u32 b, u32 home, u32 samples, double deadline, double *ns);

/**
 * measure_ops() - measure operation costs
 * @cpu: CPU to measure; the function pins the calling thread to it
 * @samples: samples per operation, at least 1
 * @limit: approximate time, in nanoseconds, for all samples together; 0: no limit
 * @ops: receives the lower quartiles
 * @step: called after each of %MEASURE_OPS measurements
 *
 * Return: 0 or a positive errno value.
 */
int measure_ops(u32 cpu, u32 samples, double limit, struct measure_ops *ops, void (*step)(void));

#define MEASURE_OPS 8

#endif
