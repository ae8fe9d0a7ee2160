// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Shows the machine to the program. All functions of the C library that report CPUs report the
 * machine's, and the files of /sys and /proc are those that machine_view.py has written.
 */
/* This file defines both names of open(); the compiler must not replace one by the other. */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "lines.h"
#include "sync.h"

API int sched_getcpu(void)
{
	if (!exact_on())
		return REAL(sched_getcpu)();
	sched_work(20);
	return (int)exact_cpu(exact_self->cpu);
}

API int getcpu(unsigned int *cpu, unsigned int *node)
{
	if (!exact_on())
		return REAL(getcpu)(cpu, node);
	sched_work(20);
	if (cpu)
		*cpu = exact_cpu(exact_self->cpu);
	if (node)
		*node = exact_node(exact_self->cpu);
	return 0;
}

API long sysconf(int name)
{
	if (exact.recording && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF))
		return (long)exact.watch.setup.nr_cpus;
	return REAL(sysconf)(name);
}

API int get_nprocs(void)
{
	return exact.recording ? (int)exact.watch.setup.nr_cpus : REAL(get_nprocs)();
}

API int get_nprocs_conf(void)
{
	return exact.recording ? (int)exact.watch.setup.nr_cpus : REAL(get_nprocs_conf)();
}

/* ---- affinity ---- */

static void all_cpus(size_t size, cpu_set_t *set)
{
	CPU_ZERO_S(size, set);
	for (uint32_t n = 0; n < exact.watch.setup.nr_cpus; n++)
		CPU_SET_S(exact_cpu(n), size, set);
}

static struct thread *by_tid(pid_t tid)
{
	for (uint32_t i = 0; i < exact.nr_threads; i++)
		if (exact.threads[i]->tid == tid)
			return exact.threads[i];
	return tid ? NULL : exact_self;
}

static struct thread *by_handle(pthread_t real)
{
	for (uint32_t i = exact.nr_threads; i--;)
		if (exact.threads[i]->real == real)
			return exact.threads[i];
	return NULL;
}

static int get_affinity(const struct thread *t, size_t size, cpu_set_t *set)
{
	if (!t)
		return ESRCH;
	all_cpus(size, set);
	if (t->allowed_words) {
		size_t own = t->allowed_words * sizeof(*t->allowed);

		memset(set, 0, size);
		memcpy(set, t->allowed, own < size ? own : size);
	}
	return 0;
}

static int set_affinity(struct thread *t, size_t size, const cpu_set_t *set)
{
	uint32_t words = (uint32_t)(size / sizeof(uint64_t));

	if (!t)
		return ESRCH;
	sched_cycles(EXACT_CALL);
	return sched_move(t, (const uint64_t *)(const void *)set, words);
}

API int sched_getaffinity(pid_t tid, size_t size, cpu_set_t *set)
{
	int error;

	if (!exact_on())
		return REAL(sched_getaffinity)(tid, size, set);
	error = get_affinity(by_tid(tid), size, set);
	errno = error ? error : errno;
	return error ? -1 : 0;
}

API int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	int error;

	if (!exact_on())
		return REAL(sched_setaffinity)(tid, size, set);
	error = set_affinity(by_tid(tid), size, set);
	errno = error ? error : errno;
	return error ? -1 : 0;
}

API int pthread_getaffinity_np(pthread_t real, size_t size, cpu_set_t *set)
{
	if (!exact_on())
		return REAL(pthread_getaffinity_np)(real, size, set);
	return get_affinity(by_handle(real), size, set);
}

API int pthread_setaffinity_np(pthread_t real, size_t size, const cpu_set_t *set)
{
	if (!exact_on())
		return REAL(pthread_setaffinity_np)(real, size, set);
	return set_affinity(by_handle(real), size, set);
}

/* ---- files ---- */

/*
 * Write a path without "//", "." and "..", with a slash before each part. Return: the end of the
 * text, or NULL if there is no room for it.
 */
static char *tidy(const char *path, char *into, const char *end)
{
	char *at = into;

	for (size_t n; *(path += strspn(path, "/")); path += n) {
		n = strcspn(path, "/");
		if (n == 1 && *path == '.')
			continue;
		if (n == 2 && !memcmp(path, "..", 2)) {
			while (at > into && *--at != '/')
				;
			continue;
		}
		if ((size_t)(end - at) < n + 2)
			return NULL;
		*at++ = '/';
		at = mempcpy(at, path, n);
	}
	*at = '\0';
	return at;
}

/* Return the machine's file of this name, in @into, or else the name itself. */
static const char *path_in_view(const char *path, char into[4096])
{
	size_t before;
	char *at;

	if (!exact.recording || !exact.view || !path || *path != '/')
		return path;
	before = strlen(exact.view);
	if (before >= 4096)
		return path;
	memcpy(into, exact.view, before);
	at = into + before;
	if (!tidy(path, at, into + 4096) ||
	    (strncmp(at, "/sys/", 5) != 0 && strncmp(at, "/proc/", 6) != 0) ||
	    REAL(access)(into, F_OK))
		return path;
	return into;
}

/* Read the last argument, which exists only if the call may create a file. */
#define MODE(mode, flags)                        \
	if ((flags) & (O_CREAT | __O_TMPFILE)) { \
		va_list list;                    \
                                                 \
		va_start(list, flags);           \
		(mode) = va_arg(list, int);      \
		va_end(list);                    \
	}

API int open(const char *path, int flags, ...)
{
	char own[4096];
	int mode = 0;

	MODE(mode, flags); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	return REAL(open)(path_in_view(path, own), flags, mode);
}

API int open64(const char *path, int flags, ...) __attribute__((alias("open")));

API int openat(int folder, const char *path, int flags, ...)
{
	char own[4096];
	int mode = 0;

	MODE(mode, flags); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	return REAL(openat)(folder, path_in_view(path, own), flags, mode);
}

API FILE *fopen(const char *path, const char *how)
{
	char own[4096];

	return REAL(fopen)(path_in_view(path, own), how);
}

API FILE *fopen64(const char *path, const char *how) __attribute__((alias("fopen")));

API DIR *opendir(const char *path)
{
	char own[4096];

	return REAL(opendir)(path_in_view(path, own));
}

API int access(const char *path, int how)
{
	char own[4096];

	return REAL(access)(path_in_view(path, own), how);
}
