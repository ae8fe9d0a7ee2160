/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_rto.h - the overloaded CPUs of schedshard's kernel series (core/sched/rto.h). A CPU sees
 * the overloaded CPUs of its own shard, and those of other shards with a task that may leave the
 * shard.
 */

static bool overload_alloc_mask(struct rd *rd)
{
	(void)rd; /* allocated with the counts: after the levels, which make the slots */
	return true;
}

static bool overload_alloc_counts(struct rd *rd)
{
	(void)rd;
	return true;
}

static bool rto_alloc(struct rd *rd, const struct shard_topo *topo)
{
	rd_label("rto", "struct rd_byte_line");
	if (rto_init(&rd->root->rto)) {
		memset(&rd->root->rto, 0, sizeof(rd->root->rto)); /* destroy() finds nothing */
		return false;
	}
	rd->own = port_alloc(rd->nr_cpus * sizeof(*rd->own), -1);
	for (u32 cpu = 0; rd->own && cpu < rd->nr_cpus; cpu++) {
		rd->own[cpu] = port_alloc(sizeof(**rd->own), topo->cpu[cpu].node);
		if (!rd->own[cpu])
			return false;
	}
	return rd->own;
}

static void overload_free_counts(struct rd *rd)
{
	for (u32 cpu = 0; rd->own && cpu < rd->nr_cpus; cpu++)
		port_free(rd->own[cpu], sizeof(**rd->own));
	port_free(rd->own, rd->nr_cpus * sizeof(*rd->own));
	rto_cleanup(&rd->root->rto);
}

static size_t overload_bytes(const struct rd *rd)
{
	return sizeof(rd->root->rto) + 2 * nr_cpu_slots;
}

/*
 * In the kernel series a push executes the barrier before each search; experiments execute it here.
 */
static void overload_set_cpu(struct rd *rd, u32 cpu, u64 shards)
{
	rto_publish(&rd->root->rto, (int)cpu, rd->own[cpu], shards);
	smp_mb(); /* P2 of core/sched/cpupri.c: pairs with F2 in rto_others() */
}

static void overload_clear_cpu(struct rd *rd, u32 cpu)
{
	rto_publish(&rd->root->rto, (int)cpu, rd->own[cpu], 0);
}

static u32 overloaded(struct rd *rd, u32 this_cpu, u64 *from)
{
	if (rto_others(&rd->root->rto, (int)this_cpu, from))
		return RD_OTHERS;
	return rd->root->rto.state[cpu_slot[this_cpu]] ? RD_ONLY_ME : 0;
}

static s64 cpu_or_none(int cpu)
{
	return cpu < nr_cpu_ids ? cpu : -1;
}

/* The next CPU of a walk: every overloaded CPU is visited. */
static s64 next_overloaded(const struct rd *rd, s64 cpu)
{
	return cpu_or_none(rto_next(&rd->root->rto, (int)cpu));
}

static s64 next(const struct rd *rd, u32 this_cpu, u64 from, s64 cpu)
{
	return cpu_or_none(rto_next_for(&rd->root->rto, (int)cpu, (int)this_cpu, from));
}
