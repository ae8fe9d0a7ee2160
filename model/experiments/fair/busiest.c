// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Finds which queue of a domain has tasks that another CPU should run, and how many. All tasks have
 * the same weight: load is the number of tasks, and a CPU's utilisation is whether it runs one.
 *
 * A group of CPUs has spare capacity, is fully busy, or overloaded. Tasks move
 *
 *   from an overloaded group to one with spare capacity: as many as it has idle CPUs;
 *   between groups with spare capacity, in a domain that spreads tasks: until they have the
 *	same number of tasks per core; else until they have the same number of idle CPUs;
 *   between loaded groups: until the busier one has the domain's average, never below.
 *
 * Balances converge: a balance moves half the difference, and never so many tasks that the
 * difference changes its sign.
 *
 * Reads of counts take no locks and may be old: the mover reads again under the queue's lock.
 */
#include "fair_rq.h"

enum kind { SPARE, FULL, OVERLOADED };

struct sum {
	u32 running, idle, nr, cores;
	enum kind kind;
};

static enum kind kind_of(const struct sum *s, u32 percent)
{
	u32 used = s->nr - s->idle;

	if (s->running < s->nr)
		return SPARE;
	if (s->running * 100 > s->nr * percent ||
	    (s->running > s->nr && used * percent > s->nr * 100))
		return OVERLOADED;
	return used * percent < s->nr * 100 ? SPARE : FULL;
}

static struct sum sum_group(struct fair_cpu *me, const struct fair_domain *d,
			    const struct fair_group *g)
{
	struct sum s = { .nr = g->nr, .cores = g->cores };

	for (u32 i = 0; i < g->nr; i++) {
		u32 n = READ_ONCE(fair_rq_of(me, g->cpu[i])->nr_running);

		sim_spend(me->fair->costs.look);
		s.running += n;
		s.idle += !n && fair_is_idle(me, g->cpu[i]);
	}
	s.kind = kind_of(&s, d->percent);
	return s;
}

/* Is @a busier than @b, relative to its size? */
static bool denser(const struct sum *a, const struct sum *b)
{
	return (u64)a->running * b->nr > (u64)b->running * a->nr;
}

static bool busier(const struct sum *a, const struct sum *b)
{
	if (!a->running || !b->running)
		return a->running;
	if (a->kind != b->kind)
		return a->kind > b->kind;
	if (a->kind != SPARE)
		return denser(a, b);
	return a->idle != b->idle ? a->idle < b->idle : a->running > b->running;
}

/* The number of tasks that the busiest group has beyond its share of both groups' tasks. */
static u32 uneven(const struct sum *local, const struct sum *busiest)
{
	u64 a, b;

	if (local->cores == busiest->cores)
		return busiest->running > local->running ? busiest->running - local->running : 0;
	a = (u64)local->cores * busiest->running;
	b = (u64)busiest->cores * local->running;
	a = a > b ? a - b : 0;
	a = (2 * a + local->cores + busiest->cores) / (local->cores + busiest->cores);
	if (a <= 1 && !local->running && busiest->running > 1)
		return 2;
	return (u32)a;
}

static u32 to_spare(const struct fair_domain *d, const struct sum *local, const struct sum *busiest,
		    enum fair_why why)
{
	u32 tasks;

	if (busiest->nr == 1 || d->spread)
		tasks = why == FAIR_BUSY ? 0 : uneven(local, busiest);
	else
		tasks = local->idle > busiest->idle ? local->idle - busiest->idle : 0;
	if (d->numa && local->running + 1 <= d->numa_spare && tasks <= 2)
		return 0;
	return tasks / 2;
}

/* Is the busiest group no busier than it should be, compared with @local? */
static bool balanced(const struct fair_domain *d, const struct sum *local,
		     const struct sum *busiest, const struct sum *all, enum fair_why why)
{
	if (local->kind > busiest->kind)
		return true;
	if (local->kind == OVERLOADED)
		return !denser(busiest, local) || !denser(all, local) ||
		       (u64)100 * busiest->running * local->nr <=
			       (u64)d->percent * local->running * busiest->nr;
	if (d->spread && local->kind == SPARE && why != FAIR_BUSY && uneven(local, busiest) > 1)
		return false;
	if (busiest->kind == OVERLOADED)
		return false;
	return why == FAIR_BUSY || (busiest->nr > 1 && local->idle <= busiest->idle + 1) ||
	       busiest->running == 1;
}

static struct fair_imbalance imbalance(const struct fair_domain *d, const struct sum *local,
				       const struct sum *busiest, const struct sum *all,
				       enum fair_why why)
{
	struct fair_imbalance m = { .cpu = -1 };
	u64 average, surplus, room;

	if (local->kind == SPARE && busiest->kind == OVERLOADED && !d->share_llc) {
		m.tasks = local->idle;
		if (!m.tasks && why != FAIR_BUSY)
			m.tasks = 1;
		return m;
	}
	if (local->kind == SPARE) {
		m.tasks = to_spare(d, local, busiest, why);
		return m;
	}
	/* The groups' distances from the average, as numbers of tasks. */
	if (!denser(busiest, local) || !denser(all, local))
		return m;
	average = (u64)all->running * busiest->nr / all->nr;
	surplus = busiest->running > average ? busiest->running - average : 0;
	average = (u64)all->running * local->nr / all->nr;
	room = average > local->running ? average - local->running : 0;
	m.tasks = (u32)(surplus < room ? surplus : room);
	return m;
}

/* Set how many CPUs the search of a wake-up may read: fewer if the LLC is busier. */
static void update_scan(struct fair_cpu *me, const struct fair_domain *d, const struct sum *all)
{
	struct fair_llc *llc = me->shared;
	u64 busy, used, scan;

	if (!all->nr)
		return;
	busy = (u64)(all->nr - all->idle) * 1024 / all->nr;
	used = busy * busy * d->percent * d->percent / (10000 * 1024);
	scan = used < 1024 ? (1024 - used) * all->nr / 1024 : 0;
	if (scan != READ_ONCE(llc->scan))
		WRITE_ONCE(llc->scan, (u32)scan);
}

static s64 busiest_queue(struct fair_cpu *me, const struct fair_group *g)
{
	u32 most = 0;
	s64 cpu = -1;

	for (u32 i = 0; i < g->nr; i++) {
		u32 n = READ_ONCE(fair_rq_of(me, g->cpu[i])->nr_running);

		if (n > most) {
			most = n;
			cpu = g->cpu[i];
		}
	}
	return cpu;
}

struct fair_imbalance fair_busiest(struct fair_cpu *me, u32 dst, u32 level, enum fair_why why)
{
	const struct fair_cpu *to = &me->fair->cpu[dst];
	const struct fair_domain *d = to->domain[level];
	struct sum local = { 0 }, busiest = { 0 }, all = { 0 };
	struct fair_imbalance m = { .cpu = -1 };
	u32 from = to->group[level];

	for (u32 g = 0; g < d->nr_groups; g++) {
		struct sum s = sum_group(me, d, &d->group[g]);

		all.running += s.running;
		all.idle += s.idle;
		all.nr += s.nr;
		if (g == to->group[level]) {
			local = s;
		} else if (busier(&s, &busiest)) {
			busiest = s;
			from = g;
		}
	}
	if (why == FAIR_NEWIDLE && d->share_llc && !d->siblings && to == me)
		update_scan(me, d, &all);
	/* The last domain covers the whole machine: it shows whether any queue has two tasks. */
	if (level + 1 == to->nr_domains) {
		u32 two = all.running > all.nr - all.idle;

		if (two != READ_ONCE(*me->fair->overloaded))
			WRITE_ONCE(*me->fair->overloaded, two);
	}
	if (from == to->group[level] || balanced(d, &local, &busiest, &all, why))
		return m;
	m = imbalance(d, &local, &busiest, &all, why);
	m.cpu = m.tasks ? busiest_queue(me, &d->group[from]) : -1;
	return m;
}
