/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* linux_mask_one.h - a level's CPUs in one cpumask, with bits set by locked operations. */

static port_always_inline void vec_set(struct rd *rd, u32 level, u32 cpu)
{
	port_or64((u64 *)&VEC_MASK(rd->root, level)[cpu / 64], 1ull << cpu % 64);
}

static port_always_inline void vec_clear(struct rd *rd, u32 level, u32 cpu)
{
	port_and64((u64 *)&VEC_MASK(rd->root, level)[cpu / 64], ~(1ull << cpu % 64));
}

/* Is any CPU of @allowed at the level? As cpumask_any_and(). */
static port_always_inline bool vec_has(struct rd *rd, u32 level, u32 this_cpu,
				       const unsigned long *allowed)
{
	const unsigned long *mask = VEC_MASK(rd->root, level);

	for (u32 i = 0; i < rd->words; i++)
		if (READ_ONCE(allowed[i]) & READ_ONCE(mask[i]))
			return true;
	return false;
}

/* Store the CPUs of @allowed at the level in @found, as cpumask_and(). */
static port_always_inline void vec_and(struct rd *rd, u32 level, const unsigned long *allowed,
				       unsigned long *found)
{
	const unsigned long *mask = VEC_MASK(rd->root, level);

	for (u32 i = 0; i < rd->words; i++)
		found[i] = READ_ONCE(allowed[i]) & READ_ONCE(mask[i]);
}

static bool vec_alloc(struct rd *rd)
{
	for (u32 level = 0; level < RD_LEVELS; level++)
		VEC_MASK(rd->root, level) = mask_slab_take(&rd->slab);
	return true;
}

static void vec_free(struct rd *rd)
{
	(void)rd; /* the masks are in rd->slab */
}

static size_t vec_bytes(const struct rd *rd)
{
	return RD_LEVELS * rd->slab.stride;
}
