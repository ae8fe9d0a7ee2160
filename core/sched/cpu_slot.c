// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The slots of all possible CPUs, in the order of last-level caches.
 *
 * The first root domain needs them, long before a second CPU can report its
 * caches. So an architecture says in arch_cpu_place() what firmware and the
 * boot CPU know. Otherwise the CPUs of a NUMA node count as those of one cache.
 *
 * A wrong place costs only time: a line then has writers in several caches, as
 * in Linux's own structures.
 */

unsigned int *cpu_slot __ro_after_init;
u8 *cpu_slot_run __ro_after_init;
int *cpu_slot_cpu __ro_after_init;
unsigned int nr_cpu_slots __ro_after_init;

void __init __weak arch_cpu_place(struct cpu_place *place)
{
}

static int __init compare_places(const void *first, const void *second)
{
	const struct cpu_place *a = first, *b = second;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->cache != b->cache)
		return a->cache < b->cache ? -1 : 1;
	return a->core < b->core ? -1 : a->core > b->core;
}

/*
 * Cut the CPUs of a cache into few shards of whole cores, at multiples of eight
 * CPUs if the cores let it. Each CPU gets its shard's first slot.
 */
static void __init cut_cache(const struct cpu_place *place, unsigned int n)
{
	unsigned int each =
		round_up(DIV_ROUND_UP(n, DIV_ROUND_UP(n, SHARD_SLOTS)), 8);
	unsigned int i, end, first = 0;

	for (i = 0; i < n; i = end) {
		end = i + 1;
		while (end < n && end - i < each &&
		       place[end].core == place[i].core)
			end++;
		if (end - first > each) {
			nr_cpu_slots += SHARD_SLOTS;
			first = i;
		}
		for (; i < end; i++)
			cpu_slot[place[i].cpu] = nr_cpu_slots;
	}
	nr_cpu_slots += SHARD_SLOTS;
}

/*
 * In a shard CPUs are in the order of their numbers. So a search compares a run
 * of them at once: cpu_slot_run, to the end of the eight slots of a word.
 */
static void __init number_slots(void)
{
	int cpu;

	/* A shard's first slot counts its CPUs that have a slot. */
	for_each_possible_cpu(cpu)
		cpu_slot[cpu] += cpu_slot_cpu[cpu_slot[cpu]]++;
	for_each_possible_cpu(cpu)
		cpu_slot_cpu[cpu_slot[cpu]] = cpu;

	for (cpu = nr_cpu_ids - 1; cpu >= 0; cpu--) {
		cpu_slot_run[cpu] = 1;
		if (cpu + 1 < nr_cpu_ids && cpu_slot[cpu] % 8 < 7 &&
		    cpu_slot[cpu + 1] == cpu_slot[cpu] + 1)
			cpu_slot_run[cpu] += cpu_slot_run[cpu + 1];
	}
}

void __init cpu_slots_init(void)
{
	unsigned int n = 0, first, end;
	struct cpu_place *place;
	int cpu;

	place = kcalloc(num_possible_cpus(), sizeof(*place), GFP_KERNEL);
	cpu_slot = kcalloc(nr_cpu_ids, sizeof(*cpu_slot), GFP_KERNEL);
	cpu_slot_run = kcalloc(nr_cpu_ids, sizeof(*cpu_slot_run), GFP_KERNEL);
	if (!place || !cpu_slot || !cpu_slot_run)
		panic("sched: no memory for the slots of CPUs\n");

	for_each_possible_cpu(cpu) {
		place[n].cpu = cpu;
		place[n].node = cpu_to_node(cpu);
		place[n].core = cpu;
		arch_cpu_place(&place[n++]);
	}
	sort(place, n, sizeof(*place), compare_places, NULL);

	for (first = 0; first < n; first = end) {
		end = first + 1;
		while (end < n && place[end].node == place[first].node &&
		       place[end].cache == place[first].cache)
			end++;
		cut_cache(&place[first], end - first);
	}

	cpu_slot_cpu = kcalloc(nr_cpu_slots, sizeof(*cpu_slot_cpu), GFP_KERNEL);
	if (!cpu_slot_cpu)
		panic("sched: no memory for the slots of CPUs\n");
	number_slots();
	kfree(place);
}

/* A byte of @value for each slot, or NULL. The caller frees it by kfree(). */
u8 *cpu_slot_bytes(u8 value)
{
	/* kmalloc() aligns a multiple of a line's size to the line. */
	u8 *bytes = kmalloc(nr_cpu_slots, GFP_KERNEL);

	if (bytes)
		memset(bytes, value, nr_cpu_slots);
	return bytes;
}
