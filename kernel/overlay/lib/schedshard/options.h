/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of the plan, for tests. Concurrency, ordering: none; schedshard_init() reads them. */
#ifndef _SCHEDSHARD_OPTIONS_H
#define _SCHEDSHARD_OPTIONS_H

#include <linux/init.h>
#include <linux/schedshard/machine.h>
#include <linux/schedshard/shard_plan_make.h>

extern u32 schedshard_split; /* number of parts to cut each LLC into; 0: leave it whole */
extern u32 schedshard_cap;   /* most CPUs in a shard */

/* Cut the LLCs in the records into schedshard_split parts. */
void __init schedshard_split_llcs(struct shard_rec *rec, u32 n);

/*
 * Compare the plan with the caches that CPUs report. Return: 0: the plan is right. -ENODATA: no
 * cache is known. -EXDEV: CPUs @a and @b have different caches but one LLC of the plan. -EEXIST:
 * they have one cache but two LLCs. Context: may sleep; after device_initcall(), which collects the
 * cache information.
 */
int schedshard_check(unsigned int *a, unsigned int *b);

#endif /* _SCHEDSHARD_OPTIONS_H */
