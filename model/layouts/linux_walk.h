/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_walk.h - the push-IPI walk of Linux 6.12 with its fields in the root domain.
 *
 * Every request raises rto_loop_next. Then it starts the walk, unless another CPU is starting one
 * (rto_loop_start) or one is under way (rto_cpu is a CPU). At its end a walk compares rto_loop_next
 * with the value it saw last (rto_loop), and starts another round if they differ.
 *
 * Every requester writes rto_loop_next and rto_loop_start. rto_lock protects rto_loop and rto_cpu.
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
		/* Pairs with smp_wmb() in overload_set_cpu(): sees CPUs set before the request. */
		wanted = smp_load_acquire(&root->rto_loop_next);
		if (root->rto_loop == (s32)wanted)
			return -1;
		root->rto_loop = (s32)wanted;
	}
}

/* Queue the one work item of the root domain on the next CPU. */
static void send_work(ROOT_DOMAIN *root)
{
	if (!(atomic_or32(&root->rto_push_work.flags, IRQ_WORK_PENDING | IRQ_WORK_BUSY) &
	      IRQ_WORK_PENDING))
		WRITE_ONCE(root->rto_push_work.next, 0);
}

static s64 walk_request(struct rd *rd, u32 this_cpu)
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

static void walk_arrive(struct rd *rd, u32 this_cpu)
{
	struct irq_work *work = &rd->root->rto_push_work;

	/* Take the item off the queue; from here on it may be queued again. */
	(void)READ_ONCE(work->next);
	WRITE_ONCE(work->flags, READ_ONCE(work->flags) & ~IRQ_WORK_PENDING);
	smp_mb(); /* pairs with atomic_or32() in send_work() */
}

static s64 walk_next(struct rd *rd, u32 this_cpu)
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
	/* No longer busy, unless it is pending again. */
	atomic_try32(&root->rto_push_work.flags, IRQ_WORK_BUSY, 0);
	return cpu;
}
