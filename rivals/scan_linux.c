// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Linux's scan since 2026, written from its behaviour. A run queue has a runtime, an epoch and a
 * lock for the two. A process has a runtime and an epoch for each possible CPU, in per-CPU memory,
 * where records of the same CPU lie side by side. Accounting takes the lock of the own run queue. A
 * scan takes that of every CPU in turn, updates run queue and record, and so writes both lines of
 * every CPU. That, not the sums, is its cost.
 *
 * Linux 7.3 also reads which thread runs on each CPU, on another line of the run queue. Its read of
 * that thread's own line is not simulated.
 *
 * A fork or exec takes a record from the memory of every possible CPU. It zeroes the record and
 * stores the epoch of that CPU's run queue.
 *
 * Only the lock's holder reads and writes both words; no other order is needed.
 *
 * The mask of visited CPUs is the kernel's variant visited-mask (kernel/cocci/rivals/): records,
 * locks and fork are Linux 7.3's. Accounting sets the CPU's bit, before it takes the lock, if the
 * bit is not set. A scan looks at the CPUs of the mask, in all nodes. It clears the bit of a CPU
 * whose share is 0, which stays 0 until the CPU accounts again, so the sums are those of all CPUs.
 * A CPU that accounts while a scan clears its bit may be missing until it accounts again.
 */
#include "rd.h"
#include "report_types.h"
#include "scan.h"

/* Part of struct rq, on a line of its own. */
struct scan_rq {
	u64 lock;
	u64 runtime;
	u64 epoch;
} port_cacheline_aligned;

/* Another line of struct rq, written when the running thread changes. */
struct scan_curr {
	u64 process; /* number + 1 */
} port_cacheline_aligned;

/* A process on a CPU. */
struct scan_record {
	u64 runtime;
	u64 epoch;
};

/* The part of a process that all of its CPUs use. */
struct scan_mm {
	u64 next_scan; /* first epoch in which a scan is due */
	u64 preferred; /* LLC + 1 */
	u64 running;   /* threads, of Linux 7.3 */
} port_cacheline_aligned;

#define MASK_MAX_WORDS 128u /* 8,192 CPUs, the most that Linux may have on x86 */

struct scan_machine {
	const struct shard_plan *plan;
	const unsigned long *online;
	struct scan_rq **rq;	     /* by CPU number */
	struct scan_curr **curr;     /* by CPU number */
	struct scan_record **record; /* by CPU number: of all processes */
	u32 processes, used;
};

struct scan_process {
	struct scan_machine *machine;
	struct scan_mm *mm;
	u64 *mask; /* of visited CPUs, by CPU number; NULL: not that variant */
	u32 number;
	s32 home;
	bool by_node;
	bool counts_running;
};

static bool is_online(const struct scan_machine *m, u32 cpu)
{
	return m->online[cpu / 64] >> cpu % 64 & 1;
}

static s32 node_of(const struct scan_machine *m, u32 cpu)
{
	return m->plan->shard[m->plan->slot[cpu].shard].node;
}

static s32 llc_of(const struct scan_machine *m, u32 cpu)
{
	return (s32)m->plan->shard[m->plan->slot[cpu].shard].llc;
}

static u32 mask_words(const struct scan_machine *m)
{
	return (m->plan->nr_cpus + 63) / 64;
}

static void destroy(struct scan_machine *m)
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

static bool fill(struct scan_machine *m)
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
		m->rq[cpu] = port_alloc(sizeof(struct scan_rq), node_of(m, cpu));
		rd_label("records of a CPU", "struct scan_record");
		m->record[cpu] =
			port_alloc(m->processes * sizeof(struct scan_record), node_of(m, cpu));
		rd_label("run queue, running thread", "struct scan_curr");
		m->curr[cpu] = port_alloc(sizeof(struct scan_curr), node_of(m, cpu));
		if (!m->rq[cpu] || !m->record[cpu] || !m->curr[cpu])
			return false;
	}
	return true;
}

static struct scan_machine *create(const struct shard_plan *plan, const unsigned long *online,
				   u32 processes)
{
	struct scan_machine *m;

	rd_label("scans", NULL);
	m = port_alloc(sizeof(*m), -1);
	if (!m)
		return NULL;
	m->plan = plan;
	m->online = online;
	m->processes = processes;
	if (fill(m))
		return m;
	destroy(m);
	return NULL;
}

static struct scan_process *process(struct scan_machine *m, s32 home, u32 epoch, bool by_node)
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
	p->by_node = by_node;
	p->number = m->used++;
	p->mm->next_scan = epoch + 1;
	return p;
}

static struct scan_process *process_linux73(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p = process(m, home, epoch, true);

	if (p)
		p->counts_running = true;
	return p;
}

static struct scan_process *process_full(struct scan_machine *m, s32 home, u32 epoch)
{
	return process(m, home, epoch, false);
}

static struct scan_process *process_node(struct scan_machine *m, s32 home, u32 epoch)
{
	return process(m, home, epoch, true);
}

static void end(struct scan_process *p)
{
	port_free(p->mask, mask_words(p->machine) * sizeof(*p->mask));
	port_free(p->mm, sizeof(*p->mm));
	port_free(p, sizeof(*p));
}

/* The mask follows the group, which fills its lines, so no other field is on the mask's lines. */
static struct scan_process *process_mask(struct scan_machine *m, s32 home, u32 epoch)
{
	struct scan_process *p;

	if (mask_words(m) > MASK_MAX_WORDS)
		return NULL;
	p = process_linux73(m, home, epoch);
	if (!p)
		return NULL;
	rd_label("mask of visited CPUs", NULL);
	p->mask = port_alloc(mask_words(m) * sizeof(*p->mask), home);
	if (p->mask)
		return p;
	end(p);
	return NULL;
}

static void lock(struct scan_rq *rq)
{
	while (port_cmpxchg64(&rq->lock, 0, 1))
		while (READ_ONCE(rq->lock))
			cpu_relax();
}

static void unlock(struct scan_rq *rq)
{
	smp_store_release(&rq->lock, 0); /* pairs with port_cmpxchg64() in lock() */
}

static u64 halved(u64 runtime, u64 times)
{
	return times < 64 ? runtime >> times : 0;
}

/* Under the lock: bring both to @epoch. Writes nothing that is up to date. */
static void update(struct scan_rq *rq, struct scan_record *r, u32 epoch)
{
	s32 passed = (s32)(epoch - (u32)rq->epoch);
	u64 behind;

	if (passed > 0) {
		rq->epoch += (u32)passed;
		rq->runtime = halved(rq->runtime, (u32)passed);
	}
	behind = rq->epoch - r->epoch;
	if (behind) {
		r->epoch = rq->epoch;
		r->runtime = halved(r->runtime, behind);
	}
}

static void run(struct scan_process *p, u32 cpu)
{
	if (p->counts_running && READ_ONCE(p->machine->curr[cpu]->process) != p->number + 1)
		WRITE_ONCE(p->machine->curr[cpu]->process, p->number + 1);
}

static bool account(struct scan_process *p, u32 cpu, u32 epoch, u64 ns)
{
	struct scan_rq *rq = p->machine->rq[cpu];
	struct scan_record *r = &p->machine->record[cpu][p->number];

	lock(rq);
	update(rq, r, epoch);
	r->runtime += ns;
	rq->runtime += ns;
	unlock(rq);
	return true;
}

static bool account_mask(struct scan_process *p, u32 cpu, u32 epoch, u64 ns)
{
	u64 *word = &p->mask[cpu / 64], bit = 1ull << cpu % 64;

	if (!(READ_ONCE(*word) & bit))
		port_or64(word, bit);
	return account(p, cpu, epoch, ns);
}

static u64 share(const struct scan_process *p, u32 cpu, u32 epoch, u64 *runtime)
{
	struct scan_rq *rq = p->machine->rq[cpu];
	struct scan_record *r = &p->machine->record[cpu][p->number];
	u64 mine, all;

	lock(rq);
	update(rq, r, epoch);
	mine = r->runtime;
	all = rq->runtime;
	unlock(rq);
	*runtime += mine;
	return mine * OCCUPANCY_SCALE / (all + 1);
}

/* Without the group's own memory, which every process has. */
static void fork_process(struct scan_process *p, u32 cpu)
{
	const struct scan_machine *m = p->machine;

	(void)cpu;
	for (u32 i = 0; i < m->plan->nr_possible; i++) {
		struct scan_record *r = &m->record[m->plan->idx_to_cpu[i]][p->number];

		WRITE_ONCE(r->runtime, 0);
		WRITE_ONCE(r->epoch, 0);
	}
	for (u32 i = 0; i < m->plan->nr_possible; i++) {
		u32 at = m->plan->idx_to_cpu[i];
		struct scan_record *r = &m->record[at][p->number];

		WRITE_ONCE(r->runtime, 0);
		WRITE_ONCE(r->epoch, READ_ONCE(m->rq[at]->epoch));
	}
}

/* The mask is in the group's memory, which a fork takes zeroed. */
static void fork_mask(struct scan_process *p, u32 cpu)
{
	for (u32 w = 0; w < mask_words(p->machine); w++)
		WRITE_ONCE(p->mask[w], 0);
	fork_process(p, cpu);
}

static bool due(const struct scan_process *p, u32 epoch)
{
	return (s32)(epoch - (u32)READ_ONCE(p->mm->next_scan)) >= 0;
}

/* Is the CPU on a node to which the scan is limited? */
static bool in_reach(const struct scan_process *p, u32 cpu, u32 from_cpu, s32 preferred_node)
{
	s32 node = node_of(p->machine, cpu);

	return !p->by_node || p->home < 0 || node == p->home || node == preferred_node ||
	       node == node_of(p->machine, from_cpu);
}

static s32 node_of_llc(const struct shard_plan *plan, s32 llc)
{
	for (u32 i = 0; i < plan->nr_shards; i++)
		if ((s32)plan->shard[i].llc == llc)
			return plan->shard[i].node;
	return -1;
}

/* Claim the scan; false: another CPU has. @present: the LLC that the process prefers, -1: none. */
static bool begin(struct scan_process *p, u32 epoch, s32 *present, struct scan_result *result)
{
	u64 next = READ_ONCE(p->mm->next_scan);

	if ((s32)(epoch - (u32)next) < 0 ||
	    port_cmpxchg64(&p->mm->next_scan, next, (u32)(epoch + 1)) != next)
		return false;
	*present = (s32)READ_ONCE(p->mm->preferred) - 1;
	result->length = 0;
	result->runtime = 0;
	return true;
}

static void prefer(struct scan_process *p, struct scan_result *result)
{
	result->preferred = occupancy_end(&result->sums);
	if (result->preferred != result->sums.present)
		WRITE_ONCE(p->mm->preferred, (u32)(result->preferred + 1));
}

static bool scan(struct scan_process *p, u32 cpu, u32 epoch, s32 timeout,
		 struct scan_result *result)
{
	const struct scan_machine *m = p->machine;
	s32 present, preferred_node;
	u32 running = 0;

	if (!begin(p, epoch, &present, result))
		return false;
	preferred_node = node_of_llc(m->plan, present);
	occupancy_begin(&result->sums, present);
	for (u32 i = 0; i < m->plan->nr_possible; i++) {
		u32 at = m->plan->idx_to_cpu[i];

		if (!is_online(m, at) || !in_reach(p, at, cpu, preferred_node))
			continue;
		result->length++;
		occupancy_cpu(&result->sums, llc_of(m, at), share(p, at, epoch, &result->runtime));
		if (p->counts_running)
			running += READ_ONCE(m->curr[at]->process) == p->number + 1;
	}
	if (p->counts_running)
		WRITE_ONCE(p->mm->running, running);
	prefer(p, result);
	return true;
}

/*
 * Look at a shard's CPUs that the mask has now, and take all of the shard out of @left. Return:
 * running threads.
 */
static u32 scan_shard(struct scan_process *p, const struct shard *shard, u64 *left, u32 epoch,
		      struct scan_result *result)
{
	const struct scan_machine *m = p->machine;
	const u32 *cpus = &m->plan->idx_to_cpu[shard->first_idx];
	u32 running = 0;

	for (u32 i = 0; i < shard->nr_cpus; i++) {
		u64 *word = &p->mask[cpus[i] / 64], bit = 1ull << cpus[i] % 64, part;

		left[cpus[i] / 64] &= ~bit;
		if (!(READ_ONCE(*word) & bit))
			continue;
		result->length++;
		part = share(p, cpus[i], epoch, &result->runtime);
		occupancy_cpu(&result->sums, (s32)shard->llc, part);
		if (!part)
			port_and64(word, ~bit);
		running += READ_ONCE(m->curr[cpus[i]]->process) == p->number + 1;
	}
	return running;
}

/*
 * As the kernel's loop: a copy of the mask says which LLCs to look at, those with the lowest CPU
 * numbers first, and the mask itself which of their CPUs.
 */
static bool scan_mask(struct scan_process *p, u32 cpu, u32 epoch, s32 timeout,
		      struct scan_result *result)
{
	const struct scan_machine *m = p->machine;
	const struct shard *shard, *past = m->plan->shard + m->plan->nr_shards;
	u64 left[MASK_MAX_WORDS];
	u32 words = mask_words(m), running = 0, llc;
	s32 present;

	if (!begin(p, epoch, &present, result))
		return false;
	occupancy_begin(&result->sums, present);
	for (u32 w = 0; w < words; w++)
		left[w] = READ_ONCE(p->mask[w]) & m->online[w];
	for (u32 w = 0; w < words; w++) {
		while (left[w]) {
			u32 at = w * 64 + (u32)__builtin_ctzll(left[w]);

			shard = &m->plan->shard[m->plan->slot[at].shard];
			llc = shard->llc;
			while (shard > m->plan->shard && shard[-1].llc == llc)
				shard--;
			for (; shard < past && shard->llc == llc; shard++)
				running += scan_shard(p, shard, left, epoch, result);
		}
	}
	WRITE_ONCE(p->mm->running, running);
	prefer(p, result);
	return true;
}

static size_t bytes(const struct scan_process *p)
{
	return sizeof(struct scan_mm) + p->machine->plan->nr_possible * sizeof(struct scan_record);
}

static size_t bytes_mask(const struct scan_process *p)
{
	return bytes(p) + mask_words(p->machine) * sizeof(*p->mask);
}

#define SCAN_OPS(name_, process_, fork_, account_, scan_, bytes_)                         \
	{                                                                                 \
		.name = name_, .create = create, .destroy = destroy, .process = process_, \
		.end = end, .fork = fork_, .run = run, .account = account_, .due = due,   \
		.scan = scan_, .bytes = bytes_,                                           \
	}
#define SCAN_ALL(name, process) SCAN_OPS(name, process, fork_process, account, scan, bytes)

const struct scan_ops scan_full = SCAN_ALL("full", process_full);
const struct scan_ops scan_node = SCAN_ALL("node", process_node);
const struct scan_ops scan_linux73 = SCAN_ALL("linux73", process_linux73);
const struct scan_ops scan_linux73_mask =
	SCAN_OPS("linux73-mask", process_mask, fork_mask, account_mask, scan_mask, bytes_mask);

const struct scan_ops *const scan_ways[] = { &scan_full,	 &scan_node,	&scan_linux73,
					     &scan_linux73_mask, &scan_visited, NULL };
