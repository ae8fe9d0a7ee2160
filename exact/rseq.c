// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Since version 2.35 the C library registers such a word for each thread of the host, and the
 * kernel writes it when that thread goes on after another one. So each thread unregisters its own
 * one, before a thread of the program has that memory.
 */
#include "rseq.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"

#define SIGNATURE  0x53053053 /* of the C library, before each handler of a section */
#define UNREGISTER 1
#define SMALLEST   32u
#define LARGEST	   256u

/* Of the C library: where it is, from the thread pointer on, and how many bytes of it are used. */
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

	/* It is to be as long as it was registered. */
	for (uint32_t size = SMALLEST; area && size <= LARGEST; size += 8)
		if (!REAL(long, syscall, (long, ...))(SYS_rseq, area, size, UNREGISTER, SIGNATURE))
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
