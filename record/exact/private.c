// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model's memory is separate from the program's. Otherwise the model's needs would decide where
 * the program's objects lie, and another seed would change the program's layout.
 *
 * The C library has an arena per thread, which it finds by thread-local memory. So one more real
 * thread prepares the recording and then waits for ever, and this library allocates everything with
 * the thread-local memory of that thread. The linker (--wrap) redirects this library's calls of
 * malloc() and the like to this file.
 */
#include "private.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "exact.h"
#include "real.h"

/* glibc's own names of its allocator. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *at);

void *__wrap_malloc(size_t size) HIDDEN;
void *__wrap_calloc(size_t n, size_t size) HIDDEN;
void *__wrap_realloc(void *at, size_t size) HIDDEN;
void *__wrap_aligned_alloc(size_t alignment, size_t size) HIDDEN;
void __wrap_free(void *at) HIDDEN;

static struct fiber keeper; /* its thread-local memory is that of the waiting thread */

static struct fiber enter(void)
{
	struct fiber back = { 0 };

	if (keeper.local) {
		__asm__("movq %%fs:0, %0" : "=r"(back.local));
		fiber_local(&keeper);
	}
	return back;
}

static void leave(const struct fiber *back)
{
	if (back->local)
		fiber_local(back);
}

#define PRIVATELY(call)                      \
	do {                                 \
		struct fiber back = enter(); \
		void *made = call;           \
                                             \
		leave(&back);                \
		return made;                 \
	} while (0)

void *__wrap_malloc(size_t size)
{
	PRIVATELY(__libc_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	PRIVATELY(__libc_calloc(n, size));
}

void *__wrap_realloc(void *at, size_t size)
{
	PRIVATELY(__libc_realloc(at, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	PRIVATELY(__libc_memalign(alignment, size));
}

void __wrap_free(void *at)
{
	struct fiber back = enter();

	__libc_free(at);
	leave(&back);
}

void private_do(void (*work)(void))
{
	struct fiber back = enter();

	work();
	leave(&back);
}

/* ---- the thread ---- */

struct work {
	void (*prepare)(const char *settings);
	const char *settings;
	void *local;
	int done;
};

static void *keep(void *arg)
{
	struct work *w = arg;

	w->prepare(w->settings);
	w->local = exact_local();
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

int private_begin(void (*prepare)(const char *settings), const char *settings)
{
	struct work w = { .prepare = prepare, .settings = settings };
	sigset_t all, before;
	pthread_t thread;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = REAL(pthread_create)(&thread, NULL, keep, &w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return -1;
	while (!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE))
		usleep(100);
	keeper.local = w.local;
	return 0;
}
