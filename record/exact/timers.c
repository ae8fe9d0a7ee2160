// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implements alarm(), setitimer(), timer_create() and timerfd_create() by alarms of the machine. A
 * timer sends a signal as kill() does, at the machine's time, and wakes the signal's thread. A
 * timer that is a file is an eventfd, to which this library adds expirations. So read(), poll() and
 * epoll need nothing else. A timer that calls a function has a thread that waits and calls.
 *
 * Times are in nanoseconds, because the engine's picoseconds only reach 53 days. A later timer
 * stays armed and never expires.
 */
#include "timers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "exact.h"
#include "keys.h"
#include "masks.h"
#include "pass.h"
#include "real.h"
#include "sim_threads.h"
#include "sync.h"

#define TIMERS	 1024u
#define INTERVAL 3u	       /* the first timers are those of setitimer() */
#define ID	 0x10000       /* of the program's first timer */
#define NS	 1000ull       /* ps */
#define SECOND	 1000000000ull /* ns */
#define NEVER	 UINT64_MAX
#define LONGEST	 (NEVER / 2 / SECOND)

static struct timer {
	bool used, ending;
	clockid_t clock;
	uint64_t at, period; /* NEVER: the timer is not armed */
	struct alarms alarms;
	int which, overrun;
	struct thread *to; /* SIGEV_THREAD_ID: who gets the signal */
	union sigval value;
	int file, ours, copies; /* timerfd_create()'s file; @ours: our descriptor of it, or 0 */
	struct thread *caller;	/* of SIGEV_THREAD */
	uint32_t due;
	void (*call)(union sigval value);
} timers[TIMERS];

static uint64_t span(int64_t seconds, int64_t ns)
{
	if (seconds > (int64_t)LONGEST)
		return LONGEST * SECOND;
	return (uint64_t)seconds * SECOND + (uint64_t)ns;
}

static uint64_t now(void)
{
	return sched_time() / NS;
}

static bool armed(const struct timer *t)
{
	/* Timers of setitimer() are all zero at first. */
	return t->at && t->at < NEVER;
}

static struct timespec left(const struct timer *t)
{
	/* A timer that is armed has something left. */
	uint64_t ns = t->at > now() ? t->at - now() : 1;

	if (!armed(t))
		ns = 0;
	return (struct timespec){ (time_t)(ns / SECOND), (long)(ns % SECOND) };
}

static void set_alarm(struct timer *t)
{
	if (armed(t) && t->at < EXACT_EVER / NS)
		alarms_set(&t->alarms, t->at * NS, TIMERS_FIRST + (uint32_t)(t - timers));
}

static void arm(struct timer *t, uint64_t at, uint64_t period)
{
	t->at = at;
	t->period = period;
	set_alarm(t);
}

static struct timer *new_timer(clockid_t clock)
{
	for (struct timer *t = timers + INTERVAL; t < timers + TIMERS; t++) {
		if (t->used)
			continue;
		*t = (struct timer){
			.used = true, .clock = clock, .at = NEVER, .alarms = t->alarms
		};
		return t;
	}
	return NULL;
}

/* ---- a timer expires ---- */

static void expire(struct timer *t, uint64_t times, uint64_t at)
{
	siginfo_t info = { .si_signo = t->which };

	if (t->ours) {
		PASS(REAL(write)(t->ours, &times, sizeof(times)));
	} else if (t->caller) {
		t->due += (uint32_t)times;
		futex_rouse(t->caller, at);
	} else if (t->which) {
		bool interval = t < timers + INTERVAL;

		info.si_code = interval ? SI_KERNEL : SI_TIMER;
		if (!interval) {
			info.si_timerid = (int)(t - timers) + ID;
			info.si_overrun = times > INT_MAX ? INT_MAX : (int)times - 1;
			info.si_value = t->value;
		}
		t->overrun = masks_expired(t->to, &info, at);
	}
}

void timers_due(uint32_t id, uint64_t at)
{
	struct timer *t = &timers[id - TIMERS_FIRST];
	uint64_t times = 1;

	alarms_came(&t->alarms, at);
	if (!armed(t) || t->at > at / NS) {
		set_alarm(t);
		return;
	}
	if (t->period)
		times += (at / NS - t->at) / t->period;
	arm(t, t->period ? t->at + times * t->period : NEVER, t->period);
	expire(t, times, at);
}

uint64_t timers_next(bool once)
{
	uint64_t next = EXACT_EVER;

	for (const struct timer *t = timers; t < timers + TIMERS; t++)
		if (armed(t) && t->at < next / NS && !(once && t->period))
			next = t->at * NS;
	return next;
}

/* ---- setitimer() ---- */

static void interval_left(const struct timer *t, struct itimerval *into)
{
	struct timespec ts = left(t);

	*into = (struct itimerval){ { (time_t)(t->period / SECOND),
				      (suseconds_t)(t->period % SECOND / 1000) },
				    { ts.tv_sec, (ts.tv_nsec + 999) / 1000 } };
	if (into->it_value.tv_usec == 1000000)
		into->it_value = (struct timeval){ ts.tv_sec + 1, 0 };
}

static bool wrong(int64_t seconds, int64_t part, int64_t whole)
{
	return seconds < 0 || part < 0 || part >= whole;
}

/* Round up, so that the timer does not expire too early. */
static uint64_t after(uint64_t ns)
{
	return (sched_time() + NS - 1) / NS + ns;
}

static long set_interval(int kind, const struct itimerval *asked, struct itimerval *before)
{
	static const int which[INTERVAL] = { SIGALRM, SIGVTALRM, SIGPROF };
	struct timer *t = &timers[kind];
	uint64_t first, period;

	if (kind < 0 || kind >= (int)INTERVAL)
		return -EINVAL;
	if (asked && (wrong(asked->it_value.tv_sec, asked->it_value.tv_usec, 1000000) ||
		      wrong(asked->it_interval.tv_sec, asked->it_interval.tv_usec, 1000000)))
		return -EINVAL;
	if (before)
		interval_left(t, before);
	first = asked ? span(asked->it_value.tv_sec, asked->it_value.tv_usec * 1000) : 0;
	period = asked ? span(asked->it_interval.tv_sec, asked->it_interval.tv_usec * 1000) : 0;
	t->which = which[kind];
	arm(t, first ? after(first) : NEVER, period);
	return 0;
}

static long alarm_in(unsigned int seconds)
{
	struct itimerval asked = { { 0, 0 }, { seconds, 0 } }, before = { { 0, 0 }, { 0, 0 } };

	set_interval(ITIMER_REAL, &asked, &before);
	return before.it_value.tv_sec + (before.it_value.tv_usec >= 500000 ||
					 (!before.it_value.tv_sec && before.it_value.tv_usec));
}

/* ---- timer_create() and timerfd_create() ---- */

static void get(const struct timer *t, struct itimerspec *into)
{
	*into = (struct itimerspec){ { (time_t)(t->period / SECOND), (long)(t->period % SECOND) },
				     left(t) };
}

/* The machine's time of an absolute time; a time before the start is now. */
static uint64_t until(clockid_t clock, uint64_t ns)
{
	uint64_t begins = clock_begins(clock) * SECOND;

	return ns > begins ? ns - begins : 1;
}

static long set(struct timer *t, bool absolute, const struct itimerspec *asked,
		struct itimerspec *before)
{
	uint64_t first, period;

	if (wrong(asked->it_value.tv_sec, asked->it_value.tv_nsec, 1000000000) ||
	    wrong(asked->it_interval.tv_sec, asked->it_interval.tv_nsec, 1000000000))
		return -EINVAL;
	if (before)
		get(t, before);
	first = span(asked->it_value.tv_sec, asked->it_value.tv_nsec);
	period = span(asked->it_interval.tv_sec, asked->it_interval.tv_nsec);
	if (!first)
		first = NEVER;
	else if (!absolute)
		first = after(first);
	else
		first = until(t->clock, first);
	t->overrun = 0;
	masks_forget(ID + (int)(t - timers));
	arm(t, first, period);
	return 0;
}

static struct thread *with_tid(pid_t tid)
{
	for (uint32_t i = 0; i < exact.nr_threads; i++)
		if (exact.threads[i]->tid == tid && !exact.threads[i]->ended)
			return exact.threads[i];
	return NULL;
}

/* Return: false if the kernel must do it, because the thread is not the program's. */
static bool create(clockid_t clock, const struct sigevent *event, int *id, long *result)
{
	int how = event ? event->sigev_notify : SIGEV_SIGNAL;
	struct thread *to = NULL;
	struct timer *t;

	*result = -EINVAL;
	if (PASS(clock_getres(clock, NULL)) ||
	    (how != SIGEV_SIGNAL && how != SIGEV_NONE && how != SIGEV_THREAD_ID))
		return true;
	if (event && how != SIGEV_NONE &&
	    (event->sigev_signo < 1 || event->sigev_signo >= MASKS_SIGNALS))
		return true;

	if (how == SIGEV_THREAD_ID) {
		to = with_tid(event->_sigev_un._tid);
		if (!to)
			return false;
	}
	t = new_timer(clock);
	*result = t ? 0 : -EAGAIN;
	if (!t)
		return true;
	*id = (int)(t - timers) + ID;
	t->to = to;
	if (how != SIGEV_NONE)
		t->which = event ? event->sigev_signo : SIGALRM;
	if (event)
		t->value = event->sigev_value;
	else
		t->value.sival_int = *id;
	return true;
}

static struct timer *with_id(long id)
{
	if (id < ID + (long)INTERVAL || id >= ID + (long)TIMERS)
		return NULL;
	return timers[id - ID].used && !timers[id - ID].ending ? &timers[id - ID] : NULL;
}

static void drop(struct timer *t)
{
	arm(t, NEVER, 0);
	masks_forget(ID + (int)(t - timers));
	/* The timer's thread still uses the timer. */
	t->used = t->ending = t->caller != NULL;
	if (t->caller)
		futex_interrupt(t->caller);
	if (t->ours)
		PASS(close(t->ours));
	t->ours = t->file = 0;
}

/* Duplicate @file to a number far from those that the program gets next. */
static int own_number(int file)
{
	int (*control)(int, int, ...) = REAL(fcntl);
	int made = PASS(control(file, F_DUPFD_CLOEXEC, 512));

	return made < 0 ? PASS(control(file, F_DUPFD_CLOEXEC, 3)) : made;
}

static long create_file(clockid_t clock, int flags)
{
	struct timer *t;
	int file;

	if (flags & ~(TFD_NONBLOCK | TFD_CLOEXEC) ||
	    (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME))
		return -EINVAL;
	t = new_timer(clock);
	if (!t)
		return -EMFILE;
	file = PASS(eventfd(0, flags));
	t->ours = file < 0 ? -1 : own_number(file);
	if (t->ours < 0) {
		t->ours = 0;
		if (file >= 0)
			PASS(close(file));
		drop(t);
		return -EMFILE;
	}
	t->file = file;
	return file;
}

/* The timer of a descriptor. Copies of the descriptor share its file description. */
static struct timer *with_file(long file)
{
	for (struct timer *t = timers + INTERVAL; t < timers + TIMERS; t++)
		if (t->ours &&
		    (t->file == file || !KERNEL(SYS_kcmp, exact.pid, exact.pid, 0, file, t->ours)))
			return t;
	return NULL;
}

void timers_copied(int from)
{
	struct timer *t = with_file(from);

	if (t)
		t->copies++;
}

void timers_closed(int number)
{
	struct timer *t = with_file(number);

	if (!t)
		return;
	if (t->file == number)
		t->file = -1;
	if (!t->copies--)
		drop(t);
}

/* Set the timer and forget the expirations that it has counted. */
static long set_file(struct timer *t, long flags, const struct itimerspec *asked,
		     struct itimerspec *before)
{
	struct pollfd p = { .fd = t->ours, .events = POLLIN };
	uint64_t count;

	while (PASS(REAL(poll)(&p, 1, 0)) > 0)
		PASS(REAL(read)(t->ours, &count, sizeof(count)));
	return set(t, flags & TFD_TIMER_ABSTIME, asked, before);
}

/* ---- the calls ---- */

static long of_id(long number, struct timer *t, const long *arg)
{
	switch (number) {
	case SYS_timer_settime:
		return set(t, arg[1] & TIMER_ABSTIME, (const void *)arg[2], (void *)arg[3]);
	case SYS_timer_gettime:
		get(t, (void *)arg[1]);
		return 0;
	case SYS_timer_getoverrun:
		return t->overrun;
	default:
		drop(t);
		return 0;
	}
}

bool timers_call(long number, const long *arg, long *result)
{
	struct timer *t;

	switch (number) {
	case SYS_alarm:
		*result = alarm_in((unsigned int)arg[0]);
		return true;
	case SYS_setitimer:
		*result = set_interval((int)arg[0], (const void *)arg[1], (void *)arg[2]);
		return true;
	case SYS_getitimer:
		if (arg[0] < 0 || arg[0] >= (long)INTERVAL)
			return false;
		interval_left(&timers[arg[0]], (void *)arg[1]);
		*result = 0;
		return true;
	case SYS_timer_create:
		return create((clockid_t)arg[0], (const void *)arg[1], (void *)arg[2], result);
	case SYS_timer_settime:
	case SYS_timer_gettime:
	case SYS_timer_getoverrun:
	case SYS_timer_delete:
		t = with_id(arg[0]);
		if (t)
			*result = of_id(number, t, arg);
		return t != NULL;
	case SYS_timerfd_create:
		*result = create_file((clockid_t)arg[0], (int)arg[1]);
		return true;
	case SYS_timerfd_settime:
		t = with_file(arg[0]);
		if (t)
			*result = set_file(t, arg[1], (const void *)arg[2], (void *)arg[3]);
		return t != NULL;
	case SYS_timerfd_gettime:
		t = with_file(arg[0]);
		if (t)
			get(t, (void *)arg[1]);
		*result = 0;
		return t != NULL;
	default:
		return false;
	}
}

/* ---- a timer that calls a function, SIGEV_THREAD ---- */

/*
 * Call the timer's function. Natively each call has its own thread, which the function may end by
 * pthread_exit(). Here that jumps back to this function, and the calling thread continues.
 */
static void call(const struct timer *t)
{
	struct thread *self = exact_self;
	void *top = self->top;
	jmp_buf *end = self->end, back;

	self->top = __builtin_frame_address(0);
	self->end = &back;
	if (!_setjmp(back))
		t->call(t->value);
	self->cancelled = false;
	keys_end(self);
	mutex_end(self);
	self->cancel_off = self->cancel_soon = false;
	self->top = top;
	self->end = end;
}

static void *waits(void *arg)
{
	struct timer *t = arg;
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	while (!t->ending) {
		if (t->due) {
			t->due--;
			call(t);
		} else {
			futex_wait(&t->due, 0, EXACT_EVER, UINT32_MAX, "a timer", HERE);
		}
	}
	t->used = false;
	return NULL;
}

API int timer_create(clockid_t clock, struct sigevent *event, timer_t *id)
{
	pthread_t made;
	struct timer *t;
	int failed;

	if (!exact_on() || !masks_on() || !event || event->sigev_notify != SIGEV_THREAD)
		return REAL(timer_create)(clock, event, id);
	t = new_timer(clock);
	if (!t) {
		errno = EAGAIN;
		return -1;
	}
	t->call = event->sigev_notify_function;
	t->value = event->sigev_value;
	failed = pthread_create(&made, event->sigev_notify_attributes, waits, t);
	if (failed) {
		drop(t);
		errno = failed;
		return -1;
	}
	t->caller = threads_find(made);
	pthread_detach(made);
	*id = (timer_t)(intptr_t)((int)(t - timers) + ID);
	return 0;
}
