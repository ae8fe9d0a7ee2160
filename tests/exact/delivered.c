// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* delivered KIND: signals of timers. Natively each kind writes the same. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
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

static void change(int how, int which)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, which);
	need(!pthread_sigmask(how, &set, NULL));
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

/* A second, of which the recorded program waits none. */
static void waits_for_alarm(void)
{
	double began = now();

	on(SIGALRM, counts, 0);
	printf("%u ", alarm(100));
	printf("%d ", alarm(1) > 1);
	printf("%d ", pause() == -1 && errno == EINTR);
	printf("%d %d %u\n", ran, now() - began > 0.99, alarm(0));
}

/* While the thread computes, and it ends when it is set to zero. */
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

/* With its value, and blocked for a while it counts what is lost. */
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

static void called(union sigval v)
{
	value = v.sival_int;
	sem_post(&come);
}

static void by_function(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD,
			      .sigev_value.sival_int = 9,
			      .sigev_notify_function = called };
	timer_t t;

	need(!timer_create(CLOCK_REALTIME, &e, &t));
	set(t, 1000000, 1000000);
	for (int i = 0; i < 3; i++)
		need(!sem_wait(&come));
	need(!timer_delete(t));
	printf("%d\n", value);
}

/* The signal's default action. */
static void ended(void)
{
	static const struct itimerval once = { { 0, 0 }, { 0, 20000 } };

	need(!setitimer(ITIMER_REAL, &once, NULL));
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "alarm", waits_for_alarm }, { "interval", interval },	   { "timer", of_program },
		{ "file", by_file },	      { "function", by_function }, { "ended", ended },
	};

	sem_init(&come, 0, 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (argc > 1 && !strcmp(argv[1], kinds[i].name))
			kinds[i].run();
	return 0;
}
