/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Visited CPUs: on which CPUs a process ran recently, and for how long. A scan walks only these
 * CPUs, LLC by LLC, and touches nothing of an LLC that the process did not visit.
 *
 * A CPU enters the set when it accounts runtime of the process. It leaves when a scan finds no
 * runtime newer than a timeout. One block holds the state of a shard's CPUs: their bits in one
 * word, their runtimes (occupancy.h) on up to 8 lines. The first CPU of a shard adds the shard's
 * block, and a scan removes it after the last one left. So the memory is proportional to the shards
 * in use.
 *
 * Accounting runs under a run-queue lock and cannot allocate. It takes a block that is ready: the
 * process's spare one, then one from the shard's reserve in the pool. Callers that may sleep fill
 * the reserve. If there is none, or another CPU changes the process's table of blocks, accounting
 * drops the runtime and visited_account() says so. The next call tries again.
 *
 * Concurrency: the caller serialises accounting of one CPU, in Linux by its run-queue lock. A scan
 * claims the set: one runs at a time. Alloc and free, of a set or the pool, exclude everything
 * else. All other calls may overlap. The caller guarantees:
 *
 *   1. visited_account() runs inside a read-side section, which also loads the pointer to the
 *	struct visited. In Linux it is RCU's: a run-queue lock turns preemption off.
 *   2. The caller frees the blocks of visited_scan_end(), and calls visited_free(), after every
 *	section then open has ended (call_rcu()). Until then a late accounting may write into
 *	them. After it they may serve another process.
 *   3. Each pointer kept beyond a section (by the process, a queued scan) holds a reference. A
 *	scan holds one from before visited_scan_begin() to after visited_scan_end(). The struct
 *	is not part of another object that is freed earlier.
 *
 * Guarantee (proof in visited.c): after visited_account() returned true for an epoch, a scan that
 * begins later finds the CPU exactly once, with a runtime at least as new as that epoch. For this
 * the scan's epoch must be at most its timeout ahead of it, or OCCUPANCY_AHEAD behind it. No scan
 * finds a CPU that never accounted.
 *
 * Context: alloc, free, fill and visited_scan_begin() may sleep; the rest runs anywhere and never
 * waits. Ordering: none, unless said. CPU numbers are of possible CPUs; no function checks them.
 */
#ifndef SCHEDSHARD_VISITED_H
#define SCHEDSHARD_VISITED_H

#include "port.h"
#include "occupancy.h"
#include "shard_plan.h"

#define VISITED_OWN	8u /* places in @own; with 4, a process that migrates pays 7% */
#define VISITED_RESERVE 8u /* ready blocks per shard; 8 drop 0.001% of runtimes, 4 0.03% */
#define VISITED_LINES	8u /* lines of a block's records: 8 bytes for each of SHARD_MAX_CAP */

/* The state of one shard's CPUs for one process. */
struct visited_block {
	u64 cpus;     /* a bit for each position in the set */
	u32 shard;    /* the shard */
	u32 unlinked; /* 1: a scan removes the block, or has; a CPU that enters is not in the set */
	struct visited_block *next;			     /* in a list of blocks to free */
	u64 record[SHARD_MAX_CAP] __aligned(PORT_CACHELINE); /* runtimes, see visited_record() */
};

static_assert(sizeof(struct visited_block) == PORT_CACHELINE + 512, "bits apart from runtimes");

/* Blocks that are ready, by shard. */
struct visited_pool {
	const struct shard_plan *plan; /* the plan */
	size_t bytes;		       /* memory of this header with its table */
	u64 *reserve[];		       /* by shard, one line: addresses of blocks, 0: none */
};

/* The set of one process. Lines 1 and 2 change when shards come and go, line 3 at every scan. */
struct visited {
	struct visited_block **table;  /* @own; or larger, with a place for every shard */
	const struct shard_slot *slot; /* the plan's table by CPU number */
	struct visited_pool *pool;     /* supplies the blocks */
	u32 mask;		       /* bits of a shard's number that give its place in @table */
	/* Blocks by the low bits of their shard, or at the next free place. */
	struct visited_block *own[VISITED_OWN] __aligned(PORT_CACHELINE);
	u64 changing __aligned(PORT_CACHELINE); /* 1: a CPU changes @table's contents */
	u64 scan; /* epoch of the last scan in the low half; VISITED_SCANNING */
	struct visited_block
		*spare; /* the process's first block; the holder of @changing takes it */
	u32 want_table; /* @own is too small */
};

#define VISITED_SCANNING (1ull << 32)

/* For a process that visits one shard. On s390 a line has 256 bytes. */
static_assert(sizeof(struct visited) + sizeof(struct visited_block) <= 512 + 4 * PORT_CACHELINE,
	      "memory per process: runtimes and four lines");

/* Make the machine's pool, with full reserves; the plan must outlive it. NULL: no memory. */
struct visited_pool *visited_pool_alloc(const struct shard_plan *plan);

/* Free a pool, or NULL; no struct visited of it is left. */
void visited_pool_free(struct visited_pool *pool);

/*
 * Fill the reserve of a CPU's shard. Call it if visited_pool_low() is true, and with every scan.
 * False: no memory for all blocks.
 */
bool visited_pool_fill(struct visited_pool *pool, u32 cpu);

/*
 * For the tick: is less than half of the reserve of a CPU's shard left? Line: that of the reserve,
 * read.
 */
bool visited_pool_low(const struct visited_pool *pool, u32 cpu);

/**
 * visited_alloc() - the set of a new process, empty
 * @pool: the pool
 * @node: NUMA node on which the process is likely to run, -1: any
 * @epoch: now; the first scan is due in the next one
 *
 * Return: the set, NULL: no memory.
 */
struct visited *visited_alloc(struct visited_pool *pool, s32 node, u32 epoch);

/* Free a set, or NULL. */
void visited_free(struct visited *v);

/* Bytes of a set, blocks, spare block and table. Exact while no CPU accounts or scans. */
size_t visited_bytes(const struct visited *v);

/*
 * A CPU's runtime of the process, not decayed; 0: its shard has no block. For a scan of all CPUs.
 * The caller is in a read-side section as for visited_account(), or between visited_scan_begin()
 * and visited_scan_end(), when no other CPU takes blocks out. Ordering: as visited_scan_next().
 * Lines touched: the set's first two, the block's first, the runtime's; all read.
 */
u64 visited_word(struct visited *v, u32 cpu);

/* The slow half of visited_account(). */
bool visited_enter(struct visited *v, u64 *queue, u32 cpu, u32 epoch, u64 ns);

/*
 * The runtime of the CPU at a position; only that CPU writes it. Positions 8 apart share a line. If
 * neighbours did, accounting would cost 14% to 105% more, a scan 11% to 22% less. SMT siblings
 * share a line if their positions are a multiple of 8 apart, as where second threads follow those
 * of 8 or 16 cores. With exactly 8 cores, they alone use it.
 */
static port_always_inline u64 *visited_record(struct visited_block *b, u32 pos)
{
	/* Swap the low 3 and the high 3 of 6 bits. */
	return &b->record[pos * 65 / VISITED_LINES % SHARD_MAX_CAP];
}

static_assert(VISITED_LINES == 8 && SHARD_MAX_CAP == 64, "visited_record()");

/**
 * visited_account() - a CPU ran the process
 * @v: its set
 * @queue: runtime of all processes on the CPU's run queue; only that CPU writes it
 * @cpu: CPU number; the caller holds its run-queue lock
 * @epoch: that CPU's epoch
 * @ns: nanoseconds to add to @queue, then to the process's runtime there
 *
 * Ordering: the queue's runtime before the process's, as occupancy.c explains: pairs with smp_rmb()
 * in visited_scan_next() and visited_word(). The first call of a CPU in an epoch has a full barrier
 * after the process's runtime (E2 in visited.c). Lines touched: the set's first two and the block's
 * first, read; the runtime's and @queue's, written. A CPU that enters also writes the block's first
 * line. The first CPU of a shard also writes the set's second and third line and one of the pool's.
 *
 * Return: true: counted; false: there was no block, and the process's part is dropped.
 */
static port_always_inline bool visited_account(struct visited *v, u64 *queue, u32 cpu, u32 epoch,
					       u64 ns)
{
	struct shard_slot slot = v->slot[cpu];
	/* The mask first: pairs with the releases in grow(), which explains the order. */
	u32 mask = smp_load_acquire(&v->mask);
	/* Pairs with the release in grow(): without it the table's pointers may be unset. */
	struct visited_block **table = smp_load_acquire(&v->table);
	/* Pairs with the release in put(): without it the block may be unset. */
	struct visited_block *b = smp_load_acquire(&table[slot.shard & mask]);
	u64 least = occupancy_pack(epoch, 1);

	/* Else the block is at another place, and visited_enter() finds it. */
	if (likely(b && b->shard == slot.shard)) {
		u64 *record = visited_record(b, slot.pos);
		u64 all = READ_ONCE(*queue), mine = READ_ONCE(*record);

		/*
		 * No bit above 30 is set: both words are of this epoch and not 0, neither is near
		 * its ceiling, and @ns is small. So the CPU is in the set (visited.c).
		 */
		if (likely(!(((all - least) | (mine - least) | ns) >> 31))) {
			port_write64(queue, all + ns);
			/* Pairs with smp_rmb() in visited_scan_next() and visited_word(). */
			smp_wmb();
			port_write64(record, mine + ns);
			return true;
		}
	}
	return visited_enter(v, queue, cpu, epoch, ns);
}

/* One walk over the set. Only @idle and @looked are public. */
struct visited_scan {
	struct visited *v;		/* the set */
	const struct shard_plan *plan;	/* the plan */
	struct visited_block **table;	/* the set's table */
	struct visited_block *block;	/* the current block, NULL: none */
	struct visited_block *released; /* blocks taken out */
	u64 left;			/* positions of @block still to visit */
	u32 at;				/* next of @order, or next shard of the large table */
	u32 nr;				/* how many in @order */
	u32 epoch;			/* now */
	s32 timeout;			/* epochs after which a CPU leaves */
	s32 idle;			/* epochs since the last scan */
	u32 looked;			/* number of CPUs whose runtime the scan has read */
	u8 order[VISITED_OWN];		/* places in the small table, by shard */
};

/*
 * Whether a new epoch has begun in which no CPU has scanned. The tick then queues a scan. Lines
 * touched: the set's third, read.
 */
static inline bool visited_scan_due(const struct visited *v, u32 epoch)
{
	u64 scan = READ_ONCE(v->scan);

	return !(scan & VISITED_SCANNING) && (s32)(epoch - (u32)scan) > 0;
}

/**
 * visited_scan_begin() - claim the scan of an epoch, and start it
 * @s: the scan
 * @v: the set; gets a larger table if it needs one
 * @epoch: this CPU's epoch
 * @timeout: epochs after which a CPU leaves, 1 or more
 *
 * Return: false: another CPU scans, or has in this epoch; do not call visited_scan_end(). Ordering:
 * full barrier when true. Lines touched: the set's, the third written.
 */
bool visited_scan_begin(struct visited_scan *s, struct visited *v, u32 epoch, s32 timeout);

/**
 * visited_scan_next() - the next CPU of the set
 * @s: the scan
 * @cpu: where to store its number
 * @word: where to store its runtime, not decayed
 *
 * CPUs come in topology order, those of one LLC together. A CPU with too old a runtime leaves and
 * is not stored. The scan removes a block whose last CPU left; during these few instructions no new
 * shard can enter the set. A caller that may be interrupted for long turns preemption off around
 * the call.
 *
 * Return: false at the end. Ordering: load barrier after the runtime: the run-queue runtime that
 * the caller reads next has all of it (occupancy.c says why). Lines touched: for each CPU its
 * runtime's, read; for each shard the block's first, read, and written when a CPU leaves.
 */
bool visited_scan_next(struct visited_scan *s, u32 *cpu, u64 *word);

/*
 * End a scan, complete or not: other CPUs may then scan. Return: blocks for visited_blocks_free()
 * after a grace period, NULL: none.
 */
struct visited_block *visited_scan_end(struct visited_scan *s);

/* Free blocks from visited_scan_end(), or NULL. */
void visited_blocks_free(struct visited_block *list);

#endif /* SCHEDSHARD_VISITED_H */
