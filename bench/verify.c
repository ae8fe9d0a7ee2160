// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A benchmark of code that computes something else is worthless. Before any measurement, every
 * variant runs its own measured kernels at every density, and this check compares the result with
 * the expected one. Then it removes half of the CPUs and compares again.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The input of a test. */
struct trial {
	const struct bench_plan *plan;
	const char *variant;
	const char *density;
	u32 n;	  /* CPU numbers 0..n-1 */
	u32 *cpu; /* all CPU numbers, in order */
	u32 *list;
	u32 *seen;
	bool *in;
};

static int complain(const struct trial *t, const char *what, u64 got, u64 want)
{
	fprintf(stderr,
		"schedshard-bench: %s on %s at density %s: %s is %llu where it should be %llu\n",
		t->variant, t->plan->name, t->density, what, (unsigned long long)got,
		(unsigned long long)want);
	return -1;
}

static u32 list_members(const struct trial *t, bool in)
{
	u32 n = 0;

	for (u32 i = 0; i < t->n; i++)
		if (t->in[i] == in)
			t->list[n++] = i;
	return n;
}

/* Check the CPUs of a walk: each member once, no other CPU, in any order. */
static int check_visits(const struct trial *t, u32 nr_seen, u32 want)
{
	if (nr_seen != want)
		return complain(t, "the number of CPUs visited", nr_seen, want);
	for (u32 i = 0; i < nr_seen; i++) {
		u32 cpu = t->seen[i];

		if (cpu >= t->n || !t->in[cpu])
			return complain(t, "a visited CPU's membership", 0, 1);
		t->in[cpu] = false;
	}
	for (u32 i = 0; i < nr_seen; i++)
		t->in[t->seen[i]] = true;
	return 0;
}

static int check_set(const struct trial *t, const struct bench_set *set, void *object)
{
	u32 want = list_members(t, true);
	u64 sum = 0, got;

	for (u32 i = 0; i < want; i++)
		sum += t->list[i] + 1;
	got = set->test(object, t->list, want);
	if (got != want)
		return complain(t, "the number of members found by test", got, want);
	got = set->test(object, t->list, list_members(t, false));
	if (got != 0)
		return complain(t, "the number of other CPUs found by test", got, 0);
	if (!set->walk)
		return 0;
	got = set->walk(object, NULL, 0);
	if (got != sum)
		return complain(t, "the sum over a walk", got, sum);
	return check_visits(t, set->visit(object, t->seen, t->n + 1), want);
}

static int try_set(struct trial *t, const struct bench_set *set, void *object)
{
	u32 n;
	int err;

	set->set(object, t->list, list_members(t, true));
	err = check_set(t, set, object);
	if (err)
		return err;
	/* Remove the lower half with clear, and the upper half of all CPUs with set+clear. */
	set->clear(object, t->cpu, t->n / 2);
	for (u32 i = 0; i < t->n / 2; i++)
		t->in[i] = false;
	err = check_set(t, set, object);
	if (err)
		return err;
	n = t->n - t->n / 2;
	set->set_clear(object, t->cpu + t->n / 2, n);
	memset(t->in, 0, t->n * sizeof(*t->in));
	return check_set(t, set, object);
}

static int try_counter(struct trial *t, const struct bench_counter *counter)
{
	void *object = counter->make(t->plan->plan);
	u64 got;

	t->variant = counter->name;
	t->density = "full";
	if (!object)
		return complain(t, "the memory for it", 0, 1);
	counter->inc(object, t->cpu, t->n);
	got = counter->sum(object, NULL, 0);
	counter->destroy(object);
	return got == t->n ? 0 : complain(t, "the count", got, t->n);
}

static int try_density(struct trial *t, const struct bench_density *density)
{
	int err = 0;

	t->density = density->name;
	for (u32 i = 0; !err && i < bench_nr_sets; i++) {
		const struct bench_set *set = &bench_sets[i];
		void *object = set->make(t->plan->plan);

		t->variant = set->name;
		if (!object)
			return complain(t, "the memory for it", 0, 1);
		for (u32 cpu = 0; cpu < t->n; cpu++)
			t->in[cpu] = density->has(cpu, t->n);
		err = try_set(t, set, object);
		set->destroy(object);
	}
	return err;
}

static int try_plan(struct trial *t)
{
	int err = 0;

	for (u32 i = 0; i < t->n; i++)
		t->cpu[i] = i;
	for (u32 i = 0; !err && i < bench_nr_densities; i++)
		err = try_density(t, &bench_densities[i]);
	for (u32 i = 0; !err && i < bench_nr_counters; i++)
		err = try_counter(t, &bench_counters[i]);
	return err;
}

int bench_verify(void)
{
	u32 nr_plans;
	const struct bench_plan *plan = bench_plans_get(&nr_plans);
	int err = plan ? 0 : -1;

	for (u32 i = 0; !err && i < nr_plans; i++) {
		u32 n = plan[i].plan->nr_cpus;
		struct trial t = {
			.plan = &plan[i],
			.n = n,
			.cpu = calloc(n, sizeof(u32)),
			.list = calloc(n, sizeof(u32)),
			/*
			 * One more entry, so that the check detects a walk that visits too many
			 * CPUs.
			 */
			.seen = calloc(n + 1, sizeof(u32)),
			.in = calloc(n, sizeof(bool)),
		};

		if (t.cpu && t.list && t.seen && t.in)
			err = try_plan(&t);
		else
			err = -1;
		free(t.cpu);
		free(t.list);
		free(t.seen);
		free(t.in);
	}
	return err;
}
