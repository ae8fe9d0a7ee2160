// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The time to make and to free an object, and the object's memory. A pool is made with all of its
 * objects free. The linker passes port_alloc() through this file, which counts bytes as whole cache
 * lines, as the allocator does. hwloc has its own allocation, which is not counted.
 */
#include "bench.h"
#include "primitive.h"

#include <stdlib.h>

void *__real_port_alloc(size_t size, int node);
void *__wrap_port_alloc(size_t size, int node);

static u64 allocated;

void *__wrap_port_alloc(size_t size, int node)
{
	allocated += (size + PORT_CACHELINE - 1) / PORT_CACHELINE * PORT_CACHELINE;
	return __real_port_alloc(size, node);
}

/* Either a set of kernels.c, or a pool of model/primitives/. */
struct maker {
	const struct bench_set *set;
	const struct primitive *pool;
	struct primitive_place place;
};

static void *make(const struct maker *m)
{
	return m->set ? m->set->make(m->place.plan) : m->pool->create(&m->place);
}

static void destroy(const struct maker *m, void *object)
{
	if (m->set)
		m->set->destroy(object);
	else
		m->pool->destroy(object);
}

static u64 make_and_destroy(void *object, const u32 *unused, u32 n)
{
	void *made = make(object);

	/* Out of memory only makes the time wrong: the first object was made. */
	if (made)
		destroy(object, made);
	return made != NULL;
}

static bool enter(struct bench_bout *bout, const char *variant, struct maker m)
{
	struct maker *kept = malloc(sizeof(*kept));
	u64 before = allocated;
	void *object = kept ? make(&m) : NULL;

	if (!object) {
		free(kept);
		return false;
	}
	destroy(&m, object);
	*kept = m;
	bout->entry[bout->nr++] = (struct bench_entry){ .variant = variant,
							.object = kept,
							.kernel = make_and_destroy,
							.destroy = free,
							.bytes = (double)(allocated - before) };
	return true;
}

bool bench_enter_makers(struct bench_bout *bout, const struct bench_plan *plan)
{
	static const char *const pools[] = { "claim-pool", "claim-slots", "claim-words" };
	u32 nr = plan->plan->nr_possible;
	int *node = calloc(nr, sizeof(*node)); /* unimportant on this host */
	struct primitive_place place = { nr, -1, node, plan->plan, plan->pools };
	bool complete = node;

	for (u32 i = 0; complete && i < bench_nr_sets; i++)
		if (bench_sets[i].walk)
			complete = enter(bout, bench_sets[i].name,
					 (struct maker){ &bench_sets[i], NULL, place });
	for (u32 i = 0; complete && i < sizeof(pools) / sizeof(pools[0]); i++)
		complete = enter(bout, pools[i],
				 (struct maker){ NULL, primitive_find(pools[i]), place });
	free(node);
	return complete;
}
