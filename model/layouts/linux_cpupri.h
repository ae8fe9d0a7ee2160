/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_cpupri.h - the priority map of Linux 6.12: a counter and a mask per level.
 *
 * Why a search does not miss a CPU that rises: the CPU enters the mask of its new level before it
 * leaves the old mask. A search goes from low levels to high ones. A search reads a mask only if
 * the level's counter is not 0, so a counter must not be 0 too early or too long:
 *
 *   set:   A  set bit at new level     search, each level:   read counter
 *	    B  full barrier				       read barrier
 *	    C  raise counter				       read mask
 *	    D  full barrier
 *	    E  lower old counter
 *	    F  full barrier
 *	    G  clear bit at old level
 *
 * A search that sees the old counter not zero reads the old mask, or an empty one. A search that
 * sees it at zero (E) sees C and A when it reaches the new level, by D and its own read barriers.
 * For a moment counters may be wrong, and masks may name a CPU that has left.
 */

static void set_level(struct rd *rd, u32 cpu, int level)
{
	s32 *current = &rd->root->cpupri.cpu_to_pri[cpu];
	s32 old = *current;

	if (level == old)
		return;
	if (likely(level != CPUPRI_INVALID)) {
		vec_set(rd, (u32)level, cpu);
		/* B: the bit before the counter: pairs with smp_rmb() in find_at(). */
		smp_mb__before_atomic();
		atomic_inc32(&VEC_COUNT(rd->root, (u32)level));
	}
	if (likely(old != CPUPRI_INVALID)) {
		if (level != CPUPRI_INVALID)
			/* D: new level before old one: pairs with smp_rmb() in find_at() */
			smp_mb__after_atomic();
		atomic_dec32(&VEC_COUNT(rd->root, (u32)old));
		/* F: the counter before the bit: pairs with smp_rmb() in find_at(). */
		smp_mb__after_atomic();
		vec_clear(rd, (u32)old, cpu);
	}
	*current = level;
}

static bool mask_empty(const unsigned long *mask, u32 words)
{
	for (u32 i = 0; i < words; i++)
		if (mask[i])
			return false;
	return true;
}

/* Find the allowed CPUs at one level. */
static port_always_inline bool find_at(struct rd *rd, u32 level, u32 this_cpu,
				       const unsigned long *allowed, unsigned long *found)
{
	bool nobody = !READ_ONCE(VEC_COUNT(rd->root, level));

	/*
	 * The counter before the mask: pairs with B and F in set_level(). This counter before the
	 * next level's: pairs with D.
	 */
	smp_rmb();
	if (nobody || !vec_has(rd, level, this_cpu, allowed))
		return false;
	if (!found)
		return true;
	vec_and(rd, level, allowed, found);
	for (u32 i = 0; i < rd->words; i++)
		found[i] &= READ_ONCE(rd->active[i]);
	/* All of them may have left since vec_has() read the mask. */
	return !mask_empty(found, rd->words);
}

static void drop_unfit(unsigned long *found, u32 words, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	for (u32 i = 0; i < words; i++)
		for (u64 left = found[i]; left; left &= left - 1)
			if (!fits(i * 64 + port_ctz64(left), arg))
				found[i] &= ~(left & -left);
}

static int find_below(struct rd *rd, u32 limit, u32 this_cpu, const unsigned long *allowed,
		      unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	for (u32 level = 0; level < limit; level++) {
		if (!find_at(rd, level, this_cpu, allowed, found))
			continue;
		if (found && fits) {
			drop_unfit(found, rd->words, fits, arg);
			if (mask_empty(found, rd->words))
				continue;
		}
		return (int)level + 1;
	}
	return 0;
}

static int find(struct rd *rd, int level, u32 this_cpu, const unsigned long *allowed,
		unsigned long *found, bool (*fits)(u32 cpu, void *arg), void *arg)
{
	u32 limit = level > CPUPRI_NORMAL ? (u32)level : 0;
	int result = find_below(rd, limit, this_cpu, allowed, found, fits, arg);

	if (!result && fits)
		result = find_below(rd, limit, this_cpu, allowed, found, NULL, NULL);
	return result;
}

static bool levels_alloc(struct rd *rd, const struct shard_topo *topo)
{
	s32 *level;

	if (!vec_alloc(rd))
		return false;
	rd_label("cpu_to_pri", "struct rd_pri_line");
	level = port_alloc(topo->nr_cpus * sizeof(*level), rd->home);
	rd->root->cpupri.cpu_to_pri = level;
	for (u32 cpu = 0; level && cpu < topo->nr_cpus; cpu++)
		level[cpu] = CPUPRI_INVALID;
	return level;
}

static void levels_free(struct rd *rd)
{
	vec_free(rd);
	port_free(rd->root->cpupri.cpu_to_pri, rd->nr_cpus * sizeof(s32));
}

static size_t levels_bytes(const struct rd *rd)
{
	return rd->nr_cpus * sizeof(s32) + vec_bytes(rd);
}
