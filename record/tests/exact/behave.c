// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * behave KIND [THREADS]: runs a program of that kind. Its output is known, or it cannot end. Each
 * thread does OPERATIONS operations.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "helping.h"

#define OPERATIONS 200
#define MOST	   1024

static int threads = 4;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t sem;
static atomic_long sum;
static long plain, times;
static volatile int go;
static _Thread_local long own;

static void run_all(void *(*run)(void *))
{
	pthread_t made[MOST];

	for (long i = 0; i < threads; i++)
		made[i] = start(run, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *result;

		if (pthread_join(made[i], &result) || result != (void *)(long)i)
			exit(8);
	}
}

static pthread_t pool[3];

static void *pooled(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!go)
		pthread_cond_wait(&changed, &lock);
	plain++;
	pthread_mutex_unlock(&lock);
	return arg;
}

/* As of libuv: it ends the workers after main() has returned. */
__attribute__((destructor)) static void end_of_pool(void)
{
	if (!pool[0])
		return;
	pthread_mutex_lock(&lock);
	go = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_join(pool[i], NULL);
	printf("%ld joined\n", plain);
	fflush(stdout);
}

/* Each thread adds to the sum while it holds a lock of that kind. */
#define ADDS(name, enter, leave)                       \
	static void *name(void *arg)                   \
	{                                              \
		own = (long)arg;                       \
		for (int i = 0; i < OPERATIONS; i++) { \
			enter;                         \
			plain++;                       \
			leave;                         \
		}                                      \
		return (void *)own;                    \
	}

ADDS(with_mutex, pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock))
ADDS(with_spin, pthread_spin_lock(&spin), pthread_spin_unlock(&spin))
ADDS(with_sem, sem_wait(&sem), sem_post(&sem))

static void *with_rwlock(void *arg)
{
	for (int i = 0; i < OPERATIONS; i++) {
		if (i % 4) {
			pthread_rwlock_rdlock(&rwlock);
			atomic_fetch_add(&sum, plain >= 0);
		} else {
			pthread_rwlock_wrlock(&rwlock);
			plain++;
		}
		pthread_rwlock_unlock(&rwlock);
	}
	return arg;
}

static void *with_barrier(void *arg)
{
	for (int i = 0; i < OPERATIONS; i++) {
		if (atomic_fetch_add(&sum, 1) / threads != i)
			exit(7);
		/* True for one thread in each round. */
		if (pthread_barrier_wait(&barrier))
			plain++;
	}
	return arg;
}

/* A token goes around: each thread waits for its turn. */
static void *with_cond(void *arg)
{
	for (int i = 0; i < OPERATIONS; i++) {
		pthread_mutex_lock(&lock);
		while (plain % threads != (long)arg)
			pthread_cond_wait(&changed, &lock);
		plain++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void first(void)
{
	times++;
	usleep(100);
}

static void *with_once(void *arg)
{
	pthread_once(&once, first);
	atomic_fetch_add(&sum, times);
	return arg;
}

static void drop(void *value)
{
	atomic_fetch_add(&sum, (long)value);
}

static void *with_key(void *arg)
{
	pthread_setspecific(key, (void *)((long)arg + 1));
	if (pthread_getspecific(key) != (void *)((long)arg + 1))
		exit(6);
	return arg;
}

static void *sleeper(void *arg)
{
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	usleep(1000 * ((unsigned int)(long)arg + 1));
	clock_gettime(CLOCK_MONOTONIC, &after);
	atomic_fetch_add(&sum, (after.tv_sec - before.tv_sec) * 1000 +
				       (after.tv_nsec - before.tv_nsec) / 1000000);
	return arg;
}

static void *crossed(void *arg)
{
	pthread_mutex_t *a = arg ? &lock : &other, *b = arg ? &other : &lock;

	pthread_mutex_lock(a);
	usleep(100);
	pthread_mutex_lock(b);
	return arg;
}

static void *leaves(void *arg)
{
	if (!arg)
		exit(5);
	pause();
	return arg;
}

/* The last thread ends the program by signal 11, that of a wrong address. */
static void *crashes(void *arg)
{
	with_mutex(arg);
	if ((long)arg == threads - 1)
		*(volatile int *)8 = 1;
	return arg;
}

/* The C library's allocator holds its lock while it aborts. */
static void *aborts(void *arg)
{
	char *volatile made = malloc(2000);

	with_mutex(arg);
	if ((long)arg == threads - 1) {
		free(made);
		free(made);
	}
	return arg;
}

static volatile long sunk;

static long deep(volatile long *above)
{
	volatile long here[64] = { *above };

	sunk = deep(here) + here[1];
	return sunk;
}

static void *overflows(void *arg)
{
	deep(&plain);
	return arg;
}

static void note(void *arg)
{
	atomic_fetch_add(&sum, 1);
}

static void deeper(void *arg)
{
	pthread_cleanup_push(note, NULL);
	pthread_exit(arg);
	pthread_cleanup_pop(0);
}

static void *with_exit(void *arg)
{
	pthread_setspecific(key, (void *)10);
	deeper(arg);
	return NULL;
}

/* All threads of the process become another user, while some of them wait. */
static void *changes(void *arg)
{
	usleep(200);
	if (setgid(getgid()) || setresuid(getuid(), geteuid(), -1))
		exit(4);
	atomic_fetch_add(&sum, 1);
	return arg;
}

static void *rests(void *arg)
{
	usleep(50000);
	return arg;
}

/* A join that times out, then one that does not. */
static void timed_join(void)
{
	pthread_t made = start(rests, (void *)49);
	struct timespec until;
	void *result;

	clock_gettime(CLOCK_REALTIME, &until);
	printf("%d ", pthread_tryjoin_np(made, &result) == EBUSY);
	printf("%d ", pthread_timedjoin_np(made, &result, &until) == ETIMEDOUT);
	until.tv_sec += 100;
	printf("%d", pthread_timedjoin_np(made, &result, &until));
	printf(" %d\n", result == (void *)49);
}

/* A cleanup handler: a cancelled waiter of a condition holds the mutex again. */
static void unlocks(void *arg)
{
	note(arg);
	need(!pthread_mutex_unlock(&lock));
}

static void *cancelled(void *arg)
{
	pthread_cleanup_push(note, NULL);
	switch ((long)arg) {
	case 0:
		pthread_mutex_lock(&lock);
		pthread_cleanup_push(unlocks, NULL);
		pthread_cond_wait(&changed, &lock);
		pthread_cleanup_pop(0);
		break;
	case 1:
		sleep(1000000);
		break;
	case 2:
		pthread_join(*(pthread_t *)&times, NULL);
		break;
	case 3:
		sem_wait(&sem);
		sem_wait(&sem);
		break;
	case 4:
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		usleep(50000);
		atomic_fetch_add(&sum, 100);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		pthread_testcancel();
		break;
	default:
		if (read(*(int *)&plain, &own, 1))
			break;
	}
	pthread_cleanup_pop(0);
	atomic_fetch_add(&sum, 10000);
	return NULL;
}

static void cancels(void)
{
	pthread_t made[6];
	void *result;
	int given;

	need(!pipe(ends));
	plain = ends[0];
	for (long i = 0; i < 6; i++) {
		made[i] = start(cancelled, (void *)i);
		if (i == 1)
			times = (long)made[i];
	}
	usleep(10000);
	for (int i = 5; i >= 0; i--)
		if (i != 1)
			pthread_cancel(made[i]);
	given = pthread_join(made[2], &result) ? 0 : result == PTHREAD_CANCELED;
	pthread_cancel(made[1]);
	for (int i = 0; i < 6; i++)
		if (i != 2)
			given += !pthread_join(made[i], &result) && result == PTHREAD_CANCELED;
	printf("%d\n", given);
	plain = times = 0;
}

static int c11(void *arg)
{
	mtx_t *m = arg;

	for (int i = 0; i < OPERATIONS; i++) {
		mtx_lock(m);
		plain++;
		mtx_unlock(m);
	}
	return 3;
}

static void all_c11(void)
{
	thrd_t made[MOST];
	mtx_t m;
	int result;

	mtx_init(&m, mtx_plain);
	for (int i = 0; i < threads; i++)
		thrd_create(&made[i], c11, &m);
	for (int i = 0; i < threads; i++) {
		thrd_join(made[i], &result);
		times += result;
	}
}

static void types(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	struct timespec past = { 0, 0 };

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m, &attr);
	printf("%d%d", pthread_mutex_lock(&m), pthread_mutex_lock(&m));
	printf("%d%d", pthread_mutex_unlock(&m), pthread_mutex_unlock(&m));
	printf(" %d", pthread_mutex_unlock(&m) == EPERM);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &attr);
	pthread_mutex_lock(&m);
	printf(" %d", pthread_mutex_lock(&m) == EDEADLK);
	printf(" %d", pthread_mutex_trylock(&m) == EBUSY);
	pthread_mutex_lock(&lock);
	printf(" %d", pthread_mutex_timedlock(&lock, &past) == ETIMEDOUT);
	printf(" %d\n", pthread_cond_timedwait(&changed, &lock, &past) == ETIMEDOUT);
}

static pthread_mutex_t left;

static void *leaves_it(void *arg)
{
	return (void *)(long)pthread_mutex_lock(&left);
}

/* Waits for the mutex until the thread that holds it ends. */
static void *waits_for_it(void *arg)
{
	long got;

	sem_post(&sem);
	got = pthread_mutex_lock(&left);
	if (got == EOWNERDEAD)
		pthread_mutex_consistent(&left);
	pthread_mutex_unlock(&left);
	return (void *)got;
}

static long result_of(pthread_t thread)
{
	void *result;

	pthread_join(thread, &result);
	return (long)result;
}

/* Ends while it holds the mutex and another thread waits for it. */
static void *leaves_it_late(void *arg)
{
	pthread_t *waiter = arg;

	if (pthread_mutex_lock(&left))
		return arg;
	*waiter = start(waits_for_it, NULL);
	sem_wait(&sem);
	return NULL;
}

static void robust(int type)
{
	pthread_mutexattr_t attr;
	pthread_t waiter;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&left, &attr);
	sem_init(&sem, 0, 0);
	printf("%ld", result_of(start(leaves_it, NULL)));
	printf(" %d", pthread_mutex_trylock(&left) == EOWNERDEAD);
	printf(" %d", pthread_mutex_consistent(&left));
	printf(" %d", pthread_mutex_consistent(&left) == EINVAL);
	printf(" %d", pthread_mutex_unlock(&left));
	printf(" %d", pthread_mutex_unlock(&left) == EPERM);
	printf(" %ld", result_of(start(leaves_it_late, &waiter)));
	printf(" %d", result_of(waiter) == EOWNERDEAD);
	printf(" %d", pthread_mutex_lock(&left));
	printf(" %d", pthread_mutex_unlock(&left));
	/* A mutex that is not made consistent cannot be used any more. */
	result_of(start(leaves_it, NULL));
	printf(" %d", pthread_mutex_lock(&left) == EOWNERDEAD);
	printf(" %d", pthread_mutex_unlock(&left));
	printf(" %d", pthread_mutex_lock(&left) == ENOTRECOVERABLE);
	printf(" %d\n", pthread_mutex_trylock(&left) == ENOTRECOVERABLE);
	pthread_mutex_destroy(&left);
}

static void machine(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	printf("%d %ld %d\n", CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN), sched_getcpu());
}

static void forks(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		run_all(with_mutex);
		_exit(plain == (long)threads * OPERATIONS ? 4 : 1);
	}
	waitpid(child, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
}

static void pools(void)
{
	for (int i = 0; i < 3; i++)
		pool[i] = start(pooled, NULL);
}

static void all_robust(void)
{
	robust(PTHREAD_MUTEX_NORMAL);
	robust(PTHREAD_MUTEX_RECURSIVE);
	robust(PTHREAD_MUTEX_ERRORCHECK);
}

static void interrupts(void)
{
	int which = threads;

	threads = 4;
	run_all(with_mutex);
	kill(getpid(), which);
	pause();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*run)(void *);
	} all[] = { { "mutex", with_mutex },	  { "rwlock", with_rwlock },
		    { "barrier", with_barrier },  { "spin", with_spin },
		    { "cond", with_cond },	  { "sem", with_sem },
		    { "once", with_once },	  { "key", with_key },
		    { "thread-exit", with_exit }, { "sleep", sleeper },
		    { "deadlock", crossed },	  { "exit", leaves },
		    { "crash", crashes },	  { "abort", aborts },
		    { "overflow", overflows },	  { "user", changes } };
	static const struct kind kinds[] = {
		{ "pool", pools },	     { "c11", all_c11 },	   { "types", types },
		{ "robust", all_robust },    { "machine", machine },	   { "fork", forks },
		{ "interrupt", interrupts }, { "timed-join", timed_join }, { "cancel", cancels },
	};
	const char *kind = argc > 1 ? argv[1] : "mutex";

	if (argc > 2)
		threads = atoi(argv[2]);
	if (threads < 1 || threads > MOST)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 1);
	pthread_key_create(&key, drop);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(kind, all[i].name))
			run_all(all[i].run);
	RUN_KIND(kinds, kind);
	printf("%ld %ld %ld\n", plain, (long)sum, times);
	return 0;
}
