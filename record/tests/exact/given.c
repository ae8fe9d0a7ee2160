// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* given KIND: threads have the attributes that the program gives them, and locks act as glibc's. */
#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "helping.h"

#define STACK	(1 << 20)
#define MESSAGE 64

static sem_t begun, more;
static volatile int stop, came, value;
static int where[8];
static uintptr_t local;
static int blocked;
static mqd_t queue;

static cpu_set_t only(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

static void *looks(void *arg)
{
	sigset_t own;

	where[(long)arg] = sched_getcpu();
	local = (uintptr_t)&own;
	need(!pthread_sigmask(SIG_BLOCK, NULL, &own));
	blocked = sigismember(&own, SIGUSR2);
	return arg;
}

static void *waits(void *arg)
{
	sem_post(&begun);
	sem_wait(&more);
	return looks(arg);
}

static void *spins(void *arg)
{
	sem_post(&begun);
	while (!stop)
		sched_yield();
	return looks(arg);
}

static void *adds(void *word)
{
	for (int i = 0; i < 2000; i++)
		__atomic_add_fetch((long *)word, 1, __ATOMIC_RELAXED);
	return word;
}

static pthread_t start_with(const pthread_attr_t *attr, void *(*run)(void *), long arg)
{
	pthread_t made;

	need(!pthread_create(&made, attr, run, (void *)arg));
	return made;
}

/* Two threads on two CPUs share a word, whichever CPU the first thread is on. */
static void shares(void)
{
	static long word __attribute__((aligned(64)));
	cpu_set_t first = only(0), own = only(3);
	pthread_attr_t attr;
	pthread_t made;

	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(first), &first);
	need(!sched_setaffinity(0, sizeof(own), &own));
	made = start_with(&attr, adds, (long)&word);
	adds(&word);
	pthread_join(made, NULL);
	printf("%ld ", word);
}

/* The creator binds a waiting and a running thread; threads that are not bound inherit its CPUs. */
static void binds(void)
{
	cpu_set_t first = only(0), last = only(5), none = only(1000);
	pthread_attr_t attr;
	pthread_t made[5];

	sem_init(&begun, 0, 0);
	sem_init(&more, 0, 0);
	made[0] = start_with(NULL, waits, 0);
	sem_wait(&begun);
	need(!pthread_setaffinity_np(made[0], sizeof(last), &last));
	sem_post(&more);
	made[1] = start_with(NULL, spins, 1);
	sem_wait(&begun);
	need(!pthread_setaffinity_np(made[1], sizeof(last), &last));
	usleep(1000);
	stop = 1;
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(last), &last);
	made[2] = start_with(&attr, looks, 2);
	pthread_attr_setaffinity_np(&attr, sizeof(none), &none);
	need(pthread_create(&made[3], &attr, looks, NULL) == EINVAL);
	need(!sched_setaffinity(0, sizeof(first), &first));
	made[3] = start_with(NULL, looks, 3);
	made[4] = start_with(NULL, looks, 4);
	for (int i = 0; i < 5; i++)
		pthread_join(made[i], NULL);
	for (int i = 0; i < 5; i++)
		printf("%d ", where[i]);
}

static void stacks(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	need(!pthread_attr_setstack(&attr, stack, STACK));
	pthread_join(start_with(&attr, looks, 0), NULL);
	printf("%d ", local > (uintptr_t)stack && local < (uintptr_t)stack + STACK);
	need(!munmap(stack, STACK));
}

static void handle(int which, siginfo_t *info, void *context)
{
	(void)context;
	value = info->si_value.sival_int;
	came = which;
}

static void *until_it_comes(void *arg)
{
	sem_post(&begun);
	while (!came)
		usleep(100);
	return arg;
}

static void signals(void)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };
	const union sigval sent = { .sival_int = 42 };
	pthread_attr_t attr;
	pthread_t made;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	pthread_attr_init(&attr);
	need(!pthread_attr_setsigmask_np(&attr, &mask));
	pthread_join(start_with(&attr, looks, 0), NULL);
	sem_init(&begun, 0, 0);
	need(!sigaction(SIGUSR1, &action, NULL));
	made = start(until_it_comes, NULL);
	sem_wait(&begun);
	need(!pthread_sigqueue(made, SIGUSR1, sent));
	pthread_join(made, NULL);
	printf("%d %d ", blocked, value);
}

/* A thread that would wait for itself, and a time-out by CLOCK_MONOTONIC. */
static void locks(void)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec soon;
	int writes, reads, late, busy;

	pthread_rwlock_wrlock(&lock);
	writes = pthread_rwlock_wrlock(&lock);
	reads = pthread_rwlock_rdlock(&lock);
	busy = pthread_rwlock_tryrdlock(&lock);
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_rdlock(&lock);
	clock_gettime(CLOCK_MONOTONIC, &soon);
	soon.tv_sec++;
	late = pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon);
	pthread_rwlock_unlock(&lock);
	printf("%d %d %d %d ", writes == EDEADLK, reads == EDEADLK, busy == EBUSY,
	       late == ETIMEDOUT);
}

static int leaves(void *arg)
{
	thrd_exit((int)(intptr_t)arg);
}

static void c11(void)
{
	thrd_t made;
	int result = 0;

	need(thrd_create(&made, leaves, (void *)7) == thrd_success);
	thrd_join(made, &result);
	printf("%d ", result);
}

static void *receives(void *arg)
{
	char message[MESSAGE];

	for (int i = 0; i < 10; i++)
		need(mq_receive(queue, message, sizeof(message), NULL) == 6);
	return arg;
}

/* Both sides wait: the queue takes three messages. */
static void mails(void)
{
	struct mq_attr attr = { .mq_maxmsg = 3, .mq_msgsize = MESSAGE };
	struct timespec soon;
	char name[32], message[MESSAGE];
	pthread_t made;

	snprintf(name, sizeof(name), "/given-%d", getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
	need(queue >= 0 && !mq_unlink(name));
	made = start(receives, NULL);
	usleep(500);
	for (int i = 0; i < 10; i++)
		need(!mq_send(queue, "hello", 6, 0));
	pthread_join(made, NULL);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	printf("%d ", mq_timedreceive(queue, message, sizeof(message), NULL, &soon) < 0 &&
			      errno == ETIMEDOUT);
}

/* A thread of the C library writes. */
static void asks(void)
{
	char name[] = "/tmp/given-XXXXXX";
	struct aiocb call = { .aio_fildes = mkstemp(name), .aio_buf = "abcdef", .aio_nbytes = 6 };
	const struct aiocb *all[] = { &call };

	need(call.aio_fildes >= 0 && !unlink(name) && !aio_write(&call));
	while (aio_error(&call) == EINPROGRESS)
		aio_suspend(all, 1, NULL);
	printf("%d ", (int)aio_return(&call));
}

static void *works(void *arg)
{
	for (volatile int i = 0; i < 200000; i++)
		;
	return arg;
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Every call that returns the process's CPU time returns the sum over all CPUs. */
static void times_of_cpus(void)
{
	double begun = seconds(CLOCK_MONOTONIC), took, whole;
	struct rusage used;
	pthread_t made[4];

	for (int i = 0; i < 4; i++)
		made[i] = start(works, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(made[i], NULL);
	took = seconds(CLOCK_MONOTONIC) - begun;
	whole = seconds(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &used);
	printf("%d %d %d ", whole > 3 * took && whole < 5 * took,
	       (double)used.ru_utime.tv_usec / 1e6 - whole < 1e-5,
	       (double)clock() / CLOCKS_PER_SEC - whole < 1e-5);
}

static void posts(union sigval sem)
{
	sem_post(sem.sival_ptr);
}

/* A thread of the C library calls a function of the program. */
static void is_called(void)
{
	char name[] = "/tmp/given-XXXXXX";
	struct aiocb call = { .aio_fildes = mkstemp(name), .aio_buf = "abcdef", .aio_nbytes = 6 };

	sem_init(&more, 0, 0);
	call.aio_sigevent.sigev_notify = SIGEV_THREAD;
	call.aio_sigevent.sigev_notify_function = posts;
	call.aio_sigevent.sigev_value.sival_ptr = &more;
	need(call.aio_fildes >= 0 && !unlink(name) && !aio_write(&call));
	sem_wait(&more);
	printf("%d ", (int)aio_return(&call));
}

static struct ring {
	sem_t full, empty;
	int word[4];
} * ring;

static void *fills(void *arg)
{
	for (int i = 0; i < 50; i++) {
		sem_wait(&ring->empty);
		ring->word[i % 4] = i;
		sem_post(&ring->full);
	}
	return arg;
}

/* A child process takes words from a thread; both wait for each other. */
static void child_takes(void)
{
	int sum = 0;
	pid_t child;

	ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(&ring->full, 1, 0);
	sem_init(&ring->empty, 1, 4);
	child = fork();
	need(child >= 0);
	for (int i = 0; i < 50 && !child; i++) {
		sem_wait(&ring->full);
		sum += ring->word[i % 4];
		sem_post(&ring->empty);
	}
	if (!child)
		_exit(sum == 1225 ? 7 : 8);
	pthread_join(start(fills, NULL), NULL);
	need(waitpid(child, &sum, 0) == child);
	printf("%d ", WEXITSTATUS(sum));
}

static void *is_named(void *arg)
{
	char path[64], name[16] = "", file[16] = "";
	FILE *comm;

	need(!pthread_setname_np(pthread_self(), "given"));
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", gettid());
	need((comm = fopen(path, "re")) && fscanf(comm, "%15s", file) == 1);
	fclose(comm);
	sem_post(&begun);
	sem_wait(&more);
	need(!pthread_getname_np(pthread_self(), name, sizeof(name)));
	printf("%s %s ", file, name);
	return arg;
}

/* Each of two threads names itself, and reads its own name after both did. */
static void names(void)
{
	pthread_t other = start(is_named, NULL);
	char name[16];

	sem_wait(&begun);
	need(!pthread_setname_np(pthread_self(), "first"));
	sem_post(&more);
	pthread_join(other, NULL);
	need(!pthread_getname_np(pthread_self(), name, sizeof(name)));
	printf("%s ", name);
}

static int told_by_memory(int otherwise)
{
#if __has_include(<sys/rseq.h>)
	if (__rseq_size)
		return (int)((struct rseq *)((char *)pthread_self() + __rseq_offset))->cpu_id;
#endif
	return otherwise;
}

/* Asks by system calls, and by the CPU number that the kernel writes for each thread (rseq). */
static void *asks_the_kernel(void *arg)
{
	unsigned int cpu = 0;
	struct timespec now;
	cpu_set_t set;

	CPU_ZERO(&set); /* the kernel writes fewer bytes than this */
	need(!syscall(SYS_getcpu, &cpu, NULL, NULL));
	need(syscall(SYS_sched_getaffinity, 0, sizeof(set), &set) > 0);
	need(!syscall(SYS_clock_gettime, CLOCK_REALTIME, &now));
	printf("%u %d %d ", cpu, CPU_COUNT(&set), told_by_memory((int)cpu));
	printf("%d ", now.tv_sec == time(NULL));
	return arg;
}

static void raw(void)
{
	pthread_t other = start(waits, NULL);
	pthread_attr_t attr;
	cpu_set_t five = only(5), six = only(6);

	sem_wait(&begun);
	pthread_attr_init(&attr);
	need(!pthread_attr_setaffinity_np(&attr, sizeof(five), &five));
	pthread_join(start_with(&attr, asks_the_kernel, 0), NULL);
	need(!syscall(SYS_sched_setaffinity, 0, sizeof(six), &six));
	asks_the_kernel(NULL);
	sem_post(&more);
	pthread_join(other, NULL);
}

/* Runs until a signal ends it. */
static void runs(void)
{
	puts("runs");
	fflush(stdout);
	for (;;)
		adds(where);
}

static void last_words(void)
{
	puts("quick");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct kind kinds[] = { { "binds", binds },       { "stacks", stacks },
					     { "signals", signals },   { "locks", locks },
					     { "c11", c11 },	       { "mails", mails },
					     { "asks", asks },	       { "times", times_of_cpus },
					     { "shares", shares },     { "called", is_called },
					     { "child", child_takes }, { "names", names },
					     { "runs", runs },	       { "raw", raw } };

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "quick")) {
		at_quick_exit(last_words);
		quick_exit(5);
	}
	RUN_KIND(kinds, argv[1]);
	puts("");
	return 0;
}
