/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The port of core/ to Linux 6.12, 64-bit. Types, READ_ONCE(), WRITE_ONCE(),
 * smp_*(), likely(), static_assert(), memset(), memcpy() and cpu_relax() are the
 * kernel's own.
 *
 * core/ keeps its words as plain u64 objects. atomic64_t is { s64 counter } with
 * the alignment of 8 that every u64 has on a 64-bit machine, hence the casts.
 */
#ifndef SCHEDSHARD_PORT_H
#define SCHEDSHARD_PORT_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/processor.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

static_assert(sizeof(unsigned long) == 8, "schedshard needs 64-bit longs");
static_assert(sizeof(atomic64_t) == sizeof(u64));

/* A shard's 64 positions of one byte must fit a line, however short lines are. */
#define PORT_CACHELINE (SMP_CACHE_BYTES > 64 ? SMP_CACHE_BYTES : 64)

/* Not ____cacheline_aligned: that is empty without CONFIG_SMP, and layouts are asserted. */
#define port_cacheline_aligned __aligned(PORT_CACHELINE)
#define port_always_inline     __always_inline
#define port_noinline	       noinline

#define port_compiler_barrier() barrier()

static port_always_inline void port_or64(u64 *p, u64 v)
{
	atomic64_or((s64)v, (atomic64_t *)p);
}

static port_always_inline void port_and64(u64 *p, u64 v)
{
	atomic64_and((s64)v, (atomic64_t *)p);
}

static port_always_inline void port_add64(u64 *p, u64 v)
{
	atomic64_add((s64)v, (atomic64_t *)p);
}

static port_always_inline u64 port_fetch_or64(u64 *p, u64 v)
{
	return (u64)atomic64_fetch_or((s64)v, (atomic64_t *)p);
}

static port_always_inline u64 port_fetch_and64(u64 *p, u64 v)
{
	return (u64)atomic64_fetch_and((s64)v, (atomic64_t *)p);
}

static port_always_inline u64 port_fetch_add64(u64 *p, u64 v)
{
	return (u64)atomic64_fetch_add((s64)v, (atomic64_t *)p);
}

static port_always_inline u64 port_xchg64(u64 *p, u64 v)
{
	return (u64)atomic64_xchg((atomic64_t *)p, (s64)v);
}

static port_always_inline u64 port_cmpxchg64(u64 *p, u64 old, u64 val)
{
	return (u64)atomic64_cmpxchg((atomic64_t *)p, (s64)old, (s64)val);
}

static port_always_inline unsigned int port_ctz64(u64 x)
{
	return (unsigned int)__ffs64(x);
}

static port_always_inline unsigned int port_popcount64(u64 x)
{
	return (unsigned int)hweight64(x);
}

static port_always_inline u64 port_le64(u64 x)
{
	return le64_to_cpu((__force __le64)x);
}

/*
 * lib/schedshard/alloc.c says what they promise. Under names of their own: a symbol called
 * port_alloc would say nothing to a reader of System.map.
 */
void *schedshard_alloc(size_t size, int node);
void schedshard_free(void *ptr, size_t size);

static inline void *port_alloc(size_t size, int node)
{
	return schedshard_alloc(size, node);
}

static inline void port_free(void *ptr, size_t size)
{
	schedshard_free(ptr, size);
}

#define PORT_WARN_ON(cond) WARN_ON_ONCE(cond)

#endif /* SCHEDSHARD_PORT_H */
