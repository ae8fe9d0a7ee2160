/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * linux_api.h - the part of Linux's interfaces that core/sched/ uses, implemented with port.h. So
 * the simulated machine and the explorer run the same files as the kernel.
 *
 * A task_struct contains only a caller's arguments, and the active CPUs.
 */
#ifndef LAYOUTS_LINUX_API_H
#define LAYOUTS_LINUX_API_H

#include "port.h"
#include "shard_topo.h"

#include <errno.h>
#include <stdlib.h>

#define ____cacheline_aligned port_cacheline_aligned
#define SMP_CACHE_BYTES	      PORT_CACHELINE
#define __init
#define __ro_after_init
#define __weak		   __attribute__((weak))
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define round_up(n, to)	   (DIV_ROUND_UP(n, to) * (to))
#define max(a, b)	   ((a) > (b) ? (a) : (b))
#define GFP_KERNEL	   0
#define MAX_RT_PRIO	   100

/* If cpu_slots_init() has no memory, Linux stops; a test continues without slots. */
#define panic(words)          \
	do {                  \
		kfree(place); \
		return;       \
	} while (0)

#define LINUX_MAX_CPUS 8192u

typedef u64 __le64;

typedef struct {
	u32 counter;
} atomic_t;

/* Without a result. Ordering: none. */
static inline void atomic_add(int i, atomic_t *v)
{
	__atomic_fetch_add(&v->counter, (u32)i, __ATOMIC_RELAXED);
}

static inline u32 atomic_read(const atomic_t *v)
{
	return READ_ONCE(v->counter);
}

struct cpumask {
	unsigned long bits[LINUX_MAX_CPUS / 64];
};

struct sched_domain {
	struct cpumask span;
};

struct task_struct {
	int prio, cpu;
	struct cpumask cpus_mask;
	const unsigned long *active;
	bool (*fits)(u32 cpu, void *arg);
	void *arg;
};

/* The machine, set before cpu_slots_init(). linux_flat: nothing is known about its caches. */
extern const struct shard_topo *linux_machine;
extern bool linux_flat;
extern int linux_node; /* node of new memory */
extern const struct cpumask linux_no_cpu;
struct sched_domain *linux_sd_llc(int cpu); /* NULL for -1 */

#define per_cpu(var, cpu)      linux_##var(cpu)
#define rcu_dereference_all(p) (p)
#define sched_domain_span(sd)  (&(sd)->span)
#define task_cpu(p)	       ((p)->cpu)
#define cpu_none_mask	       (&linux_no_cpu)

#define nr_cpu_ids	    ((int)linux_machine->nr_cpus)
#define num_possible_cpus() (linux_machine->nr_cpus)
#define cpu_to_node(cpu)    (linux_flat ? 0 : linux_machine->cpu[cpu].node)
#define for_each_possible_cpu(cpu)                        \
	for ((cpu) = 0; (cpu) < (int)nr_cpu_ids; (cpu)++) \
		if (linux_machine->cpu[cpu].possible)
#define cpu_active_mask	  ((const struct cpumask *)p->active)
#define BITS_PER_LONG	  64
#define BITS_TO_LONGS(nr) DIV_ROUND_UP(nr, BITS_PER_LONG)
#define __ffs(word)	  port_ctz64(word)
#define __ffs64(word)	  port_ctz64(word)
#define hweight64(word)	  port_popcount64(word)
#define cpumask_bits(m)	  ((m)->bits)
#define for_each_cpu(cpu, mask)                      \
	for ((cpu) = 0; (cpu) < nr_cpu_ids; (cpu)++) \
		if ((mask)->bits[(cpu) / 64] >> (cpu) % 64 & 1)

static inline u64 le64_to_cpu(u64 word)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(word) : word;
}

static inline void cpumask_clear(struct cpumask *mask)
{
	for (int i = 0; i < DIV_ROUND_UP(nr_cpu_ids, 64); i++)
		mask->bits[i] = 0;
}

/* A line in front of each block contains its size. */
static inline void *kmalloc(size_t size, int flags)
{
	size_t bytes = size + PORT_CACHELINE;
	u8 *block = port_alloc(bytes, linux_node);

	(void)flags;
	if (!block)
		return NULL;
	memcpy(block, &bytes, sizeof(bytes));
	return block + PORT_CACHELINE;
}

#define kcalloc(n, size, flags) kmalloc((n) * (size), flags)

static inline void kfree(void *ptr)
{
	size_t bytes;
	u8 *block;

	if (!ptr)
		return;
	block = (u8 *)ptr - PORT_CACHELINE;
	memcpy(&bytes, block, sizeof(bytes));
	port_free(block, bytes);
}

static inline void sort(void *base, size_t n, size_t size,
			int (*compare)(const void *a, const void *b), void *swap)
{
	(void)swap;
	qsort(base, n, size, compare);
}

#endif
