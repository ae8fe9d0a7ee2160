// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A program opens a few files per cache and core when it starts, and no files per CPU. */
#include <fcntl.h>
#include <string.h>
#include "shapes.h"
#include "test.h"
#include "tree.h"

static u32 opens;

static int counted_openat(int dir, const char *path, int flags)
{
	opens++;
	return openat(dir, path, flags);
}

#define openat counted_openat
#include "../topo_sysfs.c" /* NOLINT(bugprone-suspicious-include) */

/* Returns the number of files opened to read a machine of this shape, as on the live host. */
static u32 count(const struct shape *shape)
{
	u32 nr_cpus;
	struct shard_cpu *cpus = shape_cpus(shape, &nr_cpus);
	struct shard_topo *topo = NULL;
	char root[64], *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK(out);
	tree_print_records(out, cpus, nr_cpus);
	CHECK_EQ(fclose(out), 0);
	CHECK(tree_make(root) && tree_write(root, text, len, UINT32_MAX));
	opens = 0;
	CHECK_EQ(shard_topo_read(&topo, root, true, NULL), 0);
	CHECK(topo);
	CHECK_EQ(topo->nr_cpus, nr_cpus);
	shard_topo_free(topo);
	tree_remove(root);
	free(text);
	free(cpus);
	return opens;
}

/* 24 LLCs of 8 cores with 2 threads; each core has its own L2. */
static void each_cache_is_read_once(void)
{
	struct shape shape = { .name = "384 CPUs", 2, 1, 12, 8, 2, 1 };
	u32 nr = count(&shape), clusters;

	CHECK(nr <= 24 * 14 + 192 * 3 + 16);
	shape.l2_cores = 8;
	clusters = count(&shape);
	CHECK_EQ(nr - clusters, (192 - 24) * 2); /* level and list of the additional L2s */
	shape.threads = 4;
	CHECK_EQ(count(&shape), clusters); /* more CPUs per core need no more files */
}

#define TESTS(TEST) TEST(each_cache_is_read_once)
TEST_MAIN("topo-opens", TESTS)
