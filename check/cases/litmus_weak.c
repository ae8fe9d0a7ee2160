// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Litmus tests of the memory model "weak". Each test has one result that seems impossible at first
 * sight. check/tests/explore_weak_litmus.py says whether Linux's memory model and this model allow
 * it. The shapes and their names are those of the literature (MP, SB, WRC ...). A variant is named
 * after what is between a CPU's two accesses.
 *
 * All locations start at 0; rN are the values loaded, by CPU; x, y, z the final values.
 */
#include "port.h"

#include "../explore/explore_case.h"
#include "cases.h"

/* What orders two accesses of a CPU. */
enum order {
	NOTHING,
	RMB,
	WMB,
	MB,
	RELEASE,      /* the second one is a store-release */
	ACQUIRE,      /* the first one is a load-acquire */
	CONTROL,      /* the second one is in a branch on the first one's value */
	ADDRESS,      /* the first one loads the pointer for the second one */
	INDEX,	      /* the first one loads the bit whose number is the second one's index */
	ATOMIC,	      /* the first one is an atomic operation without a result */
	ATOMIC_MB,    /* with smp_mb__after_atomic() */
	XCHG,	      /* an atomic operation with a result elsewhere */
	CMPXCHG_FAILS /* a compare-and-exchange elsewhere that finds something else */
};

#define ARRAY 4 /* words; x is the last word */

static u64 *x, *y, *z, *elsewhere, *array;
static u64 **pointer;

static void setup(uint32_t nr_cpus)
{
	/* Separate allocations: a loaded pointer points into one allocation, see explore_weak.c. */
	array = port_alloc(ARRAY * sizeof(u64), -1);
	x = &array[ARRAY - 1];
	y = port_alloc(sizeof(u64), -1);
	z = port_alloc(sizeof(u64), -1);
	elsewhere = port_alloc(2 * PORT_CACHELINE, -1);
	pointer = port_alloc(sizeof(*pointer), -1);
	explore_name(x, 8, "x");
	explore_name(y, 8, "y");
	explore_name(z, 8, "z");
	explore_name(elsewhere, 8, "elsewhere");
	explore_name(pointer, 8, "pointer");
}

static void check_memory(uint32_t nr_cpus)
{
	explore_result(5, READ_ONCE(*x));
	explore_result(6, READ_ONCE(*y));
	explore_result(7, READ_ONCE(*z));
}

static port_always_inline void between(enum order o)
{
	if (o == RMB)
		smp_rmb();
	else if (o == WMB)
		smp_wmb();
	else if (o == MB)
		smp_mb();
	else if (o == ATOMIC_MB)
		smp_mb__after_atomic();
	else if (o == XCHG)
		port_xchg64(elsewhere, 1);
	else if (o == CMPXCHG_FAILS)
		port_cmpxchg64(elsewhere, 1, 2);
}

static port_always_inline void store_first(u64 *p, u64 val, enum order o)
{
	if (o == ATOMIC || o == ATOMIC_MB)
		port_or64(p, val);
	else
		WRITE_ONCE(*p, val);
	between(o);
}

static port_always_inline void store_second(u64 *p, u64 val, enum order o)
{
	if (o == RELEASE)
		smp_store_release(p, val);
	else
		WRITE_ONCE(*p, val);
}

static port_always_inline u64 load_first(u64 *p, enum order o)
{
	u64 val = o == ACQUIRE ? smp_load_acquire(p) : READ_ONCE(*p);

	between(o);
	return val;
}

/* W first; W second */
static port_always_inline void two_stores(u64 *first, u64 a, enum order o, u64 *second, u64 b)
{
	store_first(first, a, o);
	store_second(second, b, o);
}

/* R first; R second into results at @at */
static port_always_inline void two_loads(u32 at, u64 *first, enum order o, u64 *second)
{
	u64 val = load_first(first, o);

	explore_result(at, val);
	if (o != CONTROL || val)
		explore_result(at + 1, READ_ONCE(*second));
}

/* W first; R second */
static port_always_inline void store_load(u64 *first, u64 val, enum order o, u32 at, u64 *second)
{
	store_first(first, val, o);
	explore_result(at, READ_ONCE(*second));
}

/* R first; W second */
static port_always_inline void load_store(u32 at, u64 *first, enum order o, u64 *second, u64 val)
{
	u64 found = load_first(first, o);

	explore_result(at, found);
	if (o != CONTROL || found)
		store_second(second, val, o);
}

static port_always_inline void mp(u32 cpu, enum order writer, enum order reader)
{
	if (!cpu)
		two_stores(x, 1, writer, y, 1);
	else
		two_loads(0, y, reader, x);
}

static port_always_inline void mp_address(u32 cpu, enum order writer)
{
	u64 *p;

	if (!cpu) {
		store_first(x, 1, writer);
		WRITE_ONCE(*pointer, x);
		return;
	}
	p = READ_ONCE(*pointer);
	explore_result(0, p != NULL);
	if (p)
		explore_result(1, READ_ONCE(*p));
}

static port_always_inline void mp_index(u32 cpu, enum order writer)
{
	u64 bits;

	if (!cpu) {
		two_stores(x, 1, writer, y, 1ull << (ARRAY - 1));
		return;
	}
	bits = READ_ONCE(*y);
	explore_result(0, bits != 0);
	if (bits)
		explore_result(1, READ_ONCE(array[port_ctz64(bits)]));
}

static port_always_inline void sb(u32 cpu, enum order o)
{
	store_load(cpu ? y : x, 1, o, cpu, cpu ? x : y);
}

static port_always_inline void lb(u32 cpu, enum order o, enum order other)
{
	if (cpu)
		load_store(1, x, other, y, 1);
	else
		load_store(0, y, o, x, 1);
}

static port_always_inline void wrc(u32 cpu, enum order middle, enum order last)
{
	if (!cpu)
		WRITE_ONCE(*x, 1);
	else if (cpu == 1)
		load_store(0, x, middle, y, 1);
	else
		two_loads(1, y, last, x);
}

static port_always_inline void iriw(u32 cpu, enum order o)
{
	if (cpu < 2)
		WRITE_ONCE(*(cpu ? y : x), 1);
	else
		two_loads(2 * cpu - 4, cpu == 2 ? x : y, o, cpu == 2 ? y : x);
}

static port_always_inline void rwc(u32 cpu, enum order reader, enum order writer)
{
	if (!cpu)
		WRITE_ONCE(*x, 1);
	else if (cpu == 1)
		two_loads(0, x, reader, y);
	else
		store_load(y, 1, writer, 2, x);
}

static port_always_inline void w_rwc(u32 cpu, enum order first, enum order reader,
				     enum order writer)
{
	if (!cpu)
		two_stores(x, 1, first, y, 1);
	else if (cpu == 1)
		two_loads(0, y, reader, z);
	else
		store_load(z, 1, writer, 2, x);
}

static port_always_inline void isa2(u32 cpu, enum order first, enum order middle, enum order last)
{
	if (!cpu) {
		two_stores(x, 1, first, y, 1);
	} else if (cpu == 1) {
		explore_result(0, middle == NOTHING ? READ_ONCE(*y) : smp_load_acquire(y));
		store_second(z, 1, middle);
	} else {
		two_loads(1, z, last, x);
	}
}

static port_always_inline void r_shape(u32 cpu, enum order writer, enum order reader)
{
	if (!cpu)
		two_stores(x, 1, writer, y, 1);
	else
		store_load(y, 2, reader, 0, x);
}

static port_always_inline void s_shape(u32 cpu, enum order writer, enum order reader)
{
	if (!cpu)
		two_stores(x, 2, writer, y, 1);
	else
		load_store(0, y, reader, x, 1);
}

static port_always_inline void two_plus_two_w(u32 cpu, enum order o)
{
	two_stores(cpu ? y : x, 1, o, cpu ? x : y, 2);
}

/* Z6.0: the last CPU is not in the chain of releases. */
static port_always_inline void z6_0(u32 cpu, enum order o, enum order last)
{
	if (!cpu) {
		two_stores(x, 1, o, y, 1);
	} else if (cpu == 1) {
		explore_result(0, o == RELEASE ? smp_load_acquire(y) : load_first(y, o));
		store_second(z, 1, o);
	} else {
		store_load(z, 2, last, 1, x);
	}
}

/*
 * CPU 3 misses x, although CPU 0 stored x before a full barrier. The chain contains an old value:
 * CPU 2 knows the newer y, and then loads the older one.
 */
static void by_way_of_old(uint32_t cpu)
{
	if (!cpu) {
		two_stores(x, 1, MB, y, 1);
	} else if (cpu == 1) {
		two_stores(y, 2, WMB, z, 1);
	} else if (cpu == 2) {
		explore_result(0, READ_ONCE(*z));
		WRITE_ONCE(*elsewhere, 1);
		explore_result(1, READ_ONCE(*y));
	} else {
		two_loads(2, elsewhere, ACQUIRE, x);
	}
}

static void corr(uint32_t cpu)
{
	if (!cpu)
		WRITE_ONCE(*x, 1);
	else
		two_loads(0, x, NOTHING, x);
}

static void cowr(uint32_t cpu)
{
	if (cpu)
		WRITE_ONCE(*x, 2);
	else
		store_load(x, 1, NOTHING, 0, x);
}

static void corw(uint32_t cpu)
{
	if (cpu)
		WRITE_ONCE(*x, 2);
	else
		load_store(0, x, NOTHING, x, 1);
}

static void coww(uint32_t cpu)
{
	if (!cpu)
		two_stores(x, 1, NOTHING, x, 2);
}

/* A lock made of an exchange and a release; the second holder sees the first one's store. */
static void lock(uint32_t cpu)
{
	if (port_xchg64(y, 1))
		return;
	explore_result(cpu, 1 + READ_ONCE(*x));
	WRITE_ONCE(*x, READ_ONCE(*x) + 1);
	smp_store_release(y, 0);
}

/* A pointer publishes a plain store, with a release or without. */
static port_always_inline void publish(u32 cpu, enum order o)
{
	u64 *p;

	if (!cpu) {
		*x = 1;
		if (o == RELEASE)
			smp_store_release(pointer, x);
		else
			WRITE_ONCE(*pointer, x);
		return;
	}
	p = READ_ONCE(*pointer);
	explore_result(0, p ? *p : 2);
}

#define TESTS(T)                                                                       \
	T(mp_onces, "mp-onces", 2, mp(cpu, NOTHING, NOTHING))                          \
	T(mp_wmb_rmb, "mp-wmb-rmb", 2, mp(cpu, WMB, RMB))                              \
	T(mp_wmb, "mp-wmb", 2, mp(cpu, WMB, NOTHING))                                  \
	T(mp_rmb, "mp-rmb", 2, mp(cpu, NOTHING, RMB))                                  \
	T(mp_release, "mp-release", 2, mp(cpu, RELEASE, NOTHING))                      \
	T(mp_acquire, "mp-acquire", 2, mp(cpu, NOTHING, ACQUIRE))                      \
	T(mp_release_acquire, "mp-release-acquire", 2, mp(cpu, RELEASE, ACQUIRE))      \
	T(mp_release_rmb, "mp-release-rmb", 2, mp(cpu, RELEASE, RMB))                  \
	T(mp_rmb_wmb, "mp-rmb-wmb", 2, mp(cpu, RMB, WMB))                              \
	T(mp_mbs, "mp-mbs", 2, mp(cpu, MB, MB))                                        \
	T(mp_mb_one, "mp-mb-one", 2, mp(cpu, NOTHING, MB))                             \
	T(mp_wmb_control, "mp-wmb-control", 2, mp(cpu, WMB, CONTROL))                  \
	T(mp_wmb_address, "mp-wmb-address", 2, mp_address(cpu, WMB))                   \
	T(mp_address_only, "mp-address", 2, mp_address(cpu, NOTHING))                  \
	T(mp_wmb_index, "mp-wmb-index", 2, mp_index(cpu, WMB))                         \
	T(mp_wmb_xchg, "mp-wmb-xchg", 2, mp(cpu, WMB, XCHG))                           \
	T(mp_wmb_cmpxchg, "mp-wmb-cmpxchg-fails", 2, mp(cpu, WMB, CMPXCHG_FAILS))      \
	T(mp_atomic, "mp-atomic", 2, mp(cpu, ATOMIC, RMB))                             \
	T(sb_onces, "sb-onces", 2, sb(cpu, NOTHING))                                   \
	T(sb_mbs, "sb-mbs", 2, sb(cpu, MB))                                            \
	T(sb_mb, "sb-mb", 2, sb(cpu, cpu ? NOTHING : MB))                              \
	T(sb_wmbs, "sb-wmbs", 2, sb(cpu, WMB))                                         \
	T(sb_rmbs, "sb-rmbs", 2, sb(cpu, RMB))                                         \
	T(sb_xchgs, "sb-xchgs", 2, sb(cpu, XCHG))                                      \
	T(sb_cmpxchgs, "sb-cmpxchg-fails", 2, sb(cpu, CMPXCHG_FAILS))                  \
	T(sb_atomics, "sb-atomics", 2, sb(cpu, ATOMIC))                                \
	T(sb_atomics_mb, "sb-atomics-mb", 2, sb(cpu, ATOMIC_MB))                       \
	T(lb_onces, "lb-onces", 2, lb(cpu, NOTHING, NOTHING))                          \
	T(lb_acquire_release, "lb-acquire-release", 2, lb(cpu, ACQUIRE, RELEASE))      \
	T(lb_mb_control, "lb-mb-control", 2, lb(cpu, MB, CONTROL))                     \
	T(wrc_onces, "wrc-onces", 3, wrc(cpu, NOTHING, NOTHING))                       \
	T(wrc_release_rmb, "wrc-release-rmb", 3, wrc(cpu, RELEASE, RMB))               \
	T(wrc_acquire_acquire, "wrc-acquire-acquire", 3, wrc(cpu, ACQUIRE, ACQUIRE))   \
	T(iriw_onces, "iriw-onces", 4, iriw(cpu, NOTHING))                             \
	T(iriw_acquires, "iriw-acquires", 4, iriw(cpu, ACQUIRE))                       \
	T(iriw_rmbs, "iriw-rmbs", 4, iriw(cpu, RMB))                                   \
	T(iriw_mbs, "iriw-mbs", 4, iriw(cpu, MB))                                      \
	T(rwc_onces, "rwc-onces", 3, rwc(cpu, NOTHING, NOTHING))                       \
	T(rwc_rmb_mb, "rwc-rmb-mb", 3, rwc(cpu, RMB, MB))                              \
	T(rwc_mbs, "rwc-mbs", 3, rwc(cpu, MB, MB))                                     \
	T(w_rwc_mbs, "w+rwc-release-mbs", 3, w_rwc(cpu, RELEASE, MB, MB))              \
	T(w_rwc_rmb, "w+rwc-release-rmb-mb", 3, w_rwc(cpu, RELEASE, RMB, MB))          \
	T(isa2_onces, "isa2-onces", 3, isa2(cpu, NOTHING, NOTHING, NOTHING))           \
	T(isa2_chain, "isa2-release-acquire", 3, isa2(cpu, RELEASE, RELEASE, ACQUIRE)) \
	T(r_onces, "r-onces", 2, r_shape(cpu, NOTHING, NOTHING))                       \
	T(r_mbs, "r-mbs", 2, r_shape(cpu, MB, MB))                                     \
	T(r_mb, "r-mb", 2, r_shape(cpu, NOTHING, MB))                                  \
	T(s_onces, "s-onces", 2, s_shape(cpu, NOTHING, NOTHING))                       \
	T(s_wmb_acquire, "s-wmb-acquire", 2, s_shape(cpu, WMB, ACQUIRE))               \
	T(s_wmb_control, "s-wmb-control", 2, s_shape(cpu, WMB, CONTROL))               \
	T(w2_onces, "2+2w-onces", 2, two_plus_two_w(cpu, NOTHING))                     \
	T(w2_mbs, "2+2w-mbs", 2, two_plus_two_w(cpu, MB))                              \
	T(z6_releases, "z6.0-releases-mb", 3, z6_0(cpu, RELEASE, MB))                  \
	T(z6_mbs, "z6.0-mbs", 3, z6_0(cpu, MB, MB))                                    \
	T(way_of_old, "by-way-of-old", 4, by_way_of_old(cpu))                          \
	T(coherence_rr, "corr", 2, corr(cpu))                                          \
	T(coherence_wr, "cowr", 2, cowr(cpu))                                          \
	T(coherence_rw, "corw", 2, corw(cpu))                                          \
	T(coherence_ww, "coww", 2, coww(cpu))                                          \
	T(lock_release, "lock", 2, lock(cpu))                                          \
	T(publish_release, "publish-release", 2, publish(cpu, RELEASE))                \
	T(publish_once, "publish-once", 2, publish(cpu, NOTHING))

#define BODY(name_, title_, cpus_, call_) EXPLORE_BODY(body_##name_, call_)

TESTS(BODY)

#define CASE(name_, title_, cpus_, call_)                                                       \
	EXPLORE_CASE("weak-" title_, "litmus test " title_, "litmus-weak", cpus_, cpus_, setup, \
		     body_##name_, check_memory, .weak = true,                                  \
		     .results = { "r0", "r1", "r2", "r3", "r4", "x", "y", "z" }),

const struct explore_case explore_litmus_weak_cases[] = { TESTS(CASE){ 0 } };
