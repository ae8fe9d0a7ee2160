// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * count LAYOUT SHAPE OPERATION N: one CPU does an operation N times, on a root domain without other
 * users. valgrind counts instructions (compare_instructions.py); the difference between two N
 * belongs to the operations.
 */
#include <string.h>

#include "machines.h"
#include "rd.h"

static const struct shape counted[] = {
	{ .name = "1", 1, 1, 1, 1, 1, 1 },
	{ .name = "16", 2, 1, 1, 4, 2, 1 },
	{ .name = "64", 2, 1, 4, 4, 2, 1 },
	{ .name = "480", 2, 1, 1, 120, 2, 1 },
};

static struct rd_machine machine;
static const struct rd_ops *ops;
static struct rd *rd;

/* Sets all other CPUs to @level, or, with @spread, to @level and the @spread - 1 levels above. */
static void others_at(int level, int spread)
{
	for (u32 cpu = 1; cpu < machine.topo.nr_cpus; cpu++)
		ops->set_level(rd, cpu, level + (spread ? (int)cpu % spread : 0));
}

static int find(const unsigned long *allowed, bool near)
{
	unsigned long found[TEST_MAX_WORDS];

	if (near)
		return (ops->find_near ? ops->find_near : ops->find)(rd, 90, 0, allowed, found,
								     NULL, NULL);
	return ops->find(rd, 90, 0, allowed, NULL, NULL, NULL);
}

/* Where the waiting task may run: CPU 0's shard, four others, more; 0: another operation. */
static u64 shards_of(const char *operation)
{
	if (!strcmp(operation, "overload"))
		return 1;
	if (!strcmp(operation, "overload-few"))
		return 0x1f;
	return !strcmp(operation, "overload-many") ? ~0ull : 0;
}

static unsigned long repeat(const char *operation, unsigned long n)
{
	unsigned long four[TEST_MAX_WORDS] = { 0xf }, sum = 0;
	u64 from, shards = shards_of(operation);
	const unsigned long *allowed = machine.span;
	bool level = !strcmp(operation, "level");
	bool ask = !strcmp(operation, "ask"), any = !strcmp(operation, "any");

	ops->set_level(rd, 0, 90);
	others_at(CPUPRI_NORMAL, 0);
	if (!strcmp(operation, "busy"))
		others_at(40, 9);
	if (!strcmp(operation, "none"))
		others_at(95, 3);
	if (!strcmp(operation, "pinned"))
		allowed = four;
	for (unsigned long i = 0; i < n; i++) {
		if (level) {
			ops->set_level(rd, 0, i & 1 ? 50 : CPUPRI_NORMAL);
		} else if (shards) {
			ops->overload_set(rd, 0, shards);
			ops->overload_clear(rd, 0);
		} else if (ask) {
			sum += ops->overloaded(rd, 0, &from);
		} else {
			sum += (unsigned long)find(allowed, !any);
		}
	}
	return sum;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;

	for (u32 i = 0; n && i < sizeof(counted) / sizeof(*counted); i++) {
		if (strcmp(counted[i].name, argv[2]))
			continue;
		rd_machine_make(&machine, &counted[i]);
		for (const struct rd_ops *const *o = rd_layouts; *o; o++)
			if (!strcmp((*o)->name, argv[1]))
				ops = *o;
		rd = ops ? ops->create(&machine.topo, machine.plan, machine.span) : NULL;
		if (!rd)
			return 1;
		printf("%lu\n", repeat(argv[3], n));
		ops->destroy(rd);
		rd_machine_free(&machine);
		return 0;
	}
	return 1;
}
