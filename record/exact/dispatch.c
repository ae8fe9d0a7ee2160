// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The C library waits in places that no other library can replace: in stdio, in its locks, in
 * system(). Linux 5.11 and later sends a signal for each system call of a thread that asked for it
 * (syscall user dispatch). The signal's handler runs other threads until the call would not wait,
 * and then lets the thread make the call.
 *
 * Why the call is unchanged: for each syscall instruction of the program there is a copy, which
 * makes the call with the same registers and stack, and jumps back. The kernel sends no signal for
 * calls from these copies. So calls that return twice, or not at all, need no special case.
 *
 * The handler may switch fibers: the signal frame lies on the thread's own stack, and the handler
 * blocks no signal.
 */
#include "dispatch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "asks.h"
#include "files.h"
#include "masks.h"
#include "outside.h"
#include "pass.h"
#include "real.h"
#include "spin.h"
#include "stacks.h"
#include "sync.h"
#include "timers.h"
#include "turns.h"

/* From <linux/prctl.h> and <asm-generic/siginfo.h>; older systems lack these. */
#define SET_DISPATCH  59
#define DISPATCH_ON   1
#define USER_DISPATCH 2
#define RESTORER      0x04000000
#define OWN	      (SA_SIGINFO | SA_NODEFER | SA_RESTART)

/* CLOSE_RANGE_CLOEXEC of <linux/close_range.h>; and a number above all files that are tracked. */
#define CLOSE_LATER 4
#define MOST_FILES  65536

#define ROOM   65536u
#define PLACES (ROOM / sizeof(struct place))

/* syscall; jmp *(%rip); the address */
struct place {
	uint8_t code[8];
	uint64_t back;
} __attribute__((packed));

/* mov $SYS_rt_sigreturn, %eax; syscall */
static const uint8_t code_return[] = { 0xb8, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05 };
static const uint8_t code_call[] = { 0x0f, 0x05, 0xff, 0x25, 0, 0, 0, 0 };

static struct place *place; /* place 0: code that leaves the handler */
static uint32_t nr_places = 1;

static uint64_t place_of(uint64_t back)
{
	uint32_t i;

	for (i = 1; i < nr_places; i++)
		if (place[i].back == back)
			return (uint64_t)(uintptr_t)&place[i];
	if (i == PLACES)
		return 0;
	memcpy(place[i].code, code_call, sizeof(code_call));
	place[i].back = back;
	nr_places++;
	return (uint64_t)(uintptr_t)&place[i];
}

/* ---- what waits ---- */

static bool give(greg_t *r, long result)
{
	r[REG_RAX] = result;
	return true;
}

static bool error_of(greg_t *r, long result)
{
	return give(r, result < 0 ? -errno : result);
}

static bool reads(greg_t *r, int file, bool waits)
{
	if (waits && outside_blocks(file) && !outside_wait(file, POLLIN))
		return give(r, -errno);
	return false;
}

/* Write a part only: PIPE_BUF bytes fit into a pipe that has room. Callers handle a short write. */
static bool writes(greg_t *r, int file, greg_t *size)
{
	struct stat s;

	if (!outside_blocks(file) || PASS(fstat(file, &s)) ||
	    !(S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode) || S_ISCHR(s.st_mode)))
		return false;
	if (!outside_wait(file, POLLOUT))
		return give(r, -errno);
	if (size && *size > PIPE_BUF)
		*size = PIPE_BUF;
	return false;
}

/* A child or a thread of the C library may store to the word, so it is polled. */
static bool waits_for_stranger(greg_t *r, bool absolute)
{
	const uint32_t *word = (const uint32_t *)r[REG_RDI];
	const struct timespec *most = (const struct timespec *)r[REG_R10];
	clockid_t clock = r[REG_RSI] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	uint64_t end = absolute ? clock_until(clock, most) : outside_until(most);
	struct outside call = outside_begin(true);

	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != (uint32_t)r[REG_RDX])
		return give(r, -EAGAIN);
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == (uint32_t)r[REG_RDX]) {
		if (sched_time() >= end)
			return give(r, -ETIMEDOUT);
		if (!outside_again(&call))
			return give(r, -errno);
	}
	return give(r, 0);
}

static bool futexes(greg_t *r, const long *arg)
{
	switch (arg[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		if (exact.strangers)
			return waits_for_stranger(r,
						  (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET);
		break;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		break;
	default:
		return false;
	}
	return error_of(r, syscall(SYS_futex, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]));
}

/* Opening a named pipe waits for the other end. */
static bool opens(greg_t *r, int folder, const char *path, int flags, greg_t mode)
{
	struct outside call = outside_begin(false);
	struct stat s;
	long file;

	if (flags & O_NONBLOCK || (flags & O_ACCMODE) == O_RDWR ||
	    PASS(fstatat(folder, path, &s, 0)) || !S_ISFIFO(s.st_mode))
		return false;
	while ((file = PASS(openat(folder, path, flags | O_NONBLOCK, mode))) < 0 &&
	       errno == ENXIO && outside_again(&call))
		;
	if (file >= 0)
		PASS(REAL(fcntl)((int)file, F_SETFL, flags));
	return error_of(r, file);
}

/* For System V message queues a flag says "do not wait". */
static bool queues(greg_t *r, long number, greg_t *flags, int full)
{
	struct outside call = outside_begin(true);
	long done;

	if (*flags & IPC_NOWAIT)
		return false;
	*flags |= IPC_NOWAIT;
	while ((done = KERNEL(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8])) <
		       0 &&
	       errno == full && outside_again(&call))
		;
	return error_of(r, done);
}

static bool semaphores(greg_t *r, const struct timespec *most)
{
	const struct sembuf *op = (const struct sembuf *)r[REG_RSI];
	static const struct timespec now;
	uint64_t end = outside_until(most);
	struct outside call = outside_begin(true);
	long done;

	for (greg_t i = 0; i < r[REG_RDX]; i++)
		if (op[i].sem_flg & IPC_NOWAIT)
			return false;
	while ((done = KERNEL(SYS_semtimedop, r[REG_RDI], op, r[REG_RDX], &now)) < 0 &&
	       errno == EAGAIN && sched_time() < end && outside_again(&call))
		;
	return error_of(r, done);
}

/* POSIX message queues do not wait if the time limit has passed already. */
static bool mails(greg_t *r, long number)
{
	static const struct timespec passed;
	uint64_t end = clock_until(CLOCK_REALTIME, (const struct timespec *)r[REG_R8]);
	struct outside call = outside_begin(false);
	long done;

	while ((done = KERNEL(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], &passed)) <
		       0 &&
	       errno == ETIMEDOUT && sched_time() < end && outside_again(&call))
		;
	return error_of(r, done);
}

static bool error_or(greg_t *r, int error)
{
	return give(r, -error);
}

static bool blocks(greg_t *r)
{
	uint64_t before = 0;
	int error = masks_set((int)r[REG_RDI], (const uint64_t *)r[REG_RSI], &before);

	if (!error && r[REG_RDX])
		memcpy((void *)r[REG_RDX], &before, sizeof(before));
	return error_or(r, error);
}

static bool pends(greg_t *r)
{
	uint64_t kernel = 0;

	if (r[REG_RSI] > (greg_t)sizeof(kernel) ||
	    KERNEL(SYS_rt_sigpending, &kernel, sizeof(kernel)))
		return error_or(r, EINVAL);
	kernel = masks_pending(kernel);
	memcpy((void *)r[REG_RDI], &kernel, (size_t)r[REG_RSI]);
	return give(r, 0);
}

static bool sends(greg_t *r, pid_t process, pid_t thread, int which, const siginfo_t *with)
{
	siginfo_t info = { .si_signo = which, .si_code = SI_TKILL };
	struct thread *t = NULL;

	/* The first thread ends the process after it has ended itself. */
	for (uint32_t i = exact.nr_threads; i-- && !t;)
		if (exact.threads[i]->tid == thread &&
		    (!exact.threads[i]->ended || exact.threads[i] == exact_self))
			t = exact.threads[i];
	if (!t || (process && process != exact.pid) || which <= 0 || which >= MASKS_SIGNALS)
		return false;
	if (with)
		info = *with;
	info.si_signo = which;
	if (!with) {
		info.si_pid = exact.pid;
		info.si_uid = PASS(getuid());
	}
	return error_or(r, masks_send(t, &info));
}

/*
 * The kernel sends the signal. If a handler of this thread is due, it runs before the call returns.
 */
static bool kills(greg_t *r, long number)
{
	long result = KERNEL(number, r[REG_RDI], r[REG_RSI], r[REG_RDX]);
	int error = errno;

	exact_signals();
	errno = error;
	return error_of(r, result);
}

static bool clones(uint64_t flags)
{
	exact.strangers = true;
	exact.children += !(flags & CLONE_THREAD);
	return false;
}

/* A file descriptor is closed; this library tracks some of them by number. */
static void closed(int file)
{
	files_closed(file);
	timers_closed(file);
}

static bool copies(greg_t *r, long number)
{
	int from = (int)r[REG_RDI], to = (int)r[REG_RSI];
	long made;

	if (number != SYS_dup && from != to && PASS(REAL(fcntl)(from, F_GETFD)) >= 0)
		closed(to);
	made = KERNEL(number, from, to, r[REG_RDX]);
	if (made >= 0 && made != from) {
		files_copied(from, (int)made);
		timers_copied(from);
	}
	return error_of(r, made);
}

/*
 * One function for each group of calls. Return: 1 if the result is in @r, 0 if the kernel must do
 * the call now, OTHER if the call belongs to another group.
 */
#define OTHER (-1)

typedef int (*group)(long number, greg_t *r, const long *arg);

/* Calls that read or write. */
static int read_or_write(long number, greg_t *r, const long *arg)
{
	int file = (int)arg[0];

	switch (number) {
	case SYS_read:
		if (files_have(file))
			return error_of(r, read(file, (void *)arg[1], (size_t)arg[2]));
		return reads(r, file, true);
	case SYS_readv:
		if (files_have(file))
			return error_of(r, readv(file, (const void *)arg[1], (int)arg[2]));
		return reads(r, file, true);
	case SYS_accept:
	case SYS_accept4:
		return reads(r, file, true);
	case SYS_recvfrom:
		return reads(r, file, !(arg[3] & MSG_DONTWAIT));
	case SYS_recvmsg:
		return reads(r, file, !(arg[2] & MSG_DONTWAIT));
	case SYS_recvmmsg:
		r[REG_R10] |= MSG_WAITFORONE; /* else all threads would wait with it */
		return reads(r, file, !(arg[3] & MSG_DONTWAIT));
	case SYS_write:
		return writes(r, file, &r[REG_RDX]);
	case SYS_writev:
		return writes(r, file, NULL);
	case SYS_sendto:
		return !(arg[3] & MSG_DONTWAIT) && writes(r, file, &r[REG_RDX]);
	case SYS_sendmsg:
		return !(arg[2] & MSG_DONTWAIT) && writes(r, file, NULL);
	case SYS_sendmmsg:
		if (r[REG_RDX] > 1)
			r[REG_RDX] = 1; /* the program sends the others itself */
		return !(arg[3] & MSG_DONTWAIT) && writes(r, file, NULL);
	case SYS_splice:
	case SYS_sendfile:
		return reads(r, (int)arg[number == SYS_sendfile], true);
	default:
		return OTHER;
	}
}

/* Calls that wait for files, processes, time, or other threads. */
static int wait_for(long number, greg_t *r, const long *arg)
{
	int file = (int)arg[0], status = (int)arg[1];

	switch (number) {
	case SYS_open:
		return opens(r, AT_FDCWD, (const char *)arg[0], (int)arg[1], arg[2]);
	case SYS_openat:
		return opens(r, file, (const char *)arg[1], (int)arg[2], arg[3]);
	case SYS_futex:
		return futexes(r, arg);
	case SYS_wait4:
		return error_of(r, wait4(file, (int *)arg[1], (int)arg[2], (void *)arg[3]));
	case SYS_waitid:
		return !arg[4] && error_of(r, waitid((idtype_t)arg[0], (id_t)arg[1],
						     (siginfo_t *)arg[2], (int)arg[3]));
	case SYS_flock:
		return error_of(r, flock(file, status));
	case SYS_fcntl:
		return (status == F_SETLKW || status == F_OFD_SETLKW) &&
		       error_of(r, fcntl(file, status, arg[2]));
	case SYS_connect:
		return error_of(r, connect(file, (const void *)arg[1], (socklen_t)arg[2]));
	case SYS_poll:
		return error_of(r, poll((void *)arg[0], (nfds_t)arg[1], (int)arg[2]));
	case SYS_ppoll:
		return error_of(r, ppoll((void *)arg[0], (nfds_t)arg[1], (const void *)arg[2],
					 (const void *)arg[3]));
	case SYS_select:
		return error_of(r, select(file, (void *)arg[1], (void *)arg[2], (void *)arg[3],
					  (void *)arg[4]));
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return error_of(r, epoll_pwait(file, (void *)arg[1], (int)arg[2], (int)arg[3],
					       number == SYS_epoll_pwait ? (void *)arg[4] : NULL));
	case SYS_nanosleep:
		return error_of(r, nanosleep((const void *)arg[0], (void *)arg[1]));
	case SYS_clock_nanosleep:
		return give(r, -clock_nanosleep((clockid_t)arg[0], (int)arg[1],
						(const void *)arg[2], (void *)arg[3]));
	case SYS_sched_yield:
		return error_of(r, sched_yield());
	case SYS_pause:
		return error_of(r, pause());
	case SYS_rt_sigsuspend:
		return error_of(r, sigsuspend((const sigset_t *)arg[0]));
	case SYS_rt_sigtimedwait:
		return error_of(r, sigtimedwait((const void *)arg[0], (void *)arg[1],
						(const void *)arg[2]));
	default:
		return OTHER;
	}
}

/* Calls of System V and of POSIX that exchange messages or count. */
static int exchange(long number, greg_t *r, const long *arg)
{
	switch (number) {
	case SYS_msgrcv:
		return queues(r, number, &r[REG_R8], ENOMSG);
	case SYS_msgsnd:
		return queues(r, number, &r[REG_R10], EAGAIN);
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
		return mails(r, number);
	case SYS_semop:
		return semaphores(r, NULL);
	case SYS_semtimedop:
		return semaphores(r, (const struct timespec *)arg[3]);
	default:
		return OTHER;
	}
}

/* Calls about signals, and the number of a thread, which senders name. */
static int signal_call(long number, greg_t *r, const long *arg)
{
	int file = (int)arg[0], status = (int)arg[1];

	switch (number) {
	case SYS_rt_sigprocmask:
		return blocks(r);
	case SYS_rt_sigaction:
		return error_or(r, masks_action((int)arg[0], (const void *)arg[1], (void *)arg[2]));
	case SYS_rt_sigpending:
		return pends(r);
	case SYS_signalfd:
	case SYS_signalfd4:
		return give(r, files_make(file, (const uint64_t *)arg[1],
					  number == SYS_signalfd4 ? (int)arg[3] : 0));
	case SYS_sigaltstack:
		return error_or(
			r, stacks_set((const void *)arg[0], (void *)arg[1], (uintptr_t)r[REG_RSP]));
	case SYS_gettid:
		return give(r, exact_self->tid);
	case SYS_tkill:
		return sends(r, 0, file, status, NULL);
	case SYS_tgkill:
		return sends(r, file, status, (int)arg[2], NULL);
	case SYS_rt_tgsigqueueinfo:
		return sends(r, file, status, (int)arg[2], (const siginfo_t *)arg[3]);
	case SYS_kill:
	case SYS_rt_sigqueueinfo:
		return kills(r, number);
	default:
		return OTHER;
	}
}

/* Calls that make or copy processes and files, or close files. */
static int copy_or_close(long number, greg_t *r, const long *arg)
{
	int file = (int)arg[0];

	switch (number) {
	case SYS_fork:
		return error_of(r, fork());
	case SYS_vfork:
		exact.strangers = true;
		exact.children++;
		return false;
	case SYS_clone:
		if (arg[0] == SIGCHLD && !arg[1])
			return error_of(r, fork());
		return clones((uint64_t)arg[0]);
	case SYS_clone3:
		return clones(*(const uint64_t *)arg[0]);
	case SYS_close:
		closed(file);
		return false;
	case SYS_close_range:
		for (long n = arg[0]; !(arg[2] & CLOSE_LATER) && n <= arg[1] && n < MOST_FILES; n++)
			closed((int)n);
		return false;
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
		return copies(r, number);
	default:
		return OTHER;
	}
}

/* Return: true if the result is in @r, false if the kernel must do the call now. */
static bool waited(long number, greg_t *r)
{
	static const group groups[] = { read_or_write, wait_for, exchange, signal_call,
					copy_or_close };
	const long arg[6] = {
		r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]
	};
	long result = 0;

	for (unsigned int i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		int done = groups[i](number, r, arg);

		if (done != OTHER)
			return done;
	}
	return (asks_call(number, arg, &result) || timers_call(number, arg, &result)) &&
	       give(r, result);
}

static void called(int which, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *r = uc->uc_mcontext.gregs;
	int before = errno;
	uint64_t at;
	bool there;

	if (info->si_code != USER_DISPATCH) {
		/* A seccomp filter of the program. */
		PASS(signal(which, SIG_DFL));
		PASS(raise(which));
		return;
	}
	if (exact_on()) {
		sched_cycles(EXACT_CALL);
		if (info->si_syscall != SYS_futex)
			spin_else();
		exact_self->dispatched = true;
		there = waited(info->si_syscall, r);
		exact_self->dispatched = false;
		masks_frame(context);
		if (!exact.recording) /* a child */
			memcpy(&uc->uc_sigmask, &exact_self->mask, sizeof(exact_self->mask));
		if (there) {
			errno = before;
			return;
		}
	}
	errno = before;
	at = place_of((uint64_t)r[REG_RIP]);
	if (at)
		r[REG_RIP] = (greg_t)at;
	else
		give(r, -ENOSYS);
}

/* ---- the beginning ---- */

int dispatch_handle(int which, int flags,
		    void (*handler)(int which, siginfo_t *info, void *context))
{
	struct masks_action own = { .handler = handler,
				    .flags = (unsigned long)(flags | OWN) | RESTORER,
				    .restorer = &place[0] };
	struct sigaction plain = { .sa_sigaction = handler, .sa_flags = flags | OWN };

	if (!place)
		return sigaction(which, &plain, NULL);
	return (int)KERNEL(SYS_rt_sigaction, which, &own, NULL, sizeof(own.mask));
}

void dispatch_begin(void)
{
	place = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (place == MAP_FAILED) {
		place = NULL;
		return;
	}
	memcpy(&place[0], code_return, sizeof(code_return));
	if (prctl(SET_DISPATCH, DISPATCH_ON, place, ROOM, &pass_selector) ||
	    dispatch_handle(SIGSYS, 0, called)) {
		munmap(place, ROOM);
		place = NULL;
		return;
	}
	pass_all(false);
	masks_begin(&place[0]);
}
