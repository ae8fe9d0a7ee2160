// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * signalled KIND: each thread has its own signal mask, and a handler runs in the thread to which
 * the signal was sent. A native run of each KIND prints the same as an exact run.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "helping.h"

#define THREADS 4
#define ROUNDS	40

static _Thread_local int mine;
static atomic_int where[THREADS + 1], ready, ran, inner;
static sem_t stop;
static sigjmp_buf back;
static pthread_barrier_t together;
static struct {
	_Alignas(64) sem_t sem;
	atomic_int beside;
} busy;

static void on(int which, void (*handler)(int which), int flags, int more)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };

	sigemptyset(&a.sa_mask);
	if (more)
		sigaddset(&a.sa_mask, more);
	need(!sigaction(which, &a, NULL));
}

static int blocked(int which)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, which);
}

static void notes(int which)
{
	where[mine]++;
	ran++;
}

static void posts(int which)
{
	sem_post(&stop);
}

static void *masks(void *arg)
{
	long n = (long)arg;

	change(SIG_BLOCK, n % 2 ? SIGUSR1 : SIGUSR2);
	pthread_barrier_wait(&together);
	where[n] = blocked(SIGUSR1) * 10 + blocked(SIGUSR2);
	return arg;
}

static void posts_busy(int which)
{
	sem_post(&busy.sem);
}

/* Threads wait in one of two ways until their own handler has run. */
static void *listens(void *arg)
{
	struct timespec second = { 1, 0 };
	sem_t never;

	mine = (int)(long)arg;
	sem_init(&never, 0, 0);
	ready++;
	while (!where[mine]) {
		if (mine % 2)
			sem_wait(&never);
		else
			nanosleep(&second, NULL);
	}
	return arg;
}

static void *tells_process(void *arg)
{
	mine = 1;
	change(SIG_BLOCK, SIGUSR1);
	ready++;
	if (!arg)
		kill(getpid(), SIGUSR1);
	while (!ran)
		usleep(100);
	return arg;
}

static void *tells_first(void *arg)
{
	for (int i = 0; i < 4; i++)
		do {
			usleep(1000);
			pthread_kill(*(pthread_t *)arg, SIGUSR1);
		} while (i < 3 && ready == i);
	usleep(1000);
	need(write(ends[1], "x", 1) == 1);
	return NULL;
}

/* A signal ends read(), nanosleep() and sem_wait(); with SA_RESTART read() goes on. */
static void interrupted(void)
{
	struct timespec long_time = { 100, 0 }, left = { 0, 0 };
	pthread_t self = pthread_self(), made;
	char byte = 0;

	need(!pipe(ends));
	on(SIGUSR1, notes, 0, 0);
	made = start(tells_first, &self);
	printf("%d", read(ends[0], &byte, 1) == -1 && errno == EINTR);
	ready++;
	printf("%d", nanosleep(&long_time, &left) == -1 && errno == EINTR);
	ready++;
	/* The time left includes the slack of the timer. */
	printf("%d", left.tv_sec > 0 && left.tv_sec <= 100);
	printf("%d", sem_wait(&stop) == -1 && errno == EINTR);
	on(SIGUSR1, notes, SA_RESTART, 0);
	ready++;
	printf("%zd", read(ends[0], &byte, 1));
	printf(" %c %d\n", byte, ran >= 4);
	pthread_join(made, NULL);
}

static void *uses_busy(void *arg)
{
	for (int i = 0; i < 20000 && !ready; i++)
		busy.beside++;
	return arg;
}

static void *sends_once(void *arg)
{
	for (int n = 0; n < ROUNDS; n++) {
		pthread_barrier_wait(&together);
		for (volatile int i = 0; i < n * 20; i++)
			;
		need(!pthread_kill(*(pthread_t *)arg, SIGUSR1));
	}
	return NULL;
}

/* One signal per round, at any moment of a wait whose line is busy, ends the wait. */
static void once(void)
{
	pthread_t self = pthread_self(), sender, user[THREADS];

	on(SIGUSR1, posts_busy, SA_RESTART, 0);
	pthread_barrier_init(&together, NULL, 2);
	sender = start(sends_once, &self);
	for (int i = 0; i < THREADS; i++)
		user[i] = start(uses_busy, NULL);
	for (int n = 0; n < ROUNDS; n++) {
		pthread_barrier_wait(&together);
		need(!sem_wait(&busy.sem));
		ran++;
	}
	ready = 1;
	pthread_join(sender, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(user[i], NULL);
	printf("%d %d\n", ran == ROUNDS, sem_trywait(&busy.sem));
}

static void second(int which)
{
	inner++;
}

static void first(int which)
{
	int before = inner;

	raise(SIGUSR2);
	printf("%d%d%d ", inner == before, blocked(SIGUSR1), blocked(SIGUSR2));
}

static void again(int which)
{
	if (++inner < 5)
		raise(SIGUSR1);
}

static void nested(void)
{
	on(SIGUSR1, first, 0, SIGUSR2);
	on(SIGUSR2, second, 0, 0);
	raise(SIGUSR1);
	printf("%d%d%d ", inner, blocked(SIGUSR1), blocked(SIGUSR2));
	inner = 0;
	on(SIGUSR1, again, SA_NODEFER, 0);
	raise(SIGUSR1);
	printf("%d ", inner);
	on(SIGUSR1, second, (int)SA_RESETHAND, 0);
	raise(SIGUSR1);
	printf("%d\n", signal(SIGUSR1, SIG_IGN) == SIG_DFL);
}

static void *waits_for(void *arg)
{
	sigset_t set;
	int came = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	ready++;
	need(!sigwait(&set, &came));
	where[(long)arg] = came == SIGUSR1;
	return arg;
}

static void *reads_signal(void *arg)
{
	struct signalfd_siginfo info;

	need(read(*(int *)arg, &info, sizeof(info)) == sizeof(info));
	where[1] = info.ssi_signo == SIGUSR2;
	return NULL;
}

/*
 * One thread waits for signals to the process by sigwait(), another by a signalfd. Then one waits
 * for a signal to itself.
 */
static void taken(void)
{
	pthread_t made, reader;
	sigset_t set, pending;
	int file;

	change(SIG_BLOCK, SIGUSR1);
	change(SIG_BLOCK, SIGUSR2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	need((file = signalfd(-1, &set, 0)) >= 0);
	made = start(waits_for, NULL);
	reader = start(reads_signal, &file);
	while (!ready)
		usleep(100);
	usleep(10000);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR2);
	pthread_join(made, NULL);
	pthread_join(reader, NULL);
	made = start(waits_for, (void *)2);
	usleep(100);
	pthread_kill(made, SIGUSR1);
	pthread_join(made, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
	sigpending(&pending);
	printf("%d %d %d %d ", where[0], where[1], where[2], ran);
	printf("%d\n", sigismember(&pending, SIGUSR1));
}

static void *suspends(void *arg)
{
	sigset_t none;

	mine = (int)(long)arg;
	sigemptyset(&none);
	pthread_barrier_wait(&together);
	need(sigsuspend(&none) == -1 && errno == EINTR);
	need(blocked(SIGUSR1));
	return arg;
}

static void jumps(int which)
{
	siglongjmp(back, 1);
}

static void jumped(void)
{
	on(SIGSEGV, jumps, SA_ONSTACK, SIGUSR1);
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			*(volatile int *)8 = 1;
		ran++;
	}
	on(SIGUSR2, jumps, 0, SIGUSR1);
	if (!sigsetjmp(back, 1))
		raise(SIGUSR2);
	printf("%d %d%d%d\n", ran, blocked(SIGSEGV), blocked(SIGUSR1), blocked(SIGUSR2));
}

/* The only thread waits, until a signal of another process lets it go on. */
static void from_outside(void)
{
	pid_t child;
	int status;

	on(SIGUSR1, posts, SA_RESTART, 0);
	child = fork();
	if (!child) {
		usleep(300000);
		_exit(kill(getppid(), SIGUSR1) || raise(SIGUSR1) || sem_wait(&stop));
	}
	printf("%d ", sem_wait(&stop));
	need(waitpid(child, &status, 0) == child);
	printf("%d\n", status);
}

static void counts(int which, siginfo_t *info, void *context)
{
	if (which == SIGRTMIN)
		inner += info->si_value.sival_int == inner;
	else
		ran++;
}

/* The kernel delivers a hundred blocked signals at once: each real-time signal, in order. */
static void queued(void)
{
	struct sigaction a = { .sa_sigaction = counts, .sa_flags = SA_SIGINFO };
	sigset_t set, before;

	sigfillset(&a.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGUSR1);
	need(!sigaction(SIGRTMIN, &a, NULL) && !sigaction(SIGUSR1, &a, NULL));
	pthread_sigmask(SIG_BLOCK, &set, &before);
	for (int i = 0; i < 100; i++)
		need(!sigqueue(getpid(), SIGRTMIN, (union sigval){ i }) &&
		     !kill(getpid(), SIGUSR1));
	printf("%d %d ", inner, ran);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	printf("%d %d\n", inner, ran);
}

/* A child gets the signal that its parent sends right after fork(). */
static void sent_to_child(void)
{
	int good = 0, status;

	on(SIGUSR1, notes, 0, 0);
	for (int n = 0; n < 20; n++) {
		pid_t child = fork();

		for (int i = 0; !child && !ran && i < 100000; i++)
			usleep(1000);
		if (!child)
			_exit(ran != 1);
		kill(child, SIGUSR1);
		need(waitpid(child, &status, 0) == child);
		good += !status;
	}
	printf("%d\n", good);
}

static void *waits_long(void *arg)
{
	pthread_barrier_wait(&together);
	sem_wait(&stop);
	return arg;
}

static void *ends_later(void *arg)
{
	usleep(1000);
	return arg;
}

static void faults(int which)
{
	need(write(1, "x", 1) == 1);
	*(volatile int *)8 = 1;
}

/* Another thread does not block the signal, so the kernel delivers it. */
static void faulted(void)
{
	on(SIGSEGV, faults, 0, 0);
	pthread_barrier_init(&together, NULL, 2);
	start(waits_long, NULL);
	pthread_barrier_wait(&together);
	*(volatile int *)8 = 1;
}

static void ends_first(int which)
{
	need(write(1, "y\n", 2) == 2);
}

static void tells_last(void)
{
	raise(SIGUSR1);
}

/* The first thread ends before the last one, which then runs atexit()'s function and a handler. */
static void last(void)
{
	on(SIGUSR1, ends_first, 0, 0);
	need(!atexit(tells_last));
	start(ends_later, NULL);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct kind kinds[] = { { "interrupted", interrupted },
					     { "nested", nested },
					     { "taken", taken },
					     { "jumped", jumped },
					     { "from-outside", from_outside },
					     { "once", once },
					     { "queued", queued },
					     { "child", sent_to_child },
					     { "faulted", faulted },
					     { "last", last } };
	const char *kind = argc > 1 ? argv[1] : "";
	void *(*run)(void *) = !strcmp(kind, "masks")	   ? masks
			       : !strcmp(kind, "directed") ? listens
			       : !strcmp(kind, "process")  ? tells_process
			       : !strcmp(kind, "suspend")  ? suspends
							   : NULL;
	pthread_t made[THREADS];

	sem_init(&stop, 0, 0);
	pthread_barrier_init(&together, NULL, run == masks ? THREADS : THREADS + 1);
	RUN_KIND(kinds, kind);
	if (!run)
		return 0;
	on(SIGUSR1, notes, 0, 0);
	if (run == suspends)
		change(SIG_BLOCK, SIGUSR1);
	for (long i = 0; i < THREADS; i++)
		made[i] = start(run, (void *)(run == tells_process ? i : i + 1));
	if (run == suspends)
		pthread_barrier_wait(&together);
	while (run == listens && ready < THREADS)
		usleep(100);
	for (int i = 0; i < THREADS && (run == listens || run == suspends); i++) {
		do
			pthread_kill(made[i], SIGUSR1);
		while (run == listens && !where[i + 1] && !usleep(1000));
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(made[i], NULL);
	if (run == listens)
		for (int i = 1; i <= THREADS; i++)
			where[i] = where[i] > 0;
	for (int i = 0; i <= THREADS; i++)
		printf("%d ", where[i]);
	puts("");
	return 0;
}
