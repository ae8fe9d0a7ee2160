/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Visited CPUs: where a process ran lately, and how long. A scan walks only these CPUs, LLC by LLC,
 * and touches nothing of an LLC that the process did not visit.
 *
 * A CPU enters the set when it accounts runtime of the process. It leaves when a scan finds no
 * runtime newer than a timeout. One block holds the state of a shard's CPUs: their bits in one
 * word, their runtimes (occupancy.h) on up to 8 lines, siblings mostly together. A block comes with
 * the first CPU of its shard and goes after the last one, so that memory follows the shards in use.
 *
 * Accounting runs under a run-queue lock and cannot allocate. It takes a block that is ready: the
 * process's spare one, then one from the shard's reserve in the pool, which callers that may sleep
 * fill. If there is none, or another CPU changes the process's table of blocks, accounting drops
 * the runtime and visited_account() says so. The next call tries again.
 *
 * Concurrency of operations on one struct visited:
 *
 *                | account, same CPU | account, other | scan begin..end | due bytes | alloc free
 *   account same | caller serialises | ok             | ok              | ok        | -
 *   account other| ok                | ok             | ok              | ok        | -
 *   scan         | ok                | ok             | one, it claims  | ok        | -
 *   due, bytes   | ok                | ok             | ok              | ok        | -
 *   alloc free   | -                 | -              | -               | -         | -
 *
 *   pool: fill and low with anything but alloc and free of the pool
 *   "caller serialises": it holds that CPU's run-queue lock, as Linux does
 *   "-": the caller excludes
 *
 * What the caller guarantees:
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
 * What holds then (visited.c has the proof): visited_account() returned true for an epoch. A scan
 * that begins later finds the CPU exactly once, with a runtime at least as new as that epoch. The
 * scan's own epoch must be at most its timeout ahead, or OCCUPANCY_AHEAD behind. No scan finds a
 * CPU that never accounted.
 *
 * Context: alloc, free, fill and visited_scan_begin() may sleep; the rest runs anywhere and never
 * waits. CPU numbers are of possible CPUs; no function checks them.
 */
#ifndef SCHEDSHARD_VISITED_H
#define SCHEDSHARD_VISITED_H

#include "port.h"
#include "occupancy.h"
#include "shard_plan.h"

#define VISITED_OWN	8u /* blocks in a process's own table; with more it gets a larger one */
#define VISITED_RESERVE 8u /* blocks that a shard keeps ready: pointers on one line */
#define VISITED_LINES	8u /* lines of records of a block */

/**
 * struct visited_block - the state of one shard's CPUs for one process
 * @cpus: a bit for each position in the set
 * @shard: the shard
 * @unlinked: 1: a scan takes the block out, or has; a CPU that enters now is not in the set
 * @next: in a list of blocks to free
 * @record: runtimes, see visited_record()
 */
struct visited_block {
	u64 cpus;
	u32 shard;
	u32 unlinked;
	struct visited_block *next;
	u64 record[SHARD_MAX_CAP] __aligned(PORT_CACHELINE);
};

static_assert(sizeof(struct visited_block) == PORT_CACHELINE + 512, "bits apart from runtimes");

/**
 * struct visited_pool - blocks that are ready, by shard
 * @plan: the plan
 * @bytes: memory of this header with its table
 * @reserve: by shard: VISITED_RESERVE addresses of blocks, 0: none
 */
struct visited_pool {
	const struct shard_plan *plan;
	size_t bytes;
	u64 *reserve[];
};

/**
 * struct visited - the set of one process
 * @table: @own, indexed by a shard number's low bits; or a table with a place for every shard
 * @slot: the plan's table by CPU number
 * @pool: supplies the blocks
 * @mask: bits of a shard's number that give its place in @table
 * @own: blocks by the low bits of their shard, or at the next free place
 * @changing: 1: a CPU changes @table's contents
 * @scan: epoch of the last scan in the low half; VISITED_SCANNING
 * @spare: the process's first block; the holder of @changing takes it
 * @want_table: @own is too small
 *
 * The first two lines change when shards come and go, the third one at every scan.
 */
struct visited {
	struct visited_block **table;
	const struct shard_slot *slot;
	struct visited_pool *pool;
	u32 mask;
	struct visited_block *own[VISITED_OWN] __aligned(PORT_CACHELINE);
	u64 changing __aligned(PORT_CACHELINE);
	u64 scan;
	struct visited_block *spare;
	u32 want_table;
};

#define VISITED_SCANNING (1ull << 32)

/* For a process that visits one shard, on any machine. */
static_assert(sizeof(struct visited) + sizeof(struct visited_block) <= 1024, "memory per process");

/**
 * visited_pool_alloc() - make the machine's pool, with full reserves
 * @plan: the plan; must outlive it
 *
 * Return: the pool, NULL: no memory.
 */
struct visited_pool *visited_pool_alloc(const struct shard_plan *plan);

/* Free a pool, or NULL; no struct visited of it is left. */
void visited_pool_free(struct visited_pool *pool);

/**
 * visited_pool_fill() - fill the reserve of a CPU's shard
 * @pool: the pool
 * @cpu: CPU number
 *
 * Call it when visited_pool_low(), and with every scan. Context: may sleep.
 *
 * Return: false: no memory for all of it.
 */
bool visited_pool_fill(struct visited_pool *pool, u32 cpu);

/**
 * visited_pool_low() - is less than half of a CPU's reserve left?
 * @pool: the pool
 * @cpu: CPU number
 *
 * For the tick. Ordering: none. Lines touched: one of the shard, read.
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

/**
 * visited_word() - a CPU's runtime of the process, in the set or not
 * @v: the set
 * @cpu: CPU number
 *
 * For a scan of all CPUs. The caller is in a read-side section as for visited_account(), or between
 * visited_scan_begin() and visited_scan_end(), when no other CPU takes blocks out. Ordering: as
 * visited_scan_next(). Lines touched: the set's first two, the block's first, the runtime's; all
 * read.
 *
 * Return: the runtime, not decayed; 0: the shard has no block.
 */
u64 visited_word(struct visited *v, u32 cpu);

/* The slow half of visited_account(). */
bool visited_enter(struct visited *v, u64 *queue, u32 cpu, u32 epoch, u64 ns);

/**
 * visited_record() - where a CPU's runtime lies
 * @b: its shard's block
 * @pos: its position in the shard
 *
 * Neighbouring positions lie on different lines, positions 8 apart on one. If a shard has a
 * multiple of 8 cores and numbers second threads after first ones, siblings share a line; with 8
 * cores they share it with no other CPU.
 *
 * Return: the word; only that CPU writes it.
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
 * @ns: time to add, nanoseconds
 *
 * Adds to @queue, then to the process's runtime there.
 *
 * Ordering: the queue's runtime before the process's: pairs with visited_scan_next(). The first
 * call of a CPU in an epoch has a full barrier after the process's runtime (visited.c). Lines
 * touched: the set's first two and the block's first, read; the runtime's and @queue's, written. A
 * CPU that enters also writes the block's first line. A shard that enters also writes the set's
 * second and third line and one of the pool's.
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
		 * Both of this epoch, neither 0, none near its ceiling, @ns not large: else a
		 * difference is huge. Then the CPU is in the set (visited.c).
		 */
		if (likely(!(((all - least) | (mine - least) | ns) >> 31))) {
			port_write64(queue, all + ns);
			smp_wmb(); /* pairs with smp_rmb() in visited_scan_next() (occupancy.c) */
			port_write64(record, mine + ns);
			return true;
		}
	}
	return visited_enter(v, queue, cpu, epoch, ns);
}

/**
 * struct visited_scan - one walk over the set
 * @v: the set
 * @plan: the plan
 * @table: the set's table
 * @block: the current block, NULL: none
 * @released: blocks taken out
 * @left: positions of @block still to visit
 * @at: next of @order, or next shard of the large table
 * @nr: how many in @order
 * @epoch: now
 * @timeout: epochs after which a CPU leaves
 * @idle: epochs since the last scan
 * @looked: CPUs whose runtime the scan has read: its length
 * @order: places in the small table, by shard
 *
 * Private to the functions below, except for @idle and @looked.
 */
struct visited_scan {
	struct visited *v;
	const struct shard_plan *plan;
	struct visited_block **table;
	struct visited_block *block;
	struct visited_block *released;
	u64 left;
	u32 at;
	u32 nr;
	u32 epoch;
	s32 timeout;
	s32 idle;
	u32 looked;
	u8 order[VISITED_OWN];
};

/**
 * visited_scan_due() - has a new epoch begun, and no CPU scanned in it?
 * @v: the set
 * @epoch: this CPU's epoch
 *
 * For the tick, which then queues a scan. Ordering: none. Lines touched: the set's third, read.
 */
static inline bool visited_scan_due(const struct visited *v, u32 epoch)
{
	u64 scan = READ_ONCE(v->scan);

	return !(scan & VISITED_SCANNING) && (s32)(epoch - (u32)scan) > 0;
}

/**
 * visited_scan_begin() - claim the scan of an epoch, and start it
 * @s: the scan
 * @v: the set
 * @epoch: this CPU's epoch
 * @timeout: epochs after which a CPU leaves, 1 or more
 *
 * Also gets a larger table for a process that needs one.
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
 * is not stored. A block whose last CPU left goes; for these few instructions the set turns new
 * shards away. A caller that may be interrupted for long turns preemption off around the call.
 *
 * Ordering: load barrier after the runtime: the run-queue runtime that the caller reads next has
 * all of it. Lines touched: for each CPU its runtime's, read; for each shard the block's first,
 * read, and written when a CPU leaves.
 *
 * Return: false at the end.
 */
bool visited_scan_next(struct visited_scan *s, u32 *cpu, u64 *word);

/**
 * visited_scan_end() - let other CPUs scan
 * @s: the scan, at its end or anywhere
 *
 * Return: blocks for visited_blocks_free() after a grace period, NULL: none.
 */
struct visited_block *visited_scan_end(struct visited_scan *s);

/* Free blocks from visited_scan_end(), or NULL. */
void visited_blocks_free(struct visited_block *list);

#endif /* SCHEDSHARD_VISITED_H */
