// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * core/sched/ as the kernel compiles it, with linux_api.h. All root domains of a run share one
 * order of CPUs: the first root domain makes the order, the last one frees it.
 */
#include "linux_sched.h"

#include "../../core/sched/cpu_slot.c" /* NOLINT(bugprone-suspicious-include) */
#include "../../core/sched/cpupri.c"   /* NOLINT(bugprone-suspicious-include) */

static u32 users;

static void free_tables(void)
{
	linux_machine_free();
	kfree(cpu_slot);
	kfree(cpu_slot_run);
	kfree(cpu_slot_cpu);
	cpu_slot = NULL;
	cpu_slot_run = NULL;
	cpu_slot_cpu = NULL;
}

bool linux_sched_get(const struct shard_topo *topo, bool flat)
{
	if (users) {
		users++;
		return true;
	}
	if (!linux_machine_set(topo, flat))
		return false;
	nr_cpu_slots = 0;
	cpu_slots_init();
	if (cpu_slot_cpu) {
		users = 1;
		return true;
	}
	free_tables();
	return false;
}

void linux_sched_forget(void)
{
	users = 0;
}

void linux_sched_put(void)
{
	if (--users)
		return;
	free_tables();
}

static bool task_fits(struct task_struct *p, int cpu)
{
	return p->fits((u32)cpu, p->arg);
}

/* Linux's search does not return the level at which it found CPUs. */
int linux_find(struct cpupri *cp, int level, int home, const unsigned long *allowed,
	       const unsigned long *active, unsigned long *found, bool (*fits)(u32 cpu, void *arg),
	       void *arg)
{
	struct task_struct p;
	struct cpumask *mask = (struct cpumask *)found;

	if (level <= CPUPRI_NORMAL)
		return 0;
	p.prio = level == CPUPRI_HIGHER ? CPUPRI_HIGHER : MAX_RT_PRIO - 1 - level;
	for (int i = 0; i < DIV_ROUND_UP(nr_cpu_ids, 64); i++)
		p.cpus_mask.bits[i] = READ_ONCE(allowed[i]);
	p.cpu = home;
	p.active = active;
	p.fits = fits;
	p.arg = arg;
	return fits ? cpupri_find_fitness(cp, &p, mask, task_fits) : cpupri_find(cp, &p, mask);
}
