/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_bytes.h - the priority map of schedshard's kernel series (core/sched/): a byte per CPU in
 * the order of caches; with FLAT in the order of CPU numbers.
 */

static void set_level(struct rd *rd, u32 cpu, int level)
{
	int prio =
		level == CPUPRI_INVALID || level == CPUPRI_HIGHER ? level : MAX_RT_PRIO - 1 - level;

	cpupri_set(&rd->root->cpupri, (int)cpu, prio);
}

static int find(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	return linux_find(&rd->root->cpupri, level, found ? -1 : (int)this_cpu, allowed, rd->active,
			  found, fits, arg);
}

static int find_near(struct rd *rd, int level, u32 home_cpu, const unsigned long *allowed,
		     unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	return linux_find(&rd->root->cpupri, level, (int)home_cpu, allowed, rd->active, found, fits,
			  arg);
}

static bool levels_alloc(struct rd *rd, const struct shard_topo *topo)
{
	if (!linux_sched_get(topo, FLAT))
		return false;
	linux_node = rd->home;
	rd_label("cpupri", "struct rd_byte_line");
	if (!cpupri_init(&rd->root->cpupri))
		return true;
	linux_sched_put();
	return false;
}

static void levels_free(struct rd *rd)
{
	if (!rd->root->cpupri.level)
		return;
	cpupri_cleanup(&rd->root->cpupri);
	linux_sched_put();
}

static size_t levels_bytes(const struct rd *rd)
{
	(void)rd;
	return nr_cpu_slots;
}
