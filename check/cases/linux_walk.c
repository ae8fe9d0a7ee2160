// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Linux's push walk (loop_next, loop_start, a lock), as in model/layouts/linux_walk.inc. Every CPU
 * lowers its level and requests a walk. Some CPU must read that level after it was lowered. The CPU
 * that carries the walk does what the overloaded CPU would do: it reads all levels. The same CPU
 * stays overloaded throughout. Executions in which a CPU would wait for the lock do not count.
 *
 * Linux loses a request that arrives after the overloaded CPU read all levels, while the walk is
 * still at that CPU. The round for this request skips the CPU at which the walk is. The variable
 * `mended` turns on a remedy that the series does not contain.
 *
 * Even with the remedy a request is lost if the set of overloaded CPUs becomes empty and fills
 * again. This happens after a CPU took loop_start, saw a walk under way and released the lock, but
 * before it releases loop_start, so the window is a few instructions wide. Meanwhile the walk finds
 * the set empty and ends, and a new request finds loop_start taken and returns. The newly
 * overloaded CPU read the levels before that request, and does not read them again.
 *
 * Since 7.3 a walk skips the CPU on which it stands. In the kernel series the first round of a walk
 * serves all requests so far. But if the CPU that starts the walk is overloaded, the first round
 * skips that CPU's tasks.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"

#define CPUS 4

struct linux_walk {
	u64 next, start, lock;
	u64 loop, cpu; /* cpu: 1 while the walk is at the overloaded CPU */
	u64 nobody;    /* that CPU is not overloaded */
};

struct state {
	u64 low[CPUS] port_cacheline_aligned; /* 1: the CPU has lowered its level */
	u64 seen[CPUS] port_cacheline_aligned;
	struct linux_walk walk port_cacheline_aligned;
};

static struct state *s;
static u32 cpus;
static bool empties; /* the overloaded CPU has no tasks left after its push */
static bool mended;  /* the remedy */

static void setup(uint32_t nr_cpus)
{
	empties = false;
	mended = true;
	cpus = nr_cpus;
	s = port_alloc(sizeof(*s), -1);
	if (!s)
		abort();
	explore_name(s->low, sizeof(s->low), "low");
	explore_name(s->seen, sizeof(s->seen), "seen");
	explore_name(&s->walk, sizeof(s->walk), "walk");
}

static void setup_empties(uint32_t nr_cpus)
{
	setup(nr_cpus);
	empties = true;
}

static void setup_stock(uint32_t nr_cpus)
{
	setup(nr_cpus);
	mended = false;
}

/* The overloaded CPU reads all levels. */
static void look(void)
{
	for (u32 c = 0; c < cpus; c++)
		if (READ_ONCE(s->low[c]))
			WRITE_ONCE(s->seen[c], 1);
}

static void look_and_empty(void)
{
	WRITE_ONCE(s->walk.nobody, 1);
	look();
}

static bool try_lock(void)
{
	return !port_xchg64(&s->walk.lock, 1);
}

static void unlock(void)
{
	smp_store_release(&s->walk.lock, 0);
}

/*
 * Move the walk to the overloaded CPU, or end it; the caller holds the lock. @stands: the walk is
 * already at that CPU, which has served the requests up to @served.
 */
static bool next_stop(bool stands, u64 served)
{
	struct linux_walk *w = &s->walk;
	bool skip = stands;

	for (;;) {
		u64 wanted;

		/* From no CPU to the one overloaded CPU, and past it. */
		w->cpu = !w->cpu && !READ_ONCE(w->nobody);
		if (w->cpu && !skip)
			return true;
		if (w->cpu)
			continue;
		wanted = smp_load_acquire(&w->next);
		if (w->loop == wanted)
			return false;
		w->loop = wanted;
		if (mended)
			skip = stands && wanted == served;
	}
}

/* Begin a walk, under the lock, while no other CPU walks. */
static bool first_stop(void)
{
	struct linux_walk *w = &s->walk;

	if (mended)
		w->loop = smp_load_acquire(&w->next);
	return next_stop(false, 0);
}

static void ask(uint32_t cpu)
{
	struct linux_walk *w = &s->walk;
	bool walks = false;

	WRITE_ONCE(s->low[cpu], 1);
	smp_mb();
	if (READ_ONCE(w->nobody))
		return;
	port_fetch_add64(&w->next, 1);
	if (port_cmpxchg64(&w->start, 0, 1))
		return;
	if (!try_lock()) {
		explore_result(0, 1);
		return;
	}
	if (!w->cpu)
		walks = first_stop();
	unlock();
	smp_store_release(&w->start, 0);
	while (walks) {
		u64 served = smp_load_acquire(&w->next);

		if (empties)
			look_and_empty();
		else
			look();
		if (!try_lock()) {
			explore_result(0, 1);
			return;
		}
		walks = next_stop(true, served);
		unlock();
	}
}

/*
 * CPU 0 pushes all its tasks when a walk reaches it. CPU 2 plays two parts. First it is a queue
 * that becomes overloaded, finds no lower CPU and waits; then a CPU that becomes free.
 */
static void ask_refilled(uint32_t cpu)
{
	struct linux_walk *w = &s->walk;

	if (cpu == 2) {
		if (!READ_ONCE(w->nobody))
			return;
		WRITE_ONCE(w->nobody, 0);
		smp_mb();
		look();
	}
	ask(cpu);
}

/* Result 0 is 1 if the execution was given up. */
static void check(uint32_t nr_cpus)
{
	for (u32 c = 0; c < nr_cpus; c++)
		explore_check(explore_result_of(0) || READ_ONCE(s->seen[c]),
			      "CPU %u requested a walk, but no CPU read its level afterwards", c);
}

/* Only the last CPU knows that a CPU was overloaded at its request. */
static void check_last(uint32_t nr_cpus)
{
	explore_check(explore_result_of(0) || !READ_ONCE(s->low[2]) || READ_ONCE(s->seen[2]) ||
			      READ_ONCE(s->walk.nobody),
		      "CPU 2 requested a walk, but no CPU read its level afterwards");
}

/* ---- 7.3's walk: CPUs 0 and 2 are overloaded, and CPU 0 starts it; CPU 1 lowers its level ---- */

static bool careful; /* the series */

static void setup_start(uint32_t nr_cpus)
{
	setup(nr_cpus);
	careful = true;
}

static void setup_start_careless(uint32_t nr_cpus)
{
	setup_start(nr_cpus);
	careful = false;
}

static bool overloaded_at(s64 cpu)
{
	return cpu != 1;
}

static s64 next_cpu(s64 this_cpu)
{
	struct linux_walk *w = &s->walk;

	for (;;) {
		u64 wanted;

		/* Here w->cpu is 1 more than the number of the CPU where the walk is, or 0. */
		while (++w->cpu <= 3)
			if (overloaded_at((s64)w->cpu - 1) && (s64)w->cpu - 1 != this_cpu)
				return (s64)w->cpu - 1;
		w->cpu = 0;
		wanted = smp_load_acquire(&w->next);
		if (w->loop == wanted)
			return -1;
		w->loop = wanted;
	}
}

/* CPU 0 reads all levels when the walk reaches it; CPU 2's tasks do not matter. */
static void carry(s64 cpu)
{
	while (cpu >= 0) {
		if (!cpu)
			look();
		if (!try_lock()) {
			explore_result(0, 1);
			return;
		}
		cpu = next_cpu(cpu);
		unlock();
	}
}

/* CPU 1's request counts only if it comes while CPU 0 starts the walk. */
static void start(uint32_t cpu)
{
	struct linux_walk *w = &s->walk;
	s64 first;

	WRITE_ONCE(s->low[cpu], cpu);
	smp_mb();
	port_fetch_add64(&w->next, 1);
	if (port_cmpxchg64(&w->start, 0, 1))
		return;
	if (cpu || !try_lock()) {
		explore_result(0, 1);
		return;
	}
	if (!careful || !overloaded_at(cpu))
		w->loop = smp_load_acquire(&w->next);
	first = next_cpu(cpu);
	unlock();
	smp_store_release(&w->start, 0);
	carry(first);
}

static void check_start(uint32_t nr_cpus)
{
	(void)nr_cpus;
	explore_check(explore_result_of(0) || READ_ONCE(s->seen[1]),
		      "CPU 1 requested a walk, but CPU 0 did not read its level afterwards");
}

#define CASE(name_, title_, kind_, cpus_, setup_, body_, check_)                \
	EXPLORE_CASE(name_, title_, kind_, cpus_, cpus_, setup_, body_, check_, \
		     .results = { "gave up" })

const struct explore_case explore_linux_walk_cases[] = {
	CASE("walk-linux",
	     "Linux's walk with a remedy serves requests, as long as no CPU waits for its lock",
	     "core", 2, setup, ask, check),
	CASE("walk-start", "the series' walk serves requests that come while it starts", "core", 2,
	     setup_start, start, check_start),
	CASE("planted-walk-start",
	     "planted: the first round of an overloaded CPU counts as one for all requests",
	     "planted", 2, setup_start_careless, start, check_start),
	CASE("planted-walk-linux-visit",
	     "Linux's walk, nothing planted: a request is lost that comes during a visit",
	     "planted", 2, setup_stock, ask, check),
	CASE("planted-walk-linux",
	     "Linux's walk, nothing planted: a request is lost when the set empties and fills "
	     "again",
	     "planted", 3, setup_empties, ask_refilled, check_last),
	{ 0 },
};
