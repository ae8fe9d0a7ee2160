/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_mask_node.h - the published patch 4: a mask per level and NUMA node, in the node's memory.
 * In each mask the bits of other nodes' CPUs are all set, so the AND of all nodes' masks is the
 * level's set.
 */

static port_always_inline void vec_set(struct rd *rd, u32 level, u32 cpu)
{
	unsigned long *mask = VEC_MASK(rd->root, level)[rd->nodes.of[cpu]];

	port_or64((u64 *)&mask[cpu / 64], 1ull << cpu % 64);
}

static port_always_inline void vec_clear(struct rd *rd, u32 level, u32 cpu)
{
	unsigned long *mask = VEC_MASK(rd->root, level)[rd->nodes.of[cpu]];

	port_and64((u64 *)&mask[cpu / 64], ~(1ull << cpu % 64));
}

/* Is any CPU of @allowed at the level? Looks at the caller's node first. */
static port_always_inline bool vec_has(struct rd *rd, u32 level, u32 this_cpu,
				       const unsigned long *allowed)
{
	u32 nr = rd->nodes.nr, own = rd->nodes.of[this_cpu];

	for (u32 n = 0; n < nr; n++) {
		u32 node = (own + n) % nr;
		const unsigned long *mask = VEC_MASK(rd->root, level)[node];
		const unsigned long *of_node = rd->nodes.mask[node];

		for (u32 i = 0; i < rd->words; i++)
			if (READ_ONCE(allowed[i]) & READ_ONCE(mask[i]) & of_node[i])
				return true;
	}
	return false;
}

static port_always_inline void vec_and(struct rd *rd, u32 level, const unsigned long *allowed,
				       unsigned long *found)
{
	unsigned long **masks = VEC_MASK(rd->root, level);

	for (u32 i = 0; i < rd->words; i++)
		found[i] = READ_ONCE(masks[0][i]);
	for (u32 node = 1; node < rd->nodes.nr; node++)
		for (u32 i = 0; i < rd->words; i++)
			found[i] &= READ_ONCE(masks[node][i]);
	for (u32 i = 0; i < rd->words; i++)
		found[i] &= READ_ONCE(allowed[i]);
}

static void vec_free(struct rd *rd)
{
	for (u32 node = 0; rd->node_slab && node < rd->nodes.nr; node++)
		mask_slab_free(&rd->node_slab[node]);
	port_free(rd->node_slab, rd->nodes.nr * sizeof(*rd->node_slab));
	mask_slab_free(&rd->arrays);
}

static bool vec_alloc(struct rd *rd)
{
	u32 nr = rd->nodes.nr;

	rd->node_slab = port_alloc(nr * sizeof(*rd->node_slab), -1);
	if (!rd->node_slab || !mask_slab_init(&rd->arrays, nr * 64, RD_LEVELS, rd->home))
		return false;
	rd_label("node masks", "struct rd_mask_line");
	for (u32 node = 0; node < nr; node++)
		if (!mask_slab_init(&rd->node_slab[node], rd->nr_cpus, RD_LEVELS,
				    rd->nodes.node[node]))
			return false;
	for (u32 level = 0; level < RD_LEVELS; level++) {
		VEC_MASK(rd->root, level) = (unsigned long **)mask_slab_take(&rd->arrays);
		for (u32 node = 0; node < nr; node++) {
			unsigned long *mask = mask_slab_take(&rd->node_slab[node]);

			for (u32 i = 0; i < rd->words; i++)
				mask[i] = ~rd->nodes.mask[node][i];
			VEC_MASK(rd->root, level)[node] = mask;
		}
	}
	return true;
}

static size_t vec_bytes(const struct rd *rd)
{
	return RD_LEVELS * (rd->arrays.stride + rd->nodes.nr * rd->slab.stride);
}
