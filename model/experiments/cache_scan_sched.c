// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Processes on CPUs. A CPU runs the processes of its queue in order, each until its run is over,
 * but no longer than a slice while others wait. When a process stops, and at each tick, the CPU
 * accounts its runtime, as Linux's fair class does. If the process has not scanned in this epoch, a
 * tick makes it scan on its way back to user space.
 *
 * A process wakes where it ran, if that CPU is idle. Otherwise, or by chance (which stands for
 * interrupts, kernel threads and balancers), it wakes on an idle CPU of the same cache. If there is
 * none, it waits where it ran.
 *
 * A fiber changes the queues of other CPUs only between two calls that may switch, at its own time.
 * It interrupts an idle CPU; a busy CPU looks at its queue when its process stops.
 */
#include <stdlib.h>

#include "cache_scan.h"
#include "rt/private.h"

/* ---- timers: a binary heap of the processes that sleep on a CPU ---- */

static void swap(struct cs_cpu *c, u32 a, u32 b)
{
	struct cs_process *p = c->timer[a];

	c->timer[a] = c->timer[b];
	c->timer[b] = p;
}

static void timer_add(struct cs_cpu *c, struct cs_process *p)
{
	u32 i = c->nr_timers++;

	if (i == c->timers_cap) {
		c->timers_cap = i ? 2 * i : 8;
		c->timer = realloc(c->timer, c->timers_cap * sizeof(struct cs_process *));
		if (!c->timer)
			abort();
	}
	c->timer[i] = p;
	for (; i && c->timer[(i - 1) / 2]->due > c->timer[i]->due; i = (i - 1) / 2)
		swap(c, i, (i - 1) / 2);
}

static struct cs_process *timer_take(struct cs_cpu *c)
{
	struct cs_process *p = c->timer[0];
	u32 i = 0;

	c->timer[0] = c->timer[--c->nr_timers];
	for (;;) {
		u32 low = i;

		for (u32 child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < c->nr_timers && c->timer[child]->due < c->timer[low]->due)
				low = child;
		if (low == i)
			return p;
		swap(c, i, low);
		i = low;
	}
}

static u64 timer_next(const struct cs_cpu *c)
{
	return c->nr_timers ? c->timer[0]->due : CS_NEVER;
}

/* ---- queues ---- */

static void enqueue(struct cs_cpu *c, struct cs_process *p)
{
	p->next = NULL;
	if (c->tail)
		c->tail->next = p;
	else
		c->head = p;
	c->tail = p;
}

static struct cs_process *dequeue(struct cs_cpu *c)
{
	struct cs_process *p = c->head;

	c->head = p->next;
	if (!c->head)
		c->tail = NULL;
	return p;
}

static bool is_idle(const struct cs_cpu *c)
{
	return !c->busy && !c->head;
}

/* An idle CPU of the cache, searched from a random one on; @otherwise if there is none. */
static u32 idle_of(const struct cs *cs, u32 llc, u32 otherwise)
{
	u32 first = cs->llc_first[llc], n = cs->llc_first[llc + 1] - first;
	u32 start = (u32)(sim_random() % n);

	for (u32 i = 0; i < n; i++) {
		u32 cpu = cs->llc_cpus[first + (start + i) % n];

		if (is_idle(&cs->cpu[cpu]))
			return cpu;
	}
	return otherwise;
}

static bool chance(double p)
{
	return p > 0 && (double)(sim_random() >> 11) * 0x1p-53 < p;
}

static u32 select_cpu(const struct cs *cs, const struct cs_process *p)
{
	if (is_idle(&cs->cpu[p->cpu]) && !chance(cs->elsewhere))
		return p->cpu;
	return idle_of(cs, p->cache, p->cpu);
}

void cs_sched_wake(struct cs *cs, u32 from, struct cs_process *p)
{
	bool idle;

	if (p->runnable) {
		p->jobs++;
		return;
	}
	p->runnable = true;
	p->due = CS_NEVER;
	p->cpu = select_cpu(cs, p);
	p->left = p->load->begin(cs, p);
	idle = is_idle(&cs->cpu[p->cpu]);
	enqueue(&cs->cpu[p->cpu], p);
	if (idle && p->cpu != from)
		sim_interrupt(p->cpu, cs->wake_ps);
}

void cs_sched_start(struct cs *cs, struct cs_process *p, u32 cpu, u64 at)
{
	p->cpu = cpu;
	p->due = at;
	timer_add(&cs->cpu[cpu], p);
}

/* ---- running ---- */

static void account(struct cs *cs, u32 cpu, const struct cs_process *p, u64 ran)
{
	u32 number = cs->run->model->cpu[cpu].number;
	u64 began = sim_now();
	u32 epoch = cs_epoch(cs, began);
	bool measured = cs_measured(cs, began);

	if (measured && !cs->counts.accounts)
		sim_measure_from_here();
	cs->ops->account(p->scan, number, epoch, ran / 1000);
	if (!measured)
		return;
	cs->counts.busy += ran;
	cs->counts.accounts++;
	cs->counts.account_time += sim_now() - began;
}

static void note(struct cs_counts *n, const struct scan_result *r, u64 time)
{
	n->lengths = grown(n->lengths, n->scans, &n->lengths_cap, sizeof(*n->lengths));
	n->lengths[n->scans++] = r->length;
	n->scan_time += time;
}

static void tick(struct cs *cs, u32 cpu, const struct cs_process *p)
{
	u32 number = cs->run->model->cpu[cpu].number;
	u64 began = sim_now();
	u32 epoch = cs_epoch(cs, began);
	struct scan_result result;

	if (!cs->ops->due(p->scan, epoch))
		return;
	if (!cs->ops->scan(p->scan, number, epoch, &result))
		return;
	if (cs_measured(cs, began))
		note(&cs->counts, &result, sim_now() - began);
}

/* The running process forks another one, in memory that another process used before. */
static void fork_one(struct cs *cs, u32 cpu)
{
	u64 began = sim_now();

	if (!chance(cs->forks))
		return;
	cs->ops->fork(cs->forked[cpu]);
	if (!cs_measured(cs, began))
		return;
	cs->counts.forks++;
	cs->counts.fork_time += sim_now() - began;
}

static void fire_timers(struct cs *cs, u32 cpu)
{
	struct cs_cpu *c = &cs->cpu[cpu];

	while (timer_next(c) <= sim_now())
		cs_sched_wake(cs, cpu, timer_take(c));
}

static u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Run until the process's run is over, or its slice while others wait. */
static void run_process(struct cs *cs, u32 cpu, struct cs_process *p)
{
	struct cs_cpu *c = &cs->cpu[cpu];
	u64 slice_end = sim_now() + cs->slice_ps;

	c->busy = true;
	/* Part of a context switch, which the scheduler does anyway: not counted. */
	cs->ops->run(p->scan, cs->run->model->cpu[cpu].number);
	while (p->left && !(c->head && sim_now() >= slice_end)) {
		u64 began = sim_now();
		u64 stop = earlier(began + p->left, earlier(c->next_tick, timer_next(c)));
		u64 ran;

		if (slice_end > began)
			stop = earlier(stop, slice_end);
		if (stop < began) /* a timer expired while this CPU scanned */
			stop = began;
		/*
		 * An interrupt does not change what a busy CPU does: it looks at its queue when the
		 * process stops.
		 */
		for (u64 left = stop - began; left;)
			left = sim_compute(left);
		ran = earlier(sim_now() - began, p->left);
		p->left -= ran;
		if (ran)
			account(cs, cpu, p, ran);
		fire_timers(cs, cpu);
		if (sim_now() >= c->next_tick) {
			c->next_tick += cs->tick_ps;
			tick(cs, cpu, p);
			fork_one(cs, cpu);
		}
	}
	c->busy = false;
}

/* The run is over: start the next job, or sleep. */
static void run_ends(struct cs *cs, struct cs_cpu *c, struct cs_process *p)
{
	p->load->end(cs, p);
	if (p->jobs) {
		p->jobs--;
		p->left = p->load->begin(cs, p);
		enqueue(c, p);
		return;
	}
	p->runnable = false;
	if (p->due != CS_NEVER)
		timer_add(c, p);
}

void cs_sched_body(u32 cpu, void *arg)
{
	struct cs *cs = arg;
	struct cs_cpu *c = &cs->cpu[cpu];

	/* The CPUs' ticks come at different times: otherwise all would scan at once. */
	c->next_tick = sim_random() % cs->tick_ps;
	while (sim_now() < cs->end) {
		struct cs_process *p;

		fire_timers(cs, cpu);
		if (!c->head) {
			u64 now = sim_now();

			sim_compute(earlier(timer_next(c), cs->end) - now);
			continue;
		}
		while (c->next_tick <= sim_now()) /* no ticks came while it was idle */
			c->next_tick += cs->tick_ps;
		p = dequeue(c);
		run_process(cs, cpu, p);
		if (p->left)
			enqueue(c, p);
		else
			run_ends(cs, c, p);
	}
}
