// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All layouts, in the order of tables. */
#include "rd.h"

extern const struct rd_ops rd_stock, rd_pad, rd_split, rd_relayout, rd_node_count, rd_node_mask,
	rd_series, rd_llc_count, rd_sbm_bits, rd_shard, rd_stock_waiting, rd_bytes,
	rd_bytes_waiting, rd_told_all, rd_one_walk, rd_no_summary, rd_in_order;

const struct rd_ops *const rd_layouts[] = { &rd_stock,	       &rd_pad,		  &rd_split,
					    &rd_relayout,      &rd_node_count,	  &rd_node_mask,
					    &rd_series,	       &rd_llc_count,	  &rd_sbm_bits,
					    &rd_shard,	       &rd_stock_waiting, &rd_bytes,
					    &rd_bytes_waiting, &rd_told_all,	  &rd_one_walk,
					    &rd_no_summary,    &rd_in_order,	  NULL };
