// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The judge keeps every runtime of every process on every CPU in 64 bits, never drops a CPU, and
 * adds up all of them. That is the result of a full scan, and takes no simulated time. It starts
 * from the same preference as the scan under test, so a difference counts once and does not cause
 * later ones.
 */
#include <stdlib.h>

#include "cache_scan.h"

struct runtime {
	u64 ns;
	u32 epoch;
};

struct cs_judge {
	const struct shard_plan *plan;
	u32 nr_cpus; /* CPU numbers */
	struct runtime *queue;
	struct runtime *record; /* one process after the other */
};

static u64 decayed(const struct runtime *r, u32 epoch)
{
	s32 age = (s32)(epoch - r->epoch);

	if (age <= 0)
		return r->ns;
	return age < 64 ? r->ns >> age : 0;
}

static void add(struct runtime *r, u32 epoch, u64 ns)
{
	if ((s32)(epoch - r->epoch) > 0) {
		r->ns = decayed(r, epoch);
		r->epoch = epoch;
	}
	r->ns += ns;
}

struct cs_judge *cs_judge_new(const struct cs *cs)
{
	struct cs_judge *j = calloc(1, sizeof(*j));
	u32 n = cs->plan->nr_cpus;

	if (!j)
		abort();
	j->plan = cs->plan;
	j->nr_cpus = n;
	j->queue = calloc(n, sizeof(*j->queue));
	j->record = calloc((size_t)n * cs->nr_processes, sizeof(*j->record));
	if (!j->queue || !j->record)
		abort();
	return j;
}

void cs_judge_free(struct cs_judge *j)
{
	if (!j)
		return;
	free(j->queue);
	free(j->record);
	free(j);
}

void cs_judge_account(struct cs_judge *j, u32 process, u32 cpu, u32 epoch, u64 ns)
{
	add(&j->queue[cpu], epoch, ns);
	add(&j->record[(size_t)process * j->nr_cpus + cpu], epoch, ns);
}

struct cs_verdict cs_judge_scan(const struct cs_judge *j, u32 process, u32 epoch, s32 timeout,
				const struct scan_result *result)
{
	const struct runtime *record = &j->record[(size_t)process * j->nr_cpus];
	struct cs_verdict v = { 0 };
	struct occupancy all, fresh;
	double total, margin;
	u64 runtime = 0;
	s32 preferred;

	occupancy_begin(&all, result->sums.present);
	occupancy_begin(&fresh, result->sums.present);
	for (u32 i = 0; i < j->plan->nr_possible; i++) {
		u32 cpu = j->plan->idx_to_cpu[i];
		u64 mine = decayed(&record[cpu], epoch), whole = decayed(&j->queue[cpu], epoch);
		s32 llc = (s32)j->plan->shard[j->plan->slot[cpu].shard].llc;
		u64 share = mine * OCCUPANCY_SCALE / (whole + 1);

		runtime += mine;
		if (!mine)
			continue;
		occupancy_cpu(&all, llc, share);
		if ((s32)(epoch - record[cpu].epoch) <= timeout)
			occupancy_cpu(&fresh, llc, share);
	}
	preferred = occupancy_end(&all);
	total = (double)all.total;
	v.agrees = preferred == result->preferred;
	v.agrees_fresh = occupancy_end(&fresh) == result->preferred;
	if (total <= 0)
		return v;
	margin = (double)all.best_sum - 2 * (double)all.present_sum;
	v.margin = (margin < 0 ? -margin : margin) / total;
	v.missed = result->sums.total < all.total ? 1 - (double)result->sums.total / total : 0;
	if (result->runtime < runtime)
		v.missed_runtime = 1 - (double)result->runtime / (double)runtime;
	return v;
}
