/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_cpupri.h - the priority map of Linux 6.12: for each level a counter and a mask.
 *
 * Why a CPU that rises is not missed: it is in the mask of its new level before it leaves the
 * old one's, and a search goes from low levels to high ones. A counter says whether the mask is
 * worth a look, so that it must never promise too little:
 *
 *   set:   A  set bit at new level     search, each level:   read counter
 *	    B  full barrier				       read barrier
 *	    C  raise counter				       read mask
 *	    D  full barrier
 *	    E  lower old counter
 *	    F  full barrier
 *	    G  clear bit at old level
 *
 * A search that still sees the old counter not zero reads the old mask or an empty one; one that
 * sees it at zero (E) sees C and A when it comes to the new level, by D and its own read
 * barriers. Counters may be off for a moment, masks never promise what is not there for long.
 */

static void set_level(struct rd *rd, u32 cpu, int level)
{
	s32 *current = &rd->root->cpupri.cpu_to_pri[cpu];
	s32 old = *current;

	if (level == old)
		return;
	if (likely(level != CPUPRI_INVALID)) {
		vec_set(rd, (u32)level, cpu);
		smp_mb__before_atomic(); /* B: the bit before the counter that tells of it */
		atomic_inc32(&VEC_COUNT(rd->root, (u32)level));
	}
	if (likely(old != CPUPRI_INVALID)) {
		if (level != CPUPRI_INVALID)
			smp_mb__after_atomic(); /* D: in at the new level before out at the old */
		atomic_dec32(&VEC_COUNT(rd->root, (u32)old));
		smp_mb__after_atomic(); /* F: the counter before the bit */
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

/* The CPUs of one level. */
static port_always_inline bool find_at(struct rd *rd, u32 level, u32 this_cpu,
				       const unsigned long *allowed, unsigned long *found)
{
	bool nobody = !READ_ONCE(VEC_COUNT(rd->root, level));

	smp_rmb(); /* the counter before the mask, and before the next level's counter */
	if (nobody || !vec_has(rd, level, this_cpu, allowed))
		return false;
	if (!found)
		return true;
	vec_and(rd, level, allowed, found);
	for (u32 i = 0; i < rd->words; i++)
		found[i] &= READ_ONCE(rd->active[i]);
	/* They may all have left since vec_has() looked. */
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
