/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The port of core/ to Linux. Types, READ_ONCE(), WRITE_ONCE(), smp_*(), likely(), static_assert(),
 * memset(), memcpy() and cpu_relax() are the kernel's own.
 *
 * core/ keeps its words as plain u64 objects, aligned to 8 bytes, and atomic64_t is a struct of one
 * s64, hence the casts. On a 32-bit machine READ_ONCE() of a u64 is two loads. If all bits must be
 * of one moment, core/ uses port_read64() and port_write64().
 */
#ifndef SCHEDSHARD_PORT_H
#define SCHEDSHARD_PORT_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

static_assert(sizeof(atomic64_t) == sizeof(u64));

/* A shard's 64 positions of one byte must fit a line, even where lines are shorter. */
#define PORT_CACHELINE (SMP_CACHE_BYTES > 64 ? SMP_CACHE_BYTES : 64)

/* Not ____cacheline_aligned: that is empty without CONFIG_SMP, and layouts are asserted. */
#define port_cacheline_aligned __aligned(PORT_CACHELINE)
#define port_always_inline     __always_inline
#define port_noinline	       noinline

#define port_read64(p)	       ((u64)atomic64_read((const atomic64_t *)(p)))
#define port_write64(p, v)     atomic64_set((atomic64_t *)(p), (s64)(v))
#define port_release64(p, v)   atomic64_set_release((atomic64_t *)(p), (s64)(v))
#define port_or64(p, v)	       atomic64_or((s64)(v), (atomic64_t *)(p))
#define port_and64(p, v)       atomic64_and((s64)(v), (atomic64_t *)(p))
#define port_fetch_or64(p, v)  ((u64)atomic64_fetch_or((s64)(v), (atomic64_t *)(p)))
#define port_fetch_and64(p, v) ((u64)atomic64_fetch_and((s64)(v), (atomic64_t *)(p)))
#define port_xchg64(p, v)      ((u64)atomic64_xchg((atomic64_t *)(p), (s64)(v)))
#define port_cmpxchg64(p, old, val) \
	((u64)atomic64_cmpxchg((atomic64_t *)(p), (s64)(old), (s64)(val)))

#define port_ctz64(x)	   ((unsigned int)__ffs64(x))
#define port_popcount64(x) ((unsigned int)hweight64(x))
#define port_le64(x)	   le64_to_cpu((__force __le64)(x))
#define port_div64(x, by)  div64_u64(x, by)

/* lib/schedshard/alloc.c has their contract. */
#define port_alloc(size, node) schedshard_alloc(size, node)
#define port_free(ptr, size)   schedshard_free(ptr, size)

void *schedshard_alloc(size_t size, int node);
void schedshard_free(void *ptr, size_t size);

#endif /* SCHEDSHARD_PORT_H */
