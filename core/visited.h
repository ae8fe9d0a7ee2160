/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Visited CPUs: where a process ran lately, and how long. A scan walks these CPUs only, last-level
 * cache by last-level cache; of a cache that the process did not visit it touches nothing.
 *
 * A CPU enters when it accounts runtime of the process, and leaves when a scan finds that it has
 * not for longer than a timeout. What the CPUs of a shard say lies in one block: their bits in one
 * word, their runtimes (see occupancy.h) on up to 8 lines, siblings mostly together. A block
 * comes when the first CPU of its shard enters and goes when the last one left, so that memory
 * follows the shards that are visited, not the machine.
 *
 * Accounting runs under a run queue's lock and cannot allocate. It takes a block that is ready: the
 * spare one that each process is born with, then one from the shard's reserve in the pool, which
 * is filled by whoever may sleep. When there is none, or somebody else changes the process's table
 * of blocks in that moment, the runtime is dropped and visited_account() says so; the next one
 * tries again.
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
 *   1. visited_account() runs inside a read-side section (in Linux of RCU: under a run queue's lock
 *	preemption is off), and the process's pointer to its struct visited was loaded in it.
 *   2. Blocks that visited_scan_end() returns, and the whole on visited_free(), are given back
 *	when every section that was open then is closed (call_rcu()). Until then a late
 *	accounting may still write into them; after it they may serve another process.
 *   3. The struct is counted by those who keep pointers beyond a section (the process itself, a
 *	queued scan): a scan holds a reference from before visited_scan_begin() to after
 *	visited_scan_end(). It is not part of another object that dies earlier.
 *
 * What holds then (visited.c says why): once visited_account() returned true, a scan that begins
 * later and whose epoch is at most its timeout ahead, or OCCUPANCY_AHEAD behind, finds the CPU,
 * exactly once, with a runtime at least as new as the epoch. No scan finds a CPU that never
 * accounted.
 *
 * Context: alloc, free, fill and visited_scan_begin() may sleep; the rest runs anywhere, and
 * waits for nobody. CPU numbers must be those of possible CPUs; they are not checked.
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
 * struct visited_block - what the CPUs of one shard say of one process
 * @cpus: a bit a position: it is in the set
 * @shard: the shard
 * @unlinked: 1: it is being taken out, or is out; who enters now is not in the set
 * @next: in a list of blocks to give back
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
 * @table: @own, searched by its first bits; or one with a place for every shard of the machine
 * @slot: the plan's table by CPU number
 * @pool: where blocks come from
 * @mask: of a shard's number, the bits of its place in @table
 * @own: blocks by the low bits of their shard, or where there was room
 * @changing: 1: somebody changes @table's contents
 * @scan: epoch of the last scan in the low half; VISITED_SCANNING
 * @spare: the block that came with it; taken while @changing is held
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

/* One that visits one shard, on whatever machine. */
static_assert(sizeof(struct visited) + sizeof(struct visited_block) <= 1024, "memory per process");

/**
 * visited_pool_alloc() - make a pool with full reserves
 * @plan: the plan; must outlive it
 *
 * One for the machine. Return: the pool, NULL when there is no memory.
 */
struct visited_pool *visited_pool_alloc(const struct shard_plan *plan);

/**
 * visited_pool_free() - give a pool back
 * @pool: the pool, or NULL; no struct visited of it is left
 */
void visited_pool_free(struct visited_pool *pool);

/**
 * visited_pool_fill() - fill the reserve of a CPU's shard
 * @pool: the pool
 * @cpu: CPU number
 *
 * From a context that may sleep: when visited_pool_low(), and with every scan.
 *
 * Return: false when there is no memory for all of it.
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
 * @node: NUMA node on which it is likely to run, -1: any
 * @epoch: now; the first scan is due in the next one
 *
 * Return: the set, NULL when there is no memory.
 */
struct visited *visited_alloc(struct visited_pool *pool, s32 node, u32 epoch);

/**
 * visited_free() - give a set back
 * @v: the set, or NULL
 */
void visited_free(struct visited *v);

/**
 * visited_bytes() - its memory
 * @v: the set
 *
 * Return: bytes, with blocks, spare block and table. Exact while nobody accounts or scans.
 */
size_t visited_bytes(const struct visited *v);

/**
 * visited_word() - what a CPU ran of the process, whether it is in the set or not
 * @v: the set
 * @cpu: CPU number
 *
 * For a scan of all CPUs. The caller is in a read-side section as for visited_account(), or between
 * visited_scan_begin() and visited_scan_end(): nobody else takes blocks out. Ordering: load
 * barrier after the runtime, as visited_scan_next(). Lines touched: the set's first two, the
 * first of the block, that of the CPU's runtime; all read.
 *
 * Return: the runtime, not decayed; 0 when there is no block of its shard.
 */
u64 visited_word(struct visited *v, u32 cpu);

/* The slow half of visited_account(). */
bool visited_enter(struct visited *v, u64 *queue, u32 cpu, u32 epoch, u64 ns);

/**
 * visited_record() - where a CPU's runtime lies
 * @b: its shard's block
 * @pos: its position in the shard
 *
 * Neighbouring positions lie on different lines, those 8 apart on one: with 8 cores or a
 * multiple, whose second threads are numbered behind the first ones, siblings share a line, and
 * nobody else does with 8.
 *
 * Return: the word; written by that CPU only.
 */
static port_always_inline u64 *visited_record(struct visited_block *b, u32 pos)
{
	/* Of 6 bits the low 3 and the high 3 change places. */
	return &b->record[pos * 65 / VISITED_LINES % SHARD_MAX_CAP];
}

static_assert(VISITED_LINES == 8 && SHARD_MAX_CAP == 64, "visited_record()");

/**
 * visited_account() - a CPU ran the process
 * @v: its set
 * @queue: runtime of the CPU's run queue, of all processes; written by that CPU only
 * @cpu: CPU number; the caller holds its run-queue lock
 * @epoch: that CPU's epoch
 * @ns: for how long, nanoseconds
 *
 * Adds to @queue, then to what the process ran there.
 *
 * Ordering: the run queue's runtime before the process's, for who reads them the other way round
 * (visited_scan_next()). No other within an epoch; the first call of a CPU in an epoch has a full
 * barrier after the process's runtime, see visited.c. Lines touched: the set's first two and the
 * first of the block, read; that of the CPU's runtime and @queue's, written. When a CPU enters, the
 * first of the block is written; when a shard does, also the set's second and third line and
 * one of the pool's.
 *
 * Return: true when it is counted; false when the process's part was dropped, as there was no
 * block for the shard.
 */
static port_always_inline bool visited_account(struct visited *v, u64 *queue, u32 cpu, u32 epoch,
					       u64 ns)
{
	struct shard_slot slot = v->slot[cpu];
	/* The mask first: pairs with the releases in grow(), see there. */
	u32 mask = smp_load_acquire(&v->mask);
	/* Pairs with the release in grow(): the places that it points to are set up. */
	struct visited_block **table = smp_load_acquire(&v->table);
	/* Pairs with the release in put(): what it points to is set up. */
	struct visited_block *b = smp_load_acquire(&table[slot.shard & mask]);
	u64 least = occupancy_pack(epoch, 1);

	/* Where shards share a place of the small table visited_enter() finds the block. */
	if (likely(b && b->shard == slot.shard)) {
		u64 *record = visited_record(b, slot.pos);
		u64 all = READ_ONCE(*queue), mine = READ_ONCE(*record);

		/*
		 * Both of this epoch, neither 0, none near its ceiling, @ns not large: else one of
		 * the differences is huge. Then the CPU is in the set, see visited.c.
		 */
		if (likely(!(((all - least) | (mine - least) | ns) >> 31))) {
			WRITE_ONCE(*queue, all + ns);
			smp_wmb(); /* pairs with the load barrier in visited_scan_next() */
			WRITE_ONCE(*record, mine + ns);
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
 * @block: the block under way, NULL: none
 * @released: blocks that were taken out
 * @left: positions of @block still to visit
 * @at: next of @order, or next shard of the large table
 * @nr: how many in @order
 * @epoch: now
 * @timeout: epochs after which a CPU leaves
 * @idle: epochs since the last scan
 * @looked: CPUs whose runtime was read so far: the length of the scan
 * @order: places in the small table, by shard
 *
 * Private to the functions below, but for @idle and @looked.
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
 * visited_scan_due() - has a new epoch begun, and nobody scanned in it?
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
 * Return: false when somebody else scans, or has in this epoch; there is nothing to end then.
 * Ordering: full barrier when true. Lines touched: the set's, the third written.
 */
bool visited_scan_begin(struct visited_scan *s, struct visited *v, u32 epoch, s32 timeout);

/**
 * visited_scan_next() - the next CPU of the set
 * @s: the scan
 * @cpu: where to store its number
 * @word: where to store its runtime, not decayed
 *
 * In topology order, so that CPUs of one LLC follow each other. Who is too old leaves and is not
 * stored; a block whose last CPU left is taken out. Taking out lasts a few instructions in which
 * a shard that comes to the set is turned away: where the caller may be interrupted for long, it
 * turns preemption off around the call.
 *
 * Ordering: load barrier after the runtime: the caller, reading the run queue's next, sees one that
 * has all of it.
 * Lines touched: for each CPU that of its runtime, read; for each shard the first of its block,
 * read; written when a CPU leaves.
 *
 * Return: false at the end.
 */
bool visited_scan_next(struct visited_scan *s, u32 *cpu, u64 *word);

/**
 * visited_scan_end() - let others scan
 * @s: the scan, at its end or anywhere
 *
 * Return: blocks for visited_blocks_free() after a grace period, NULL: none.
 */
struct visited_block *visited_scan_end(struct visited_scan *s);

/**
 * visited_blocks_free() - give blocks back
 * @list: from visited_scan_end(), or NULL
 */
void visited_blocks_free(struct visited_block *list);

#endif /* SCHEDSHARD_VISITED_H */
