// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Threads on CPUs. A CPU runs the threads of its queue in order, each until its run is over, but no
 * longer than a slice while others wait. When a thread stops, and at each tick, the CPU accounts
 * its runtime, as Linux's fair class does. If a thread's process has not scanned in this epoch, a
 * tick makes the thread scan on its way back to user space.
 *
 * A thread wakes where it ran, if that CPU is idle. Otherwise, or by chance (interrupts and kernel
 * threads use that CPU, a balancer moved it), it wakes on an idle CPU of the same cache. If there
 * is none, it waits where it ran. After its process has moved to another cache, the thread wakes
 * there.
 *
 * A fiber changes the queues of other CPUs only between two calls that may switch, at its own time.
 * It interrupts an idle CPU; a busy CPU looks at its queue when its thread stops.
 */
#include <stdlib.h>

#include "cache_scan.h"

/* ---- timers: a binary heap of the threads that sleep on a CPU ---- */

static void swap(struct cs_cpu *c, u32 a, u32 b)
{
	struct cs_thread *t = c->timer[a];

	c->timer[a] = c->timer[b];
	c->timer[b] = t;
}

static void timer_add(struct cs_cpu *c, struct cs_thread *t)
{
	u32 i = c->nr_timers++;

	if (i == c->timers_cap) {
		c->timers_cap = i ? 2 * i : 8;
		c->timer = realloc(c->timer, c->timers_cap * sizeof(struct cs_thread *));
		if (!c->timer)
			abort();
	}
	c->timer[i] = t;
	for (; i && c->timer[(i - 1) / 2]->due > c->timer[i]->due; i = (i - 1) / 2)
		swap(c, i, (i - 1) / 2);
}

static struct cs_thread *timer_take(struct cs_cpu *c)
{
	struct cs_thread *t = c->timer[0];
	u32 i = 0;

	c->timer[0] = c->timer[--c->nr_timers];
	for (;;) {
		u32 low = i;

		for (u32 child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < c->nr_timers && c->timer[child]->due < c->timer[low]->due)
				low = child;
		if (low == i)
			return t;
		swap(c, i, low);
		i = low;
	}
}

static u64 timer_next(const struct cs_cpu *c)
{
	return c->nr_timers ? c->timer[0]->due : CS_NEVER;
}

/* ---- queues ---- */

static void enqueue(struct cs_cpu *c, struct cs_thread *t)
{
	t->next = NULL;
	if (c->tail)
		c->tail->next = t;
	else
		c->head = t;
	c->tail = t;
}

static struct cs_thread *dequeue(struct cs_cpu *c)
{
	struct cs_thread *t = c->head;

	c->head = t->next;
	if (!c->head)
		c->tail = NULL;
	return t;
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

static u32 select_cpu(const struct cs *cs, const struct cs_thread *t)
{
	u32 prev = t->cpu, here = cs->llc[prev];
	u32 cache = t->process->cache == CS_ANY ? here : t->process->cache;

	if (here != cache) {
		u32 first = cs->llc_first[cache], n = cs->llc_first[cache + 1] - first;

		return idle_of(cs, cache, cs->llc_cpus[first + sim_random() % n]);
	}
	if (is_idle(&cs->cpu[prev]) && !chance(cs->elsewhere))
		return prev;
	return idle_of(cs, cache, prev);
}

void cs_sched_wake(struct cs *cs, u32 from, struct cs_thread *t)
{
	bool idle;

	if (t->runnable) {
		t->jobs++;
		return;
	}
	t->runnable = true;
	t->due = CS_NEVER;
	t->cpu = select_cpu(cs, t);
	t->left = t->load->begin(cs, t);
	idle = is_idle(&cs->cpu[t->cpu]);
	enqueue(&cs->cpu[t->cpu], t);
	if (idle && t->cpu != from)
		sim_interrupt(t->cpu, cs->wake_ps);
}

void cs_sched_start(struct cs *cs, struct cs_thread *t, u32 cpu, u64 at)
{
	t->cpu = cpu;
	t->due = at;
	timer_add(&cs->cpu[cpu], t);
}

/* ---- running ---- */

static void account(struct cs *cs, u32 cpu, const struct cs_thread *t, u64 ran)
{
	u32 number = cs->run->model->cpu[cpu].number;
	u64 began = sim_now();
	u32 epoch = cs_epoch(cs, began);
	bool measured = cs_measured(cs, began), ok;

	if (measured && !cs->counts.accounts)
		sim_measure_from_here();
	ok = cs->ops->account(t->process->scan, number, epoch, ran / 1000);
	cs_judge_account(cs->judge, t->process->number, number, epoch, ran / 1000);
	if (!measured)
		return;
	cs->counts.busy += ran;
	cs->counts.accounts++;
	cs->counts.dropped += !ok;
	cs->counts.account_time += sim_now() - began;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void note(struct cs_counts *n, const struct scan_result *r, const struct cs_verdict *v,
		 u64 time)
{
	if (n->scans == n->lengths_cap) {
		n->lengths_cap = n->lengths_cap ? 2 * n->lengths_cap : 4096;
		n->lengths = realloc(n->lengths, n->lengths_cap * sizeof(*n->lengths));
		if (!n->lengths)
			abort();
	}
	n->lengths[n->scans++] = r->length;
	n->scan_time += time;
	n->agreed += v->agrees;
	n->agreed_fresh += v->agrees_fresh;
	if (v->agrees)
		return;
	n->worst_margin = larger(n->worst_margin, v->margin);
	n->worst_missed = larger(n->worst_missed, v->missed);
	n->worst_missed_runtime = larger(n->worst_missed_runtime, v->missed_runtime);
}

struct judged {
	const struct cs *cs;
	u32 process, epoch;
	struct scan_result result;
	struct cs_verdict verdict;
};

/* Runs outside simulated time, because the judge reads the plan, which is in simulated memory. */
static void judge(void *arg)
{
	struct judged *j = arg;

	j->verdict = cs_judge_scan(j->cs->judge, j->process, j->epoch, j->cs->timeout, &j->result);
}

static void tick(struct cs *cs, u32 cpu, const struct cs_thread *t)
{
	u32 number = cs->run->model->cpu[cpu].number;
	u64 began = sim_now(), time;
	struct judged j = { .cs = cs, .process = t->process->number, .epoch = cs_epoch(cs, began) };

	if (!cs->ops->due(t->process->scan, j.epoch))
		return;
	if (!cs->ops->scan(t->process->scan, number, j.epoch, cs->timeout, &j.result))
		return;
	time = sim_now() - began;
	sim_observe(judge, &j);
	if (cs_measured(cs, began))
		note(&cs->counts, &j.result, &j.verdict, time);
}

/* The running thread forks a process, in memory that another process used before. */
static void fork_one(struct cs *cs, u32 cpu)
{
	u64 began = sim_now();

	if (!chance(cs->forks))
		return;
	if (cs->ops->fork)
		cs->ops->fork(cs->forked[cpu], cs->run->model->cpu[cpu].number);
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

/* Run until the thread's run is over, or its slice while others wait. */
static void run_thread(struct cs *cs, u32 cpu, struct cs_thread *t)
{
	struct cs_cpu *c = &cs->cpu[cpu];
	u64 slice_end = sim_now() + cs->slice_ps;

	c->busy = true;
	/* Part of a context switch, which the scheduler does anyway: not counted. */
	if (cs->ops->run)
		cs->ops->run(t->process->scan, cs->run->model->cpu[cpu].number);
	while (t->left && !(c->head && sim_now() >= slice_end)) {
		u64 began = sim_now();
		u64 stop = earlier(began + t->left, earlier(c->next_tick, timer_next(c)));
		u64 ran;

		if (slice_end > began)
			stop = earlier(stop, slice_end);
		if (stop < began) /* a timer expired while this CPU scanned */
			stop = began;
		/*
		 * An interrupt does not change what a busy CPU does: it looks at its queue when the
		 * thread stops.
		 */
		for (u64 left = stop - began; left;)
			left = sim_compute(left);
		ran = earlier(sim_now() - began, t->left);
		t->left -= ran;
		if (ran)
			account(cs, cpu, t, ran);
		fire_timers(cs, cpu);
		if (sim_now() >= c->next_tick) {
			c->next_tick += cs->tick_ps;
			tick(cs, cpu, t);
			fork_one(cs, cpu);
		}
	}
	c->busy = false;
}

/* The run is over: start the next job, or sleep. */
static void run_ends(struct cs *cs, struct cs_cpu *c, struct cs_thread *t)
{
	t->load->end(cs, t);
	if (t->jobs) {
		t->jobs--;
		t->left = t->load->begin(cs, t);
		enqueue(c, t);
		return;
	}
	t->runnable = false;
	if (t->due != CS_NEVER)
		timer_add(c, t);
}

void cs_sched_body(u32 cpu, void *arg)
{
	struct cs *cs = arg;
	struct cs_cpu *c = &cs->cpu[cpu];

	/* The CPUs' ticks come at different times: otherwise all would scan at once. */
	c->next_tick = sim_random() % cs->tick_ps;
	while (sim_now() < cs->end) {
		struct cs_thread *t;

		fire_timers(cs, cpu);
		if (!c->head) {
			u64 now = sim_now();

			sim_compute(earlier(timer_next(c), cs->end) - now);
			continue;
		}
		while (c->next_tick <= sim_now()) /* no ticks came while it was idle */
			c->next_tick += cs->tick_ps;
		t = dequeue(c);
		run_thread(cs, cpu, t);
		if (t->left)
			enqueue(c, t);
		else
			run_ends(cs, c, t);
	}
}
