// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * pairs CASE before|after CPUS MHZ WORK_NS OPERATIONS: runs the shared part of one published
 * workload (machines/published/whole.toml), before or after the published change.
 *
 * Each of CPUS, such as 0-3,8, gets a thread. An operation is WORK_NS of private instructions, half
 * to one and a half times as many, and then the accesses of CASE. When the first thread has done
 * OPERATIONS, all end, so that a thread that got a lock seldom does not decide the time. Prints the
 * operations of all threads, and the nanoseconds that the program's clock counted. Each object has
 * the name that the published source gives it.
 *
 * Exit status: 0; 2 for bad arguments.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c2c-mark.h"

/*
 * For trials: by which factor locks are held longer than estimated, how many random numbers an
 * operation draws, each under a lock, and how long a peer holds the lock of updates.
 */
#ifndef HELD
#define HELD 1
#endif
#ifndef RANDS
#define RANDS 3
#endif
#ifndef PEER_NS
#define PEER_NS 0
#endif

#define MOST	      256
#define ALONE	      __attribute__((aligned(128)))
#define add(where, n) __atomic_fetch_add(where, n, __ATOMIC_SEQ_CST)
#define load(where)   __atomic_load_n(where, __ATOMIC_ACQUIRE)

struct me {
	unsigned int nr, part;
	uint64_t random, done, private;
} ALONE;

static unsigned int nr, cpus[MOST];
static uint64_t mhz, work, wanted;
static int after;
static pthread_barrier_t ready;
static struct {
	int stop;
} end ALONE;

/* Execute about @ns of instructions that access nothing. */
static void think(uint64_t ns)
{
	uint64_t n = 0;

	for (uint64_t left = ns * mhz / 1000 / 32; left; left--)
		__asm__ volatile(".rept 30\n\tadd $1, %0\n\t.endr" : "+r"(n));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static unsigned int pick(struct me *me)
{
	me->random = me->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(me->random >> 33);
}

/* A reader-writer lock in one word: readers count below WRITER. Waiters back off. */
#define WRITER 0x10000u

struct rwlock {
	uint32_t word;
} ALONE;

static void rest(unsigned int *rounds)
{
	for (unsigned int i = 0; i < *rounds; i++)
		__builtin_ia32_pause();
	*rounds = *rounds < 64 ? *rounds * 2 : 64;
}

static int try_lock(struct rwlock *lock)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&lock->word, &free, WRITER, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void hold(struct rwlock *lock, uint64_t ns)
{
	for (unsigned int rounds = 1; load(&lock->word) || !try_lock(lock);)
		rest(&rounds);
	think(ns * HELD);
	__atomic_fetch_sub(&lock->word, WRITER, __ATOMIC_RELEASE);
}

static void hold_as_reader(struct rwlock *lock, uint64_t ns)
{
	unsigned int rounds = 1;

	add(&lock->word, 1);
	while (load(&lock->word) >= WRITER)
		rest(&rounds);
	think(ns * HELD);
	__atomic_fetch_sub(&lock->word, 1, __ATOMIC_RELEASE);
}

static void hold_mutex(pthread_mutex_t *lock, uint64_t ns)
{
	pthread_mutex_lock(lock);
	think(ns * HELD);
	pthread_mutex_unlock(lock);
}

/* libcds: a thread enters and leaves a section of RCU in its own record. */
struct record {
	uint32_t control;
	struct record *next;
	uint64_t owner, malloc_head;
};

static struct record record[MOST] ALONE;
static struct {
	struct record record ALONE;
} record_apart[MOST];

static void urcu(struct me *me)
{
	struct record *own = after ? &record_apart[me->nr].record : &record[me->nr];

	__atomic_store_n(&own->control, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&own->control, 0, __ATOMIC_RELEASE);
}

/* go-cache: a map behind a reader-writer mutex, or one that readers only load. */
static struct {
	int64_t writer;
	int32_t readers, waiting;
} rwmutex ALONE;
static struct {
	uint64_t *entries;
	uint64_t amended;
} read_map ALONE;

static void gomap(struct me *me)
{
	if (!after)
		add(&rwmutex.readers, 1);
	me->private += load(&read_map.amended);
	if (!after)
		add(&rwmutex.readers, -1);
}

/* CPython without its lock: references of threads that do not own an object. */
static struct object {
	uint64_t thread;
	uint32_t local;
	int64_t shared;
} method ALONE, self ALONE;

static void unref(struct object *object)
{
	int64_t now = load(&object->shared);

	while (!__atomic_compare_exchange_n(&object->shared, &now, now - 4, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

static void pymethod(struct me *me)
{
	me->private += load(&method.local);
	if (after)
		return;
	add(&method.shared, 4);
	add(&self.shared, 4);
	unref(&self);
	unref(&method);
}

/* gcc's unwinder finds the tables of a frame under the loader's lock. */
static struct {
	pthread_mutex_t lock;
} load_lock ALONE = { PTHREAD_MUTEX_INITIALIZER };

static void unwind(struct me *me)
{
	for (int i = 0; i < 6; i++) {
		if (after)
			think(100);
		else
			hold_mutex(&load_lock.lock, 100);
	}
	me->private ++;
}

/* ZFS: how much is allocated, and was at most. */
static struct {
	int64_t used;
} kmem_alloc_used ALONE;
static struct {
	int64_t max;
} kmem_alloc_max ALONE = { 1 << 30 };

static void kmem(struct me *me)
{
	int64_t change = me->part & 1 ? -4096 : 4096;

	if (!after && add(&kmem_alloc_used.used, change) > load(&kmem_alloc_max.max))
		kmem_alloc_max.max = kmem_alloc_used.used;
}

/* MySQL's counters: random numbers under a lock, and a counter in a chunk of 32 bytes. */
static struct {
	pthread_mutex_t lock;
} rand_lock ALONE = { PTHREAD_MUTEX_INITIALIZER };
static struct {
	uint64_t value, chunk[3];
} counter[1000] ALONE;
static struct {
	uint64_t value ALONE;
} shard[1000][MOST];

static void counters(struct me *me)
{
	unsigned int which = pick(me) % 1000;

	for (int i = 0; i < RANDS; i++)
		hold_mutex(&rand_lock.lock, 5);
	add(after ? &shard[which][me->nr].value : &counter[which].value, 1);
}

/* HAProxy's proxy: all requests are counted, and all look at the queue. */
static struct {
	int beconn, served;
	unsigned int queueslength;
	int totpend;
} proxy ALONE;
static struct {
	unsigned int queueslength;
	int totpend;
} proxy_queues ALONE;

static void queues(struct me *me)
{
	add(&proxy.beconn, me->part ? -1 : 1);
	me->private += load(after ? &proxy_queues.queueslength : &proxy.queueslength);
}

static struct rwlock lbprm, lbprm_of_group[MOST];

static void leastconn(struct me *me)
{
	if (!after) {
		hold(&lbprm, 200);
	} else if (try_lock(&lbprm)) {
		think(200);
		__atomic_fetch_sub(&lbprm.word, WRITER, __ATOMIC_RELEASE);
	} else {
		me->private ++;
	}
}

static void roundrobin(struct me *me)
{
	hold(after ? &lbprm_of_group[me->nr / 8] : &lbprm, 200);
}

static struct rwlock proc_vars;

static void setvar(struct me *me)
{
	for (int times = after ? 1 : 2; times; times--)
		hold(&proc_vars, 100);
	me->private ++;
}

/* HAProxy's ring of messages. Its lock has a line of its own. */
static struct rwlock ring_lock;
static struct {
	size_t size, rsvd, tail, head;
	char area[1 << 16];
} ring ALONE;
static struct {
	size_t size;
	size_t tail __attribute__((aligned(64)));
	size_t head __attribute__((aligned(64)));
	char area[1 << 16] __attribute__((aligned(64)));
} ring_apart ALONE;

static void ring_write(struct me *me)
{
	size_t *head = after ? &ring_apart.head : &ring.head;
	size_t *tail = after ? &ring_apart.tail : &ring.tail;
	char *area = after ? ring_apart.area : ring.area;

	for (unsigned int rounds = 1; load(&ring_lock.word) || !try_lock(&ring_lock);)
		rest(&rounds);
	*head += 128;
	for (size_t i = 0; i < 128; i += 8)
		memcpy(area + (*tail + i) % (1 << 16), &me->random, 8);
	__atomic_store_n(tail, *tail + 128, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&ring_lock.word, WRITER, __ATOMIC_RELEASE);
}

/* HAProxy's stick tables. */
static struct rwlock updt_lock, table;
static struct {
	int seen;
} stksess ALONE;

static void seen(struct me *me)
{
	if (PEER_NS && !after && !me->nr)
		hold(&updt_lock, PEER_NS);
	else if (!after)
		hold_as_reader(&updt_lock, 0);
	me->private += (uint64_t)load(&stksess.seen);
}

static void touch(struct me *me)
{
	if (!after || me->part % 3 == 0)
		hold(&table, 100);
}

static void drop(struct me *me)
{
	if (after && me->part % 3 == 0)
		hold_as_reader(&table, 100);
	else
		hold(&table, 100);
}

static void twolocks(struct me *me)
{
	if (pick(me) % 16)
		return;
	hold(&table, after ? 25 : 50);
	if (after)
		hold(&updt_lock, 25);
}

/* glibc's localtime(). */
static struct {
	pthread_mutex_t lock;
} tzset_lock ALONE = { PTHREAD_MUTEX_INITIALIZER };

static void local_time(struct me *me)
{
	if (!after)
		hold_mutex(&tzset_lock.lock, 100);
	me->private ++;
}

static struct {
	uint32_t index;
	struct rwlock lock;
} logger[4] ALONE;

static void logs(struct me *me)
{
	for (int i = 0; i < 4; i++) {
		uint32_t now = load(&logger[i].index);

		if (!after)
			hold(&logger[i].lock, 20);
		while (after && !__atomic_compare_exchange_n(&logger[i].index, &now, (now + 1) % 4,
							     0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
	}
	me->private ++;
}

static const struct {
	const char *name;
	unsigned int parts;
	void (*run)(struct me *);
} cases[] = {
	{ "urcu", 1, urcu },
	{ "gomap", 1, gomap },
	{ "pymethod", 1, pymethod },
	{ "unwind", 1, unwind },
	{ "kmem", 8, kmem },
	{ "counters", 1, counters },
	{ "queues", 2, queues },
	{ "leastconn", 2, leastconn },
	{ "roundrobin", 1, roundrobin },
	{ "setvar", 1, setvar },
	{ "ring", 1, ring_write },
	{ "seen", 1, seen },
	{ "touch", 9, touch },
	{ "unref", 9, drop },
	{ "twolocks", 1, twolocks },
	{ "localtime", 1, local_time },
	{ "localtime3", 3, local_time },
	{ "logs", 1, logs },
};

static unsigned int which;

static void *worker(void *arg)
{
	struct me *me = arg;
	unsigned int parts = cases[which].parts;

	pthread_barrier_wait(&ready);
	while (!load(&end.stop)) {
		for (me->part = 0; me->part < parts; me->part++) {
			think((work / 2 + pick(me) % (work + 1)) / parts);
			cases[which].run(me);
		}
		if (++me->done == wanted)
			__atomic_store_n(&end.stop, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void read_cpus(const char *list)
{
	for (char *at = (char *)list; *at; at += *at == ',') {
		unsigned long first = strtoul(at, &at, 10), last = first;

		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		for (; first <= last && nr < MOST; first++)
			cpus[nr++] = (unsigned int)first;
		if (*at && *at != ',')
			exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct me me[MOST];
	static pthread_t made[MOST];
	uint64_t all = 0, begin;

	for (which = 0; argc == 7 && which < sizeof(cases) / sizeof(*cases); which++) {
		if (!strcmp(cases[which].name, argv[1]))
			break;
	}
	if (argc != 7 || which == sizeof(cases) / sizeof(*cases))
		return 2;
	after = !strcmp(argv[2], "after");
	read_cpus(argv[3]);
	mhz = strtoul(argv[4], NULL, 10);
	work = strtoul(argv[5], NULL, 10);
	wanted = strtoul(argv[6], NULL, 10);
	pthread_barrier_init(&ready, NULL, nr + 1);
	for (unsigned int i = 0; i < nr; i++) {
		pthread_attr_t attr;
		cpu_set_t set;

		me[i].nr = i;
		me[i].random = i * 977 + 1;
		CPU_ZERO(&set);
		CPU_SET(cpus[i], &set);
		pthread_attr_init(&attr);
		pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
		if (pthread_create(&made[i], &attr, worker, &me[i]))
			return 2;
	}
	c2c_open();
	pthread_barrier_wait(&ready);
	begin = now_ns();
	for (unsigned int i = 0; i < nr; i++) {
		pthread_join(made[i], NULL);
		all += me[i].done;
	}
	c2c_close();
	printf("operations %llu ns %llu\n", (unsigned long long)all,
	       (unsigned long long)(now_ns() - begin));
	return 0;
}
