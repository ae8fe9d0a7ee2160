// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The workloads. Durations vary about their mean, see sim_about().
 *
 *   redis      pairs of a server and a client, servers on the first half of the NUMA nodes, clients
 *	       on the others. One request is under way: the client sends, the server answers, the
 *	       client reads and pauses
 *   hackbench  processes whose threads pass messages to each other. A thread runs briefly, wakes
 *	       another one, and sleeps until woken; half as many messages as threads
 *   threads    one process with a thousand threads, each runs and sleeps by itself
 *   migrate    the same with processes of a few threads, which sometimes move to another cache
 */
#include <stdlib.h>

#include "cache_scan.h"

/* ---- what threads do ---- */

static u64 begin_run(struct cs *cs, struct cs_thread *t)
{
	return sim_about(cs->run_ps) + 1;
}

static u64 begin_peer_run(struct cs *cs, struct cs_thread *t)
{
	return sim_about(cs->peer_run_ps) + 1;
}

/* Move the process, if it is time; each of its threads follows with its next wake-up. */
static void maybe_move(struct cs *cs, struct cs_process *p)
{
	if (sim_now() < p->move_at)
		return;
	p->move_at = sim_now() + sim_about(cs->stay_ps);
	p->cache = p->first_llc + (u32)(sim_random() % p->nr_llcs);
}

static void end_alone(struct cs *cs, struct cs_thread *t)
{
	maybe_move(cs, t->process);
	t->due = sim_now() + sim_about(cs->pause_ps);
}

static void end_server(struct cs *cs, struct cs_thread *t)
{
	maybe_move(cs, t->process);
	cs_sched_wake(cs, t->cpu, t->peer);
}

enum { SEND, READ };

static void end_client(struct cs *cs, struct cs_thread *t)
{
	maybe_move(cs, t->process);
	if (t->state == SEND) {
		t->state = READ;
		cs_sched_wake(cs, t->cpu, t->peer);
	} else {
		t->state = SEND;
		t->due = sim_now() + sim_about(cs->pause_ps);
	}
}

/* Send a message to a random thread of the other half. */
static void end_message(struct cs *cs, struct cs_thread *t)
{
	const struct cs_process *p = t->process;
	u32 half = p->threads / 2, mine = (u32)(t - p->first);
	u32 other = mine < half ? half : 0;

	cs_sched_wake(cs, t->cpu, &p->first[other + sim_random() % half]);
}

static const struct cs_load server = { begin_peer_run, end_server };
static const struct cs_load client = { begin_run, end_client };
static const struct cs_load messenger = { begin_run, end_message };
static const struct cs_load alone = { begin_run, end_alone };

/* ---- set-up ---- */

static u64 setup_random(u64 *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return (*state ^ *state >> 29) * 0xbf58476d1ce4e5b9ull >> 11;
}

static int make(struct cs *cs, u32 processes, u32 threads)
{
	cs->nr_processes = processes;
	cs->nr_threads = processes * threads;
	cs->process = calloc(processes, sizeof(*cs->process));
	cs->thread = calloc(cs->nr_threads, sizeof(*cs->thread));
	if (!cs->process || !cs->thread)
		return run_fail(cs->run, "out of memory");
	for (u32 i = 0; i < cs->nr_threads; i++) {
		cs->thread[i].process = &cs->process[i / threads];
		cs->thread[i].load = &alone;
		cs->thread[i].due = CS_NEVER;
	}
	for (u32 i = 0; i < processes; i++)
		cs->process[i] = (struct cs_process){ .number = i,
						      .nr_llcs = cs->nr_llcs,
						      .move_at = CS_NEVER,
						      .first = &cs->thread[i * threads],
						      .threads = threads };
	return 0;
}

/*
 * Start a process in @cache, with its threads on the CPUs of that cache in turn; @awake threads
 * start running.
 */
static void settle(struct cs *cs, struct cs_process *p, u32 cache, u32 awake, u64 *random)
{
	u32 first = cs->llc_first[cache], n = cs->llc_first[cache + 1] - first;
	u32 start = (u32)(setup_random(random) % n);

	p->cache = cache;
	if (cs->stay_ps)
		p->move_at = setup_random(random) % cs->stay_ps;
	for (u32 i = 0; i < p->threads; i++) {
		u32 cpu = cs->llc_cpus[first + (start + i) % n];

		p->first[i].cpu = cpu;
		if (i < awake)
			cs_sched_start(cs, &p->first[i], cpu,
				       setup_random(random) % (cs->pause_ps + cs->run_ps));
	}
}

int cs_load_redis(struct cs *cs)
{
	u32 pairs = (u32)run_param(cs->run, "processes"), half = cs->nr_llcs / 2;
	u64 random = 1;

	if (!half)
		return run_fail(cs->run, "servers and clients need a last-level cache each");
	if (make(cs, 2 * pairs, 1))
		return -1;
	for (u32 i = 0; i < pairs; i++) {
		struct cs_thread *s = &cs->thread[2 * i], *c = &cs->thread[2 * i + 1];

		s->load = &server;
		s->peer = c;
		c->load = &client;
		c->peer = s;
		s->process->nr_llcs = half;
		c->process->first_llc = half;
		c->process->nr_llcs = cs->nr_llcs - half;
		settle(cs, s->process, i % half, 0, &random);
		settle(cs, c->process, half + i % c->process->nr_llcs, 1, &random);
	}
	return 0;
}

int cs_load_hackbench(struct cs *cs)
{
	u32 n = (u32)run_param(cs->run, "processes"), threads = (u32)run_param(cs->run, "threads");
	u64 random = 2;

	if (threads < 2 || threads % 2)
		return run_fail(cs->run, "threads must be an even number");
	if (make(cs, n, threads))
		return -1;
	for (u32 i = 0; i < cs->nr_threads; i++)
		cs->thread[i].load = &messenger;
	for (u32 i = 0; i < n; i++)
		settle(cs, &cs->process[i], i % cs->nr_llcs, threads / 2, &random);
	return 0;
}

int cs_load_threads(struct cs *cs)
{
	u32 threads = (u32)run_param(cs->run, "threads");
	u64 random = 3;

	if (make(cs, 1, threads))
		return -1;
	cs->process->cache = CS_ANY;
	for (u32 i = 0; i < threads; i++)
		cs_sched_start(cs, &cs->thread[i], i % cs->nr_cpus,
			       setup_random(&random) % (cs->pause_ps + cs->run_ps));
	return 0;
}

int cs_load_migrate(struct cs *cs)
{
	u32 n = (u32)run_param(cs->run, "processes"), threads = (u32)run_param(cs->run, "threads");
	u64 random = 4;

	if (make(cs, n, threads))
		return -1;
	for (u32 i = 0; i < n; i++)
		settle(cs, &cs->process[i], i % cs->nr_llcs, threads, &random);
	return 0;
}
