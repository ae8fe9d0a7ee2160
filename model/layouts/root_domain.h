/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * root_domain.h - struct root_domain and struct cpupri of Linux 6.12 on x86-64, field by field, as
 * published and as the published patches change them. Fields that no simulated code uses are there
 * to keep the offsets right. Source of sizes and offsets: pahole listings and cover letter of
 * "[PATCH v2 0/4] sched/rt: mitigate root_domain cache line contention" (linux-kernel, 2025-07-21).
 * split.c's layout is from the discussion there in 2026-03. The listings number lines from 1.
 *
 * atomic_t and raw_spinlock_t are u32, cpumask_var_t is unsigned long *.
 */
#ifndef LAYOUTS_ROOT_DOMAIN_H
#define LAYOUTS_ROOT_DOMAIN_H

#include "port.h"
#include "sbm_more.h"
#include "linux_sched.h"

#define RD_LEVELS 101 /* CPUPRI_NORMAL to CPUPRI_HIGHER */

/* An element of pri_to_cpu in struct cpupri. */

struct cpupri_vec_stock {
	u32 count;
	unsigned long *mask;
};

/* Patch 1: ____cacheline_aligned on the mask. */
struct cpupri_vec_pad {
	u32 count;
	unsigned long *mask port_cacheline_aligned;
};

/* Patch 4 on stock: a mask per NUMA node. */
struct cpupri_vec_node_mask {
	u32 count;
	unsigned long **masks;
};

/* Patches 1 and 4. */
struct cpupri_vec_published {
	u32 count;
	unsigned long **masks port_cacheline_aligned;
};

/* The prototype of a topology-indexed bitmap in place of the masks. */
struct cpupri_vec_sbm {
	u32 count;
	struct sbm *mask;
};

#define CPUPRI_OF(vec)                     \
	{                                  \
		vec pri_to_cpu[RD_LEVELS]; \
		s32 *cpu_to_pri;           \
	}

struct cpupri_stock CPUPRI_OF(struct cpupri_vec_stock);
struct cpupri_pad CPUPRI_OF(struct cpupri_vec_pad);
struct cpupri_node_mask CPUPRI_OF(struct cpupri_vec_node_mask);
struct cpupri_published CPUPRI_OF(struct cpupri_vec_published);
struct cpupri_sbm CPUPRI_OF(struct cpupri_vec_sbm);

/*
 * The alternative to the published patch 1: counts and masks separate, counts[0] on its own line.
 */
#define CPUPRI_COUNT0_PADDING (PORT_CACHELINE / sizeof(u32) - 1)
#define CPUPRI_COUNTS	      (RD_LEVELS + CPUPRI_COUNT0_PADDING)

struct cpupri_split {
	struct {
		u32 counts[CPUPRI_COUNTS];
		u8 padding[PORT_CACHELINE - CPUPRI_COUNTS * sizeof(u32) % PORT_CACHELINE];
		unsigned long *masks[RD_LEVELS];
	} pri_to_cpu;
	s32 *cpu_to_pri;
};

#define RD_LINES(type) ((sizeof(type) + PORT_CACHELINE - 1) / PORT_CACHELINE)

static_assert(sizeof(struct cpupri_stock) == 1624 && RD_LINES(struct cpupri_stock) == 26, "");
static_assert(RD_LINES(struct cpupri_pad) == 203, "");
static_assert(RD_LINES(struct cpupri_split) == 21, "");
static_assert(RD_LINES(struct cpupri_published) == 203, "");
static_assert(sizeof(struct cpupri_node_mask) == sizeof(struct cpupri_stock), "");
static_assert(sizeof(struct cpupri_sbm) == sizeof(struct cpupri_stock), "");

/* The other parts of struct root_domain. */

struct callback_head {
	void *next;
	void (*func)(struct callback_head *head);
};

struct dl_bw {
	u32 lock;
	u64 bw;
	u64 total_bw;
};

struct cpudl {
	u32 lock;
	s32 size;
	unsigned long *free_cpus;
	void *elements;
};

/* The walk's interrupt; flags: 1 pending, 2 busy. */
struct irq_work {
	u64 next;
	u32 flags;
	u16 src, dst;
	void (*func)(struct irq_work *work);
	void *irqwait;
};

static_assert(sizeof(struct callback_head) == 16 && sizeof(struct dl_bw) == 24 &&
		      sizeof(struct cpudl) == 24 && sizeof(struct irq_work) == 32,
	      "as published");

struct perf_domain;

/* Fields that are adjacent in every order. */
#define SPAN_FIELDS               \
	struct callback_head rcu; \
	unsigned long *span;      \
	unsigned long *online

#define DEADLINE_FIELDS     \
	struct dl_bw dl_bw; \
	struct cpudl cpudl

#define WALK_FIELDS                    \
	struct irq_work rto_push_work; \
	u32 rto_lock;                  \
	s32 rto_loop;                  \
	s32 rto_cpu;                   \
	u32 rto_loop_next;             \
	u32 rto_loop_start

/*
 * The field order of stock. @count: rto_count, or nothing. @counts: rto_counts after dlo_count,
 * where the published patch 3 puts it, or nothing. @overload: rto_mask, or its replacement.
 */
#define ROOT_DOMAIN_STOCK(count, counts, cpupri_type, overload) \
	{                                                       \
		u32 refcount;                                   \
		count SPAN_FIELDS;                              \
		u8 overloaded;                                  \
		u8 overutilized;                                \
		unsigned long *dlo_mask;                        \
		u32 dlo_count;                                  \
		counts DEADLINE_FIELDS;                         \
		u64 visit_gen;                                  \
		WALK_FIELDS;                                    \
		overload cpupri_type cpupri;                    \
		struct perf_domain *pd;                         \
	}

/* The field order of the published patch 2. */
#define ROOT_DOMAIN_RELAYOUT(count, counts, cpupri_type)       \
	{                                                      \
		u32 refcount;                                  \
		count SPAN_FIELDS;                             \
		u32 dlo_count;                                 \
		counts DEADLINE_FIELDS;                        \
		WALK_FIELDS;                                   \
		unsigned long *dlo_mask;                       \
		u64 visit_gen;                                 \
		cpupri_type cpupri port_cacheline_aligned;     \
		struct perf_domain *pd port_cacheline_aligned; \
		unsigned long *rto_mask;                       \
		u8 overloaded port_cacheline_aligned;          \
		u8 overutilized;                               \
	}

#define ONE_COUNT   u32 rto_count;
#define MANY_COUNTS u32 **rto_counts;
#define NO_COUNT
#define ONE_MASK unsigned long *rto_mask;
#define SBM_MASK struct sbm *rto_mask;
#define ONE_RTO	 struct rto rto;

struct root_domain_stock ROOT_DOMAIN_STOCK(ONE_COUNT, NO_COUNT, struct cpupri_stock, ONE_MASK);
struct root_domain_pad ROOT_DOMAIN_STOCK(ONE_COUNT, NO_COUNT, struct cpupri_pad, ONE_MASK);
struct root_domain_split ROOT_DOMAIN_STOCK(ONE_COUNT, NO_COUNT,
					   struct cpupri_split port_cacheline_aligned, ONE_MASK);
struct root_domain_node_mask ROOT_DOMAIN_STOCK(ONE_COUNT, NO_COUNT, struct cpupri_node_mask,
					       ONE_MASK);
struct root_domain_sbm ROOT_DOMAIN_STOCK(ONE_COUNT, NO_COUNT, struct cpupri_sbm, SBM_MASK);
/*
 * One struct serves counters per node and per LLC: its pointer leads to more or fewer counters.
 */
struct root_domain_counts ROOT_DOMAIN_STOCK(NO_COUNT, MANY_COUNTS, struct cpupri_stock, ONE_MASK);
/* A byte per CPU. */
struct root_domain_bytes ROOT_DOMAIN_STOCK(ONE_COUNT, NO_COUNT, struct cpupri, ONE_MASK);
/* Two bytes per CPU, one of them for waiting tasks in place of rto_count and rto_mask. */
struct root_domain_rto ROOT_DOMAIN_STOCK(NO_COUNT, NO_COUNT, struct cpupri, ONE_RTO);
struct root_domain_relayout ROOT_DOMAIN_RELAYOUT(ONE_COUNT, NO_COUNT, struct cpupri_stock);
struct root_domain_published ROOT_DOMAIN_RELAYOUT(NO_COUNT, MANY_COUNTS, struct cpupri_published);

/* Check that @field begins at @offset of line @line (from 1, as published). */
#define RD_AT(type, field, line, offset) \
	static_assert(offsetof(type, field) == ((line)-1) * PORT_CACHELINE + (offset), #field)

static_assert(sizeof(struct root_domain_stock) == 1816, "as published");
static_assert(RD_LINES(struct root_domain_stock) == 29, "as published");
RD_AT(struct root_domain_stock, rto_count, 1, 0x4);
RD_AT(struct root_domain_stock, rcu, 1, 8);
RD_AT(struct root_domain_stock, span, 1, 24);
RD_AT(struct root_domain_stock, online, 1, 32);
RD_AT(struct root_domain_stock, overloaded, 1, 0x28);
RD_AT(struct root_domain_stock, overutilized, 1, 41);
RD_AT(struct root_domain_stock, dlo_mask, 1, 48);
RD_AT(struct root_domain_stock, dlo_count, 1, 56);
RD_AT(struct root_domain_stock, dl_bw, 2, 0);
RD_AT(struct root_domain_stock, cpudl, 2, 88 - 64);
RD_AT(struct root_domain_stock, visit_gen, 2, 112 - 64);
RD_AT(struct root_domain_stock, rto_push_work, 2, 120 - 64);
RD_AT(struct root_domain_stock, rto_lock, 3, 0x18);
RD_AT(struct root_domain_stock, rto_loop, 3, 0x1c);
RD_AT(struct root_domain_stock, rto_cpu, 3, 0x20);
RD_AT(struct root_domain_stock, rto_loop_next, 3, 0x24);
RD_AT(struct root_domain_stock, rto_loop_start, 3, 0x28);
RD_AT(struct root_domain_stock, rto_mask, 3, 0x30);
RD_AT(struct root_domain_stock, cpupri.pri_to_cpu[0].count, 3, 0x38);
RD_AT(struct root_domain_stock, cpupri.pri_to_cpu[99].count, 28, 0x28);
RD_AT(struct root_domain_stock, cpupri.pri_to_cpu[99].mask, 28, 0x30);
RD_AT(struct root_domain_stock, pd, 29, 1808 - 1792);

/* The split layout moves counts[0] to its own line, and nothing before it. */
RD_AT(struct root_domain_pad, rto_mask, 3, 0x30);
RD_AT(struct root_domain_pad, cpupri, 4, 0);
RD_AT(struct root_domain_split, cpupri, 4, 0);
RD_AT(struct root_domain_split, cpupri.pri_to_cpu.counts[1 + CPUPRI_COUNT0_PADDING], 5, 0);

static_assert(RD_LINES(struct root_domain_relayout) == 31, "as published");
RD_AT(struct root_domain_relayout, rto_count, 1, 4);
RD_AT(struct root_domain_relayout, rto_push_work, 2, 96 - 64);
RD_AT(struct root_domain_relayout, rto_lock, 3, 0);
RD_AT(struct root_domain_relayout, rto_loop_start, 3, 16);
RD_AT(struct root_domain_relayout, cpupri, 4, 0);
RD_AT(struct root_domain_relayout, pd, 30, 0);
RD_AT(struct root_domain_relayout, rto_mask, 30, 8);
RD_AT(struct root_domain_relayout, overloaded, 31, 0);

#endif
