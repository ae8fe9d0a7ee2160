// SPDX-License-Identifier: GPL-2.0-only
/*
 * Push walks; part of rt.c. lib/schedshard/push_walk.c has the state, and the proof that no request
 * is lost.
 *
 * A CPU that lowers its level may suit RT tasks that wait elsewhere. If it locked their run queues,
 * all CPUs that become free at once would contend there. An interrupt to each queue's CPU would be
 * a storm. So one interrupt goes from one CPU to the next.
 *
 * Only the CPU that carries a walk touches @work, until it has queued the interrupt on the next
 * CPU: a full barrier, as in push_walk_again(). So irq_work_queue_on() never finds it pending.
 *
 * The first search for a request skips the CPU that made it, which is about to choose the best of
 * its own tasks. Later searches run on other CPUs and may visit it, which costs an interrupt. They
 * serve later requests as well, and other CPUs may want its tasks. An interrupt to itself, unlike a
 * loop, lets other interrupts run.
 *
 * The end. A push_walk_again() that returns false is the last access to the state. After it only
 * irq_work_single() touches the walk, once the handler has returned. A handler is an RCU reader
 * (hard interrupt, also on PREEMPT_RT), and so is a request (rq->lock). A grace period after the
 * root domain's last reference, no reader of an rq->rd uses it any more, and idle walks stay idle.
 * The last handler of such a walk may still run; it ends within another grace period.
 */

/* The next CPU of a walk after @cpu (-1: from its start), except @skip; -1: the walk is over. */
static int rt_walk_next(struct rt_walk *w, int cpu, int skip)
{
	const struct overload *set = w->rd->rto;

	for (;;) {
		if (w->shard < 0)
			cpu = overload_next_wide(set, cpu);
		else
			cpu = overload_next_near(set, w->shard, cpu);
		if (cpu >= 0 && cpu != skip)
			return cpu;
		if (cpu >= 0)
			continue;
		if (!push_walk_again(&w->state))
			return -1;
		skip = -1;
	}
}

static void rt_walk_go(struct rt_walk *w, int cpu)
{
	if (cpu >= 0)
		irq_work_queue_on(&w->work, cpu);
}

static void rt_walk_start(struct rt_walk *w, int this_cpu)
{
	if (push_walk_join(&w->state))
		rt_walk_go(w, rt_walk_next(w, -1, this_cpu));
}

/* Let the CPUs that @who names push, with rq->lock held. The query that gave @who has R2. */
static void rt_walks_request(struct rq *rq, u32 who)
{
	struct rt_walks *walks = rq->rd->rto_walks;

	if (who & OVERLOAD_NEAR)
		rt_walk_start(walks->walk[rq->rd->rto->slot[rq->cpu].shard], rq->cpu);
	if (who & OVERLOAD_WIDE)
		rt_walk_start(walks->walk[walks->nr], rq->cpu);
}

/* Hard interrupt on the CPU that a walk visits. */
static void rt_walk_visit(struct irq_work *work)
{
	struct rt_walk *w = container_of(work, struct rt_walk, work);
	struct rq *rq = this_rq();

	/*
	 * This check needs no lock. If a CPU adds a task to the list meanwhile, it then searches
	 * for a CPU. That search sees the level of the CPU that this walk serves.
	 */
	if (has_pushable_tasks(rq)) {
		raw_spin_rq_lock(rq);
		while (push_rt_task(rq, true))
			;
		raw_spin_rq_unlock(rq);
	}
	rt_walk_go(w, rt_walk_next(w, rq->cpu, -1));
}

static struct rt_walk *rt_walk_alloc(struct root_domain *rd, int shard, int node)
{
	struct rt_walk *w = port_alloc(sizeof(*w), node);

	if (!w)
		return NULL;
	push_walk_init(&w->state);
	w->work = IRQ_WORK_INIT_HARD(rt_walk_visit);
	w->rd = rd;
	w->shard = shard;
	return w;
}

static size_t rt_walks_bytes(u32 nr)
{
	return offsetof(struct rt_walks, walk) + (nr + 1) * sizeof(struct rt_walk *);
}

bool rt_walks_alloc(struct root_domain *rd)
{
	const struct shard_plan *plan = schedshard_plan;
	u32 nr = plan->nr_shards, i;
	struct rt_walks *walks = port_alloc(rt_walks_bytes(nr), NUMA_NO_NODE);

	rd->rto_walks = walks;
	if (!walks)
		return false;
	walks->nr = nr;
	for (i = 0; i < nr; i++) {
		walks->walk[i] = rt_walk_alloc(rd, i, plan->shard[i].node);
		if (!walks->walk[i])
			return false;
	}
	walks->walk[nr] = rt_walk_alloc(rd, -1, NUMA_NO_NODE);
	return walks->walk[nr];
}

void rt_walks_free(struct root_domain *rd)
{
	struct rt_walks *walks = rd->rto_walks;
	u32 i;

	if (!walks)
		return;
	for (i = 0; i <= walks->nr; i++)
		port_free(walks->walk[i], sizeof(struct rt_walk));
	port_free(walks, rt_walks_bytes(walks->nr));
}

bool rt_walks_ended(struct root_domain *rd)
{
	struct rt_walks *walks = rd->rto_walks;
	bool ended = walks->seen_idle;
	u32 i;

	walks->seen_idle = true;
	for (i = 0; i <= walks->nr; i++)
		if (READ_ONCE(walks->walk[i]->state.state) != PUSH_WALK_IDLE)
			walks->seen_idle = false;
	return ended;
}
