/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_mask_sbm.h - a level's CPUs in a sharded bitmap, as proposed in answer to the published
 * patch 4.
 */

static port_always_inline void vec_set(struct rd *rd, u32 level, u32 cpu)
{
	sbm_set(VEC_MASK(rd->root, level), cpu);
}

static port_always_inline void vec_clear(struct rd *rd, u32 level, u32 cpu)
{
	sbm_clear(VEC_MASK(rd->root, level), cpu);
}

static port_always_inline bool vec_has(struct rd *rd, u32 level, u32 this_cpu,
				       const unsigned long *allowed)
{
	return sbm_near_cpu(VEC_MASK(rd->root, level), allowed, this_cpu) >= 0;
}

static port_always_inline void vec_and(struct rd *rd, u32 level, const unsigned long *allowed,
				       unsigned long *found)
{
	u32 cpu;

	for (u32 i = 0; i < rd->words; i++)
		found[i] = 0;
	sbm_for_each_cpu_and(cpu, it, VEC_MASK(rd->root, level), allowed)
		found[cpu / 64] |= 1ul << cpu % 64;
}

static bool vec_alloc(struct rd *rd)
{
	rd_label("level masks", "struct rd_sbm_line");
	for (u32 level = 0; level < RD_LEVELS; level++) {
		VEC_MASK(rd->root, level) = sbm_alloc(rd->plan, 0);
		if (!VEC_MASK(rd->root, level))
			return false;
	}
	return true;
}

static void vec_free(struct rd *rd)
{
	for (u32 level = 0; level < RD_LEVELS; level++)
		sbm_destroy(VEC_MASK(rd->root, level));
}

static size_t sbm_bytes(const struct sbm *b)
{
	return b->bytes + (size_t)b->nr_shards * PORT_CACHELINE;
}

static size_t vec_bytes(const struct rd *rd)
{
	return RD_LEVELS * sbm_bytes(VEC_MASK(rd->root, 0));
}
