// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A real-time scheduler's two questions: where can a task of this priority run at once, and which
 * CPU has a task too many? A change of a level or of overload is a plain byte store, under the lock
 * of that CPU's run queue.
 */
#include "example.h"

static void print_lowest(const struct cpupri *pri, int level, u32 from,
			 const unsigned long *allowed, unsigned long *lowest)
{
	/* every CPU that is allowed is active here; Linux passes cpu_active_mask */
	int found = cpupri_find(pri, level, from, allowed, allowed, lowest);

	if (found)
		printf("level %d: CPUs at level %d, mask of the first 64: %#lx\n", level, found - 1,
		       lowest[0]);
	else
		printf("level %d: no CPU\n", level);
}

/* From which CPUs could this CPU take tasks? */
static const char *told(struct overload *overload, u32 cpu)
{
	u32 who = overload_query(overload, cpu, 0);

	if (who & OVERLOAD_NEAR)
		return "a neighbour";
	if (who & OVERLOAD_WIDE)
		return "one of another shard";
	return who ? "only me" : "nobody";
}

int main(int argc, char **argv)
{
	struct shard_plan *plan = example_plan(argc, argv);
	struct overload *overload = overload_alloc(plan);
	unsigned long *allowed = example_mask(plan), *lowest = example_mask(plan);
	u32 a = plan->idx_to_cpu[0], b = plan->idx_to_cpu[1];
	struct cpupri pri;

	example_need(overload && cpupri_init(&pri, plan), "out of memory");
	/* a task pinned to two CPUs: a search reads only the lines of those */
	example_mask_set(allowed, a);
	example_mask_set(allowed, b);
	cpupri_set(&pri, a, 50);
	cpupri_set(&pri, b, CPUPRI_NORMAL);
	print_lowest(&pri, 80, a, allowed, lowest);
	cpupri_set(&pri, b, 60);
	print_lowest(&pri, 80, a, allowed, lowest);
	print_lowest(&pri, 50, a, allowed, lowest);

	/* CPU a gets a second task that it cannot run; the task may run on any CPU */
	overload_set(overload, a, true);
	printf("CPU %u: %s, CPU %u: %s\n", a, told(overload, a), b, told(overload, b));
	printf("first to pull from: CPU %lld\n", (long long)overload_next_wide(overload, -1));
	overload_clear(overload, a);
	printf("CPU %u: %s\n", b, told(overload, b));

	cpupri_cleanup(&pri);
	overload_free(overload);
	free(lowest);
	free(allowed);
	shard_plan_free(plan);
	return 0;
}
