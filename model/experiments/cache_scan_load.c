// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The workload: pairs of a server and a client, like those of redis. Servers run on the first half
 * of the NUMA nodes, clients on the other half. One request is under way: the client sends, the
 * server answers, the client reads and pauses. Durations vary about their mean, see sim_about().
 */
#include <stdlib.h>

#include "cache_scan.h"

/* ---- what processes do ---- */

static u64 begin_server(struct cs *cs, struct cs_process *p)
{
	return sim_about(cs->peer_run_ps) + 1;
}

static u64 begin_client(struct cs *cs, struct cs_process *p)
{
	return sim_about(cs->run_ps) + 1;
}

static void end_server(struct cs *cs, struct cs_process *p)
{
	cs_sched_wake(cs, p->cpu, p->peer);
}

enum { SEND, READ };

static void end_client(struct cs *cs, struct cs_process *p)
{
	if (p->state == SEND) {
		p->state = READ;
		cs_sched_wake(cs, p->cpu, p->peer);
	} else {
		p->state = SEND;
		p->due = sim_now() + sim_about(cs->pause_ps);
	}
}

static const struct cs_load server = { begin_server, end_server };
static const struct cs_load client = { begin_client, end_client };

/* ---- set-up ---- */

static u64 setup_random(u64 *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return (*state ^ *state >> 29) * 0xbf58476d1ce4e5b9ull >> 11;
}

/* Start @p on a CPU of @cache. A process that is not @awake sleeps until it is woken. */
static void settle(struct cs *cs, struct cs_process *p, u32 cache, bool awake, u64 *random)
{
	u32 first = cs->llc_first[cache], n = cs->llc_first[cache + 1] - first;

	p->cache = cache;
	p->cpu = cs->llc_cpus[first + (u32)(setup_random(random) % n)];
	p->due = CS_NEVER;
	if (awake)
		cs_sched_start(cs, p, p->cpu, setup_random(random) % (cs->pause_ps + cs->run_ps));
}

int cs_load(struct cs *cs)
{
	u32 pairs = (u32)run_param(cs->run, "processes"), half = cs->nr_llcs / 2;
	u64 random = 1;

	if (!half)
		return run_fail(cs->run, "servers and clients need a last-level cache each");
	cs->nr_processes = 2 * pairs;
	cs->process = calloc(cs->nr_processes, sizeof(*cs->process));
	if (!cs->process)
		return run_fail(cs->run, "out of memory");
	for (u32 i = 0; i < pairs; i++) {
		struct cs_process *s = &cs->process[2 * i], *c = s + 1;

		s->load = &server;
		s->peer = c;
		c->load = &client;
		c->peer = s;
		settle(cs, s, i % half, false, &random);
		settle(cs, c, half + i % (cs->nr_llcs - half), true, &random);
	}
	return 0;
}
