// SPDX-License-Identifier: GPL-2.0-only
/*
 * shard_split= and shard_cap=: the plan of another machine, for tests. The parser reports and
 * ignores a bad value: a machine must boot in spite of a mistyped option.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/printk.h>
#include "options.h"

u32 schedshard_split __ro_after_init;
u32 schedshard_cap __ro_after_init = SHARD_MAX_CAP;

static int __init parse_number(const char *name, const char *text, u32 max, u32 *value)
{
	unsigned int number;

	if (!text || kstrtouint(text, 10, &number) || number < 1 || number > max) {
		pr_warn("%s=%s is ignored: a number from 1 to %u is expected\n", name,
			text ? text : "", max);
		return 0;
	}
	*value = number;
	return 0;
}

static int __init parse_shard_split(char *text)
{
	return parse_number("shard_split", text, U16_MAX, &schedshard_split);
}
early_param("shard_split", parse_shard_split);

static int __init parse_shard_cap(char *text)
{
	return parse_number("shard_cap", text, SHARD_MAX_CAP, &schedshard_cap);
}
early_param("shard_cap", parse_shard_cap);

/*
 * The part of an LLC that a CPU is in, by the number of the LLC's CPUs with the same core or a
 * lower one. All CPUs of a core are in one part, and the parts differ by a core.
 */
static s32 __init part_of(const struct shard_rec *rec, u32 n, const struct shard_rec *r, u32 parts)
{
	u32 all = 0, up_to = 0, i;

	for (i = 0; i < n; i++) {
		if (rec[i].at[SHARD_AT_PACKAGE] != r->at[SHARD_AT_PACKAGE] ||
		    rec[i].at[SHARD_AT_NODE] != r->at[SHARD_AT_NODE] ||
		    rec[i].at[SHARD_AT_LLC] != r->at[SHARD_AT_LLC])
			continue;
		all++;
		up_to += rec[i].at[SHARD_AT_CORE] <= r->at[SHARD_AT_CORE];
	}
	return (up_to * parts - 1) / all;
}

void __init schedshard_split_llcs(struct shard_rec *rec, u32 n)
{
	u32 i;

	/* No plan uses the level of L2: it holds the parts until the loop knows all. */
	for (i = 0; schedshard_split > 1 && i < n; i++)
		rec[i].at[SHARD_AT_L2] = part_of(rec, n, &rec[i], schedshard_split);
	for (i = 0; schedshard_split > 1 && i < n; i++) {
		rec[i].at[SHARD_AT_LLC] =
			rec[i].at[SHARD_AT_LLC] * schedshard_split + rec[i].at[SHARD_AT_L2];
		rec[i].at[SHARD_AT_L2] = -1;
	}
}
