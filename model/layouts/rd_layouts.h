/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * rd_layouts.h - all layouts of the root domain, in the order in which tables of results show them.
 * Each entry has the layout's LAYOUT and RD_NAME (linux_rd.inc). stock-waiting and bytes-waiting
 * are the steps from stock to shard; pad-waiting and flat-waiting are alternatives to these steps.
 */
#ifndef LAYOUTS_RD_LAYOUTS_H
#define LAYOUTS_RD_LAYOUTS_H

#define RD_LAYOUTS(X)                     \
	X(stock, "stock")                 \
	X(pad, "pad")                     \
	X(split, "split")                 \
	X(relayout, "relayout")           \
	X(node_count, "node-count")       \
	X(node_mask, "node-mask")         \
	X(published, "published")         \
	X(sbm_bits, "sbm-bits")           \
	X(shard, "shard")                 \
	X(stock_waiting, "stock-waiting") \
	X(pad_waiting, "pad-waiting")     \
	X(flat_waiting, "flat-waiting")   \
	X(bytes_waiting, "bytes-waiting")

#endif
