// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Since version 2.35 glibc registers an rseq area for each real thread. The kernel writes to that
 * area when it schedules the thread. So each real thread unregisters its area before a thread of
 * the program uses that memory.
 */
#include "rseq.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"

#define SIGNATURE  0x53053053 /* glibc's number before each abort handler */
#define UNREGISTER 1
#define SMALLEST   32u
#define LARGEST	   256u

/* glibc's: the area's offset from the thread pointer, and how many bytes of it are used. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* As in <linux/rseq.h>. */
struct area {
	uint32_t cpu_start, cpu;
	uint64_t section;
	uint32_t flags, node;
};

static struct area *own(void)
{
	if (!&__rseq_size || !__rseq_size)
		return NULL;
	return (struct area *)(void *)((char *)exact_local() + __rseq_offset);
}

void rseq_leave(void)
{
	struct area *area = own();

	/* The kernel wants the registered size, so try all sizes. */
	for (uint32_t size = SMALLEST; area && size <= LARGEST; size += 8)
		if (!REAL(syscall)(SYS_rseq, area, size, UNREGISTER, SIGNATURE))
			break;
}

void rseq_thread(void)
{
	struct area *area = own();

	if (!area)
		return;
	area->cpu_start = area->cpu = exact_cpu(exact_self->cpu);
	if (__rseq_size >= offsetof(struct area, node) + sizeof(area->node))
		area->node = exact_node(exact_self->cpu);
}

void rseq_end(void)
{
	struct area *area = own();

	if (area)
		area->cpu = (uint32_t)-1; /* not registered */
}
