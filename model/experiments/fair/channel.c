// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A stream of messages, like a UNIX socket in Linux. Senders count the messages in flight, fill
 * their own buffers and link them to the receiver's queue. The receiver unlinks and copies a
 * message. It wakes the senders when little enough is in flight (a quarter of the capacity).
 *
 * Why no wake-up is lost: a thread that must wait first stores its state and joins the list of
 * waiters, under the list's lock. Then it checks again. A thread that makes room or sends does that
 * first, and then reads the list. Both threads have a full barrier between the two steps (on the
 * simulated machine, taking a lock is one).
 *
 * A message consists of two lines of bookkeeping and two of data, as for 100 bytes and their
 * sk_buff. The choice of a buffer is not simulated (in Linux the allocator makes it, per CPU). A
 * message gets the buffer freed last, whose lines are in the receiver's cache.
 */
#include "fair_rq.h"

#include <stdlib.h>

#include "arena.h"

#define MESSAGE_LINES 4

struct message {
	u64 line[MESSAGE_LINES][8];
};

/**
 * struct channel - the shared part
 * @lock: protects @queued, @head
 * @queued: messages that the receiver has not taken
 * @head: stands for the head of Linux's list, which both sides write
 * @in_flight: messages that senders have counted and the receiver has not
 * @wait_lock: protects both lists
 * @receivers: threads that wait for a message: at most one
 * @senders: threads that wait for room
 */
struct channel {
	u32 lock, queued;
	u64 head;

	u32 in_flight port_cacheline_aligned;

	u32 wait_lock port_cacheline_aligned;
	struct rt_list receivers, senders;
};

/**
 * struct fair_channel - the private part: costs no simulated time
 * @c: the shared part
 * @message: buffers
 * @nr: number of buffers: the capacity and one per sender, which is always enough
 * @unused: stack of unused buffers
 * @nr_unused: number of unused buffers
 * @order: ring of the buffers that were sent
 * @sent, @received: counts; positions in the ring
 */
struct fair_channel {
	struct channel *c;
	struct message *message;
	u32 capacity, nr, nr_unused;
	u32 *unused, *order;
	u64 sent, received;
};

struct fair_channel *fair_channel_new(struct fair *f, u32 cpu, u32 capacity, u32 senders)
{
	int node = (int)f->cpu[cpu].node;
	struct fair_channel *x = calloc(1, sizeof(*x));

	if (!x)
		abort();
	x->nr = capacity + senders;
	x->unused = calloc(x->nr, sizeof(*x->unused));
	x->order = calloc(x->nr, sizeof(*x->order));
	if (!x->unused || !x->order)
		abort();
	x->capacity = capacity;
	x->c = arena_alloc(sizeof(*x->c), node, "channel", "struct channel");
	x->message = arena_alloc(x->nr * sizeof(*x->message), node, "messages", NULL);
	for (u32 i = 0; i < x->nr; i++)
		x->unused[x->nr_unused++] = i;
	rt_list_init(&x->c->receivers);
	rt_list_init(&x->c->senders);
	return x;
}

void fair_channel_free(struct fair_channel *x)
{
	free(x->unused);
	free(x->order);
	free(x);
}

/* ---- waiting ---- */

static void start_waiting(struct fair_cpu *me, struct channel *c, struct rt_list *list)
{
	struct fair_task *p = me->curr;

	rt_lock(&c->wait_lock);
	if (!p->waiting) {
		rt_list_add_before(&p->wait_node, list);
		p->waiting = 1;
	}
	WRITE_ONCE(p->state, FAIR_ASLEEP);
	rt_unlock(&c->wait_lock);
	/* Orders joining the list before the second check. Pairs with smp_mb() in wake_all(). */
	smp_mb();
}

static void stop_waiting(struct fair_cpu *me, struct channel *c)
{
	struct fair_task *p = me->curr;

	WRITE_ONCE(p->state, FAIR_RUNNABLE);
	rt_lock(&c->wait_lock);
	if (p->waiting) {
		rt_list_del(&p->wait_node);
		p->waiting = 0;
	}
	rt_unlock(&c->wait_lock);
}

static void wake_all(struct fair_cpu *me, struct channel *c, struct rt_list *list)
{
	/*
	 * Orders the message or the room before the read of the list. Pairs with smp_mb() in
	 * start_waiting().
	 */
	smp_mb();
	if (READ_ONCE(list->next) == list)
		return;
	rt_lock(&c->wait_lock);
	while (!rt_list_empty(list)) {
		struct fair_task *p = rt_list_item(list->next, struct fair_task, wait_node);

		rt_list_del(&p->wait_node);
		p->waiting = 0;
		fair_wake(me, p, true);
	}
	rt_unlock(&c->wait_lock);
}

/* ---- messages ---- */

static void fill(struct message *m)
{
	for (u32 i = 0; i < MESSAGE_LINES; i++)
		WRITE_ONCE(m->line[i][0], 1);
}

static void empty(struct message *m)
{
	for (u32 i = 0; i < MESSAGE_LINES; i++)
		(void)READ_ONCE(m->line[i][0]);
	WRITE_ONCE(m->line[0][0], 0);
}

bool fair_send(struct fair_cpu *me, struct fair_channel *x)
{
	struct channel *c = x->c;
	u32 buffer;

	fair_syscall_begin(me);
	sim_spend(me->fair->costs.message);
	if (READ_ONCE(c->in_flight) >= x->capacity) {
		start_waiting(me, c, &c->senders);
		if (READ_ONCE(c->in_flight) >= x->capacity) {
			fair_wait(me);
			return false;
		}
		stop_waiting(me, c);
	}
	__atomic_fetch_add(&c->in_flight, 1, __ATOMIC_RELAXED);
	buffer = x->unused[--x->nr_unused];
	fill(&x->message[buffer]);
	rt_lock(&c->lock);
	x->order[x->sent++ % x->nr] = buffer;
	WRITE_ONCE(c->head, x->sent);
	WRITE_ONCE(c->queued, c->queued + 1);
	rt_unlock(&c->lock);
	wake_all(me, c, &c->receivers);
	fair_syscall_end(me);
	return true;
}

/* Return: a buffer, or -1 if there is no message. */
static s64 take(struct fair_channel *x)
{
	struct channel *c = x->c;
	s64 buffer = -1;

	rt_lock(&c->lock);
	if (c->queued) {
		buffer = x->order[x->received++ % x->nr];
		WRITE_ONCE(c->queued, c->queued - 1);
		WRITE_ONCE(c->head, x->received);
	}
	rt_unlock(&c->lock);
	return buffer;
}

bool fair_receive(struct fair_cpu *me, struct fair_channel *x)
{
	struct channel *c = x->c;
	s64 buffer;

	fair_syscall_begin(me);
	sim_spend(me->fair->costs.message);
	buffer = take(x);
	if (buffer < 0) {
		start_waiting(me, c, &c->receivers);
		if (!READ_ONCE(c->queued)) {
			fair_wait(me);
			return false;
		}
		stop_waiting(me, c);
		buffer = take(x);
		if (buffer < 0)
			abort(); /* there is only one receiver */
	}
	empty(&x->message[buffer]);
	x->unused[x->nr_unused++] = (u32)buffer;
	if ((__atomic_fetch_sub(&c->in_flight, 1, __ATOMIC_RELAXED) - 1) * 4 <= x->capacity)
		wake_all(me, c, &c->senders);
	fair_syscall_end(me);
	return true;
}
