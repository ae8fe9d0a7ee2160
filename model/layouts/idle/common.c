// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The list of all layouts of the idle set, and functions that they share. */
#include "idle_set.h"

#include "report_types.h"

const struct idle_ops *const idle_layouts[] = {
	&idle_stock,	 &idle_no_count, &idle_flags, &idle_linux73,
	&idle_sbm_first, &idle_sbm_wrap, &idle_slots, NULL,
};

struct idle_set *idle_alloc(size_t size)
{
	struct idle_set *s;

	rd_label("idle set's pointers", NULL);
	s = port_alloc(size, -1);
	if (!s)
		return NULL;
	rd_label("nohz", "struct nohz");
	s->nohz = port_alloc(sizeof(*s->nohz), 0);
	if (!s->nohz) {
		port_free(s, size);
		return NULL;
	}
	return s;
}

void idle_free(struct idle_set *s, size_t size)
{
	if (!s)
		return;
	port_free(s->nohz, sizeof(*s->nohz));
	port_free(s, size);
}

s64 idle_mask_next(const unsigned long *mask, u32 from, u32 end)
{
	for (u32 w = from / 64; from < end; from = ++w * 64) {
		u64 bits = READ_ONCE(mask[w]) & ~0ull << from % 64;

		if (bits) {
			u32 cpu = w * 64 + port_ctz64(bits);

			return cpu < end ? (s64)cpu : -1;
		}
	}
	return -1;
}
