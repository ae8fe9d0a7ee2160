// SPDX-License-Identifier: GPL-2.0-only
/* The places of CPUs in PPTTs made by hand, and damaged tables. */
#include <kunit/test.h>
#include <linux/acpi.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "../firmware.h"

#define NO_CACHE 0
/* Two packages, each a cluster with a core of two threads. */
#define CPUS 4

struct table {
	u8 bytes[1024];
};

static struct acpi_table_header *__init head(struct table *table)
{
	return (struct acpi_table_header *)table->bytes;
}

static void __init start(struct table *table)
{
	memset(table, 0, sizeof(*table));
	head(table)->revision = 2;
	head(table)->length = sizeof(struct acpi_table_header);
}

/* Appends a cache; returns its offset. */
static u32 __init add_cache(struct table *table, u8 type)
{
	u32 at = head(table)->length;
	struct acpi_pptt_cache *cache = (void *)&table->bytes[at];

	cache->header.type = ACPI_PPTT_TYPE_CACHE;
	cache->header.length = sizeof(*cache);
	cache->flags = ACPI_PPTT_CACHE_TYPE_VALID;
	cache->attributes = type;
	head(table)->length += sizeof(*cache);
	return at;
}

/* Appends a node that owns one cache or none; returns its offset. */
static u32 __init add_node(struct table *table, u32 parent, u32 flags, u32 id, u32 cache)
{
	u32 at = head(table)->length;
	struct acpi_pptt_processor *node = (void *)&table->bytes[at];

	node->header.type = ACPI_PPTT_TYPE_PROCESSOR;
	node->header.length = sizeof(*node) + (cache ? sizeof(u32) : 0);
	node->flags = flags;
	node->parent = parent;
	node->acpi_processor_id = id;
	node->number_of_priv_resources = !!cache;
	if (cache)
		put_unaligned(cache, (u32 *)(node + 1));
	head(table)->length += node->header.length;
	return at;
}

/* The nodes that own caches: packages, clusters, cores. */
struct caches {
	u32 package, cluster, core;
};

static void __init make(struct table *table, u8 type, const struct caches *have)
{
	u32 cache, p, t, id = 100;

	start(table);
	/* One structure for all: nodes identify the caches. */
	cache = add_cache(table, type);
	for (p = 0; p < 2; p++) {
		/* The id of the first thread: containers have a number space of their own. */
		u32 package = add_node(table, 0, ACPI_PPTT_PHYSICAL_PACKAGE, 100,
				       have->package ? cache : NO_CACHE);
		u32 cluster = add_node(table, package, 0, 0, have->cluster ? cache : NO_CACHE);
		u32 core = add_node(table, cluster, 0, 0, have->core ? cache : NO_CACHE);

		for (t = 0; t < 2; t++)
			add_node(table, core,
				 ACPI_PPTT_ACPI_PROCESSOR_IS_THREAD |
					 ACPI_PPTT_ACPI_PROCESSOR_ID_VALID |
					 ACPI_PPTT_ACPI_LEAF_NODE,
				 id++, NO_CACHE);
	}
}

static void __init start_records(struct shard_rec *rec)
{
	u32 i, level;

	for (i = 0; i < CPUS; i++) {
		rec[i].cpu = i;
		for (level = 0; level < SHARD_AT_LEVELS; level++)
			rec[i].at[level] = -1;
	}
}

static void __init place_all(struct kunit *test, struct table *table, struct shard_rec *rec)
{
	u32 i;

	start_records(rec);
	for (i = 0; i < CPUS; i++)
		KUNIT_ASSERT_TRUE(test, pptt_place(head(table), 100 + i, &rec[i]));
	schedshard_keep_known(rec, CPUS);
}

static void __init places_of_all_levels(struct kunit *test)
{
	struct shard_rec rec[CPUS];
	struct table table;

	make(&table, ACPI_PPTT_CACHE_TYPE_UNIFIED, &(struct caches){ .cluster = 1, .core = 1 });
	place_all(test, &table, rec);
	KUNIT_EXPECT_EQ(test, rec[0].at[SHARD_AT_CORE], rec[1].at[SHARD_AT_CORE]);
	KUNIT_EXPECT_LT(test, rec[0].at[SHARD_AT_THREAD], rec[1].at[SHARD_AT_THREAD]);
	KUNIT_EXPECT_LT(test, rec[1].at[SHARD_AT_CORE], rec[2].at[SHARD_AT_CORE]);
	KUNIT_EXPECT_EQ(test, rec[2].at[SHARD_AT_PACKAGE], rec[3].at[SHARD_AT_PACKAGE]);
	KUNIT_EXPECT_LT(test, rec[1].at[SHARD_AT_PACKAGE], rec[2].at[SHARD_AT_PACKAGE]);
	KUNIT_EXPECT_GE(test, rec[0].at[SHARD_AT_PACKAGE], 0);
}

static void __init a_cache_of_one_core_is_no_shard(struct kunit *test)
{
	struct shard_rec rec[CPUS];
	struct table table;
	u32 i;

	make(&table, ACPI_PPTT_CACHE_TYPE_UNIFIED, &(struct caches){ .core = 1 });
	place_all(test, &table, rec);
	for (i = 0; i < CPUS; i++)
		KUNIT_EXPECT_EQ(test, rec[i].at[SHARD_AT_LLC], -1);
}

static void __init the_highest_owner_counts(struct kunit *test)
{
	struct shard_rec rec[CPUS], *r;
	struct table table;

	make(&table, ACPI_PPTT_CACHE_TYPE_UNIFIED, &(struct caches){ .package = 1, .core = 1 });
	start_records(rec);
	for (r = rec; r < rec + CPUS; r++) {
		KUNIT_ASSERT_TRUE(test, pptt_place(head(&table), 100 + r->cpu, r));
		KUNIT_EXPECT_EQ(test, r->at[SHARD_AT_LLC], r->at[SHARD_AT_PACKAGE]);
	}
	KUNIT_EXPECT_NE(test, rec[0].at[SHARD_AT_LLC], rec[2].at[SHARD_AT_LLC]);
	/* An instruction cache does not count. */
	make(&table, ACPI_PPTT_CACHE_TYPE_INSTR, &(struct caches){ .package = 1 });
	start_records(rec);
	KUNIT_ASSERT_TRUE(test, pptt_place(head(&table), 100, rec));
	KUNIT_EXPECT_EQ(test, rec[0].at[SHARD_AT_LLC], -1);
}

static void __init shared_by_cores(struct kunit *test)
{
	struct shard_rec rec[CPUS];
	struct table table;
	u32 cache, package, i;

	start(&table);
	cache = add_cache(&table, ACPI_PPTT_CACHE_TYPE_DATA);
	package = add_node(&table, 0, ACPI_PPTT_PHYSICAL_PACKAGE, 0, cache);
	for (i = 0; i < CPUS; i++)
		add_node(&table, package, ACPI_PPTT_ACPI_PROCESSOR_ID_VALID, 100 + i, NO_CACHE);
	place_all(test, &table, rec);
	for (i = 0; i < CPUS; i++)
		KUNIT_EXPECT_EQ(test, rec[i].at[SHARD_AT_LLC], (s32)package);
	/* The table lacks one CPU: then the level is unknown for all. */
	start_records(rec);
	for (i = 1; i < CPUS; i++)
		KUNIT_ASSERT_TRUE(test, pptt_place(head(&table), 100 + i, &rec[i]));
	schedshard_keep_known(rec, CPUS);
	for (i = 0; i < CPUS; i++)
		KUNIT_EXPECT_EQ(test, rec[i].at[SHARD_AT_LLC], -1);
}

static void __init damage_is_harmless(struct kunit *test)
{
	struct shard_rec rec[CPUS];
	struct table table, *whole = kunit_kzalloc(test, sizeof(*whole), GFP_KERNEL);
	u32 length, at, package, core;

	KUNIT_ASSERT_NOT_NULL(test, whole);
	make(whole, ACPI_PPTT_CACHE_TYPE_UNIFIED, &(struct caches){ .cluster = 1 });
	start_records(rec);
	KUNIT_EXPECT_FALSE(test, pptt_place(head(whole), 7, rec));
	KUNIT_EXPECT_EQ(test, rec[0].at[SHARD_AT_CORE], -1);
	/* Cut the table anywhere, and set each byte after the header. */
	for (length = sizeof(struct acpi_table_header); length < head(whole)->length; length++) {
		table = *whole;
		head(&table)->length = length;
		pptt_place(head(&table), 103, rec);
		table = *whole;
		table.bytes[length] = 0xff;
		pptt_place(head(&table), 103, rec);
	}
	/* Parents in a cycle. */
	start(&table);
	package = add_node(&table, 0, 0, 0, NO_CACHE);
	core = add_node(&table, package, 0, 0, NO_CACHE);
	at = add_node(&table, core, ACPI_PPTT_ACPI_PROCESSOR_ID_VALID, 103, NO_CACHE);
	((struct acpi_pptt_processor *)&table.bytes[package])->parent = core;
	start_records(rec);
	KUNIT_EXPECT_TRUE(test, pptt_place(head(&table), 103, rec));
	KUNIT_EXPECT_EQ(test, rec[0].at[SHARD_AT_CORE], (s32)at);
	KUNIT_EXPECT_EQ(test, rec[0].at[SHARD_AT_PACKAGE], -1);
}

static struct kunit_case __refdata cases[] = {
	KUNIT_CASE(places_of_all_levels),     KUNIT_CASE(a_cache_of_one_core_is_no_shard),
	KUNIT_CASE(the_highest_owner_counts), KUNIT_CASE(shared_by_cores),
	KUNIT_CASE(damage_is_harmless),	      {}
};

static struct kunit_suite pptt_suite = {
	.name = "schedshard_pptt_test",
	.test_cases = cases,
};

kunit_test_init_section_suite(pptt_suite);
