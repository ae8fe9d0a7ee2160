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

static bool rto_alloc(struct rd *rd)
{
	rd_label("rto", "struct rd_byte_line");
	return !rto_init(&rd->root->rto);
}

static void overload_free_counts(struct rd *rd)
{
	rto_cleanup(&rd->root->rto);
}

static size_t overload_bytes(const struct rd *rd)
{
	return sizeof(rd->root->rto) + nr_cpu_slots;
}

/*
 * In the kernel series a push executes the barrier before each search; experiments execute it here.
 */
static void overload_set_cpu(struct rd *rd, u32 cpu, bool wide)
{
	rto_set(&rd->root->rto, (int)cpu, wide ? RTO_LEAVES : RTO_STAYS);
	smp_mb(); /* P2 of core/sched/cpupri.c: pairs with F2 in rto_others() */
}

static void overload_clear_cpu(struct rd *rd, u32 cpu)
{
	rto_set(&rd->root->rto, (int)cpu, RTO_NONE);
}

static u32 overloaded(struct rd *rd, u32 this_cpu, u64 period)
{
	(void)period;
	if (rto_others(&rd->root->rto, (int)this_cpu))
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

static s64 next(const struct rd *rd, u32 this_cpu, u32 walk, s64 cpu)
{
	(void)walk;
	return cpu_or_none(rto_next_for(&rd->root->rto, (int)cpu, (int)this_cpu));
}
