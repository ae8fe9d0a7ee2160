// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Defines which variants are compared, and on which data.
 *
 * A bout compares all variants of one operation on one plan, with one density if that matters. Each
 * variant has its own object, filled by its own operations with the same CPUs. The kernels use the
 * CPUs in one fixed pseudo-random order. In the order of CPU numbers the hardware could predict the
 * next address for some layouts and not for others.
 */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>

static bool has_none(u32 i, u32 n)
{
	return false;
}

static bool has_one(u32 i, u32 n)
{
	return i == n / 3;
}

static bool has_sixteenth(u32 i, u32 n)
{
	return i % 16 == 5;
}

static bool has_half(u32 i, u32 n)
{
	return i % 2 == 0;
}

static bool has_all(u32 i, u32 n)
{
	return true;
}

const struct bench_density bench_densities[] = {
	{ "empty", has_none }, { "one", has_one },  { "1/16", has_sixteenth },
	{ "1/2", has_half },   { "full", has_all },
};
const u32 bench_nr_densities = sizeof(bench_densities) / sizeof(bench_densities[0]);

enum { EMPTY, FULL = 4, HALF = 3 };

/* State of one plan while its bouts run. */
struct scene {
	const struct bench_plan *plan;
	u32 *shuffled; /* all CPUs */
	u32 *member;   /* CPUs of the current density */
	u32 nr_members;
	u32 next_number;
	int (*work)(struct bench_bout *bout, void *context);
	void *context;
};

static void shuffle(u32 *cpu, u32 n)
{
	u64 state = 0x9e3779b97f4a7c15ULL;

	for (u32 i = 0; i < n; i++)
		cpu[i] = i;
	for (u32 i = n; i > 1; i--) {
		u32 other, tmp = cpu[i - 1];

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other = state % i;
		cpu[i - 1] = cpu[other];
		cpu[other] = tmp;
	}
}

static void choose(struct scene *scene, const struct bench_density *density)
{
	u32 n = scene->plan->plan->nr_cpus;

	scene->nr_members = 0;
	for (u32 i = 0; i < n; i++)
		if (density->has(i, n))
			scene->member[scene->nr_members++] = i;
}

static struct bench_bout new_bout(struct scene *scene, const char *group, const char *op,
				  const char *density, u32 ops)
{
	return (struct bench_bout){
		.number = scene->next_number++,
		.group = group,
		.op = op,
		.plan = scene->plan->name,
		.density = density,
		.cpu = scene->shuffled,
		.n = scene->plan->plan->nr_cpus,
		.ops = ops,
	};
}

/* Add an entry with a new object; false: the object could not be made. */
static bool enter(struct bench_bout *bout, const char *variant, void *object,
		  void (*destroy)(void *object), bench_kernel kernel)
{
	if (!object)
		return false;
	bout->entry[bout->nr++] = (struct bench_entry){
		.variant = variant,
		.object = object,
		.kernel = kernel,
		.destroy = destroy,
	};
	return true;
}

static int finish(struct scene *scene, struct bench_bout *bout, bool complete)
{
	int err = complete ? scene->work(bout, scene->context) : -ENOMEM;

	for (u32 i = 0; i < bout->nr; i++)
		if (bout->entry[i].destroy)
			bout->entry[i].destroy(bout->entry[i].object);
	return err;
}

static int loop_bout(struct scene *scene)
{
	struct bench_bout bout =
		new_bout(scene, "loop", "empty", BENCH_NO_DENSITY, scene->plan->plan->nr_cpus);

	return finish(scene, &bout, enter(&bout, "loop", scene, NULL, bench_empty_loop));
}

enum set_op { SET, CLEAR, SET_CLEAR, TEST, WALK };

static bench_kernel set_kernel(const struct bench_set *set, enum set_op op)
{
	switch (op) {
	case SET:
		return set->set;
	case CLEAR:
		return set->clear;
	case SET_CLEAR:
		return set->set_clear;
	case TEST:
		return set->test;
	case WALK:
		break;
	}
	return set->walk;
}

static int set_bout(struct scene *scene, const char *name, enum set_op op, const char *density)
{
	u32 ops = op == WALK ? 1 : scene->plan->plan->nr_cpus;
	struct bench_bout bout = new_bout(scene, "set", name, density, ops);
	bool complete = true;

	for (u32 i = 0; complete && i < bench_nr_sets; i++) {
		const struct bench_set *set = &bench_sets[i];
		void *object;

		if (!set_kernel(set, op))
			continue;
		object = set->make(scene->plan->plan);
		complete = enter(&bout, set->name, object, set->destroy, set_kernel(set, op));
		if (complete)
			set->set(object, scene->member, scene->nr_members);
	}
	return finish(scene, &bout, complete);
}

static int counter_bout(struct scene *scene, bool sum)
{
	struct bench_bout bout = new_bout(scene, "counter", sum ? "sum" : "inc", BENCH_NO_DENSITY,
					  sum ? 1 : scene->plan->plan->nr_cpus);
	bool complete = true;

	for (u32 i = 0; complete && i < bench_nr_counters; i++) {
		const struct bench_counter *c = &bench_counters[i];

		complete = enter(&bout, c->name, c->make(scene->plan->plan), c->destroy,
				 sum ? c->sum : c->inc);
	}
	return finish(scene, &bout, complete);
}

static int all_bouts(struct scene *scene)
{
	int err = loop_bout(scene);

	choose(scene, &bench_densities[EMPTY]);
	err = err ? err : set_bout(scene, "set", SET, BENCH_NO_DENSITY);
	err = err ? err : set_bout(scene, "set+clear", SET_CLEAR, BENCH_NO_DENSITY);
	choose(scene, &bench_densities[FULL]);
	err = err ? err : set_bout(scene, "clear", CLEAR, BENCH_NO_DENSITY);
	choose(scene, &bench_densities[HALF]);
	err = err ? err : set_bout(scene, "test", TEST, BENCH_NO_DENSITY);
	for (u32 i = 0; !err && i < bench_nr_densities; i++) {
		choose(scene, &bench_densities[i]);
		err = set_bout(scene, "iterate", WALK, bench_densities[i].name);
	}
	err = err ? err : counter_bout(scene, false);
	err = err ? err : counter_bout(scene, true);
	return err;
}

static int create_bout(struct scene *scene)
{
	struct bench_bout bout = new_bout(scene, "set", "create", BENCH_NO_DENSITY, 1);

	return finish(scene, &bout, bench_enter_makers(&bout, scene->plan));
}

static int machine_bouts(struct scene *scene)
{
	int err = create_bout(scene);

	choose(scene, &bench_densities[EMPTY]);
	err = err ? err : set_bout(scene, "set+clear", SET_CLEAR, BENCH_NO_DENSITY);
	for (u32 i = 0; !err && i < bench_nr_densities; i++) {
		choose(scene, &bench_densities[i]);
		err = set_bout(scene, "iterate", WALK, bench_densities[i].name);
	}
	return err;
}

static int contended_bouts(struct scene *scene)
{
	struct bench_bout bout =
		new_bout(scene, "contended", "set+clear", BENCH_NO_DENSITY, BENCH_CONTENDED_OPS);
	bool complete = true;
	int err;

	for (u32 i = 0; complete && i < bench_nr_sets; i++) {
		const struct bench_set *set = &bench_sets[i];

		if (!set->one_writer)
			complete = enter(&bout, set->name, set->make(scene->plan->plan),
					 set->destroy, set->set_clear);
	}
	err = finish(scene, &bout, complete);
	if (err)
		return err;
	bout = new_bout(scene, "contended", "inc", BENCH_NO_DENSITY, BENCH_CONTENDED_OPS);
	for (u32 i = 0; complete && i < bench_nr_counters; i++)
		complete = enter(&bout, bench_counters[i].name,
				 bench_counters[i].make(scene->plan->plan),
				 bench_counters[i].destroy, bench_counters[i].inc);
	return finish(scene, &bout, complete);
}

static int for_each_plan(int (*bouts)(struct scene *scene),
			 int (*work)(struct bench_bout *bout, void *context), void *context)
{
	struct scene scene = { .work = work, .context = context };
	u32 nr_plans;
	const struct bench_plan *plan = bench_plans_get(&nr_plans);
	int err = plan ? 0 : -ENOMEM;

	for (u32 i = 0; !err && i < nr_plans; i++) {
		u32 n = plan[i].plan->nr_cpus;

		scene.plan = &plan[i];
		scene.shuffled = calloc(n, sizeof(u32));
		scene.member = calloc(n, sizeof(u32));
		if (scene.shuffled && scene.member) {
			shuffle(scene.shuffled, n);
			err = bouts(&scene);
		} else {
			err = -ENOMEM;
		}
		free(scene.shuffled);
		free(scene.member);
	}
	return err;
}

int bench_for_each_bout(int (*work)(struct bench_bout *bout, void *context), void *context)
{
	return for_each_plan(all_bouts, work, context);
}

int bench_for_each_machine_bout(int (*work)(struct bench_bout *bout, void *context), void *context)
{
	return for_each_plan(machine_bouts, work, context);
}

int bench_for_each_contended_bout(int (*work)(struct bench_bout *bout, void *context),
				  void *context)
{
	return for_each_plan(contended_bouts, work, context);
}
