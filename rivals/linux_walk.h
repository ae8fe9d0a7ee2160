/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_walk.h - the push-IPI walk of Linux 6.12 with its fields in the root domain.
 *
 * Every request raises rto_loop_next. Then either it starts the walk, or somebody else is at that
 * (rto_loop_start), or one is under way (rto_cpu is a CPU): a walk that comes to its end compares
 * rto_loop_next with what it saw last (rto_loop), and goes round again when it differs.
 *
 * Written by every requester: rto_loop_next, rto_loop_start. Under rto_lock: rto_loop, rto_cpu.
 */

#define IRQ_WORK_PENDING 1u
#define IRQ_WORK_BUSY	 2u

/* The next stop; -1 when the walk is over. Under rto_lock. */
static s64 next_stop(struct rd *rd)
{
	ROOT_DOMAIN *root = rd->root;

	for (;;) {
		s64 cpu = next_overloaded(rd, root->rto_cpu);
		u32 wanted;

		root->rto_cpu = (s32)cpu;
		if (cpu >= 0)
			return cpu;
		/* Acquire: a requester's own overloaded CPUs are seen in the next round. */
		wanted = smp_load_acquire(&root->rto_loop_next);
		if (root->rto_loop == (s32)wanted)
			return -1;
		root->rto_loop = (s32)wanted;
	}
}

/* The one work item of the root domain is queued on the next CPU. */
static void send_work(ROOT_DOMAIN *root)
{
	if (!(atomic_or32(&root->rto_push_work.flags, IRQ_WORK_PENDING | IRQ_WORK_BUSY) &
	      IRQ_WORK_PENDING))
		WRITE_ONCE(root->rto_push_work.next, 0);
}

static s64 walk_request(struct rd *rd, u32 this_cpu, u32 walk)
{
	ROOT_DOMAIN *root = rd->root;
	s64 cpu = -1;

	atomic_inc32(&root->rto_loop_next);
	if (!atomic_try32(&root->rto_loop_start, 0, 1))
		return -1;
	lock32(&root->rto_lock);
	if (root->rto_cpu < 0)
		cpu = next_stop(rd);
	unlock32(&root->rto_lock);
	smp_store_release(&root->rto_loop_start, 0);
	if (cpu >= 0) {
		atomic_inc32(&root->refcount);
		send_work(root);
	}
	return cpu;
}

static void walk_arrive(struct rd *rd, u32 this_cpu, u32 walk)
{
	struct irq_work *work = &rd->root->rto_push_work;

	/* Off the queue, then free to be queued again from the handler. */
	(void)READ_ONCE(work->next);
	WRITE_ONCE(work->flags, READ_ONCE(work->flags) & ~IRQ_WORK_PENDING);
	smp_mb();
}

static s64 walk_next(struct rd *rd, u32 this_cpu, u32 walk)
{
	ROOT_DOMAIN *root = rd->root;
	s64 cpu;

	lock32(&root->rto_lock);
	cpu = next_stop(rd);
	unlock32(&root->rto_lock);
	if (cpu >= 0)
		send_work(root);
	else
		atomic_dec32(&root->refcount);
	/* Not busy any more, unless it is pending again. */
	atomic_try32(&root->rto_push_work.flags, IRQ_WORK_BUSY, 0);
	return cpu;
}
