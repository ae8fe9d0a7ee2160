// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps the level of each CPU of a root domain as a byte, in the order of
 * caches (cpu_slot.h). Searches for CPUs at the lowest level.
 *
 * The CPU's run-queue lock serialises stores of its byte. A byte is one
 * location, so a search sees a CPU that changes at its old or its new level,
 * never at neither. Neighbours in a line are safe: no architecture with SMP has
 * to read a word and write it back to store a byte.
 *
 * cpupri_set() orders nothing. A search may therefore miss a CPU whose level
 * has just dropped, but then that CPU finds the task:
 *
 *	Level drops:	F1 cpupri_set()
 *			F2 full barrier
 *			F3 look for overloaded queues, at highest_prio.next
 *	Task waits:	P1 store highest_prio.next, mark the queue
 *			P2 full barrier
 *			P3 search
 *
 * P1 changes no mark if the queue is overloaded already, so P2 must not depend
 * on a change of the mark. F2 is in rto_others(), P2 in push_rt_task().
 */

#define LEVEL_INVALID 127 /* above all others: never found */

#define EVERY_BYTE 0x0101010101010101ull
#define TOP_BITS   (0x80 * EVERY_BYTE)

/* A task's or a queue's priority is high if the number is low. */
static u8 prio_to_level(int prio)
{
	if (prio == CPUPRI_INVALID)
		return LEVEL_INVALID;
	if (prio == CPUPRI_HIGHER)
		return CPUPRI_HIGHER;
	return max(MAX_RT_PRIO - 1 - prio, CPUPRI_NORMAL);
}

/* Each byte of @levels that is below @limit (at most 127), as a bit. */
static unsigned int levels_below(u64 levels, unsigned int limit)
{
	u64 below = ~((levels | TOP_BITS) - limit * EVERY_BYTE) & TOP_BITS;

	return (below >> 7) * 0x0102040810204080ull >> 56;
}

/* The lowest level of @bits; @limit if none is below that. */
static unsigned int lowest_of(u64 levels, unsigned long bits,
			      unsigned int limit)
{
	while (limit && (bits &= levels_below(levels, limit)))
		limit = (u8)(levels >> __ffs(bits) * 8);
	return limit;
}

static unsigned long that_fit(struct task_struct *p, int cpu,
			      unsigned long bits,
			      bool (*fits)(struct task_struct *p, int cpu))
{
	unsigned long left;

	for (left = bits; left; left &= left - 1)
		if (!fits(p, cpu + __ffs(left)))
			bits &= ~(left & -left);
	return bits;
}

/* The levels of @cpu and of the CPUs after it in its run, see cpu_slot_run. */
static u64 read_levels(const struct cpupri *cp, int cpu)
{
	unsigned int slot = cpu_slot[cpu];
	__le64 levels = READ_ONCE(*(__le64 *)&cp->level[slot & ~7]);

	return le64_to_cpu(levels) >> slot % 8 * 8;
}

/*
 * One pass, over the CPUs that share the cache of the task's CPU, then over the
 * others. If near CPUs run no RT task, the pass ends with them, because
 * find_lowest_rq() takes a near one.
 */
static int search(const struct cpupri *cp, struct task_struct *p,
		  struct cpumask *lowest_mask,
		  bool (*fits)(struct task_struct *p, int cpu))
{
	struct sched_domain *sd =
		rcu_dereference_all(per_cpu(sd_llc, task_cpu(p)));
	const struct cpumask *near = sd ? sched_domain_span(sd) : cpu_none_mask;
	unsigned int words = BITS_TO_LONGS(nr_cpu_ids), i, w, k, level;
	unsigned int lowest = prio_to_level(p->prio), found = 0;
	unsigned long left, run, bits;
	u64 levels;
	int cpu;

	if (lowest == LEVEL_INVALID)
		return 0; /* a deadline task, which is searched for as a donor */
	for (i = 0; i < 2 * words; i++) {
		if (i == words && found == CPUPRI_NORMAL + 1)
			break;
		w = i % words;
		left = READ_ONCE(cpumask_bits(&p->cpus_mask)[w]) &
		       READ_ONCE(cpumask_bits(cpu_active_mask)[w]) &
		       (cpumask_bits(near)[w] ^ (i < words ? 0 : ~0ul));
		for (; left; left &= ~(run << k)) {
			k = __ffs(left);
			cpu = w * BITS_PER_LONG + k;
			levels = read_levels(cp, cpu);
			run = left >> k & ((1 << cpu_slot_run[cpu]) - 1);
			bits = run & levels_below(levels, lowest + !!found);
			if (bits && fits)
				bits = that_fit(p, cpu, bits, fits);
			if (!bits)
				continue;
			if (!lowest_mask)
				return 1;
			level = lowest_of(levels, bits, lowest);
			if (level < lowest) {
				cpumask_clear(lowest_mask);
				lowest = level;
				found = level + 1;
				bits &= levels_below(levels, found);
			}
			cpumask_bits(lowest_mask)[w] |= bits << k;
		}
	}
	return found;
}

/**
 * cpupri_find_fitness - find the CPUs that run the lowest level below a task's
 * @cp: the root domain's levels
 * @p: the task
 * @lowest_mask: where to store these CPUs. If some that share the cache of
 *	@p's CPU run no RT task, only those are stored. If there are none, the
 *	mask is undefined. NULL: is there any CPU at a lower level?
 * @fitness_fn: does the task fit a CPU? NULL: it fits all. If it fits none of
 *	the lower ones, the search ignores that
 *
 * The levels may have changed on return.
 *
 * Return: 0: none; 1: without a mask; else the level of its CPUs plus 1
 */
int cpupri_find_fitness(struct cpupri *cp, struct task_struct *p,
			struct cpumask *lowest_mask,
			bool (*fitness_fn)(struct task_struct *p, int cpu))
{
	int found = 0;

	if (lowest_mask && fitness_fn)
		found = search(cp, p, lowest_mask, fitness_fn);
	return found ? found : search(cp, p, lowest_mask, NULL);
}

int cpupri_find(struct cpupri *cp, struct task_struct *p,
		struct cpumask *lowest_mask)
{
	return search(cp, p, lowest_mask, NULL);
}

/**
 * cpupri_set - store the level of a CPU
 * @cp: the root domain's levels
 * @cpu: the CPU, whose cpu_rq(cpu)->lock is held
 * @prio: its highest priority, CPUPRI_HIGHER or CPUPRI_INVALID
 */
void cpupri_set(struct cpupri *cp, int cpu, int prio)
{
	WRITE_ONCE(cp->level[cpu_slot[cpu]], prio_to_level(prio));
}

/* Return: -ENOMEM, or 0: no CPU has a level. */
int cpupri_init(struct cpupri *cp)
{
	cp->level = cpu_slot_bytes(LEVEL_INVALID);
	return cp->level ? 0 : -ENOMEM;
}

void cpupri_cleanup(struct cpupri *cp)
{
	kfree(cp->level);
}
