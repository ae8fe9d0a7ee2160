// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * delivered KIND: delivers signals of timers, on alternative stacks, and by files. A native run of
 * each KIND prints the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>

#include "helping.h"

static sem_t come;
static atomic_int ran, value, more;

static void on(int which, void (*handler)(int which, siginfo_t *info, void *context), int flags)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO };

	sigemptyset(&a.sa_mask);
	need(!sigaction(which, &a, NULL));
}

static void counts(int which, siginfo_t *info, void *context)
{
	ran++;
	value = info->si_value.sival_int;
	more += info->si_overrun;
}

/* ---- timers ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits a second, which takes no real time if the program is recorded. */
static void waits_for_alarm(void)
{
	double began = now();

	on(SIGALRM, counts, 0);
	printf("%u ", alarm(100));
	printf("%d ", alarm(1) > 1);
	printf("%d ", pause() == -1 && errno == EINTR);
	printf("%d %d %u\n", ran, now() - began > 0.99, alarm(0));
}

/* A periodic timer runs while the thread computes, and stops when it is set to zero. */
static void interval(void)
{
	struct itimerval each = { { 0, 1000 }, { 0, 1000 } }, before;
	static const struct itimerval none;

	on(SIGALRM, counts, SA_RESTART);
	need(!setitimer(ITIMER_REAL, &each, NULL));
	while (ran < 5)
		;
	need(!setitimer(ITIMER_REAL, &none, &before));
	ran = 0;
	usleep(5000);
	printf("%ld %d\n", before.it_interval.tv_usec, ran);
}

static void set(timer_t t, long first, long period)
{
	struct itimerspec s = { { 0, period }, { 0, first } };

	need(!timer_settime(t, 0, &s, NULL));
}

/* A signal that a deleted timer sent is not one of the next timer. */
static void replaced(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	sigset_t next;
	int which;
	timer_t t;

	sigemptyset(&next);
	sigaddset(&next, SIGRTMIN + 1);
	change(SIG_BLOCK, SIGRTMIN);
	change(SIG_BLOCK, SIGRTMIN + 1);
	need(!timer_create(CLOCK_MONOTONIC, &e, &t));
	set(t, 1000000, 0);
	usleep(5000);
	need(!timer_delete(t));
	e.sigev_signo = SIGRTMIN + 1;
	need(!timer_create(CLOCK_MONOTONIC, &e, &t));
	set(t, 1000000, 0);
	need(!sigwait(&next, &which) && which == SIGRTMIN + 1 && !timer_delete(t));
}

/* A timer's signal brings a value; while it is blocked, the timer counts overruns. */
static void of_program(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGRTMIN,
			      .sigev_value.sival_int = 7 };
	struct itimerspec left;
	timer_t t, none;

	on(SIGRTMIN, counts, 0);
	need(!timer_create(CLOCK_MONOTONIC, &e, &t));
	set(t, 2000000, 0);
	while (!ran)
		usleep(100);
	printf("%d %d ", ran, value);
	change(SIG_BLOCK, SIGRTMIN);
	set(t, 1000000, 1000000);
	usleep(10500);
	change(SIG_UNBLOCK, SIGRTMIN);
	printf("%d ", more > 0);
	set(t, 0, 0);
	need(!timer_delete(t));
	replaced();
	e.sigev_signo = 70;
	need(timer_create(CLOCK_MONOTONIC, &e, &none) == -1 && errno == EINVAL);
	e.sigev_notify = SIGEV_NONE;
	need(!timer_create(CLOCK_REALTIME, &e, &none));
	set(none, 500000000, 0);
	need(!timer_gettime(none, &left) && !timer_delete(none));
	printf("%d\n", left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 500000000);
}

static void by_file(void)
{
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	uint64_t count, sum = 0;
	struct pollfd p;

	need((p.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) >= 0);
	p.events = POLLIN;
	printf("%d ", read(p.fd, &count, sizeof(count)) == -1 && errno == EAGAIN);
	need(!timerfd_settime(p.fd, 0, &each, NULL));
	while (sum < 5) {
		need(poll(&p, 1, -1) == 1);
		need(read(p.fd, &count, sizeof(count)) == sizeof(count));
		sum += count;
	}
	printf("%d\n", close(p.fd));
}

static struct timespec later(clockid_t clock, long ns)
{
	struct timespec t;

	need(!clock_gettime(clock, &t));
	t.tv_nsec += ns;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static int passed(clockid_t clock, const struct timespec *end)
{
	struct timespec t = later(clock, 0);

	return t.tv_sec > end->tv_sec || (t.tv_sec == end->tv_sec && t.tv_nsec >= end->tv_nsec);
}

/* A timer ends at a time of each clock, and at once if that time has passed. */
static void absolute(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec s = { { 0, 0 }, { 1, 0 } };
	sigset_t set;
	timer_t t;
	int which;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	change(SIG_BLOCK, SIGRTMIN);
	for (int i = 0; i < 2; i++) {
		need(!timer_create(clocks[i], &e, &t));
		s.it_value = later(clocks[i], 10000000);
		need(!timer_settime(t, TIMER_ABSTIME, &s, NULL));
		need(!sigwait(&set, &which));
		printf("%d ", passed(clocks[i], &s.it_value));
		s.it_value = (struct timespec){ 1, 0 };
		need(!timer_settime(t, TIMER_ABSTIME, &s, NULL));
		printf("%d ", !sigwait(&set, &which) && which == SIGRTMIN);
		need(!timer_delete(t));
	}
	printf("\n");
}

/* Reads that wait for a duration, and until an absolute time. */
static void read_waits(void)
{
	struct itimerspec s = { { 0, 0 }, { 0, 5000000 } };
	struct timespec end = later(CLOCK_MONOTONIC, 5000000);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t count = 0;

	need(timer >= 0 && !timerfd_settime(timer, 0, &s, NULL));
	need(read(timer, &count, sizeof(count)) == sizeof(count));
	printf("%d %d ", (int)count, passed(CLOCK_MONOTONIC, &end));
	s.it_value = later(CLOCK_MONOTONIC, 5000000);
	need(!timerfd_settime(timer, TFD_TIMER_ABSTIME, &s, NULL));
	need(read(timer, &count, sizeof(count)) == sizeof(count));
	printf("%d %d\n", (int)count, passed(CLOCK_MONOTONIC, &s.it_value));
}

/* Timers years from now, set so often that a queue of all of them would take memory. */
static void far_away(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_NONE };
	struct itimerspec s = { { 0, 0 }, { 1000000000, 0 } }, left;
	struct rusage before, now;
	timer_t t;

	printf("%u ", alarm(8640000));
	printf("%d ", alarm(0) > 8000000);
	need(!timer_create(CLOCK_MONOTONIC, &e, &t) && !timer_settime(t, 0, &s, NULL));
	need(!timer_gettime(t, &left));
	printf("%d ", left.it_value.tv_sec > 900000000);
	for (int i = 0; i < 40000; i++) {
		s.it_value.tv_sec = 100 + i % 2;
		need(!timer_settime(t, 0, &s, NULL));
		if (i == 1000)
			getrusage(RUSAGE_SELF, &before);
	}
	getrusage(RUSAGE_SELF, &now);
	printf("%d\n", now.ru_maxrss - before.ru_maxrss < 300);
}

static void called(union sigval v)
{
	value = v.sival_int;
	sem_post(&come);
}

/* A timer calls a function three times, in threads of their own. */
static void calls_thrice(void (*function)(union sigval v))
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD,
			      .sigev_value.sival_int = 9,
			      .sigev_notify_function = function };
	timer_t t;

	need(!timer_create(CLOCK_REALTIME, &e, &t));
	set(t, 1000000, 1000000);
	for (int i = 0; i < 3; i++)
		need(!sem_wait(&come));
	need(!timer_delete(t));
	printf("%d\n", value);
}

static void by_function(void)
{
	calls_thrice(called);
}

static pthread_key_t key;

static void posts(void *value)
{
	sem_post(value);
}

/* The timer's thread exits, and the destructor of its key posts. */
static void exits(union sigval v)
{
	pthread_setspecific(key, &come);
	pthread_exit(NULL);
}

static void by_function_that_exits(void)
{
	need(!pthread_key_create(&key, posts));
	calls_thrice(exits);
}

/* The signal's default action. */
static void ended(void)
{
	static const struct itimerval once = { { 0, 0 }, { 0, 20000 } };

	need(!setitimer(ITIMER_REAL, &once, NULL));
	for (;;)
		pause();
}

/* ---- alternative stacks ---- */

#define THREADS 3
#define STACK	262144

static char *_Atomic low[THREADS + 1];
static atomic_int good[THREADS + 1];
static _Thread_local int mine;
static pthread_barrier_t together;
static sigjmp_buf back;

/* All threads run this handler at once, each on its own stack. */
static void on_its_own(int which, siginfo_t *info, void *context)
{
	char *here = __builtin_frame_address(0);
	stack_t s;

	pthread_barrier_wait(&together);
	need(!sigaltstack(NULL, &s));
	good[mine] += here >= low[mine] && here < low[mine] + STACK && s.ss_flags == SS_ONSTACK &&
		      s.ss_sp == low[mine];
	s.ss_flags = 0;
	need(sigaltstack(&s, NULL) == -1 && errno == EPERM);
	pthread_barrier_wait(&together);
	if (which == SIGSEGV)
		need(!mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE));
}

static char *memory(size_t size, int how)
{
	char *at = mmap(NULL, size, how, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED);
	return at;
}

static void use(int flags)
{
	stack_t s = { .ss_sp = low[mine], .ss_size = STACK, .ss_flags = flags };

	need(!sigaltstack(&s, NULL));
}

/* Handlers of a fault and of raise() run; a number in a register survives both. */
static void *has_stack(void *arg)
{
	double number = (double)(long)arg * 1.5;
	volatile int *page = (int *)memory(4096, PROT_READ);
	stack_t s;

	mine = (int)(long)arg;
	need(!sigaltstack(NULL, &s));
	good[mine] = s.ss_flags == SS_DISABLE;
	low[mine] = memory(STACK, PROT_READ | PROT_WRITE);
	use(0);
	*page = mine;
	raise(SIGUSR1);
	good[mine] += *page == mine && number == mine * 1.5;
	use(SS_DISABLE);
	need(!munmap(low[mine], STACK));
	return arg;
}

static sem_t noted[THREADS + 1];

/* Posts as well, because a signal between the test and the wait would be lost. */
static void notes(int which, siginfo_t *info, void *context)
{
	good[mine]++;
	sem_post(&noted[mine]);
}

/* Each thread gets the signal of its own timer. */
static void *has_timer(void *arg)
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	timer_t t;

	mine = (int)(long)arg;
	sem_init(&noted[mine], 0, 0);
	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	need(!timer_create(CLOCK_MONOTONIC, &e, &t));
	set(t, 2000000 * mine, 0);
	while (sem_wait(&noted[mine]))
		need(errno == EINTR);
	need(!timer_delete(t));
	pthread_barrier_wait(&together);
	return arg;
}

/* Prints what each of the threads counted. */
static void run_threads(void *(*run)(void *))
{
	pthread_t made[THREADS];

	pthread_barrier_init(&together, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		made[i] = start(run, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++) {
		pthread_join(made[i], NULL);
		printf("%d ", good[i + 1]);
	}
}

static void of_threads(void)
{
	on(SIGRTMIN, notes, 0);
	run_threads(has_timer);
	printf("\n");
}

static void leaves(int which, siginfo_t *info, void *context)
{
	siglongjmp(back, 1);
}

static int deep(int n)
{
	volatile char much[65536];

	much[0] = much[65535] = 1;
	return n < 0 ? 0 : deep(n + much[0]) + much[65535];
}

/* When the others have ended, the first thread's stack overflows; its handler has another one. */
static void stacks(void)
{
	on(SIGSEGV, on_its_own, SA_ONSTACK);
	on(SIGUSR1, on_its_own, SA_ONSTACK);
	low[0] = memory(STACK, PROT_READ | PROT_WRITE);
	use(0);
	run_threads(has_stack);
	on(SIGSEGV, leaves, SA_ONSTACK);
	for (volatile int i = 0; i < 2; i++) {
		if (!sigsetjmp(back, 1))
			deep(0);
		ran++;
	}
	printf("%d\n", ran);
}

/* This stack is too small for the recorder, which uses its own for the thread. */
static void small(void)
{
	static char little[8192];
	stack_t s = { .ss_sp = little, .ss_size = sizeof(little) };

	need(!sigaltstack(&s, NULL));
	on(SIGSEGV, leaves, SA_ONSTACK);
	if (!sigsetjmp(back, 1))
		deep(0);
	need(!sigaltstack(NULL, &s));
	need(!s.ss_flags && s.ss_sp == little);
	s.ss_size = 100;
	printf("%d\n", sigaltstack(&s, NULL) == -1 && errno == ENOMEM);
}

/* ---- files of signals ---- */

static int file;

static int ready(void)
{
	struct pollfd p = { .fd = file, .events = POLLIN };

	return poll(&p, 1, 0);
}

/* Returns 100 times the number of signals in the file, plus the first signal. */
static int taken(void)
{
	struct signalfd_siginfo s[4];
	ssize_t n = read(file, s, sizeof(s));

	return n < 0 ? -1 : (int)(n / (ssize_t)sizeof(*s)) * 100 + (int)s[0].ssi_signo;
}

/* Each thread sees its own signals in the file; the other thread was sent SIGUSR2. */
static void *has_its_own(void *arg)
{
	struct epoll_event e = { .events = EPOLLIN };
	int several = epoll_create1(0);

	pthread_barrier_wait(arg);
	printf("%d ", ready());
	raise(SIGUSR1);
	need(!epoll_ctl(several, EPOLL_CTL_ADD, file, &e));
	printf("%d ", epoll_wait(several, &e, 1, -1));
	printf("%d ", taken() == 100 + SIGUSR1);
	printf("%d ", epoll_wait(several, &e, 1, 0));
	pthread_barrier_wait(arg);
	return arg;
}

static void *sends_later(void *arg)
{
	usleep(2000);
	pthread_kill(*(pthread_t *)arg, SIGUSR2);
	return arg;
}

static void by_files(void)
{
	pthread_t self = pthread_self(), made;
	struct signalfd_siginfo one;
	struct iovec part = { &one, sizeof(one) };
	pthread_barrier_t both;
	sigset_t set;

	pthread_barrier_init(&both, NULL, 2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	need(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	need((file = signalfd(-1, &set, 0)) >= 0);
	made = start(has_its_own, &both);
	pthread_kill(self, SIGUSR2);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	pthread_join(made, NULL);
	printf("%d ", ready());
	printf("%d ", taken() == 100 + SIGUSR2);
	printf("%d ", ready());
	made = start(sends_later, &self);
	printf("%d ", taken() == 100 + SIGUSR2);
	pthread_join(made, NULL);
	kill(getpid(), SIGUSR1);
	raise(SIGUSR2);
	printf("%d ", taken() / 100);
	raise(SIGUSR2);
	need(readv(file, &part, 1) == sizeof(one) && one.ssi_signo == SIGUSR2);
	raise(SIGUSR1);
	need(syscall(SYS_read, file, &one, sizeof(one)) == sizeof(one));
	printf("%d ", one.ssi_signo == SIGUSR1);
	raise(SIGUSR1);
	need((file = dup(file)) >= 0 && read(-1, &one, sizeof(one)) == -1 && errno == EBADF);
	printf("%d ", taken() == 100 + SIGUSR1);
	need(!fcntl(file, F_SETFL, O_NONBLOCK));
	printf("%d\n", taken() == -1 && errno == EAGAIN);
}

int main(int argc, char **argv)
{
	static const struct rlimit much = { 8 << 20, 8 << 20 };
	static const struct kind kinds[] = {
		{ "alarm", waits_for_alarm }, { "interval", interval },
		{ "timer", of_program },      { "file", by_file },
		{ "function", by_function },  { "ended", ended },
		{ "stacks", stacks },	      { "small", small },
		{ "files", by_files },	      { "absolute", absolute },
		{ "read", read_waits },	      { "far", far_away },
		{ "threads", of_threads },    { "exits", by_function_that_exits },
	};

	sem_init(&come, 0, 0);
	/* deep() must overflow, whatever this host's limit is. */
	need(!setrlimit(RLIMIT_STACK, &much));
	return !RUN_KIND(kinds, argv[1]);
}
