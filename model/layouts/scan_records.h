/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * scan_records.h - run queues, processes and their records, as in Linux since 2026, written from
 * its behaviour. The scans of scan_linux.c and scan_linux_mask.c share them.
 *
 * A run queue has a runtime, an epoch and a lock for the two. A process has a runtime and an epoch
 * per possible CPU, in per-CPU memory, where the records of one CPU are side by side. Accounting
 * takes the lock of that CPU's run queue. A fork or exec allocates a record in the memory of every
 * possible CPU, zeroes it, and stores there the epoch of that CPU's run queue.
 *
 * Only the lock's holder reads and writes runtime and epoch; no other ordering is needed.
 *
 * The functions are inline because each access is simulated: in a separate file the compiler would
 * load some words twice.
 *
 * Concurrency: see the table in scan.h.
 */
#ifndef LAYOUTS_SCAN_RECORDS_H
#define LAYOUTS_SCAN_RECORDS_H

#include "rd.h"
#include "report_types.h"
#include "scan.h"

/* Part of struct rq, on its own line. */
struct scan_rq {
	u64 lock;
	u64 runtime;
	u64 epoch;
} port_cacheline_aligned;

/* Another line of struct rq, written when the running thread changes. */
struct scan_curr {
	u64 process; /* number + 1 */
} port_cacheline_aligned;

/* The record of a process on a CPU. */
struct scan_record {
	u64 runtime;
	u64 epoch;
};

/* The part of a process that all of its CPUs use. */
struct scan_mm {
	u64 next_scan; /* first epoch in which a scan is due */
	u64 preferred; /* LLC + 1 */
	u64 running;   /* running threads; only Linux 7.3 */
} port_cacheline_aligned;

struct scan_machine {
	const struct shard_plan *plan;
	const unsigned long *online;
	struct scan_rq **rq;	     /* by CPU number */
	struct scan_curr **curr;     /* by CPU number */
	struct scan_record **record; /* by CPU number: the records of all processes */
	u32 processes, used;
};

struct scan_process {
	struct scan_machine *machine;
	struct scan_mm *mm;
	u64 *mask; /* cpumask of visited CPUs; NULL: other variants */
	u32 number;
	s32 home;
	bool by_node;
	bool counts_running;
};

static inline s32 records_node(const struct scan_machine *m, u32 cpu)
{
	return m->plan->shard[m->plan->slot[cpu].shard].node;
}

static inline void records_destroy(struct scan_machine *m)
{
	u32 n = m->plan->nr_cpus;

	for (u32 cpu = 0; cpu < n; cpu++) {
		if (m->rq)
			port_free(m->rq[cpu], sizeof(struct scan_rq));
		if (m->curr)
			port_free(m->curr[cpu], sizeof(struct scan_curr));
		if (m->record)
			port_free(m->record[cpu], m->processes * sizeof(struct scan_record));
	}
	port_free((void *)m->rq, n * sizeof(*m->rq));
	port_free((void *)m->curr, n * sizeof(*m->curr));
	port_free((void *)m->record, n * sizeof(*m->record));
	port_free(m, sizeof(*m));
}

static inline bool records_fill(struct scan_machine *m)
{
	u32 n = m->plan->nr_cpus;

	rd_label("tables by CPU", NULL);
	m->rq = (struct scan_rq **)port_alloc(n * sizeof(*m->rq), -1);
	m->record = (struct scan_record **)port_alloc(n * sizeof(*m->record), -1);
	m->curr = (struct scan_curr **)port_alloc(n * sizeof(*m->curr), -1);
	if (!m->rq || !m->record || !m->curr)
		return false;
	for (u32 cpu = 0; cpu < n; cpu++) {
		if (!m->plan->slot[cpu].possible)
			continue;
		rd_label("run queue", "struct scan_rq");
		m->rq[cpu] = port_alloc(sizeof(struct scan_rq), records_node(m, cpu));
		rd_label("records of a CPU", "struct scan_record");
		m->record[cpu] =
			port_alloc(m->processes * sizeof(struct scan_record), records_node(m, cpu));
		rd_label("run queue, running thread", "struct scan_curr");
		m->curr[cpu] = port_alloc(sizeof(struct scan_curr), records_node(m, cpu));
		if (!m->rq[cpu] || !m->record[cpu] || !m->curr[cpu])
			return false;
	}
	return true;
}

static inline struct scan_machine *records_create(const struct shard_plan *plan,
						  const unsigned long *online, u32 processes)
{
	struct scan_machine *m;

	rd_label("scans", NULL);
	m = port_alloc(sizeof(*m), -1);
	if (!m)
		return NULL;
	m->plan = plan;
	m->online = online;
	m->processes = processes;
	if (records_fill(m))
		return m;
	records_destroy(m);
	return NULL;
}

/*
 * Make a process without a mask, whose scan covers all nodes and counts no threads. NULL: no
 * memory.
 */
static inline struct scan_process *records_process(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p;

	if (m->used == m->processes)
		return NULL;
	rd_label("process", NULL);
	p = port_alloc(sizeof(*p), home);
	rd_label("mm", "struct scan_mm");
	if (p)
		p->mm = port_alloc(sizeof(*p->mm), home);
	if (!p || !p->mm) {
		port_free(p, sizeof(*p));
		return NULL;
	}
	p->machine = m;
	p->home = home;
	p->number = m->used++;
	p->mm->next_scan = epoch + 1;
	return p;
}

static inline void records_end(struct scan_process *p)
{
	port_free(p->mm, sizeof(*p->mm));
	port_free(p, sizeof(*p));
}

static inline void records_lock(struct scan_rq *rq)
{
	while (port_cmpxchg64(&rq->lock, 0, 1))
		while (READ_ONCE(rq->lock))
			cpu_relax();
}

static inline void records_unlock(struct scan_rq *rq)
{
	smp_store_release(&rq->lock, 0); /* pairs with port_cmpxchg64() in records_lock() */
}

static inline u64 records_halved(u64 runtime, u64 times)
{
	return times < 64 ? runtime >> times : 0;
}

/* Under the lock: decay run queue and record to @epoch. Writes nothing that is up to date. */
static inline void records_update(struct scan_rq *rq, struct scan_record *r, u32 epoch)
{
	s32 passed = (s32)(epoch - (u32)rq->epoch);
	u64 behind;

	if (passed > 0) {
		rq->epoch += (u32)passed;
		rq->runtime = records_halved(rq->runtime, (u32)passed);
	}
	behind = rq->epoch - r->epoch;
	if (behind) {
		r->epoch = rq->epoch;
		r->runtime = records_halved(r->runtime, behind);
	}
}

static inline void records_run(struct scan_process *p, u32 cpu)
{
	if (p->counts_running && READ_ONCE(p->machine->curr[cpu]->process) != p->number + 1)
		WRITE_ONCE(p->machine->curr[cpu]->process, p->number + 1);
}

static inline void records_account(struct scan_process *p, u32 cpu, u32 epoch, u64 ns)
{
	struct scan_rq *rq = p->machine->rq[cpu];
	struct scan_record *r = &p->machine->record[cpu][p->number];

	records_lock(rq);
	records_update(rq, r, epoch);
	r->runtime += ns;
	rq->runtime += ns;
	records_unlock(rq);
}

/* Return the process's share of a CPU. */
static inline u64 records_share(const struct scan_process *p, u32 cpu, u32 epoch)
{
	struct scan_rq *rq = p->machine->rq[cpu];
	struct scan_record *r = &p->machine->record[cpu][p->number];
	u64 mine, all;

	records_lock(rq);
	records_update(rq, r, epoch);
	mine = r->runtime;
	all = rq->runtime;
	records_unlock(rq);
	return mine * SCAN_SCALE / (all + 1);
}

/*
 * Zero the records of a fork, as the allocator does. Not inlined, so that the forks of all scans
 * load the same words.
 */
static port_noinline void records_zero(struct scan_process *p)
{
	const struct scan_machine *m = p->machine;

	for (u32 i = 0; i < m->plan->nr_possible; i++) {
		struct scan_record *r = &m->record[m->plan->idx_to_cpu[i]][p->number];

		WRITE_ONCE(r->runtime, 0);
		WRITE_ONCE(r->epoch, 0);
	}
}

/* A fork, without the memory of the group, which every layout has. */
static port_noinline void records_fork(struct scan_process *p)
{
	const struct scan_machine *m = p->machine;

	records_zero(p);
	for (u32 i = 0; i < m->plan->nr_possible; i++) {
		u32 at = m->plan->idx_to_cpu[i];
		struct scan_record *r = &m->record[at][p->number];

		WRITE_ONCE(r->runtime, 0);
		WRITE_ONCE(r->epoch, READ_ONCE(m->rq[at]->epoch));
	}
}

static inline bool records_due(const struct scan_process *p, u32 epoch)
{
	return (s32)(epoch - (u32)READ_ONCE(p->mm->next_scan)) >= 0;
}

/* Claim the scan; false: another CPU has it. @present: LLC that the process prefers, or -1. */
static inline bool records_begin(struct scan_process *p, u32 epoch, s32 *present,
				 struct scan_result *result)
{
	u64 next = READ_ONCE(p->mm->next_scan);

	if ((s32)(epoch - (u32)next) < 0 ||
	    port_cmpxchg64(&p->mm->next_scan, next, (u32)(epoch + 1)) != next)
		return false;
	*present = (s32)READ_ONCE(p->mm->preferred) - 1;
	result->length = 0;
	return true;
}

/* Store which LLC the process prefers; the sums are complete. */
static inline void records_prefer(struct scan_process *p, struct scan_result *result)
{
	result->preferred = scan_sums_end(&result->sums);
	if (result->preferred != result->sums.present)
		WRITE_ONCE(p->mm->preferred, (u32)(result->preferred + 1));
}

static inline size_t records_bytes(const struct scan_process *p)
{
	return sizeof(struct scan_mm) + p->machine->plan->nr_possible * sizeof(struct scan_record);
}

#endif
