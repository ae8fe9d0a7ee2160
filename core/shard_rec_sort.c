// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Heap sort: no recursion and no extra memory. It is not stable. */
#include "shard_plan_make.h"

static void sift_down(struct shard_rec *rec, u32 root, u32 n,
		      int (*order)(const void *, const void *))
{
	struct shard_rec moving = rec[root];
	u32 child;

	while ((child = 2 * root + 1) < n) {
		if (child + 1 < n && order(&rec[child], &rec[child + 1]) < 0)
			child++;
		if (order(&moving, &rec[child]) >= 0)
			break;
		rec[root] = rec[child];
		root = child;
	}
	rec[root] = moving;
}

void shard_rec_sort(struct shard_rec *rec, u32 n, int (*order)(const void *, const void *))
{
	for (u32 i = n / 2; i-- > 0;)
		sift_down(rec, i, n, order);
	for (u32 end = n; end-- > 1;) {
		struct shard_rec top = rec[0];

		rec[0] = rec[end];
		rec[end] = top;
		sift_down(rec, 0, end, order);
	}
}
