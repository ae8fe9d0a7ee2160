/* SPDX-License-Identifier: GPL-2.0-only */
/* shard_split=N: cut each last-level cache into N parts, for tests. */
#ifndef _KERNEL_SCHED_SHARD_SPLIT_H
#define _KERNEL_SCHED_SHARD_SPLIT_H

static unsigned int shard_split __initdata = 1;

static int __init shard_split_setup(char *text)
{
	unsigned int parts;

	if (!text || kstrtouint(text, 10, &parts) || parts < 1 || parts > 64)
		pr_warn("sched: shard_split= takes a number from 1 to 64\n");
	else
		shard_split = parts;
	return 0;
}
early_param("shard_split", shard_split_setup);

/* @place: the CPUs of one cache, in order. */
static void __init shard_split_cache(struct cpu_place *place, unsigned int n,
				     unsigned int cache)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		place[i].cache = cache * shard_split + i * shard_split / n;
}

/* @place: all CPUs, in order. */
static void __init shard_split_caches(struct cpu_place *place, unsigned int n)
{
	unsigned int first, end, cache;

	for (first = 0; shard_split > 1 && first < n; first = end) {
		cache = place[first].cache;
		end = first + 1;
		while (end < n && place[end].cache == cache &&
		       place[end].node == place[first].node)
			end++;
		shard_split_cache(&place[first], end - first, cache);
	}
}

/* For people who read the log of a test. */
static void __init shard_split_report(void)
{
	pr_info("sched: %u possible CPUs in %u shards, shard_split=%u\n",
		num_possible_cpus(), nr_cpu_slots / SHARD_SLOTS, shard_split);
}

#endif /* _KERNEL_SCHED_SHARD_SPLIT_H */
