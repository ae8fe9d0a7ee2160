// SPDX-License-Identifier: GPL-2.0-only
/*
 * shard_split= and shard_cap=: the plan of a machine that one does not have.
 *
 * A bad value is reported and ignored: whoever mistypes an option must still get a machine that
 * boots.
 */
#define pr_fmt(fmt) "schedshard: " fmt

#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/printk.h>
#include <linux/schedshard/machine.h>

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
	return parse_number("shard_split", text, SHARD_MAX_CPUS, &schedshard_opts.split_llc);
}
early_param("shard_split", parse_shard_split);

static int __init parse_shard_cap(char *text)
{
	return parse_number("shard_cap", text, SHARD_MAX_CAP, &schedshard_opts.cap);
}
early_param("shard_cap", parse_shard_cap);
