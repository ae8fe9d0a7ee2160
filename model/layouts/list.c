// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All layouts, in the order of tables. */
#include "rd.h"

extern const struct rd_ops rd_stock, rd_pad, rd_split, rd_relayout, rd_node_count, rd_node_mask,
	rd_published, rd_sbm_bits, rd_shard, rd_stock_waiting, rd_pad_waiting, rd_flat_waiting,
	rd_bytes_waiting;

const struct rd_ops *const rd_layouts[] = {
	&rd_stock,	 &rd_pad,	   &rd_split,	      &rd_relayout, &rd_node_count,
	&rd_node_mask,	 &rd_published,	   &rd_sbm_bits,      &rd_shard,    &rd_stock_waiting,
	&rd_pad_waiting, &rd_flat_waiting, &rd_bytes_waiting, NULL
};
