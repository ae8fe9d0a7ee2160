// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * syscall() handles futexes, which C++ and Rust call by number because the C library has no
 * function for them. It also handles the messages of record/program/preload.c, which is linked into
 * this library.
 */
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pass.h"
#include "lines.h"
#include "protocol.h"
#include "sync.h"
#include "user.h"

/* What preload.c does for names is not part of the program, so none of it is recorded. */
static _Thread_local struct {
	struct thread *self;
	uint32_t mine;
	bool hidden;
} shown;

static void hide(void)
{
	shown.self = exact_self;
	shown.mine = lines_mine;
	shown.hidden = true;
	exact_self = NULL;
	lines_mine = 0;
}

static void show(void)
{
	exact_self = shown.self;
	lines_mine = shown.mine;
	shown.hidden = false;
}

static void take_message(const long *arg)
{
	static bool busy;
	bool was = shown.hidden;

	/* heap.c allocates too, while it holds its lock. */
	if (busy)
		return;
	if (!was)
		hide();
	if (arg[0] == PROTOCOL_HIDE && arg[1])
		return;
	busy = true;
	if (arg[0] == PROTOCOL_SITE)
		heap_site((uint64_t)arg[1], (const uint64_t *)arg[2], (uint32_t)arg[3]);
	else if (arg[0] == PROTOCOL_ALLOC)
		heap_alloc((uint64_t)arg[1], (uint64_t)arg[2], (uint64_t)arg[3], (uint64_t)arg[4],
			   (uint64_t)arg[5]);
	else if (arg[0] == PROTOCOL_FREE)
		heap_free((uint64_t)arg[1]);
	else if (arg[0] == PROTOCOL_CALLERS)
		notes_frames((const struct protocol_frame *)arg[1], (uint32_t)arg[2]);
	busy = false;
	if (!was || arg[0] == PROTOCOL_HIDE)
		show();
}

/* A relative wait uses the monotonic clock; an absolute wait names its clock. */
static uint64_t until_of(int op, const struct timespec *ts)
{
	struct timespec at;

	if (!ts)
		return EXACT_EVER;
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		return clock_until(op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC,
				   ts);
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ts->tv_sec;
	at.tv_nsec += ts->tv_nsec;
	return clock_until(CLOCK_MONOTONIC, &at);
}

static int failed(int error)
{
	errno = error;
	return -1;
}

static int futex(const long *arg, const void *pc)
{
	const uint32_t *word = (const uint32_t *)arg[0];
	int op = (int)arg[1], result;
	uint32_t value = (uint32_t)arg[2], bits = (uint32_t)arg[5];

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		bits = UINT32_MAX;
		/* fallthrough */
	case FUTEX_WAIT_BITSET:
		result = futex_wait(word, value, until_of(op, (const struct timespec *)arg[3]),
				    bits, "futex", pc);
		return result ? failed(result) : 0;
	case FUTEX_WAKE:
		return futex_wake(word, (int)value, UINT32_MAX);
	case FUTEX_WAKE_BITSET:
		return futex_wake(word, (int)value, bits);
	case FUTEX_CMP_REQUEUE:
		if ((uint32_t)lines_load(word, 4, __ATOMIC_SEQ_CST, pc) != (uint32_t)arg[5])
			return failed(EAGAIN);
		/* fallthrough */
	case FUTEX_REQUEUE:
		return futex_requeue(word, (int)value, (int)arg[3], (const void *)arg[4]);
	default:
		return failed(ENOSYS);
	}
}

API long syscall(long number, ...)
{
	long arg[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(list, long); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(list);
	if (number == PROTOCOL_CALL) {
		if (exact.recording)
			take_message(arg);
		return failed(ENOSYS);
	}
	if (exact_on()) {
		if (number == SYS_futex)
			return futex(arg, HERE);
		if (number == SYS_gettid)
			return exact_self->tid;
		if (number == SYS_sched_yield)
			return sched_yield();
		if (!pass_armed)
			sched_cycles(EXACT_CALL);
	}
	return REAL(syscall)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

API pid_t gettid(void)
{
	if (!exact_on())
		return (pid_t)REAL(syscall)(SYS_gettid);
	return exact_self->tid;
}
