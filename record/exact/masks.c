// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps each thread's signal mask, and the signals that it was sent.
 *
 * One thread of the host executes all threads, so the kernel has one mask for them: the signals
 * that every thread blocks. A signal that the kernel delivers is only noted (came()), because it
 * may interrupt the model. The next hook of any thread chooses the signal's thread as Linux does.
 * That is the first thread if it does not block the signal, else the running one, else any. A
 * thread that waits for the signal (sigwait) counts as not blocking it. If the chosen thread waits
 * for something else, its wait is interrupted. The thread runs the handler at the latest where it
 * lets others catch up.
 *
 * The signal of a fault is for the thread that caused it, and is handled at once.
 *
 * Why no signal is lost: only came() notes signals, only arrived() takes them. A noted standard
 * signal sets a bit. If it comes again before it is taken, the two merge, as in the kernel.
 * Real-time signals have a ring, and are dropped only if more than RING come between two hooks.
 * When MOST signals wait to be handled, arrived() leaves the others where they are, and
 * pthread_kill() returns EAGAIN. A signal that all threads block stays in the kernel, so that
 * signalfd() and sigpending() see it.
 */
#include "masks.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "pass.h"
#include "real.h"
#include "sim_threads.h"
#include "spin.h"
#include "stacks.h"
#include "turns.h"

#define RESTORER 0x04000000
#define STANDARD 32u
#define RING	 1024u
#define MOST	 4096u
#define PATIENCE 60 /* seconds of the host */
#define NAP_NS	 1000000
#define NEVER	 (masks_bit(SIGKILL) | masks_bit(SIGSTOP))
#define OURS	 (masks_bit(SIGSYS) | masks_bit(TURNS_SIGNAL) | masks.own)
#define LIBRARY	 (masks_bit(32) | masks_bit(33)) /* signals of the C library */
#define FAULTS                                                                            \
	(masks_bit(SIGSEGV) | masks_bit(SIGBUS) | masks_bit(SIGFPE) | masks_bit(SIGILL) | \
	 masks_bit(SIGTRAP))
#define IGNORED (masks_bit(SIGCHLD) | masks_bit(SIGURG) | masks_bit(SIGWINCH) | masks_bit(SIGCONT))

/* The actions that the program set. */
static struct masks_action action[MASKS_SIGNALS];

static struct {
	bool on;
	void *restorer;
	uint64_t host, kept; /* the kernel's mask, and what it always contains */
	uint64_t own;	     /* signals with a handler of this library */
	siginfo_t standard[STANDARD], ring[RING];
	uint64_t noted; /* a bit for each standard signal */
	uint32_t came, taken;
	struct sent {
		struct thread *to;
		siginfo_t info;
	} sent[MOST];
	uint32_t nr;
} masks;

bool masks_on(void)
{
	return masks.on;
}

static void count(void)
{
	exact.sent = masks.nr;
	/* Load these after the store above, because came() may run at any time. */
	if (__atomic_load_n(&masks.noted, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&masks.came, __ATOMIC_ACQUIRE) != masks.taken)
		exact.sent = 1;
}

/* ---- the kernel's mask ---- */

static void set_host(uint64_t mask)
{
	mask = (mask | masks.kept) & ~OURS;
	if (mask == masks.host)
		return;
	masks.host = mask;
	KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* Set the kernel's mask to the signals that all threads block; no change without threads. */
static void update(void)
{
	uint64_t all = UINT64_MAX & ~LIBRARY;

	if (!exact.live)
		return;
	for (uint32_t i = 0; i < exact.nr_threads; i++)
		if (!exact.threads[i]->ended)
			all &= exact.threads[i]->mask;
	set_host(all);
}

void masks_frame(void *context)
{
	if (masks.on && exact.recording)
		memcpy(&((ucontext_t *)context)->uc_sigmask, &masks.host, sizeof(masks.host));
}

/* ---- which thread ---- */

static bool wants(const struct thread *t, int which)
{
	return !t->ended && (!(t->mask & masks_bit(which)) || t->awaits & masks_bit(which));
}

static struct thread *choose(int which)
{
	if (wants(exact.threads[0], which))
		return exact.threads[0];
	if (wants(exact_self, which))
		return exact_self;
	for (uint32_t i = 1; i < exact.nr_threads; i++)
		if (wants(exact.threads[i], which))
			return exact.threads[i];
	return NULL;
}

static bool calls_program(const struct masks_action *a)
{
	return (const void *)a->handler != (const void *)SIG_DFL &&
	       (const void *)a->handler != (const void *)SIG_IGN;
}

static bool does_nothing(int which)
{
	const void *handler = (const void *)action[which].handler;

	return handler == (const void *)SIG_IGN ||
	       (handler == (const void *)SIG_DFL && masks_bit(which) & IGNORED);
}

/*
 * Keep a signal for thread @to or, if NULL, a chosen one. A standard signal is kept once. Return:
 * the thread, if it can take the signal now.
 */
static struct thread *add(struct thread *to, const siginfo_t *info)
{
	int which = info->si_signo;

	if (!to)
		to = choose(which);
	if (to && does_nothing(which) && !(to->mask & masks_bit(which)))
		return NULL;
	for (uint32_t i = 0; i < masks.nr && which < SIGRTMIN; i++)
		if (masks.sent[i].to == to && masks.sent[i].info.si_signo == which)
			return to && wants(to, which) ? to : NULL;
	if (masks.nr == MOST)
		return NULL;
	masks.sent[masks.nr++] = (struct sent){ to, *info };
	count();
	return to && wants(to, which) ? to : NULL;
}

/* Take one of the noted signals. Return: false if there is none. */
static bool next(siginfo_t *info)
{
	uint64_t noted = __atomic_load_n(&masks.noted, __ATOMIC_ACQUIRE);

	if (noted) {
		*info = masks.standard[__builtin_ctzll(noted) + 1];
		__atomic_fetch_and(&masks.noted, ~(noted & -noted), __ATOMIC_RELEASE);
		return true;
	}
	if (masks.taken == __atomic_load_n(&masks.came, __ATOMIC_ACQUIRE))
		return false;
	*info = masks.ring[masks.taken % RING];
	__atomic_store_n(&masks.taken, masks.taken + 1, __ATOMIC_RELEASE);
	return true;
}

/*
 * Give each noted signal its thread. @interrupt: ends the wait of a thread that is not @self.
 * Return: whether a thread got a signal that it can take.
 */
static bool arrived(void (*interrupt)(struct thread *t), const struct thread *self)
{
	bool any = false;
	siginfo_t info;

	while (masks.nr < MOST && next(&info)) {
		struct thread *t = add(NULL, &info);

		any |= t != NULL;
		if (t && t != self)
			interrupt(t);
	}
	count();
	return any;
}

bool masks_take(uint64_t set, siginfo_t *info)
{
	uint32_t best = MOST;

	for (uint32_t i = 0; i < masks.nr; i++)
		if ((!masks.sent[i].to || masks.sent[i].to == exact_self) &&
		    set & masks_bit(masks.sent[i].info.si_signo) &&
		    (best == MOST || masks.sent[i].info.si_signo < masks.sent[best].info.si_signo))
			best = i;
	if (best == MOST)
		return false;
	*info = masks.sent[best].info;
	masks.nr--;
	memmove(&masks.sent[best], &masks.sent[best + 1], (masks.nr - best) * sizeof(*masks.sent));
	count();
	return true;
}

bool masks_sent(uint64_t set)
{
	for (uint32_t i = 0; i < masks.nr; i++)
		if ((!masks.sent[i].to || masks.sent[i].to == exact_self) &&
		    set & masks_bit(masks.sent[i].info.si_signo))
			return true;
	return false;
}

void masks_block(uint64_t set)
{
	masks.kept |= set;
	update();
}

uint64_t masks_pending(uint64_t kernel)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < masks.nr; i++)
		if (!masks.sent[i].to || masks.sent[i].to == exact_self)
			all |= masks_bit(masks.sent[i].info.si_signo);
	return (all & exact_self->mask) | (kernel & ~masks.kept);
}

/* ---- handlers ---- */

/* Let the kernel do the default action, for the whole process. */
static void fall(int which)
{
	uint64_t one = masks_bit(which);

	if (one & OURS)
		((void (*)(int))exact.last_resort)(which);
	KERNEL(SYS_rt_sigprocmask, SIG_UNBLOCK, &one, NULL, sizeof(one));
	KERNEL(SYS_tgkill, getpid(), exact.threads[0]->tid, which);
	KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &masks.host, NULL, sizeof(one));
}

/* End the program, as a fault with a blocked signal does, whatever its handler. */
static void end(int which)
{
	struct masks_action own = { .flags = SA_ONSTACK | RESTORER, .restorer = masks.restorer };

	action[which].handler = NULL;
	*(void **)&own.handler = exact.last_resort;
	KERNEL(SYS_rt_sigaction, which, &own, NULL, sizeof(own.mask));
	fall(which);
}

static void set_kernel_action(int which);

static void run(siginfo_t *info, ucontext_t *uc)
{
	struct thread *t = exact_self;
	int which = info->si_signo, error = errno;
	struct masks_action a = action[which];
	bool dispatched = t->dispatched, point = t->cancel_point, outside = t->outside;
	const char *in = t->waits_in;
	ucontext_t own;

	if (does_nothing(which))
		return;
	if ((void *)a.handler == (void *)SIG_DFL) {
		fall(which);
		return;
	}
	if (!uc) {
		uc = &own;
		memset(uc, 0, sizeof(*uc));
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)__builtin_return_address(0);
	}
	if (a.flags & SA_RESETHAND) {
		action[which].handler = NULL;
		set_kernel_action(which);
	}
	memcpy(&uc->uc_sigmask, &t->mask, sizeof(t->mask));
	t->mask |= (a.mask | (a.flags & SA_NODEFER ? 0 : masks_bit(which))) & ~NEVER;
	update();
	spin_else();
	sched_cycles(2 * EXACT_CALL);
	t->dispatched = t->cancel_point = t->outside = false;
	stacks_call(&a, info, uc);
	t->dispatched = dispatched;
	t->cancel_point = point;
	t->outside = outside;
	t->waits_in = in;
	t->handled++;
	t->broken += !(a.flags & SA_RESTART);
	memcpy(&t->mask, &uc->uc_sigmask, sizeof(t->mask));
	t->mask &= ~NEVER;
	update();
	errno = error;
}

/* At a hook: run the handlers of signals that the calling thread was sent. */
static void handle(void)
{
	siginfo_t info;

	arrived(futex_interrupt, exact_self);
	while (masks_take(~exact_self->mask, &info))
		run(&info, NULL);
}

static void note(int which, const siginfo_t *info)
{
	bool standard = (uint32_t)which < STANDARD;
	siginfo_t *to = standard ? &masks.standard[which] : &masks.ring[masks.came % RING];

	if (standard ? masks.noted >> (which - 1) & 1 : masks.came - masks.taken == RING)
		return;
	*to = *info;
	to->si_signo = which;
	/* Only arrived() also writes these words, and this handler may have interrupted it. */
	if (standard)
		__atomic_fetch_or(&masks.noted, masks_bit(which), __ATOMIC_RELEASE);
	else
		__atomic_store_n(&masks.came, masks.came + 1, __ATOMIC_RELEASE);
}

/* Runs on the thread's stack, or on the alternative stack that the thread chose. */
static void faulted(siginfo_t *info, ucontext_t *uc)
{
	run(info, uc);
	masks_frame(uc);
}

/* Handle a signal that the kernel delivers. */
static void came(int which, siginfo_t *info, void *context)
{
	if (!exact.recording)
		return;
	if (masks_bit(which) & FAULTS && info->si_code > 0) {
		if (exact_self->mask & masks_bit(which) ||
		    !stacks_after(&action[which], info, context, faulted, masks.restorer))
			end(which);
		else
			masks_frame(context);
		return;
	}
	note(which, info);
	exact.sent = 1;
}

void masks_fault(int which, siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || calls_program(&action[which]))
		came(which, info, context);
	else
		((void (*)(int))exact.last_resort)(which);
}

void masks_keep(int which)
{
	masks.own |= masks_bit(which);
	update();
}

/* Set the kernel's handler. Signals that this library uses keep its handlers. */
static void set_kernel_action(int which)
{
	struct masks_action own = action[which];

	if (masks_bit(which) & OURS)
		return;
	own.restorer = masks.restorer;
	own.flags |= RESTORER;
	if (calls_program(&own)) {
		own.handler = came;
		own.flags |= SA_SIGINFO;
		own.flags &= ~(unsigned long)(SA_NODEFER | SA_RESETHAND);
		if (masks_bit(which) & FAULTS)
			own.flags |= SA_ONSTACK;
		own.mask = ~OURS;
	}
	KERNEL(SYS_rt_sigaction, which, &own, NULL, sizeof(own.mask));
}

int masks_action(int which, const struct masks_action *asked, struct masks_action *before)
{
	if (which >= 1 && which < MASKS_SIGNALS && masks_bit(which) & LIBRARY)
		return KERNEL(SYS_rt_sigaction, which, asked, before, sizeof(uint64_t)) ? errno : 0;
	if (which < 1 || which >= MASKS_SIGNALS || (asked && masks_bit(which) & NEVER))
		return EINVAL;
	if (before)
		*before = action[which];
	if (!asked)
		return 0;
	action[which] = *asked;
	action[which].mask &= ~NEVER;
	set_kernel_action(which);
	return 0;
}

int masks_set(int how, const uint64_t *asked, uint64_t *before)
{
	struct thread *t = exact_self;

	/* Signals that have come belong to the old mask. */
	exact_signals();
	if (before)
		*before = t->mask;
	if (!asked)
		return 0;
	switch (how) {
	case SIG_BLOCK:
		t->mask |= *asked;
		break;
	case SIG_UNBLOCK:
		t->mask &= ~*asked;
		break;
	case SIG_SETMASK:
		t->mask = *asked;
		break;
	default:
		return EINVAL;
	}
	t->mask &= ~NEVER;
	update();
	exact_signals();
	return 0;
}

const sigset_t *masks_swap(const sigset_t *mask, uint64_t *before)
{
	uint64_t asked;

	if (!masks.on || !mask)
		return mask;
	memcpy(&asked, mask, sizeof(asked));
	masks_set(SIG_SETMASK, &asked, before);
	return NULL;
}

void masks_back(const sigset_t *mask, uint64_t before)
{
	if (masks.on && mask)
		masks_set(SIG_SETMASK, &before, NULL);
}

int masks_send(struct thread *t, const siginfo_t *info)
{
	struct thread *to;

	if (masks.nr == MOST)
		return EAGAIN;
	to = add(t, info);
	spin_else();
	if (to && to != exact_self)
		futex_interrupt(to);
	exact_signals();
	return 0;
}

void masks_forget(int id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < masks.nr; i++)
		if (masks.sent[i].info.si_code != SI_TIMER || masks.sent[i].info.si_timerid != id)
			masks.sent[kept++] = masks.sent[i];
	masks.nr = kept;
	count();
}

int masks_expired(struct thread *to, const siginfo_t *info, uint64_t at)
{
	struct thread *t;

	for (uint32_t i = 0; i < masks.nr && info->si_code == SI_TIMER; i++) {
		siginfo_t *was = &masks.sent[i].info;

		if (was->si_code == SI_TIMER && was->si_timerid == info->si_timerid)
			return was->si_overrun += info->si_overrun + 1;
	}
	t = add(to, info);
	spin_else();
	if (t)
		futex_rouse(t, at);
	return info->si_code == SI_TIMER ? info->si_overrun : 0;
}

/* ---- threads, and the end of the program ---- */

void masks_thread(struct thread *t, const sigset_t *asked)
{
	t->mask = exact_self ? exact_self->mask : 0;
	if (!asked || !masks.on)
		return;
	memcpy(&t->mask, asked, sizeof(t->mask));
	t->mask &= ~NEVER;
	update();
}

void masks_gone(struct thread *t)
{
	uint32_t n = masks.nr, kept = 0;

	if (!masks.on)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct sent s = masks.sent[i];

		if (s.to == t && s.info.si_code == SI_TKILL)
			continue;
		if (s.to == t) {
			s.to = choose(s.info.si_signo);
			if (s.to)
				futex_interrupt(s.to);
		}
		masks.sent[kept++] = s;
	}
	masks.nr = kept;
	count();
	update();
}

bool masks_handled(void)
{
	for (int which = 1; which < MASKS_SIGNALS; which++)
		if (!(masks_bit(which) & (OURS | FAULTS | masks_bit(SIGABRT))) &&
		    calls_program(&action[which]))
			return true;
	return false;
}

static void wake_idle(struct thread *t)
{
	uint64_t latest = 0;

	for (uint32_t n = 0; n < exact.watch.setup.nr_cpus; n++)
		if (sim_clock_of(n) > latest)
			latest = sim_clock_of(n);
	futex_rouse(t, latest);
}

bool masks_await(bool (*look)(void))
{
	const struct timespec nap = { 0, NAP_NS };
	bool any = false, signals = masks.on && masks_handled();

	if (!signals && !look)
		return false;
	exact.waited_outside++;
	for (long i = 0; !any && i < PATIENCE * (1000000000l / NAP_NS); i++) {
		PASS(REAL(nanosleep)(&nap, NULL));
		any = signals && arrived(wake_idle, NULL);
		any |= look && look();
	}
	return any;
}

void masks_hold(bool hold)
{
	uint64_t all = ~OURS;

	if (masks.on)
		KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, hold ? &all : &masks.host, NULL,
		       sizeof(all));
}

void masks_end(void)
{
	uint64_t mask = exact_self ? exact_self->mask : 0;

	if (!masks.on || !exact_self)
		return;
	masks.on = false;
	for (int which = 1; which < MASKS_SIGNALS; which++) {
		struct masks_action own = action[which];

		if (calls_program(&own) || masks_bit(which) & masks.own)
			KERNEL(SYS_rt_sigaction, which, &own, NULL, sizeof(own.mask));
	}
	KERNEL(SYS_sigaltstack, &exact_self->stack, NULL);
	KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

void masks_begin(void *restorer)
{
	uint64_t host = 0;

	KERNEL(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &host, sizeof(host));
	masks.restorer = restorer;
	masks.host = host;
	exact.threads[0]->mask = host;
	exact.handle = handle;
	masks.on = true;
	for (int which = 1; which < MASKS_SIGNALS; which++) {
		struct masks_action now = { .handler = NULL };

		if (masks_bit(which) & (OURS | NEVER | LIBRARY) ||
		    KERNEL(SYS_rt_sigaction, which, NULL, &now, sizeof(now.mask)))
			continue;
		/* For the program, the last resort of fatal.c is the default action. */
		if (exact.last_resort && (void *)now.handler == exact.last_resort)
			continue;
		action[which] = now;
		if (calls_program(&now))
			set_kernel_action(which);
	}
}
