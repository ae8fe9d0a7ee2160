/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Names of a program that equal internal names of the library. A public header that uses one of
 * these macros, or defines a type of one of these names, does not compile.
 */
#ifndef OWN_NAMES_H
#define OWN_NAMES_H

typedef struct {
	double x;
} u8, u16, u32, u64;
typedef struct {
	char x;
} s32, s64;

struct sbm {
	int x;
};
enum own { SLOT_SET_MAX, MACHINE_SAME_CPU };

static inline void sbm_set(struct sbm *b)
{
	b->x = SLOT_SET_MAX;
}
static inline int shard_this_cpu(struct sbm *b)
{
	sbm_set(b);
	return b->x;
}

/* clang-format off */
#define READ_ONCE(x)	       own_read(x)
#define WRITE_ONCE(x, v)       own_write(x, v)
#define smp_mb()	       own_barrier(
#define smp_rmb()	       own_barrier(
#define smp_wmb()	       own_barrier(
#define smp_load_acquire(p)    own_barrier(
#define smp_store_release(p, v) own_barrier(
#define smp_mb__before_atomic() own_barrier(
#define cpu_relax()	       own_barrier(
#define PORT_CACHELINE	       own_barrier(
#define port_always_inline     own_barrier(
#ifndef __cplusplus /* libstdc++ and C++20 use these names for arguments and attributes */
#define __aligned(x)	       own_barrier(
#define likely(x)	       own_barrier(
#define unlikely(x)	       own_barrier(
#endif
/* clang-format on */

#endif
