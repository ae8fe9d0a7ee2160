// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-record.so is loaded into the recorded program, before its other libraries.
 *
 * It reports to the recorder (protocol.h) what is allocated where. Signal handlers get an aligned
 * stack (handlers.c). Nothing else changes: each function calls the next one of its name. The
 * library also works in an unrecorded child, which may run without the emulator.
 */
/* This file defines both names of mmap(); the compiler must not replace one by the other. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "preload.h"
#include "protocol.h"

#define BOOTSTRAP 16384u

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_mmap)(void *, size_t, int, int, int, off_t);
static int (*next_munmap)(void *, size_t);
static void *(*next_shmat)(int, const void *, int);
static int (*next_shmdt)(const void *);

static bool ready;
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* Memory for allocations during the search for the C library's functions; never freed. */
static char bootstrap[BOOTSTRAP] __attribute__((aligned(16)));
static size_t bootstrapped;

static void *early(size_t size)
{
	size_t at = __atomic_fetch_add(&bootstrapped, (size + 15) & ~(size_t)15, __ATOMIC_RELAXED);

	return at + size <= BOOTSTRAP ? bootstrap + at : NULL;
}

static bool is_early(const void *at)
{
	return (const char *)at >= bootstrap && (const char *)at < bootstrap + BOOTSTRAP;
}

bool preload_enter(void)
{
	if (!ready || inside)
		return false;
	inside = true;
	preload_send(PROTOCOL_HIDE, 1, 0, 0, 0, 0);
	return true;
}

void preload_leave(void)
{
	preload_send(PROTOCOL_HIDE, 0, 0, 0, 0, 0);
	inside = false;
}

/* From the linker: begin and end of this library's code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/*
 * Called at the first call of any function here, because constructors of all other libraries run
 * before this one's. The search may allocate, and then uses the early memory.
 */
static void find_all(void)
{
	static bool begun;

	if (next_malloc || __atomic_exchange_n(&begun, true, __ATOMIC_ACQ_REL))
		return;
	next_calloc = dlsym(RTLD_NEXT, "calloc");
	next_realloc = dlsym(RTLD_NEXT, "realloc");
	next_free = dlsym(RTLD_NEXT, "free");
	next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next_mmap = dlsym(RTLD_NEXT, "mmap");
	next_munmap = dlsym(RTLD_NEXT, "munmap");
	next_shmat = dlsym(RTLD_NEXT, "shmat");
	next_shmdt = dlsym(RTLD_NEXT, "shmdt");
	next_malloc = dlsym(RTLD_NEXT, "malloc");
}

static void local(uint64_t base, uint64_t distance)
{
	preload_send(PROTOCOL_LOCALS, base, distance, 0, 0, 0);
}

__attribute__((constructor)) static void begin(void)
{
	static volatile uint64_t word = 0x5c4ed5ca9d000000ull;
	int (*backtrace)(void **, int);
	void *frames[4];

	find_all();
	inside = true;
	preload_send(PROTOCOL_HIDE, 1, 0, 0, 0, 0);
	/* backtrace() loads the libraries that it needs. Not every C library has it. */
	backtrace = dlsym(RTLD_DEFAULT, "backtrace");
	if (backtrace)
		backtrace(frames, 4);
	preload_find_unwinder();
	preload_locals(local);
	preload_send(PROTOCOL_HIDE, 0, 0, 0, 0, 0);
	inside = false;
	preload_send(PROTOCOL_HELLO, (uint64_t)(uintptr_t)&word, word,
		     (uint64_t)(uintptr_t)__ehdr_start, (uint64_t)(uintptr_t)etext, 0);
	ready = true;
}

static inline __attribute__((always_inline)) void
allocated(void *at, size_t size, size_t element, size_t alignment, void *back, void *stack)
{
	if (!at || !ready || inside)
		return;
	inside = true;
	preload_send(PROTOCOL_ALLOC, (uint64_t)(uintptr_t)at, size, preload_place(back, stack),
		     element, alignment);
	inside = false;
}

/* @size: 0 where only the allocator knows it */
static void freed(void *at, size_t size)
{
	if (at && ready && !inside)
		preload_send(PROTOCOL_FREE, (uint64_t)(uintptr_t)at, size, 0, 0, 0);
}

/* ---- memory ---- */

PRELOAD_API void *malloc(size_t size)
{
	void *at;

	find_all();
	if (!next_malloc)
		return early(size);
	at = next_malloc(size);
	allocated(at, size, 0, 0, PRELOAD_HERE);
	return at;
}

PRELOAD_API void *calloc(size_t n, size_t size)
{
	void *at;

	find_all();
	if (!next_calloc)
		return size && n > SIZE_MAX / size ? NULL : early(n * size);
	at = next_calloc(n, size);
	allocated(at, n * size, size, 0, PRELOAD_HERE);
	return at;
}

PRELOAD_API void free(void *at)
{
	if (is_early(at) || !next_free)
		return;
	freed(at, 0);
	next_free(at);
}

PRELOAD_API void *realloc(void *old, size_t size)
{
	void *at;

	find_all();
	if (is_early(old) || !next_realloc) {
		size_t most = old ? (size_t)(bootstrap + BOOTSTRAP - (char *)old) : 0;

		at = next_malloc ? next_malloc(size) : early(size);
		if (at && old)
			memcpy(at, old, size < most ? size : most);
		return at;
	}
	freed(old, 0);
	at = next_realloc(old, size);
	allocated(at, size, 0, 0, PRELOAD_HERE);
	return at;
}

PRELOAD_API int posix_memalign(void **at, size_t alignment, size_t size)
{
	int failed;

	find_all();
	failed = next_posix_memalign(at, alignment, size);
	if (!failed)
		allocated(*at, size, 0, alignment, PRELOAD_HERE);
	return failed;
}

PRELOAD_API void *aligned_alloc(size_t alignment, size_t size)
{
	void *at;

	find_all();
	at = next_aligned_alloc(alignment, size);
	allocated(at, size, 0, alignment, PRELOAD_HERE);
	return at;
}

PRELOAD_API void *memalign(size_t alignment, size_t size) __attribute__((alias("aligned_alloc")));

PRELOAD_API void *mmap(void *where, size_t size, int rights, int flags, int file, off_t offset)
{
	void *at;

	find_all();
	at = next_mmap(where, size, rights, flags, file, offset);
	if (at != MAP_FAILED && flags & (MAP_ANONYMOUS | MAP_SHARED))
		allocated(at, size, 0, PROTOCOL_MAPPED, PRELOAD_HERE);
	return at;
}

PRELOAD_API void *mmap64(void *where, size_t size, int rights, int flags, int file, off_t offset)
	__attribute__((alias("mmap")));

PRELOAD_API int munmap(void *at, size_t size)
{
	find_all();
	freed(at, size);
	return next_munmap(at, size);
}

PRELOAD_API void *shmat(int id, const void *where, int flags)
{
	struct shmid_ds about;
	void *at;

	find_all();
	at = next_shmat(id, where, flags);
	if (at != MAP_FAILED && !shmctl(id, IPC_STAT, &about))
		allocated(at, about.shm_segsz, 0, PROTOCOL_MAPPED, PRELOAD_HERE);
	return at;
}

PRELOAD_API int shmdt(const void *at)
{
	find_all();
	freed((void *)(uintptr_t)at, 0);
	return next_shmdt(at);
}

/* ---- callers ---- */

/*
 * Functions that start threads, or wait for them, are active while those threads run, and the
 * threads may contend for their locals. This reports the frames of such functions to the recorder,
 * and the report finds the local at an address (record/names/locals.py).
 */
void preload_callers(const void *back, const void *stack)
{
	static _Thread_local const void *last[2] __attribute__((tls_model("initial-exec")));
	struct protocol_frame frame[PROTOCOL_FRAMES];
	uint32_t n;

	/* A loop that starts threads, or waits for them, walks its frames once. */
	if ((last[0] == back && last[1] == stack) || !preload_enter())
		return;
	last[0] = back;
	last[1] = stack;
	n = preload_frames(frame, stack);
	if (n)
		preload_send(PROTOCOL_CALLERS, (uint64_t)(uintptr_t)frame, n, 0, 0, 0);
	preload_leave();
}
