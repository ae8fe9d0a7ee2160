/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * idle_set.h - one interface for every layout of the set of CPUs whose tick is stopped, and of its
 * flags and times: Linux's `nohz`. The simulated fair class (model/experiments/fair/) calls nothing
 * else. The semantic tests run every layout through it.
 *
 *               | enter, exit, stay | any, test, pick, walk | times
 *  enter, exit  | other CPUs        | ok, see below         | ok
 *  any to walk  |                   | ok                    | ok
 *  times        |                   |                       | ok: single words, no order
 *
 * "any to walk": any, test, pick, walk. "other CPUs": the two calls must come from different CPUs.
 * Each CPU enters and leaves only itself, alternately.
 *
 * The scheduler relies on these guarantees of every layout:
 *
 *  - if a CPU has entered and does not leave, each later walk and pick finds it exactly once;
 *  - any() is true while there is such a CPU;
 *  - enter() makes the CPU visible before it sets the flags. A balancer clears a flag, executes a
 *    full barrier and walks. Either the walk sees the CPU, or the flag stays set for the next one.
 *    stay() does the same for a CPU that is in the set already.
 */
#ifndef LAYOUTS_IDLE_SET_H
#define LAYOUTS_IDLE_SET_H

#include "port.h"
#include "shard_topo.h"

/**
 * struct nohz - as in Linux 6.12 on 64 bits with CPUMASK_OFFSTACK=y; a field that a layout does not
 * use stays 0
 * @idle_cpus_mask: the set
 * @nr_cpus: number of CPUs in the set
 * @has_blocked: one of these CPUs may have blocked load that decays
 * @needs_update: one of these CPUs is new, so next_balance may be too late
 * @next_balance: jiffy from which a busy CPU may request a balance
 * @next_blocked: jiffy from which a busy CPU may request an update of blocked load
 */
struct nohz {
	void *idle_cpus_mask;
	u32 nr_cpus;
	u32 has_blocked;
	u32 needs_update;
	u64 next_balance;
	u64 next_blocked;
} port_cacheline_aligned;

static_assert(sizeof(struct nohz) == PORT_CACHELINE, "one line, as in Linux");
static_assert(offsetof(struct nohz, nr_cpus) == 8, "beside the pointer, as in Linux");
static_assert(offsetof(struct nohz, next_balance) == 24, "as in Linux");

/* The part that all layouts share; each appends its own fields. */
struct idle_set {
	struct nohz *nohz;
};

/**
 * struct idle_ops - one layout
 * @name: as in every table
 * @time_first: a busy tick checks whether a balance is due before it calls any(), as Linux 7.0 does
 * @whole_core: the balancer is on a core that idles as a whole, if there is one, as in Linux 7.3
 * @create: returns an empty set for all possible CPUs, or NULL if there is no memory
 * @destroy: frees the set, which may be NULL; no other function runs meanwhile
 * @enter: @cpu stops its tick
 * @stay: a CPU in the set goes idle again
 * @exit: @cpu takes its first busy tick
 * @any: may the set contain a CPU? @this_cpu is the caller
 * @test: is @cpu in the set?
 * @pick: candidates for the idle load balancer, one after the other, each once: the first (@after
 *	-1), or the one that follows @after. @this_cpu is the caller, and may be a candidate. -1: no
 *	more
 * @walk: as @pick, the CPUs for which the balancer on @this_cpu balances, in its order
 * @bytes: size of the set, without struct nohz
 */
struct idle_ops {
	const char *name;
	bool time_first, whole_core;
	struct idle_set *(*create)(const struct shard_topo *topo, const struct shard_plan *plan);
	void (*destroy)(struct idle_set *s);
	void (*enter)(struct idle_set *s, u32 cpu);
	void (*stay)(struct idle_set *s);
	void (*exit)(struct idle_set *s, u32 cpu);
	bool (*any)(const struct idle_set *s, u32 this_cpu);
	bool (*test)(const struct idle_set *s, u32 cpu);
	s64 (*pick)(const struct idle_set *s, u32 this_cpu, s64 after);
	s64 (*walk)(const struct idle_set *s, u32 this_cpu, s64 after);
	size_t (*bytes)(const struct idle_set *s);
};

/* In the order of every table; NULL-terminated. */
extern const struct idle_ops *const idle_layouts[];

extern const struct idle_ops idle_stock, idle_no_count, idle_flags, idle_linux73;
extern const struct idle_ops idle_sbm_first, idle_sbm_wrap, idle_slots;

/** idle_alloc - allocate a layout's set, @size bytes, and its struct nohz. NULL: out of memory. */
struct idle_set *idle_alloc(size_t size);
void idle_free(struct idle_set *s, size_t size);

/* Raise flags as Linux's nohz_balance_enter_idle() does at its end, after an atomic operation. */
static inline void idle_raise_flags(struct nohz *nohz)
{
	/* Pairs with the balancer's smp_mb() between clearing a flag and its walk. */
	smp_mb__after_atomic();
	WRITE_ONCE(nohz->needs_update, 1);
	WRITE_ONCE(nohz->has_blocked, 1);
}

/*
 * Set a flag unless it is set. The caller has a full barrier between the store of the CPU's bit, or
 * its load, and this read of the flag. If the flag is 1, it stays 1, or the walk of the balancer
 * that clears it sees the CPU.
 */
static inline void idle_raise_if_down(u32 *flag)
{
	if (!READ_ONCE(*flag))
		WRITE_ONCE(*flag, 1);
}

/* stay() for layouts that read the flag first: they need a barrier that the others do not. */
static inline void idle_stay_if_down(struct idle_set *s)
{
	/* Pairs with the balancer's smp_mb(): orders the CPU's load before the read of the flag. */
	smp_mb();
	idle_raise_if_down(&s->nohz->has_blocked);
}

static inline void idle_stay(struct idle_set *s)
{
	WRITE_ONCE(s->nohz->has_blocked, 1);
}

/* The first CPU of a cpumask in [@from, @end), or -1 if there is none. Reads each word once. */
s64 idle_mask_next(const unsigned long *mask, u32 from, u32 end);

#endif
