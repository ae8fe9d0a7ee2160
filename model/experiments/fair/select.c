// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Chooses where a task should run. The search reads queues without locks while they change, so its
 * answer may be outdated. That does no harm: the caller puts the task on the chosen queue, and
 * balancing corrects the choice.
 *
 * A woken task stays in the cache of the CPU where it ran. The task goes to its waker's cache if
 * the waker is about to sleep or has less load, unless waker and task both wake many others
 * (too_many_partners()). In the chosen cache it takes the first idle CPU of these: the target, the
 * task's previous CPU, the CPU before that, one of an idle core, any. The search goes around the
 * LLC from the target, and visits at most as many CPUs as the last balance of the LLC set.
 */
#include "fair_rq.h"

#include "model.h"

#define SECOND 1000000000000ull

/* ---- near the previous CPU, or near the waker? ---- */

static u64 flips_of(struct fair_task *p)
{
	u64 now = sim_now();

	if (now >= READ_ONCE(p->flips_at) + SECOND) {
		WRITE_ONCE(p->flips, READ_ONCE(p->flips) / 2);
		WRITE_ONCE(p->flips_at, now);
	}
	return READ_ONCE(p->flips);
}

static void note_wakee(struct fair_task *waker, struct fair_task *p)
{
	if (READ_ONCE(waker->last_wakee) == p)
		return;
	WRITE_ONCE(waker->last_wakee, p);
	WRITE_ONCE(waker->flips, flips_of(waker) + 1);
}

/* Do waker and wakee have more partners than a cache has CPUs? */
static bool too_many_partners(const struct fair_cpu *me, struct fair_task *p)
{
	u64 a = READ_ONCE(me->curr->flips), b = READ_ONCE(p->flips), llc = 1;

	for (u32 i = 0; i < me->nr_domains && me->domain[i]->share_llc; i++)
		llc = me->domain[i]->nr;
	if (a < b) {
		u64 t = a;

		a = b;
		b = t;
	}
	return b >= llc && a >= b * llc;
}

/* Choose the waker's CPU or @prev. */
static u32 affine(struct fair_cpu *me, u32 prev, bool sync)
{
	u64 here, there;
	u32 running;

	if (fair_is_idle(me, me->index) && fair_share_cache(me, me->index, prev))
		return fair_is_idle(me, prev) ? prev : me->index;
	running = READ_ONCE(me->rq->nr_running);
	if (sync && running == 1)
		return me->index;
	if (fair_is_idle(me, prev))
		return prev;
	/* Load in tasks; a sleeping wakee's load counts on its CPU until it decays. */
	here = sync && running ? running - 1 : running;
	here = (here + 1) * 200;
	there = (u64)READ_ONCE(fair_rq_of(me, prev)->nr_running) * (200 + 17);
	return here < there + sync ? me->index : prev;
}

/* ---- an idle CPU in that cache ---- */

bool fair_core_is_idle(const struct fair_cpu *me, u32 cpu)
{
	const struct model_core *core = &me->fair->model->core[me->fair->cpu[cpu].core];

	for (u32 i = 0; i < core->nr_cpus; i++)
		if (!fair_is_idle(me, core->cpu[i]))
			return false;
	return true;
}

void fair_core_went_idle(struct fair_cpu *me)
{
	if (me->domain[0] && me->domain[0]->siblings && !READ_ONCE(me->shared->idle_cores) &&
	    fair_core_is_idle(me, me->index))
		WRITE_ONCE(me->shared->idle_cores, 1);
}

/* The domain of @cpu's LLC; NULL: @cpu is alone in it. */
static const struct fair_domain *llc_domain(const struct fair_cpu *me, u32 cpu)
{
	const struct fair_cpu *c = &me->fair->cpu[cpu];
	const struct fair_domain *d = NULL;

	for (u32 i = 0; i < c->nr_domains && c->domain[i]->share_llc; i++)
		d = c->domain[i];
	return d;
}

static u32 place_in(const struct fair_domain *d, u32 cpu)
{
	u32 i = 0;

	while (d->cpu[i] != cpu)
		i++;
	return i;
}

static s64 idle_sibling_of(struct fair_cpu *me, u32 cpu)
{
	const struct model_core *core = &me->fair->model->core[me->fair->cpu[cpu].core];

	for (u32 i = 0; i < core->nr_cpus; i++)
		if (core->cpu[i] != cpu && fair_is_idle(me, core->cpu[i]))
			return core->cpu[i];
	return -1;
}

static s64 search(struct fair_cpu *me, u32 target, bool cores)
{
	const struct fair_domain *d = llc_domain(me, target);
	struct fair_llc *llc = me->fair->cpu[target].shared;
	u32 start = place_in(d, target), left = READ_ONCE(llc->scan) + 1;
	s64 idle = -1;

	for (u32 i = 1; i <= d->nr; i++) {
		u32 cpu = d->cpu[(start + i) % d->nr];

		if (!cores && --left == 0)
			break;
		sim_spend(me->fair->costs.look);
		if (!fair_is_idle(me, cpu))
			continue;
		if (!cores || fair_core_is_idle(me, cpu))
			return cpu;
		if (idle < 0)
			idle = cpu;
	}
	if (cores)
		WRITE_ONCE(llc->idle_cores, 0);
	return idle;
}

static u32 idle_near(struct fair_cpu *me, struct fair_task *p, u32 prev, u32 target)
{
	u32 recent = READ_ONCE(p->recent);
	bool cores, threads;
	s64 cpu;

	if (fair_is_idle(me, target))
		return target;
	if (prev != target && fair_share_cache(me, prev, target) && fair_is_idle(me, prev))
		return prev;
	WRITE_ONCE(p->recent, prev);
	if (recent != prev && recent != target && fair_share_cache(me, recent, target) &&
	    fair_is_idle(me, recent))
		return recent;
	if (!llc_domain(me, target))
		return target;
	threads = me->domain[0] && me->domain[0]->siblings;
	cores = threads && READ_ONCE(me->fair->cpu[target].shared->idle_cores);
	if (threads && !cores && fair_share_cache(me, prev, target)) {
		cpu = idle_sibling_of(me, prev);
		if (cpu >= 0)
			return (u32)cpu;
	}
	cpu = search(me, target, cores);
	return cpu >= 0 ? (u32)cpu : target;
}

u32 fair_select(struct fair_cpu *me, struct fair_task *p, bool sync)
{
	u32 prev = READ_ONCE(p->cpu), target = prev;

	if (me->curr != me->idle) {
		note_wakee(me->curr, p);
		if (prev != me->index && !too_many_partners(me, p))
			target = affine(me, prev, sync);
	}
	return idle_near(me, p, prev, target);
}

/* ---- a new task ---- */

struct room {
	u32 idle, running;
};

/* Runs outside simulated time: a program starts once, and the experiment does not measure that. */
static struct room room_in(const struct fair *f, const struct fair_group *g)
{
	struct room r = { 0 };

	for (u32 i = 0; i < g->nr; i++) {
		u32 n = f->cpu[g->cpu[i]].rq->nr_running;

		r.idle += !n;
		r.running += n;
	}
	return r;
}

static bool more_room(struct room a, struct room b)
{
	return a.idle != b.idle ? a.idle > b.idle : a.running < b.running;
}

struct fork {
	const struct fair_cpu *me;
	u32 cpu;
};

/* The group of @d with most room; @own if it is as good, or on another node nearly as good. */
static u32 roomiest(const struct fair *f, const struct fair_domain *d, u32 own)
{
	struct room here = room_in(f, &d->group[own]), most = here;
	u32 best = own;

	for (u32 g = 0; g < d->nr_groups; g++) {
		struct room r = room_in(f, &d->group[g]);

		if (more_room(r, most)) {
			most = r;
			best = g;
		}
	}
	if (d->numa && here.running < d->numa_spare && most.idle <= here.idle + 2)
		return own;
	return best;
}

/* Search from the machine down to one CPU. */
static void find_room(void *arg)
{
	struct fork *fork = arg;
	const struct fair *f = fork->me->fair;
	u32 cpu = fork->me->index, level = f->cpu[cpu].nr_domains;

	while (level-- > 0) {
		const struct fair_domain *d = f->cpu[cpu].domain[level];
		u32 own = f->cpu[cpu].group[level], best = roomiest(f, d, own);

		if (best == own)
			continue;
		cpu = d->group[best].cpu[0];
		/* Another CPU may have more or fewer domains below the same one. */
		for (level = 0; f->cpu[cpu].domain[level] != d;)
			level++;
	}
	fork->cpu = cpu;
}

u32 fair_select_new(struct fair_cpu *me)
{
	struct fork fork = { .me = me };

	sim_observe(find_room, &fork);
	return fork.cpu;
}
