// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pushing by travelling interrupts. Part of rt.c.
 *
 * When a CPU lowers its level and other CPUs have RT tasks that wait, one of these tasks may be for
 * it. To lock the run queues of those CPUs would make a crowd of all CPUs that become free at
 * once; an interrupt to each of them would make a storm. So one interrupt goes from one to the
 * next. Who asks while it is under way makes it go round once more.
 *
 * Who carries a walk. The CPU whose request found it idle, then the CPU that it sent the
 * interrupt to, and so on, each until it has queued the interrupt on the next. Nobody but the
 * carrier touches @work, so that irq_work_queue_on() never finds it pending.
 *
 * Its own CPU. In the round that a CPU begins for its own request it is passed over: it is about to
 * choose the best of its own tasks. In any later round it is not: that round is for somebody else,
 * who may want just these tasks, and who came after this CPU pushed. (Linux passes it over
 * in every round.) It is then visited by an interrupt to itself, not by a loop, so that
 * other interrupts get their turn.
 *
 * The end. push_walk_again() returning false is the last access to the state; after that only
 * irq_work_single() touches the walk, when the handler has returned. A handler is an RCU reader
 * (hard interrupt, also on PREEMPT_RT), and a request is one (rq->lock). When a root domain has no
 * references no rq->rd points to it, and a grace period later nobody is left who read one before:
 * the walks get no requests any more, and what is idle stays so. A walk that is seen idle then may
 * still have its last handler running; another grace period later it has not.
 */

/* Where a walk goes from @cpu (-1: its start), passing over @skip; -1 when it is over. */
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

/*
 * Let CPUs with waiting tasks push. @who: what overload_query_now() found; rq->lock is held. The
 * lower level was stored before that query, which begins with the barrier.
 */
static void rt_walks_request(struct rq *rq, u32 who)
{
	struct rt_walks *walks = rq->rd->rto_walks;

	if (who & OVERLOAD_NEAR)
		rt_walk_start(walks->walk[rq->rd->rto->slot[rq->cpu].shard], rq->cpu);
	if (who & OVERLOAD_WIDE)
		rt_walk_start(walks->walk[walks->nr], rq->cpu);
}

/* Hard interrupt on a CPU that a walk has come to. */
static void rt_walk_visit(struct irq_work *work)
{
	struct rt_walk *w = container_of(work, struct rt_walk, work);
	struct rq *rq = this_rq();

	/*
	 * No lock to look at the list: a task that joins it behind our back is followed by a look
	 * for a CPU, which sees the level of the CPU that we walk for.
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
