// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Reports the callers of pthread_create() and pthread_join(); preload_callers() says why. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "preload.h"

static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*next_join)(pthread_t, void **);

static void find_all(void)
{
	if (!next_create) {
		next_join = dlsym(RTLD_NEXT, "pthread_join");
		next_create = dlsym(RTLD_NEXT, "pthread_create");
	}
}

PRELOAD_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			       void *arg)
{
	find_all();
	preload_callers(PRELOAD_HERE);
	return next_create ? next_create(thread, attr, run, arg) : EAGAIN;
}

PRELOAD_API int pthread_join(pthread_t thread, void **returned)
{
	find_all();
	preload_callers(PRELOAD_HERE);
	return next_join ? next_join(thread, returned) : ESRCH;
}
