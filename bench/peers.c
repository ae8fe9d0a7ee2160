// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-peers: compares the library's set of CPUs with the sets of other libraries, with one
 * thread on this host. The sets are for the CPUs of a machine file. schedshard-live compares
 * operations of several threads at once.
 *
 * The sets take turns. In every round each set runs for about TURN_NS, one right after the other. A
 * set's time is divided by that of the library's set in the same round. So a disturbance that lasts
 * a whole round cancels out, and one of a single turn changes only one ratio of many. A walk sums
 * up its CPUs, and a wrong sum ends the program.
 */
#include <ck_bitmap.h>
#include <err.h>
#include <hwloc/bitmap.h>
#include <stdio.h>
#include <stdlib.h>

#include "command_line.h"
#include "create.h"
#include "machine.h"
#include "sample.h"
#include "sbm_more.h"

#define ROUNDS	    51
#define TURN_NS	    200e3
#define NR_SETS	    5
#define NOT_INLINED static __attribute__((noinline))

/* The packed bitmap that most programs write themselves: 64 CPUs per word. */
struct words {
	u32 nr_words;
	u64 word[] port_cacheline_aligned;
};

static size_t words_size(u32 nr_words)
{
	return sizeof(struct words) + nr_words * sizeof(u64);
}

static struct words *words_make(u32 nr_cpus)
{
	u32 nr_words = (nr_cpus + 63) / 64;
	struct words *b = port_alloc(words_size(nr_words), -1);

	if (b)
		b->nr_words = nr_words;
	return b;
}

static struct ck_bitmap *ck_make(u32 nr_cpus)
{
	struct ck_bitmap *b = port_alloc(ck_bitmap_size(nr_cpus), -1);

	if (b)
		ck_bitmap_init(b, nr_cpus, false);
	return b;
}

static struct ck_bitmap_iterator ck_begin(const struct ck_bitmap *b)
{
	struct ck_bitmap_iterator it;

	ck_bitmap_iterator_init(&it, b);
	return it;
}

/*
 * struct set - an implementation
 * @make, @destroy: an empty set for the CPUs of a plan
 * @add: add each of @nr CPUs
 * @change: add and at once remove each of @nr CPUs
 * @walk: the sum of (CPU + 1) over the set
 */
struct set {
	const char *name;
	void *(*make)(const struct shard_plan *plan);
	void (*destroy)(void *object);
	void (*add)(void *object, const u32 *cpu, u32 nr);
	void (*change)(void *object, const u32 *cpu, u32 nr);
	u64 (*walk)(void *object);
};

/*
 * All loops of an operation come from one text, and none is inlined into its caller. So the
 * compiler cannot unroll or hoist for only one implementation. In the arguments @b is the set, and
 * @walk is the head of a loop over its CPUs.
 */
#define SET(id, type, made, freed, set_bit, clear_bit, walk)               \
	static void *id##_set_make(const struct shard_plan *plan)          \
	{                                                                  \
		return made;                                               \
	}                                                                  \
	static void id##_set_destroy(void *object)                         \
	{                                                                  \
		type *b = object;                                          \
		freed;                                                     \
	}                                                                  \
	NOT_INLINED void id##_add(void *object, const u32 *one, u32 nr)    \
	{                                                                  \
		type *b = object;                                          \
		for (u32 i = 0; i < nr; i++) {                             \
			u32 cpu = one[i];                                  \
			set_bit;                                           \
		}                                                          \
	}                                                                  \
	NOT_INLINED void id##_change(void *object, const u32 *one, u32 nr) \
	{                                                                  \
		type *b = object;                                          \
		for (u32 i = 0; i < nr; i++) {                             \
			u32 cpu = one[i];                                  \
			set_bit;                                           \
			clear_bit;                                         \
		}                                                          \
	}                                                                  \
	NOT_INLINED u64 id##_walk(void *object)                            \
	{                                                                  \
		type *b = object;                                          \
		u64 sum = 0;                                               \
		u32 cpu;                                                   \
		walk sum += cpu + 1;                                       \
		return sum;                                                \
	}

#define MEMBERS(id) id##_set_make, id##_set_destroy, id##_add, id##_change, id##_walk

/* clang-format off */
SET(sbm, struct sbm, sbm_alloc(plan, 0), sbm_destroy(b),
    sbm_set(b, cpu), sbm_clear(b, cpu),
    sbm_for_each_cpu(cpu, it, b))
SET(summary, struct sbm, sbm_alloc(plan, SBM_SUMMARY), sbm_destroy(b),
    sbm_set(b, cpu), sbm_clear(b, cpu),
    sbm_for_each_cpu(cpu, it, b))
SET(words, struct words, words_make(plan->nr_cpus), port_free(b, words_size(b->nr_words)),
    port_or64(&b->word[cpu >> 6], 1ULL << (cpu & 63)),
    port_and64(&b->word[cpu >> 6], ~(1ULL << (cpu & 63))),
    for (u32 w = 0; w < b->nr_words; w++)
	for (u64 left = READ_ONCE(b->word[w]);
	     left && (cpu = w * 64 + port_ctz64(left), true); left &= left - 1))
SET(ck, struct ck_bitmap, ck_make(plan->nr_cpus), port_free(b, ck_bitmap_size(ck_bitmap_bits(b))),
    ck_bitmap_set(b, cpu), ck_bitmap_reset(b, cpu),
    for (struct ck_bitmap_iterator it = ck_begin(b); ck_bitmap_next(b, &it, &cpu);))
SET(hwloc, struct hwloc_bitmap_s, hwloc_bitmap_alloc(), hwloc_bitmap_free(b),
    hwloc_bitmap_set(b, cpu), hwloc_bitmap_clr(b, cpu),
    for (int next = hwloc_bitmap_first(b); next >= 0 && ((cpu = (u32)next), true);
	 next = hwloc_bitmap_next(b, next)))
/* clang-format on */

/* The times of all other sets are divided by the first set's. */
static const struct set sets[NR_SETS] = {
	{ "library", MEMBERS(sbm) },
	{ "library, summary", MEMBERS(summary) },
	{ "packed words", MEMBERS(words) },
	{ "Concurrency Kit", MEMBERS(ck) },
	{ "hwloc (not atomic)", MEMBERS(hwloc) },
};

enum kind { CHANGE, WALK, CREATE };

/* @every: a walk's set contains one CPU of this many; 0: none. */
static const struct operation {
	const char *name;
	enum kind kind;
	u32 every;
} operations[] = {
	{ "set and clear", CHANGE, 0 }, { "walk, empty", WALK, 0 }, { "walk, 1 in 16", WALK, 16 },
	{ "walk, half", WALK, 2 },	{ "walk, full", WALK, 1 },  { "make and free", CREATE, 0 },
};

/* The CPUs in a fixed order that no layout can predict, and those that are in the set. */
struct input {
	const struct shard_plan *plan;
	u32 nr, nr_members;
	u32 *shuffled, *member;
};

static void shuffle(u32 *cpu, u32 nr)
{
	u64 state = 0x9e3779b97f4a7c15ULL;

	for (u32 i = 0; i < nr; i++)
		cpu[i] = i;
	for (u32 i = nr; i > 1; i--) {
		u32 other, last = cpu[i - 1];

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		other = (u32)(state >> 33) % i;
		cpu[i - 1] = cpu[other];
		cpu[other] = last;
	}
}

static u64 volatile result;

/* Nanoseconds of @calls calls of an operation. */
static double turn(const struct set *set, void *object, enum kind kind, const struct input *in,
		   u64 calls)
{
	double start = sample_now_ns();

	for (u64 i = 0; i < calls; i++) {
		if (kind == CHANGE) {
			set->change(object, in->shuffled, in->nr);
		} else if (kind == WALK) {
			result = set->walk(object);
		} else {
			void *made = set->make(in->plan);

			if (!made)
				errx(1, "no memory for a set");
			set->destroy(made);
		}
	}
	return sample_now_ns() - start;
}

static u64 calls_for_turn(const struct set *set, void *object, enum kind kind,
			  const struct input *in)
{
	for (u64 calls = 1;; calls *= 2) {
		double ns = turn(set, object, kind, in, calls);

		if (ns >= TURN_NS / 4)
			return 1 + (u64)((double)calls * TURN_NS / ns);
	}
}

static void *filled(const struct set *set, const struct operation *op, const struct input *in)
{
	void *object = set->make(in->plan);
	u64 sum = 0, got;

	if (!object)
		errx(1, "no memory for a set");
	set->add(object, in->member, in->nr_members);
	for (u32 i = 0; i < in->nr_members; i++)
		sum += in->member[i] + 1;
	got = set->walk(object);
	if (got != sum)
		errx(1, "%s, %s: a walk sums up to %llu, where %llu is right", set->name, op->name,
		     (unsigned long long)got, (unsigned long long)sum);
	return object;
}

static double percentile(const double *sorted, double share)
{
	return sorted[(u32)(share * (ROUNDS - 1) + 0.5)];
}

static void measure(const struct operation *op, struct input *in)
{
	static double ns[NR_SETS][ROUNDS], ratio[ROUNDS];
	u64 ops = op->kind == CHANGE ? in->nr : 1, calls[NR_SETS];
	void *object[NR_SETS];

	in->nr_members = 0;
	for (u32 i = 0; op->every && i < in->nr; i += op->every)
		in->member[in->nr_members++] = i;
	for (u32 s = 0; s < NR_SETS; s++) {
		object[s] = filled(&sets[s], op, in);
		calls[s] = calls_for_turn(&sets[s], object[s], op->kind, in);
	}
	for (u32 round = 0; round < ROUNDS; round++) {
		for (u32 i = 0; i < NR_SETS; i++) {
			u32 s = (i + round) % NR_SETS;

			ns[s][round] = turn(&sets[s], object[s], op->kind, in, calls[s]) /
				       ((double)calls[s] * (double)ops);
		}
	}
	/* The library's times come last, because sorting loses their rounds. */
	double line[NR_SETS][4];
	for (u32 s = NR_SETS; s-- > 0;) {
		for (u32 round = 0; round < ROUNDS; round++)
			ratio[round] = ns[s][round] / ns[0][round];
		sample_sort(ratio, ROUNDS);
		sample_sort(ns[s], ROUNDS);
		line[s][0] = percentile(ns[s], 0.5);
		line[s][1] = percentile(ratio, 0.5);
		line[s][2] = percentile(ratio, 0.1);
		line[s][3] = percentile(ratio, 0.9);
		sets[s].destroy(object[s]);
	}
	for (u32 s = 0; s < NR_SETS; s++) {
		printf("%-15s %-20s %9.1f", s ? "" : op->name, sets[s].name, line[s][0]);
		if (s)
			printf("  %6.2f (%.2f to %.2f)", line[s][1], line[s][2], line[s][3]);
		printf("\n");
	}
	if (fflush(stdout))
		err(1, "cannot write");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **path = state->input;

	if (key == ARGP_KEY_ARG && !*path) {
		*path = arg;
		return 0;
	}
	if (key == ARGP_KEY_END && !*path)
		errx(2, "MACHINE is missing: give a file that model/machines/flat.py writes");
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "MACHINE",
	.doc = "Measure sets for the CPUs of a machine file, by one thread on this host: the "
	       "median nanoseconds of a call, and their ratio to the library's, with its 10th "
	       "and 90th percentile.",
};

int main(int argc, char **argv)
{
	const struct shard_plan_opts opts = { .cap = SHARD_CAP_LOCKED };
	const char *path = NULL;
	struct shard_plan *plan;
	struct machine *machine;
	struct shard_err error;
	struct input in;
	int refused;

	command_line(&argp, argc, argv, &path);
	if (machine_load(&machine, path, &error))
		errx(2, "%s", error.text);
	refused = shard_plan_build(&plan, &machine->topo, &opts);
	machine_free(machine);
	if (refused != SHARD_PLAN_OK)
		errx(2, "%s: %s", path, shard_plan_strerror(refused));
	in = (struct input){ .plan = plan, .nr = plan->nr_cpus };
	in.shuffled = calloc(in.nr, sizeof(*in.shuffled));
	in.member = calloc(in.nr, sizeof(*in.member));
	if (!in.shuffled || !in.member)
		errx(1, "no memory for %u CPU numbers", in.nr);
	shuffle(in.shuffled, in.nr);
	printf("%-15s %-20s %9s  ratio (10%% to 90%%)\n", "", "one thread", "ns");
	for (u32 i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		measure(&operations[i], &in);
	free(in.shuffled);
	free(in.member);
	shard_plan_free(plan);
	return 0;
}
