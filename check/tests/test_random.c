// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Explores random small programs in two ways, by every execution and by every state. Both must find
 * the same outcomes and agree on data races, even if the number of preemptions is bounded. Under
 * each memory model, programs mix fences, ghosts, and plain, locked and posted accesses, which may
 * overlap.
 *
 * Usage: test_random PROGRAMS [SEED]. Prints the program that differs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "explore_search.h"

#define MAX_OPS		    4
#define BRUTE_LIMIT	    30000 /* executions; longer programs only by states */
#define LONGER_THAN_ANY_RUN 1000

enum kind {
	LOAD,
	STORE,
	STORE_SC,
	OR,
	ADD,
	CAS,
	FENCE,
	PLAIN_LOAD,
	PLAIN_STORE,
	GHOST,
	LOOK,
	LOAD_ACQUIRE,
	STORE_RELEASE,
	READ_BARRIER,
	WRITE_BARRIER,
	KINDS
};

static const char *const kind_names[KINDS] = { "load",		"store",      "store seq_cst",
					       "or (relaxed)",	"add",	      "cas",
					       "fence",		"plain load", "plain store",
					       "ghost set",	"ghost get",  "load acquire",
					       "store release", "rmb",	      "wmb" };

struct instr {
	enum kind kind;
	uint8_t offset, size;
	uint8_t val;
};

static struct instr program[EXPLORE_MAX_CPUS][MAX_OPS];
static uint32_t length[EXPLORE_MAX_CPUS];
static uint8_t *mem; /* two lines, of which the first 8 bytes of each are used */
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) >> 33) % n;
}

static void setup(uint32_t nr_cpus)
{
	mem = arena_alloc(2 * LINE_SIZE, -1, "mem", NULL);
}

static uint64_t run_instr(const struct instr *i)
{
	void *p = mem + i->offset;
	uint64_t val = i->val, want = 0;

	switch (i->kind) {
	case LOAD:
		return sim_load(p, i->size, 0, NULL);
	case STORE:
		sim_store(p, i->size, val, 0, NULL);
		return 0;
	case STORE_SC:
		sim_store(p, i->size, val, 5, NULL);
		return 0;
	case OR:
		sim_rmw(p, i->size, SIM_RMW_OR, val, 0, NULL);
		return 0;
	case ADD:
		return sim_rmw(p, i->size, SIM_RMW_ADD, val, 5, NULL);
	case CAS:
		return sim_cas(p, i->size, &want, val, 5, NULL) ? 1 : want;
	case FENCE:
		sim_fence(5, NULL);
		return 0;
	case PLAIN_LOAD:
		sim_plain(p, i->size, false, NULL);
		return sim_raw_read(p, i->size);
	case PLAIN_STORE:
		sim_plain(p, i->size, true, NULL);
		sim_raw_write(p, i->size, val);
		return 0;
	case GHOST:
		explore_ghost_set(0, val);
		return 0;
	case LOAD_ACQUIRE:
		return sim_load(p, i->size, 2, NULL);
	case STORE_RELEASE:
		sim_store(p, i->size, val, 3, NULL);
		return 0;
	case READ_BARRIER:
		sim_fence(2, NULL);
		return 0;
	case WRITE_BARRIER:
		sim_fence(3, NULL);
		return 0;
	default:
		return explore_ghost_get(0);
	}
}

static void body(uint32_t cpu)
{
	uint64_t seen = 0;

	for (uint32_t k = 0; k < length[cpu]; k++)
		seen = (seen + run_instr(&program[cpu][k])) * 0x2545f4914f6cdd1dull + 1;
	explore_result(cpu, seen);
}

static void check(uint32_t nr_cpus)
{
	explore_result(EXPLORE_MAX_CPUS, sim_raw_read(mem, 8));
	explore_result(EXPLORE_MAX_CPUS + 1, sim_raw_read(mem + LINE_SIZE, 8));
}

static const struct explore_case random_case = {
	.name = "random", .setup = setup, .body = body, .check = check
};

static void make_program(uint32_t nr_cpus)
{
	/* Plain accesses nearly always race, so most programs have none. */
	bool plain = !below(6);

	memset(program, 0, sizeof(program));
	for (uint32_t c = 0; c < nr_cpus; c++) {
		length[c] = 1 + below(nr_cpus > 2 ? MAX_OPS - 1 : MAX_OPS);
		for (uint32_t k = 0; k < length[c]; k++) {
			struct instr *i = &program[c][k];
			uint32_t line = below(2) * LINE_SIZE;

			do
				i->kind = below(KINDS);
			while (!plain && (i->kind == PLAIN_LOAD || i->kind == PLAIN_STORE));
			i->size = below(2) ? 8 : 1;
			i->offset = (uint8_t)(line + (i->size == 1 ? below(2) : 0));
			i->val = (uint8_t)(1 + below(3));
		}
	}
}

static void print_program(uint32_t nr_cpus)
{
	for (uint32_t c = 0; c < nr_cpus; c++) {
		fprintf(stderr, "CPU %u:", c);
		for (uint32_t k = 0; k < length[c]; k++) {
			const struct instr *i = &program[c][k];

			fprintf(stderr, " %s [%u,%u] %u;", kind_names[i->kind], i->offset, i->size,
				i->val);
		}
		fputc('\n', stderr);
	}
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct x_outcome *)0)->results));
}

static void explore(uint32_t nr_cpus, enum x_model model, enum x_search search,
		    uint32_t preemptions, struct x_stats *s)
{
	struct x_options o = { .search = search,
			       .preemptions = preemptions,
			       .max_executions = search == X_SEARCH_BRUTE ? BRUTE_LIMIT : 0 };

	memset(s, 0, sizeof(*s));
	x_machine_init(&random_case, nr_cpus, model, search == X_SEARCH_STATES);
	x_search_states(&o, s);
	qsort(s->outcomes, s->nr_outcomes, sizeof(*s->outcomes), compare);
}

static bool same(const struct x_stats *a, const struct x_stats *b)
{
	if (a->nr_outcomes != b->nr_outcomes || !a->failing != !b->failing)
		return false;
	for (uint32_t i = 0; i < a->nr_outcomes; i++) {
		if (compare(&a->outcomes[i], &b->outcomes[i]))
			return false;
	}
	return true;
}

/* Did @b find everything that @a found? */
static bool subset(const struct x_stats *a, const struct x_stats *b)
{
	for (uint32_t i = 0; i < a->nr_outcomes; i++) {
		if (!bsearch(&a->outcomes[i], b->outcomes, b->nr_outcomes, sizeof(*b->outcomes),
			     compare))
			return false;
	}
	return true;
}

/* All searches of one program. */
struct searches {
	struct x_stats brute, states, bounded, few, few_brute;
};

static void search(uint32_t nr_cpus, enum x_model model, struct searches *s)
{
	uint32_t bound;

	explore(nr_cpus, model, X_SEARCH_BRUTE, X_NO_BOUND, &s->brute);
	explore(nr_cpus, model, X_SEARCH_STATES, X_NO_BOUND, &s->states);
	explore(nr_cpus, model, X_SEARCH_STATES, LONGER_THAN_ANY_RUN, &s->bounded);
	bound = below(3);
	explore(nr_cpus, model, X_SEARCH_STATES, bound, &s->few);
	explore(nr_cpus, model, X_SEARCH_BRUTE, bound, &s->few_brute);
}

/* Return the first thing in which two searches differ and must not, or NULL. */
static const char *difference(const struct searches *s)
{
	if (!s->states.complete || !s->bounded.complete || !s->few.complete)
		return "a search without a limit stopped early";
	if (s->brute.complete && !same(&s->brute, &s->states))
		return "brute and states differ";
	if (s->brute.complete && s->states.executions > s->brute.executions)
		return "states ran an execution twice";
	if (!same(&s->states, &s->bounded))
		return "a bound that never binds changed the outcomes";
	if (!subset(&s->few, &s->states))
		return "few preemptions found what no execution has";
	if (s->few_brute.complete && !same(&s->few, &s->few_brute))
		return "states and brute differ within a bound";
	return NULL;
}

static void end(struct searches *s)
{
	x_stats_free(&s->brute);
	x_stats_free(&s->states);
	x_stats_free(&s->bounded);
	x_stats_free(&s->few);
	x_stats_free(&s->few_brute);
}

int main(int argc, char **argv)
{
	uint32_t programs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint64_t brute_executions = 0, states_executions = 0;
	uint32_t incomplete = 0, racy = 0, outcomes = 0;

	for (uint32_t n = 0; n < programs; n++) {
		enum x_model model = (enum x_model)(n % 4);
		uint32_t nr_cpus = 2 + n / 4 % 3;
		struct searches s;
		const char *wrong;

		random_state = seed * 1000003 + n;
		make_program(nr_cpus);
		search(nr_cpus, model, &s);
		wrong = difference(&s);
		if (wrong) {
			fprintf(stderr,
				"program %u of seed %llu, model %d: %s\n"
				"outcomes: brute %u, states %u, bounded %u\n",
				n, (unsigned long long)seed, model, wrong, s.brute.nr_outcomes,
				s.states.nr_outcomes, s.bounded.nr_outcomes);
			print_program(nr_cpus);
			return 1;
		}
		incomplete += !s.brute.complete;
		racy += s.states.failing != 0;
		outcomes += s.states.nr_outcomes;
		if (s.brute.complete) {
			brute_executions += s.brute.executions;
			states_executions += s.states.executions;
		}
		end(&s);
	}
	printf("%u programs, %u outcomes, %u with a data race, %u too long for brute force\n"
	       "executions: brute force %llu, states %llu\n",
	       programs, outcomes, racy, incomplete, (unsigned long long)brute_executions,
	       (unsigned long long)states_executions);
	/* Programs without findings would prove nothing. */
	return outcomes < 2 * programs || !racy || incomplete * 2 > programs;
}
