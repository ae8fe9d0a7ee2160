// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Shows the machine's CPUs to a program that asks the kernel for them.
 *
 * The emulator asks its own kernel by syscall(), a function of the C library that this preloaded
 * library replaces. So every program sees the machine's CPUs, even a static one, or one that asks
 * the kernel itself, as Go's runtime does. At the start of a sched_setaffinity(), calls.c moves the
 * thread to a CPU on which it may run. This file remembers what the program asked for.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared.h"
#include "user.h"
#include "view.h"

_Thread_local struct user_thread *user_current;

__attribute__((visibility("default"))) long syscall(long number, ...);

static bool has(const uint64_t *mask, uint32_t cpu)
{
	return cpu / 64 < USER_MASK_WORDS && mask[cpu / 64] >> (cpu % 64) & 1;
}

static struct user_thread *thread_of(long tid)
{
	if (!tid || (user_current && tid == user_current->tid))
		return user_current;
	for (uint32_t i = 0; i < USER_THREADS; i++)
		if (user.thread[i].begun && user.thread[i].tid == tid)
			return &user.thread[i];
	return NULL;
}

static long get_affinity(long tid, size_t size, unsigned char *mask)
{
	const struct user_thread *t = thread_of(tid);
	const uint32_t *cpu = plugin.watch.setup.cpu;
	size_t bytes = 0;

	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		if (cpu[i] / 64 * 8 + 8 > bytes)
			bytes = cpu[i] / 64 * 8 + 8;
	if (size < bytes) {
		errno = EINVAL;
		return -1;
	}
	memset(mask, 0, bytes);
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		if (!t || !t->asked || has(t->asked, cpu[i]))
			mask[cpu[i] / 8] |= (unsigned char)(1u << cpu[i] % 8);
	return (long)bytes;
}

static long set_affinity(long tid, size_t size, const unsigned char *mask)
{
	uint64_t asked[USER_MASK_WORDS] = { 0 };
	struct user_thread *t = thread_of(tid);
	bool any = false;

	memcpy(asked, mask, size < sizeof(asked) ? size : sizeof(asked));
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		any |= has(asked, plugin.watch.setup.cpu[i]);
	if (!any) {
		errno = EINVAL;
		return -1;
	}
	if (t && !t->asked)
		t->asked = malloc(sizeof(asked));
	if (t && t->asked)
		memcpy(t->asked, asked, sizeof(asked));
	return 0;
}

static long get_cpu(unsigned int *cpu, unsigned int *node)
{
	uint32_t n = user_current ? user_current->cpu : USER_NO_CPU;

	if (n == USER_NO_CPU)
		n = 0;
	if (cpu)
		*cpu = plugin.watch.setup.cpu[n];
	if (node)
		*node = shared->cpu[n].node;
	return 0;
}

long syscall(long number, ...)
{
	char space[VIEW_PATH];
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (unsigned int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (plugin.nr_vcpus && number == SYS_sched_getaffinity)
		return get_affinity(a[0], (size_t)a[1], (unsigned char *)(uintptr_t)a[2]);
	if (plugin.nr_vcpus && number == SYS_sched_setaffinity)
		return set_affinity(a[0], (size_t)a[1], (const unsigned char *)(uintptr_t)a[2]);
	if (plugin.nr_vcpus && number == SYS_getcpu)
		return get_cpu((unsigned int *)(uintptr_t)a[0], (unsigned int *)(uintptr_t)a[1]);
	if (number == SYS_statx)
		a[1] = (long)(uintptr_t)view_path((const char *)(uintptr_t)a[1], space);
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}
