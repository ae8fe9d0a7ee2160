// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All layouts of the idle set. */
#include "idle_set.h"

const struct idle_ops *const idle_layouts[] = {
	&idle_stock,	   &idle_no_count,  &idle_flags,    &idle_spread, &idle_node,
	&idle_llc,	   &idle_sbm_first, &idle_sbm_wrap, &idle_shard,  &idle_shard_summary,
	&idle_shard_count, &idle_kernel,    NULL,
};
