// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why these functions of the C library are enough. The emulator takes the guest's time from
 * clock_gettime(CLOCK_MONOTONIC) alone. Only in ppoll(), in its main loop, does the emulator sleep
 * until a timer is due. The time-out is the guest's time until then. The model gets that deadline,
 * and the sleep ends when the model reaches it.
 *
 * Code may also read the time stamp counter by an instruction. While the model's time counts, this
 * instruction faults (PR_SET_TSC), and this file's handler supplies the value. The faults begin
 * some time before the window. Otherwise the host could take a thread off its CPU inside the block
 * that reads the counter. The thread would then read the host's counter inside the window. The
 * emulator never lets the counter go back, so the guest would be ahead of the model for the whole
 * window: in one run by 2 ms in a window of 20 ms. The faults do not begin with the guest, because
 * a fault takes far longer than the instruction and a booting kernel reads the time constantly.
 * gettimeofday() goes to the kernel, since the C library's fast path reads that counter, too.
 *
 * Phases: a pointer selects one of three structures, which says which time counts. So no thread
 * sees half of a change.
 */
#include "guest_clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "host_time.h"

/* The main loop runs at least this often, whatever the model does. */
#define LONGEST_NS  10000000
#define ALARM_NS    2000000
#define MAX_WATCHED 64

#define EXPORTED __attribute__((visibility("default")))

/* Guest time is @guest, in picoseconds, when the host's clock is @host, and advances from there. */
struct phase {
	const uint64_t *ps; /* the model's clock; NULL: the host's */
	uint64_t host, guest;
};

static struct phase phases[3];
static struct phase *phase = &phases[0];
static uint64_t begun, factor;

static uint64_t tsc_begun, tsc_followed;
static double tsc_a_ps; /* of guest time */

static uint64_t deadline = GUEST_CLOCK_NEVER;
static uint32_t looked; /* number of looks of the main loop */
static int bell = -1;

/* The host's counter, also in a thread whose reads of it fault. */
static uint64_t host_tsc(void)
{
	uint32_t low, high;
	int told = PR_TSC_ENABLE;

	prctl(PR_GET_TSC, &told);
	if (told != PR_TSC_ENABLE)
		prctl(PR_SET_TSC, PR_TSC_ENABLE);
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	if (told != PR_TSC_ENABLE)
		prctl(PR_SET_TSC, told);
	return (uint64_t)high << 32 | low;
}

/*
 * Read the host's clock and its counter at one time. The shortest of a few attempts counts, because
 * a thread that lost its CPU between the reads would falsify the counter's rate.
 */
static uint64_t host_both(uint64_t *counter)
{
	uint64_t best = 0, least = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = host_now(), read = host_tsc(), took = host_now() - before;

		if (took < least) {
			least = took;
			best = before;
			*counter = read;
		}
	}
	return best;
}

/* Picoseconds since the library was loaded. */
static uint64_t guest_ps(void)
{
	const struct phase *p, *now = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	uint64_t ps;

	/* Again, if a change came while this thread was off its CPU: host time has advanced. */
	do {
		p = now;
		ps = p->guest + (p->ps ? __atomic_load_n(p->ps, __ATOMIC_ACQUIRE)
				       : (host_now() - p->host) * 1000 / factor);
		now = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	} while (now != p);
	return ps;
}

static uint64_t guest_tsc(void)
{
	uint64_t tsc;

	if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == &phases[0]) {
		tsc = host_tsc();
		/* Do not return it if the window has opened meanwhile: see the opening comment. */
		if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == &phases[0])
			return tsc;
	}
	return tsc_followed + (uint64_t)((double)(guest_ps() - phases[1].guest) * tsc_a_ps);
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("SCHEDSHARD_SLOW");
	unsigned long long value = text ? strtoull(text, NULL, 10) : 1;

	factor = value ? value : 1;
	begun = phases[0].host = host_both(&tsc_begun);
}

/* ---- functions that the emulator calls ---- */

EXPORTED int clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t now;

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, time);
	now = begun + guest_ps() / 1000;
	time->tv_sec = (time_t)(now / SECOND_NS);
	time->tv_nsec = (long)(now % SECOND_NS);
	return 0;
}

EXPORTED int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	return (int)syscall(SYS_gettimeofday, time, zone);
}

static int host_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		      const sigset_t *mask)
{
	/* The kernel writes the remaining time, and expects its own size of the mask. */
	struct timespec left = { 0 };

	if (timeout)
		left = *timeout;
	return (int)syscall(SYS_ppoll, fds, n, timeout ? &left : NULL, mask, 8);
}

/* Wait until an event comes, or the bell rings. */
static int poll_with_bell(struct pollfd *fds, nfds_t n, const sigset_t *mask)
{
	const struct timespec longest = { 0, LONGEST_NS };
	struct pollfd all[MAX_WATCHED + 1];
	uint64_t rung;
	int found;

	memcpy(all, fds, n * sizeof(*fds));
	all[n] = (struct pollfd){ .fd = bell, .events = POLLIN };
	found = host_ppoll(all, n + 1, &longest, mask);
	memcpy(fds, all, n * sizeof(*fds));
	if (found <= 0 || !all[n].revents)
		return found;
	if (read(bell, &rung, sizeof(rung)) < 0 && errno != EAGAIN)
		return -1;
	return found - 1;
}

EXPORTED int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		   const sigset_t *mask)
{
	const struct phase *p = __atomic_load_n(&phase, __ATOMIC_ACQUIRE);
	uint64_t now, due;
	int found;

	if (!p->ps)
		return host_ppoll(fds, n, timeout, mask);
	__atomic_fetch_add(&looked, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &looked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	if (!timeout || n > MAX_WATCHED || (!timeout->tv_sec && !timeout->tv_nsec))
		return host_ppoll(fds, n, timeout, mask);
	now = __atomic_load_n(p->ps, __ATOMIC_ACQUIRE);
	due = now + ((uint64_t)timeout->tv_sec * SECOND_NS + (uint64_t)timeout->tv_nsec) * 1000;
	__atomic_store_n(&deadline, due, __ATOMIC_SEQ_CST);
	found = poll_with_bell(fds, n, mask);
	__atomic_store_n(&deadline, GUEST_CLOCK_NEVER, __ATOMIC_SEQ_CST);
	return found;
}

/* ---- the time stamp counter ---- */

static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *at = (const uint8_t *)(uintptr_t)regs[REG_RIP];
	struct sigaction usual = { .sa_handler = SIG_DFL };
	uint64_t tsc;

	if (info->si_code != SI_KERNEL || at[0] != 0x0f || at[1] != 0x31) {
		/*
		 * Not ours: the instruction faults again, and the process ends as it would without
		 * this file.
		 */
		sigaction(signal, &usual, NULL);
		return;
	}
	tsc = guest_tsc();
	regs[REG_RAX] = (greg_t)(uint32_t)tsc;
	regs[REG_RDX] = (greg_t)(tsc >> 32);
	regs[REG_RIP] += 2;
}

EXPORTED int guest_clock_thread(void)
{
	const struct sched_param none = { 0 };
	struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	sigset_t fault;

	/*
	 * There are many vCPU threads, and they took the host's CPUs from the main loop and from
	 * each other.
	 */
	sched_setscheduler(0, SCHED_BATCH, &none);
	sigemptyset(&fault);
	sigaddset(&fault, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
	return sigaction(SIGSEGV, &ours, NULL) || prctl(PR_SET_TSC, PR_TSC_SIGSEGV) ? -1 : 0;
}

/* ---- functions that the model calls ---- */

EXPORTED int guest_clock_follow(const uint64_t *ps)
{
	uint64_t host;

	bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (bell < 0)
		return -1;
	host = host_both(&tsc_followed);
	tsc_a_ps =
		(double)(tsc_followed - tsc_begun) / (double)(host - begun) / 1000 * (double)factor;
	phases[1] = (struct phase){ .ps = ps, .guest = guest_ps() };
	__atomic_store_n(&phase, &phases[1], __ATOMIC_RELEASE);
	return 0;
}

EXPORTED const uint64_t *guest_clock_due(void)
{
	return &deadline;
}

static void ring(void)
{
	const uint64_t once = 1;

	if (write(bell, &once, sizeof(once)) < 0 && errno != EAGAIN)
		abort(); /* a bell that fails would stop time without a message */
}

EXPORTED void guest_clock_leave(void)
{
	phases[2] = (struct phase){ .host = host_now(), .guest = guest_ps() };
	__atomic_store_n(&phase, &phases[2], __ATOMIC_RELEASE);
	ring();
}

EXPORTED void guest_clock_alarm(void)
{
	const struct timespec longest = { 0, ALARM_NS };
	uint32_t before = __atomic_load_n(&looked, __ATOMIC_SEQ_CST);

	ring();
	while (__atomic_load_n(&looked, __ATOMIC_SEQ_CST) == before)
		if (syscall(SYS_futex, &looked, FUTEX_WAIT_PRIVATE, before, &longest, NULL, 0) &&
		    errno == ETIMEDOUT)
			return;
}
