// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares the model "weak" with Linux's memory model on random small programs: the axioms must
 * allow each outcome of the machine. The axioms are those of tools/memory-model for marked
 * accesses, written here a second time: coherence, atomicity, happens-before, propagation. The
 * machine and the axioms share no code.
 *
 * An outcome is the value of every load and the final memory. Each store has its own value, so that
 * a load shows which store it read. The test tries all orders of the stores of a location. No
 * program has a dependency.
 *
 * Usage: test_axioms PROGRAMS [SEED]. Prints a program and its forbidden outcome.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "explore_search.h"

#define MAX_OPS	   5
#define LOCATIONS  3
#define MAX_EVENTS 40

enum kind { LOAD, STORE, ACQUIRE, RELEASE, XCHG, XCHG_RELAXED, MB, RMB, WMB, KINDS };

static const char *const kind_names[KINDS] = { "load",	  "store",   "load acquire",
					       "release", "xchg",    "xchg relaxed",
					       "smp_mb",  "smp_rmb", "smp_wmb" };

struct instr {
	enum kind kind;
	uint8_t location;
	uint8_t val; /* of a store; no other store has it */
};

static struct instr program[EXPLORE_MAX_CPUS][MAX_OPS];
static uint32_t length[EXPLORE_MAX_CPUS], cpus;
static uint64_t *location[LOCATIONS];
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) >> 33) % n;
}

/* ---- outcomes of the machine ---- */

static void setup(uint32_t nr_cpus)
{
	for (uint32_t i = 0; i < LOCATIONS; i++)
		location[i] = arena_alloc(LINE_SIZE, -1, "location", NULL);
}

static uint64_t run_instr(const struct instr *i)
{
	void *p = location[i->location];

	switch (i->kind) {
	case LOAD:
		return sim_load(p, 8, 0, NULL);
	case ACQUIRE:
		return sim_load(p, 8, 2, NULL);
	case STORE:
		sim_store(p, 8, i->val, 0, NULL);
		return 0;
	case RELEASE:
		sim_store(p, 8, i->val, 3, NULL);
		return 0;
	case XCHG:
		return sim_rmw(p, 8, SIM_RMW_XCHG, i->val, 5, NULL);
	case XCHG_RELAXED:
		sim_rmw(p, 8, SIM_RMW_XCHG, i->val, 0, NULL);
		return 0;
	case MB:
		sim_fence(5, NULL);
		return 0;
	case RMB:
		sim_fence(2, NULL);
		return 0;
	default:
		sim_fence(3, NULL);
		return 0;
	}
}

static void body(uint32_t cpu)
{
	uint64_t seen = 0;

	for (uint32_t k = 0; k < length[cpu]; k++)
		seen |= run_instr(&program[cpu][k]) << (8 * k);
	explore_result(cpu, seen);
}

static void check(uint32_t nr_cpus)
{
	for (uint32_t i = 0; i < LOCATIONS; i++)
		explore_result(EXPLORE_MAX_CPUS + i, sim_raw_read(location[i], 8));
}

static const struct explore_case random_case = {
	.name = "axioms", .setup = setup, .body = body, .check = check
};

/* ---- the axioms ---- */

struct event {
	bool write, acquire, release;
	bool silent; /* the load of an atomic operation without a result */
	int cpu;     /* -1: initial value */
	uint32_t op;
	uint8_t location, val;
};

struct relation {
	uint64_t to[MAX_EVENTS];
};

static struct event event[MAX_EVENTS];
static uint32_t nr_events;
static struct relation po, po_loc, acq_po, po_rel, rmw, strong, rmb, wmb, rf, co;

static struct relation seq(const struct relation *a, const struct relation *b)
{
	struct relation r = { 0 };

	for (uint32_t i = 0; i < nr_events; i++) {
		for (uint64_t left = a->to[i]; left; left &= left - 1)
			r.to[i] |= b->to[__builtin_ctzll(left)];
	}
	return r;
}

static struct relation either(const struct relation *a, const struct relation *b)
{
	struct relation r;

	for (uint32_t i = 0; i < MAX_EVENTS; i++)
		r.to[i] = a->to[i] | b->to[i];
	return r;
}

static struct relation or_same(const struct relation *a)
{
	struct relation r = *a;

	for (uint32_t i = 0; i < nr_events; i++)
		r.to[i] |= 1ull << i;
	return r;
}

static struct relation closure(const struct relation *a)
{
	struct relation r = *a;

	for (uint32_t k = 0; k < nr_events; k++) {
		for (uint32_t i = 0; i < nr_events; i++) {
			if (r.to[i] >> k & 1)
				r.to[i] |= r.to[k];
		}
	}
	return r;
}

static bool acyclic(const struct relation *a)
{
	struct relation r = closure(a);

	for (uint32_t i = 0; i < nr_events; i++) {
		if (r.to[i] >> i & 1)
			return false;
	}
	return true;
}

/* The pairs within one CPU, or those between two; initial values belong to no CPU. */
static struct relation part(const struct relation *a, bool internal)
{
	struct relation r = { 0 };

	for (uint32_t i = 0; i < nr_events; i++) {
		for (uint32_t j = 0; j < nr_events; j++) {
			if ((a->to[i] >> j & 1) && (event[i].cpu == event[j].cpu) == internal)
				r.to[i] |= 1ull << j;
		}
	}
	return r;
}

static uint32_t add_event(const struct event *e)
{
	if (nr_events == MAX_EVENTS)
		abort();
	event[nr_events] = *e;
	return nr_events++;
}

/* Makes events and relations from the program alone. @seen: by CPU, a byte per instruction. */
static void build(const uint64_t *seen)
{
	nr_events = 0;
	memset(&rmw, 0, sizeof(rmw));
	for (uint8_t l = 0; l < LOCATIONS; l++)
		add_event(&(struct event){ .write = true, .cpu = -1, .location = l });
	for (uint32_t c = 0; c < cpus; c++) {
		for (uint32_t k = 0; k < length[c]; k++) {
			const struct instr *i = &program[c][k];
			struct event e = { .cpu = (int)c, .op = k, .location = i->location };
			bool both = i->kind == XCHG || i->kind == XCHG_RELAXED;

			if (i->kind == LOAD || i->kind == ACQUIRE || both) {
				e.acquire = i->kind == ACQUIRE;
				e.silent = i->kind == XCHG_RELAXED;
				e.val = (uint8_t)(seen[c] >> (8 * k));
				add_event(&e);
			}
			if (i->kind == STORE || i->kind == RELEASE || both) {
				e = (struct event){ .write = true,
						    .release = i->kind == RELEASE,
						    .cpu = (int)c,
						    .op = k,
						    .location = i->location,
						    .val = i->val };
				add_event(&e);
				if (both)
					rmw.to[nr_events - 2] |= 1ull << (nr_events - 1);
			}
		}
	}
}

static bool has_between(const struct event *a, const struct event *b, enum kind kind)
{
	for (uint32_t k = a->op + 1; k < b->op; k++) {
		if (program[a->cpu][k].kind == kind)
			return true;
	}
	return false;
}

/* Is there a full barrier: an explicit one, or one beside an atomic operation? */
static bool has_full(const struct event *a, const struct event *b)
{
	return a->op != b->op &&
	       (has_between(a, b, MB) || has_between(a, b, XCHG) ||
		program[a->cpu][a->op].kind == XCHG || program[b->cpu][b->op].kind == XCHG);
}

static void order_program(void)
{
	memset(&po, 0, sizeof(po));
	memset(&po_loc, 0, sizeof(po_loc));
	memset(&acq_po, 0, sizeof(acq_po));
	memset(&po_rel, 0, sizeof(po_rel));
	memset(&strong, 0, sizeof(strong));
	memset(&rmb, 0, sizeof(rmb));
	memset(&wmb, 0, sizeof(wmb));
	for (uint32_t i = LOCATIONS; i < nr_events; i++) {
		for (uint32_t j = i + 1; j < nr_events; j++) {
			const struct event *a = &event[i], *b = &event[j];

			if (a->cpu != b->cpu)
				continue;
			po.to[i] |= 1ull << j;
			if (a->location == b->location)
				po_loc.to[i] |= 1ull << j;
			if (a->acquire)
				acq_po.to[i] |= 1ull << j;
			if (b->release)
				po_rel.to[i] |= 1ull << j;
			if (has_full(a, b))
				strong.to[i] |= 1ull << j;
			if (!a->write && !b->write && !a->silent && !b->silent &&
			    has_between(a, b, RMB))
				rmb.to[i] |= 1ull << j;
			if (a->write && b->write && has_between(a, b, WMB))
				wmb.to[i] |= 1ull << j;
		}
	}
}

/* Does load @r read store @w, of the same location, in the chosen @co? */
static bool reads(uint32_t r, uint32_t w)
{
	uint64_t own = rmw.to[r];

	if (!event[r].silent)
		return event[w].val == event[r].val;
	/* A load without a result reads the store just before its own in the order of stores. */
	if (!(co.to[w] & own))
		return false;
	for (uint32_t v = 0; v < nr_events; v++) {
		if ((co.to[w] >> v & 1) && (co.to[v] & own))
			return false;
	}
	return true;
}

/* For the chosen @co: which store each load reads (rf), and which stores come after it (fr). */
static struct relation relate_reads(void)
{
	struct relation fr = { 0 };

	memset(&rf, 0, sizeof(rf));
	for (uint32_t r = LOCATIONS; r < nr_events; r++) {
		for (uint32_t w = 0; w < nr_events && !event[r].write; w++) {
			if (!event[w].write || event[w].location != event[r].location ||
			    !reads(r, w))
				continue;
			rf.to[w] |= 1ull << r;
			fr.to[r] |= co.to[w];
		}
	}
	return fr;
}

/* Do all axioms hold for the chosen @co? */
static bool consistent(void)
{
	struct relation com, rfe, fre, coe, overwrite, ppo, fence, cumul, prop, hb, pb, t, u;
	struct relation fr = relate_reads();

	/* Coherence, atomicity. */
	com = either(&rf, &co);
	com = either(&com, &fr);
	t = either(&po_loc, &com);
	if (!acyclic(&t))
		return false;
	rfe = part(&rf, false);
	fre = part(&fr, false);
	coe = part(&co, false);
	t = seq(&fre, &coe);
	for (uint32_t i = 0; i < nr_events; i++) {
		if (t.to[i] & rmw.to[i])
			return false;
	}
	/* Happens-before. */
	overwrite = either(&co, &fr);
	fence = either(&strong, &po_rel);
	fence = either(&fence, &acq_po);
	fence = either(&fence, &wmb);
	fence = either(&fence, &rmb);
	t = part(&overwrite, true);
	ppo = either(&fence, &t);
	t = either(&strong, &po_rel);
	u = or_same(&rfe);
	cumul = seq(&u, &t);
	cumul = either(&cumul, &wmb);
	t = seq(&rf, &rmw);
	t = closure(&t);
	t = or_same(&t);
	cumul = seq(&cumul, &t);
	cumul = closure(&cumul);
	cumul = or_same(&cumul);
	t = part(&overwrite, false);
	t = or_same(&t);
	prop = seq(&t, &cumul);
	prop = seq(&prop, &u);
	t = part(&prop, true);
	for (uint32_t i = 0; i < nr_events; i++)
		t.to[i] &= ~(1ull << i);
	hb = either(&ppo, &rfe);
	hb = either(&hb, &t);
	if (!acyclic(&hb))
		return false;
	/* Propagation. */
	t = closure(&hb);
	t = or_same(&t);
	pb = seq(&prop, &strong);
	pb = seq(&pb, &t);
	return acyclic(&pb);
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

/* All orders of the stores of location @l and the later ones that end with the final memory. */
static bool some_order(uint32_t l, const uint64_t *final)
{
	uint32_t store[MAX_EVENTS], n = 0, at[MAX_EVENTS] = { 0 };

	if (l == LOCATIONS)
		return consistent();
	for (uint32_t i = LOCATIONS; i < nr_events; i++) {
		if (event[i].write && event[i].location == l)
			store[n++] = i;
	}
	/* Heap's algorithm for permutations. */
	for (uint32_t i = 0;;) {
		if (!n || event[store[n - 1]].val == final[l]) {
			for (uint32_t a = 0; a < n; a++) {
				co.to[store[a]] = 0;
				for (uint32_t b = a + 1; b < n; b++)
					co.to[store[a]] |= 1ull << store[b];
			}
			co.to[l] = 0;
			for (uint32_t a = 0; a < n; a++)
				co.to[l] |= 1ull << store[a];
			if (some_order(l + 1, final))
				return true;
		}
		while (i < n && at[i] >= i)
			at[i++] = 0;
		if (i >= n)
			return false;
		swap(&store[i], &store[i % 2 ? at[i] : 0]);
		at[i]++;
		i = 0;
	}
}

static bool allowed(const uint64_t *results)
{
	build(results);
	order_program();
	memset(&co, 0, sizeof(co));
	return some_order(0, &results[EXPLORE_MAX_CPUS]);
}

/* An access, then mostly a barrier and another access: the subject of the rules. */
static void make_program(void)
{
	uint8_t val = 1;

	cpus = 2 + below(3);
	for (uint32_t c = 0; c < cpus; c++) {
		length[c] = 2 + below(cpus > 3 ? 2 : cpus > 2 ? 3 : MAX_OPS - 1);
		for (uint32_t k = 0; k < length[c]; k++) {
			bool barrier = k % 2 && length[c] > 2 && below(4);
			uint32_t kind = barrier ? MB + below(3) : below(3) ? below(2) : below(MB);

			program[c][k] = (struct instr){ .kind = (enum kind)kind,
							.location = (uint8_t)below(LOCATIONS),
							.val = val++ };
		}
	}
}

static void print_program(const uint64_t *results)
{
	for (uint32_t c = 0; c < cpus; c++) {
		fprintf(stderr, "CPU %u:", c);
		for (uint32_t k = 0; k < length[c]; k++) {
			const struct instr *i = &program[c][k];

			fprintf(stderr, " %s [%u] %u -> %u;", kind_names[i->kind], i->location,
				i->val, (unsigned int)(results[c] >> (8 * k) & 0xff));
		}
		fputc('\n', stderr);
	}
	for (uint32_t l = 0; l < LOCATIONS; l++)
		fprintf(stderr, "[%u] = %u\n", l, (unsigned int)results[EXPLORE_MAX_CPUS + l]);
}

int main(int argc, char **argv)
{
	uint32_t programs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint32_t outcomes = 0, strange = 0;

	for (uint32_t n = 0; n < programs; n++) {
		struct x_options o = { .search = X_SEARCH_STATES, .preemptions = X_NO_BOUND };
		struct x_stats weak, tso;

		random_state = seed * 1000003 + n;
		make_program();
		memset(&weak, 0, sizeof(weak));
		x_machine_init(&random_case, cpus, X_WEAK, true);
		x_search_states(&o, &weak);
		for (uint32_t i = 0; i < weak.nr_outcomes; i++) {
			if (allowed(weak.outcomes[i].results))
				continue;
			fprintf(stderr, "program %u of seed %llu: the memory model forbids this\n",
				n, (unsigned long long)seed);
			print_program(weak.outcomes[i].results);
			return 1;
		}
		memset(&tso, 0, sizeof(tso));
		x_machine_init(&random_case, cpus, X_TSO, true);
		x_search_states(&o, &tso);
		outcomes += weak.nr_outcomes;
		strange += weak.nr_outcomes > tso.nr_outcomes;
		x_stats_free(&weak);
		x_stats_free(&tso);
	}
	printf("%u programs, %u outcomes, all allowed; %u programs with more than TSO has\n",
	       programs, outcomes, strange);
	return strange < programs / 20; /* too few such outcomes would prove nothing */
}
