// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* raced KIND: two threads with a data race, or with none. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMES 5000
#define BYTES (1 << 20)

/* Each object has its own line. */
static struct {
	_Alignas(64) long value;
} data, count, plain_flag;
static struct {
	_Alignas(64) atomic_int value;
} flag;
static volatile long often;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int ends[2], word;

#define COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
#define PART(name)	   static void *name(void *arg)

/* ---- races ---- */

PART(increments)
{
	for (int i = 0; i < TIMES; i++) {
		COMPILER_BARRIER();
		count.value++;
	}
	return arg;
}

PART(once)
{
	count.value++;
	return arg;
}

PART(two_locks)
{
	pthread_mutex_t *mine = arg ? &lock : &other;

	pthread_mutex_lock(mine);
	count.value++;
	pthread_mutex_unlock(mine);
	return arg;
}

PART(readers)
{
	pthread_rwlock_rdlock(&rwlock);
	count.value++;
	pthread_rwlock_unlock(&rwlock);
	return arg;
}

PART(sets_plain)
{
	data.value = 1;
	COMPILER_BARRIER();
	plain_flag.value = 1;
	return arg;
}

PART(awaits_plain)
{
	while (!plain_flag.value)
		COMPILER_BARRIER();
	count.value = data.value;
	return arg;
}

PART(relaxed_store)
{
	data.value = 1;
	atomic_store_explicit(&flag.value, 1, memory_order_relaxed);
	return arg;
}

PART(relaxed_load)
{
	while (!atomic_load_explicit(&flag.value, memory_order_relaxed)) {
	}
	count.value = data.value;
	return arg;
}

/* An atomic object that one thread writes by plain stores. */
PART(mixed)
{
	if (arg)
		atomic_fetch_add(&flag.value, 1);
	else
		memcpy((void *)&flag.value, &word, sizeof(word));
	return arg;
}

/* ---- none ---- */

PART(release)
{
	data.value = 1;
	atomic_store_explicit(&flag.value, 1, memory_order_release);
	return arg;
}

PART(acquire)
{
	while (!atomic_load_explicit(&flag.value, memory_order_acquire)) {
	}
	count.value = data.value;
	return arg;
}

PART(release_fence)
{
	data.value = 1;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&flag.value, 1, memory_order_relaxed);
	return arg;
}

PART(acquire_fence)
{
	while (!atomic_load_explicit(&flag.value, memory_order_relaxed)) {
	}
	atomic_thread_fence(memory_order_acquire);
	count.value = data.value;
	return arg;
}

PART(swaps)
{
	int old = 0;

	while (!atomic_compare_exchange_weak(&flag.value, &old, 1))
		old = 0;
	count.value++;
	atomic_store_explicit(&flag.value, 0, memory_order_release);
	return arg;
}

PART(locked)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		count.value++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

PART(writers)
{
	for (int i = 0; i < 100; i++) {
		if (i % 2)
			pthread_rwlock_rdlock(&rwlock);
		else
			pthread_rwlock_wrlock(&rwlock);
		if (i % 2)
			often += count.value;
		else
			count.value++;
		pthread_rwlock_unlock(&rwlock);
	}
	return arg;
}

PART(rounds)
{
	for (int i = 0; i < 100; i++) {
		if (i % 2 == !arg)
			count.value++;
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

PART(posts)
{
	for (int i = 0; i < 100; i++) {
		sem_wait(&sem);
		count.value++;
		sem_post(&sem);
	}
	return arg;
}

/* Adjacent bytes, a volatile counter, and relaxed additions to an atomic one. */
PART(apart)
{
	for (int i = 0; i < TIMES; i++) {
		COMPILER_BARRIER();
		((char *)&data.value)[!arg]++;
		often++;
		atomic_fetch_add_explicit(&flag.value, 1, memory_order_relaxed);
	}
	return arg;
}

/* A lock in assembly, which the recorder does not see. */
PART(assembly)
{
	for (int i = 0; i < 100; i++) {
		int old;

		do {
			old = 1;
			__asm__ volatile("xchg %0, %1" : "+r"(old), "+m"(word)::"memory");
		} while (old);
		count.value++;
		__asm__ volatile("movl $0, %0" : "=m"(word)::"memory");
	}
	return arg;
}

PART(sends)
{
	data.value = 1;
	if (write(ends[1], "x", 1) != 1)
		exit(3);
	return arg;
}

PART(receives)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		exit(3);
	count.value = data.value;
	return arg;
}

/* The second thread maps the memory that the first one unmapped. */
PART(maps)
{
	char *at;

	if (!arg)
		usleep(1000);
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < BYTES; i += 4096)
		at[i]++;
	munmap(at, BYTES);
	return arg;
}

/* The second thread reuses the stack of the first one. */
PART(stacks)
{
	volatile char here[4096];

	for (unsigned int i = 0; i < sizeof(here); i++)
		*(char *)(here + i) = 1;
	return arg;
}

static const struct kind {
	const char *name;
	void *(*first)(void *), *(*second)(void *);
} kinds[] = {
	{ "increments", increments, increments },
	{ "once", once, once },
	{ "two-locks", two_locks, two_locks },
	{ "readers", readers, readers },
	{ "plain-flag", awaits_plain, sets_plain },
	{ "relaxed-store", relaxed_store, acquire },
	{ "relaxed-load", release, relaxed_load },
	{ "mixed", mixed, mixed },
	{ "acquire", release, acquire },
	{ "fences", release_fence, acquire_fence },
	{ "swaps", swaps, swaps },
	{ "locked", locked, locked },
	{ "writers", writers, writers },
	{ "rounds", rounds, rounds },
	{ "posts", posts, posts },
	{ "apart", apart, apart },
	{ "assembly", assembly, assembly },
	{ "pipe", sends, receives },
	{ "maps", maps, maps },
	{ "stacks", stacks, stacks },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int detached = !strcmp(name, "stacks");
	pthread_t first, second;

	if (pipe(ends))
		return 3;
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&sem, 0, 1);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, name) != 0)
			continue;
		pthread_create(&first, NULL, kinds[i].first, &kinds[i]);
		if (detached) {
			pthread_detach(first);
			usleep(1000);
		}
		pthread_create(&second, NULL, kinds[i].second, NULL);
		if (!detached)
			pthread_join(first, NULL);
		pthread_join(second, NULL);
		return 0;
	}
	return 2;
}
