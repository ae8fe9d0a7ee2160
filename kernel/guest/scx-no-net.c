// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Preloaded into a loader of BPF in a guest without a network. To learn what the kernel supports,
 * libbpf loads small programs of the type that filters sockets. A kernel without a network refuses
 * that type, and libbpf concludes that the kernel lacks global variables. So this library loads
 * such a program again, as one for a raw tracepoint.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#define COMMAND 0xffff /* the bits above it are flags */

long syscall(long nr, ...);

long syscall(long nr, ...)
{
	static long (*next)(long nr, ...);
	/* Larger than what any kernel knows; the type of a program comes first. */
	__u32 attr[128] = { 0 };
	long arg[6], found;
	va_list list;

	va_start(list, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	found = next(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (found >= 0 || errno != EINVAL || nr != __NR_bpf || (arg[0] & COMMAND) != BPF_PROG_LOAD)
		return found;
	if ((size_t)arg[2] > sizeof(attr))
		return found;
	memcpy(attr, (void *)arg[1], (size_t)arg[2]);
	if (attr[0] != BPF_PROG_TYPE_SOCKET_FILTER)
		return found;
	attr[0] = BPF_PROG_TYPE_RAW_TRACEPOINT;
	return next(nr, arg[0], attr, arg[2], arg[3], arg[4], arg[5]);
}
