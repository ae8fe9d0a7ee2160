/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* choices.h - the choices by which layouts differ (linux_rd.inc), and macros for names. */
#ifndef LAYOUTS_CHOICES_H
#define LAYOUTS_CHOICES_H

/*
 * The CPU masks of a priority level: one mask, one per NUMA node, or a sharded bitmap. NONE: each
 * CPU has a byte that contains its level.
 */
#define MASKS_ONE  1
#define MASKS_NODE 2
#define MASKS_SBM  3
#define MASKS_NONE 4

/* Counters of overloaded CPUs: one, or one per NUMA node. NONE: a byte per CPU. */
#define COUNTS_ONE  1
#define COUNTS_NODE 2
#define COUNTS_NONE 3

#define RD_JOIN_(a, b) a##b
#define RD_JOIN(a, b)  RD_JOIN_(a, b)
#define RD_OPS(layout) RD_JOIN(rd_, layout)
#define RD_STRING_(x)  #x
#define RD_STRING(x)   RD_STRING_(x)

#endif
