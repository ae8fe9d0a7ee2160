/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * scan.h - one interface for every way to find the last-level cache where a process runs most. The
 * simulation (model/experiments/cache_scan.c) calls nothing else. The semantic tests run all of
 * them through it.
 *
 *               | account       | scan              | due | process, create, destroy
 *  account      | other CPUs    | ok                | ok  | -
 *  scan         | ok            | one, it claims    | ok  | -
 *
 * "other CPUs": the caller holds the run-queue lock of the CPU it accounts for.
 *
 *   full		Linux since 2026: every online CPU, each under a lock of its run queue
 *   node		full, limited to the NUMA nodes of the process's memory, of its
 *			preferred cache and of the CPU that scans. All nodes if the memory's node
 *			is unknown
 *   linux73		Linux 7.3: node, and also which thread runs on each CPU, to count running
 *			threads
 *   linux73-mask linux73, limited to a mask of CPUs that the process visited, on any node
 *   linux73-fork linux73, whose fork reads no run queue: records start at epoch 0
 */
#ifndef LAYOUTS_SCAN_H
#define LAYOUTS_SCAN_H

#include "port.h"
#include "scan_sums.h"
#include "shard_topo.h"

struct scan_machine;
struct scan_process;

/**
 * struct scan_result - the result of a scan
 * @length: number of CPUs whose runtime it read
 * @sums: the sums of shares, complete
 * @preferred: number of the LLC to prefer from now on, -1: none
 */
struct scan_result {
	u32 length;
	struct scan_sums sums;
	s32 preferred;
};

/**
 * struct scan_ops - one way to scan
 * @name: as in every table
 * @create: returns the state of the machine, or NULL if there is no memory; @online is a cpumask;
 *	@processes: the maximum number at a time
 * @destroy: frees it; no process is left
 * @process: returns a new process, which prefers no LLC, or NULL if there is no memory; @home: NUMA
 *	node of its memory, -1 if unknown; @epoch: the current one
 * @end: the process ends
 * @fork: a CPU forks a process, and @p's memory is initialised again
 * @run: @cpu runs a thread of the process from now on
 * @account: @cpu ran the process for @ns nanoseconds
 * @due: has no CPU scanned in @epoch?
 * @scan: let @cpu scan; returns false if another CPU scans or has scanned in this epoch
 * @bytes: size of the process's memory
 */
struct scan_ops {
	const char *name;
	struct scan_machine *(*create)(const struct shard_plan *plan, const unsigned long *online,
				       u32 processes);
	void (*destroy)(struct scan_machine *m);
	struct scan_process *(*process)(struct scan_machine *m, s32 home, u32 epoch);
	void (*end)(struct scan_process *p);
	void (*fork)(struct scan_process *p);
	void (*run)(struct scan_process *p, u32 cpu);
	void (*account)(struct scan_process *p, u32 cpu, u32 epoch, u64 ns);
	bool (*due)(const struct scan_process *p, u32 epoch);
	bool (*scan)(struct scan_process *p, u32 cpu, u32 epoch, struct scan_result *result);
	size_t (*bytes)(const struct scan_process *p);
};

extern const struct scan_ops scan_full, scan_node, scan_linux73, scan_linux73_mask,
	scan_linux73_fork;
extern const struct scan_ops *const scan_ways[]; /* NULL-terminated */

#endif
