// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The level at which each CPU of a root domain runs, and the search for those
 * at the lowest one: a byte a CPU, in the order of caches (cpu_slot.h).
 *
 * The CPU's run-queue lock serialises stores of its byte. A byte is one
 * location, so a search sees a CPU that changes at its old or its new level,
 * never at neither. Bytes of one line are stored beside each other without harm: no
 * architecture with SMP has to read and write back the whole word.
 *
 * cpupri_set() orders nothing. A search may therefore miss a CPU that has just
 * fallen, but then that CPU finds the task:
 *
 *	CPU falls:	F1 cpupri_set()
 *			F2 full barrier
 *			F3 look for overloaded queues
 *	Task waits:	P1 mark its queue as overloaded
 *			P2 full barrier
 *			P3 search
 *
 * F2 is in rto_others(), P2 in rto_set().
 */

#define LEVEL_INVALID 255 /* above all others: never found */

/* A task's or a queue's priority is high if the number is low. */
static u8 prio_to_level(int prio)
{
	if (prio == CPUPRI_INVALID)
		return LEVEL_INVALID;
	if (prio == CPUPRI_HIGHER)
		return CPUPRI_HIGHER;
	return MAX_RT_PRIO - 1 - prio;
}

/* One pass. Each CPU counts with the level at which the pass read it. */
static int search(const struct cpupri *cp, struct task_struct *p,
		  struct cpumask *lowest_mask,
		  bool (*fits)(struct task_struct *p, int cpu))
{
	int lowest = prio_to_level(p->prio), cpu, found = 0;

	for_each_cpu_and(cpu, &p->cpus_mask, cpu_active_mask) {
		int level = READ_ONCE(cp->level[cpu_slot[cpu]]);

		if (level > lowest || (level == lowest && !found) ||
		    (fits && !fits(p, cpu)))
			continue;
		if (!lowest_mask)
			return level + 1;
		if (level < lowest) {
			cpumask_clear(lowest_mask);
			lowest = level;
			found = level + 1;
		}
		__cpumask_set_cpu(cpu, lowest_mask);
	}
	return found;
}

/**
 * cpupri_find_fitness - find the CPUs that run the lowest level below a task's
 * @cp: the root domain's levels
 * @p: the task
 * @lowest_mask: where to store these CPUs; undefined if there are none. NULL:
 *	is there any CPU at a lower level?
 * @fitness_fn: does the task fit a CPU? NULL: it fits all. If it fits none of
 *	the lower ones, the search ignores that
 *
 * The levels may have changed on return.
 *
 * Return: 0: none; else the level of CPUs that were found, plus 1
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
