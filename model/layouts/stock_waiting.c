// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* As stock.c, but a CPU is overloaded only while a pushable task cannot run there at once. */
#define LAYOUT		       stock_waiting
#define RD_NAME		       "stock-waiting"
#define ROOT_DOMAIN	       struct root_domain_stock
#define VEC_COUNT(root, level) ((root)->cpupri.pri_to_cpu[level].count)
#define VEC_MASK(root, level)  ((root)->cpupri.pri_to_cpu[level].mask)
#define MASKS		       MASKS_ONE
#define COUNTS		       COUNTS_ONE
#define ONLY_WAITING	       true
#include "linux_rd.inc"
