// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A real-time scheduler's two questions: where can a task of this priority run at once, and which
 * CPU has a task too many? A change of a level or of overload is a plain byte store, under the lock
 * of that CPU's run queue.
 */
#include "example.h"

static void print_lowest(const struct schedshard_cpupri *pri, int level, uint32_t from,
			 const unsigned long *allowed, unsigned long *lowest)
{
	/* every CPU that is allowed is active here; Linux passes cpu_active_mask */
	int found = schedshard_cpupri_find(pri, level, from, allowed, allowed, lowest);

	if (found)
		printf("level %d: CPUs at level %d, mask of the first 64: %#lx\n", level, found - 1,
		       lowest[0]);
	else
		printf("level %d: no CPU\n", level);
}

/* From which CPUs could this CPU take tasks? */
static const char *told(struct schedshard_overload *overload, uint32_t cpu)
{
	uint32_t who = schedshard_overload_query(overload, cpu, 0);

	if (who & SCHEDSHARD_OVERLOAD_NEAR)
		return "a neighbour";
	if (who & SCHEDSHARD_OVERLOAD_WIDE)
		return "one of another shard";
	return who ? "only me" : "nobody";
}

int main(int argc, char **argv)
{
	struct schedshard_plan *plan = example_plan(argc, argv);
	struct schedshard_overload *overload = schedshard_overload_alloc(plan);
	unsigned long *allowed = example_mask(plan), *lowest = example_mask(plan);
	uint32_t a = plan->idx_to_cpu[0], b = plan->idx_to_cpu[1];
	struct schedshard_cpupri pri;

	example_need(overload && schedshard_cpupri_init(&pri, plan), "out of memory");
	/* a task pinned to two CPUs: a search reads only the lines of those */
	example_mask_set(allowed, a);
	example_mask_set(allowed, b);
	schedshard_cpupri_set(&pri, a, 50);
	schedshard_cpupri_set(&pri, b, SCHEDSHARD_CPUPRI_NORMAL);
	print_lowest(&pri, 80, a, allowed, lowest);
	schedshard_cpupri_set(&pri, b, 60);
	print_lowest(&pri, 80, a, allowed, lowest);
	print_lowest(&pri, 50, a, allowed, lowest);

	/* CPU a gets a second task that it cannot run; the task may run on any CPU */
	schedshard_overload_set(overload, a, true);
	printf("CPU %u: %s, CPU %u: %s\n", a, told(overload, a), b, told(overload, b));
	printf("first to pull from: CPU %lld\n",
	       (long long)schedshard_overload_next_wide(overload, -1));
	schedshard_overload_clear(overload, a);
	printf("CPU %u: %s\n", b, told(overload, b));

	schedshard_cpupri_cleanup(&pri);
	schedshard_overload_free(overload);
	free(lowest);
	free(allowed);
	schedshard_plan_free(plan);
	return 0;
}
