// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Functions that start threads, or wait for them, outlive what those threads do: their locals may
 * be the data that others contend for. This part tells the recorder the frames of such functions,
 * and the report finds the local at an address (cli/schedshard/c2c/naming/frames.py).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unwind.h>

#include "preload.h"
#include "protocol.h"

#define REGISTER_RBP 6 /* as DWARF counts them */
/* This file's own frames, which are the innermost ones. */
#define OWN_FRAMES 2

typedef _Unwind_Reason_Code unwind_function(_Unwind_Trace_Fn, void *);

static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*next_join)(pthread_t, void **);

/* Of libgcc_s, which preload.c's backtrace() has loaded: NULL without. */
static unwind_function *unwind;
static uint64_t (*ip_of)(struct _Unwind_Context *);
static uint64_t (*sp_of)(struct _Unwind_Context *);
static uint64_t (*register_of)(struct _Unwind_Context *, int);

static void find_unwinder(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return;
	ip_of = dlsym(library, "_Unwind_GetIP");
	sp_of = dlsym(library, "_Unwind_GetCFA");
	register_of = dlsym(library, "_Unwind_GetGR");
	if (ip_of && sp_of && register_of)
		unwind = dlsym(library, "_Unwind_Backtrace");
}

static void find_all(void)
{
	static pthread_once_t unwinder = PTHREAD_ONCE_INIT;

	if (!next_create) {
		next_join = dlsym(RTLD_NEXT, "pthread_join");
		next_create = dlsym(RTLD_NEXT, "pthread_create");
	}
	if (preload_enter()) {
		pthread_once(&unwinder, find_unwinder);
		preload_leave();
	}
}

struct walk {
	struct protocol_frame frame[PROTOCOL_FRAMES];
	uint32_t n, skipped;
};

static _Unwind_Reason_Code each_frame(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;

	if (w->skipped++ < OWN_FRAMES)
		return _URC_NO_REASON;
	/* While a frame is looked at, its callee's "canonical frame address" is its own rsp. */
	w->frame[w->n++] = (struct protocol_frame){ ip_of(context), sp_of(context),
						    register_of(context, REGISTER_RBP) };
	return w->n < PROTOCOL_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* A loop that starts threads, or waits for them, walks its frames once. */
static __attribute__((noinline)) void tell_callers(const void *back, const void *stack)
{
	static _Thread_local const void *last[2] __attribute__((tls_model("initial-exec")));
	struct walk walk = { .n = 0 };

	if (!unwind || (last[0] == back && last[1] == stack) || !preload_enter())
		return;
	last[0] = back;
	last[1] = stack;
	unwind(each_frame, &walk);
	preload_tell(PROTOCOL_CALLERS, (uint64_t)(uintptr_t)walk.frame, walk.n, 0, 0);
	preload_leave();
}

PRELOAD_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			       void *arg)
{
	find_all();
	tell_callers(PRELOAD_HERE);
	return next_create ? next_create(thread, attr, run, arg) : EAGAIN;
}

PRELOAD_API int pthread_join(pthread_t thread, void **returned)
{
	find_all();
	tell_callers(PRELOAD_HERE);
	return next_join ? next_join(thread, returned) : ESRCH;
}
