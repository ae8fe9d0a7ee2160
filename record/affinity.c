// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The machine's CPUs, for a program that asks the kernel for them.
 *
 * The emulator asks its own kernel for a thread's CPUs by syscall(), a function of the C library
 * that this preloaded library replaces. So a static program, or one that asks the kernel itself as
 * Go's runtime does, sees the machine's CPUs. calls.c handles the CPUs on which a thread may run,
 * at the start of the call.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user.h"

__attribute__((visibility("default"))) long syscall(long number, ...);

static long affinity(bool set, size_t size, unsigned char *mask)
{
	size_t bytes = (plugin.nr_vcpus + 63) / 64 * 8;

	if (set)
		return 0;
	if (size < bytes) {
		errno = EINVAL;
		return -1;
	}
	memset(mask, 0, bytes);
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		mask[i / 8] |= (unsigned char)(1u << i % 8);
	return (long)bytes;
}

long syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (unsigned int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (plugin.nr_vcpus && (number == SYS_sched_getaffinity || number == SYS_sched_setaffinity))
		return affinity(number == SYS_sched_setaffinity, (size_t)a[1],
				(unsigned char *)(uintptr_t)a[2]);
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
