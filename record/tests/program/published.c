// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * published CASE ROUNDS: a small program with the data layout of a public report. CASE is the
 * letter of the report. -DCHANGED gives the layout that mended the case.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "together.h"

#ifdef CHANGED
#define APART _Alignas(64)
#define BATCH 64
#else
#define APART
#define BATCH 1
#endif
#define ARRAY __attribute__((aligned(64)))

static long rounds;
static char which;
static _Thread_local volatile long sum;
/* As many bytes as after another member of 8 bytes, but the tail is at the end of its line. */
static struct queue {
	_Alignas(64) char before[56];
	APART _Atomic long tail;
	long seen, limit;
	char between[40];
	APART _Atomic long head;
} queue;
static struct record {
	APART _Atomic long epoch;
	long retired;
	void *list;
} record[8] ARRAY;
static struct low {
	APART double least;
} low[8] ARRAY;
static struct object {
	APART _Atomic int refs;
	int kind;
} object[8] ARRAY;
static struct polled {
	_Alignas(64) _Atomic long cursor;
	APART _Atomic long gate;
} polled;
static struct cell {
	APART _Atomic long turn;
	long value;
} cell[64] ARRAY;
static struct ring {
	_Alignas(64) long mask;
	APART _Atomic long in;
	APART _Atomic long out;
} ring;
static _Alignas(64) _Atomic long batched;
static struct tally {
	APART _Atomic long n;
} tally[8] ARRAY, executed[8] ARRAY, idle[8] ARRAY;
static struct contexts {
	_Alignas(64) _Atomic int disabled;
	APART _Atomic int end;
	APART _Atomic int start;
} contexts;
static struct steal {
	_Alignas(64) _Atomic long head;
	APART _Atomic long tail;
} steal;
static struct pool {
	_Alignas(64) _Atomic long state;
	APART _Atomic long sleepers;
} pool;
static struct packets {
	_Alignas(64) long mac, protocols;
	APART _Atomic long seen;
} packets;
static struct buffer {
	_Alignas(64) long page, flags;
	APART _Atomic int pins;
} buffer;

static void add(_Atomic long *to)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static void compute(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

static void step(long me, long i)
{
	switch (which) {
	case 'q': /* a queue's padding is off by a member */
		if (!me)
			queue.seen = queue.limit++;
		atomic_store_explicit(me ? &queue.head : &queue.tail, i, memory_order_release);
		break;
	case 'r': /* a record per thread */
		atomic_fetch_add(&record[me].epoch, 1);
		record[me].retired += i;
		break;
	case 'm': /* a minimum per slot */
		if (low[me].least >= (double)-i)
			low[me].least = (double)-i;
		break;
	case 'o': /* reference counts of neighbouring objects */
		atomic_fetch_add(&object[me].refs, 1);
		atomic_fetch_sub(&object[me].refs, 1);
		break;
	case 'p': /* a polled word beside one that is written */
		if (!me)
			atomic_store_explicit(&polled.gate, i, memory_order_release);
		else if (atomic_load_explicit(&polled.cursor, memory_order_acquire))
			abort();
		break;
	case 'c': /* cells of a queue */
		cell[(8 * i + me) % 64].value = i;
		atomic_fetch_add(&cell[(8 * i + me) % 64].turn, 1);
		break;
	case 'i': /* constants and both ends of a queue in one line */
		atomic_fetch_add(me % 2 ? &ring.in : &ring.out, 1 + ring.mask);
		compute(20);
		break;
	case 'b': /* one counter, added to in batches */
		if (i % BATCH == 0)
			atomic_fetch_add(&batched, BATCH);
		compute(20);
		break;
	case 'w': /* a worker's count of calls that do nothing */
		add(&tally[me].n);
		compute(2);
		break;
	case 'u': /* threads count their memory, and one sums the counts after each command */
		if (me)
			add(&tally[me].n);
		else
			for (int j = 0; j < 8; j++)
				sum += atomic_load_explicit(&tally[j].n, memory_order_relaxed);
		compute(100);
		break;
	case 't': /* a thread's count of requests */
		compute(200);
		add(&tally[me].n);
		break;
	case 'g': /* a flag that all read, beside the ends of a queue */
		if (!me)
			atomic_store_explicit(&contexts.end, (int)i, memory_order_release);
		else if (!atomic_load_explicit(&contexts.disabled, memory_order_acquire) &&
			 i % 8 == me)
			atomic_fetch_add(&contexts.start, 1);
		compute(20);
		break;
	case 'h': /* an owner moves the tail of its queue, and another thread looks for work */
		if (!me)
			atomic_store_explicit(&steal.tail, i, memory_order_release);
		else if (atomic_load_explicit(&steal.head, memory_order_acquire) <= i && i % 8 == 0)
			atomic_fetch_add(&steal.head, 1);
		compute(10);
		break;
	case 'k': /* a pool's state beside the stack of its sleeping threads */
		sum += atomic_load_explicit(&pool.state, memory_order_acquire);
		if (i % 8 == me)
			atomic_fetch_add(&pool.sleepers, 1);
		compute(100);
		break;
	case 'x': /* two counts of each thread, by kind */
		add(&executed[me].n);
		compute(10);
		add(&idle[me].n);
		break;
	case 'a': /* settings that all read, beside a count of packets */
		sum += packets.mac + packets.protocols;
		if (me < 4 && i % 4 == 0)
			atomic_fetch_add(&packets.seen, 1);
		compute(20);
		break;
	case 'd': /* readers pin one buffer */
		atomic_fetch_add(&buffer.pins, 1);
		sum += buffer.page + buffer.flags;
		atomic_fetch_sub(&buffer.pins, 1);
		break;
	case 'l': /* a thread's count, once in a long walk */
		if (i % 64 == 0)
			add(&tally[me].n);
		compute(200);
		break;
	case 's': /* threads that seldom meet */
		if (i % 64 == 0)
			atomic_fetch_add(&object[me].refs, 1);
		compute(200);
		break;
	}
}

static void *work(void *me)
{
	for (long i = 0; i < rounds; i++)
		step((long)me, i);
	return NULL;
}

int main(int argc, char **argv)
{
	which = argc == 3 ? argv[1][0] : 0;
	rounds = argc == 3 ? atol(argv[2]) : 0;
	together(which == 'q' || which == 'p' || which == 'h' ? 2 : 8, work);
	return 0;
}
