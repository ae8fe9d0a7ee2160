// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Functions that start threads, or wait for them, outlive what those threads do: their locals may
 * be the data that others contend for. This part tells the recorder the frames of such functions,
 * and the report finds the local at an address (cli/schedshard/c2c/naming/locals.py).
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "preload.h"
#include "protocol.h"

static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*next_join)(pthread_t, void **);

static void find_all(void)
{
	if (!next_create) {
		next_join = dlsym(RTLD_NEXT, "pthread_join");
		next_create = dlsym(RTLD_NEXT, "pthread_create");
	}
}

/* A loop that starts threads, or waits for them, walks its frames once. */
static void tell_callers(const void *back, const void *stack)
{
	static _Thread_local const void *last[2] __attribute__((tls_model("initial-exec")));
	struct protocol_frame frame[PROTOCOL_FRAMES];
	uint32_t n;

	if ((last[0] == back && last[1] == stack) || !preload_enter())
		return;
	last[0] = back;
	last[1] = stack;
	n = preload_frames(frame, stack);
	if (n)
		preload_tell(PROTOCOL_CALLERS, (uint64_t)(uintptr_t)frame, n, 0, 0, 0);
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
