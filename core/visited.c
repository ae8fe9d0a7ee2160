// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Why a scan misses no CPU. There are three layers: a CPU's runtime (with its epoch), its bit in
 * the block, the block in the table. A CPU writes the lower layer before it reads the upper one. A
 * scanner that removes an upper layer reads the lower one again afterwards.
 *
 *   A CPU, first in an epoch:		A scanner, at a CPU whose runtime is too old:
 *
 *   E1  store runtime			C1  clear bit
 *   E2  full barrier			C2  full barrier
 *   E3  bit clear: set it		C3  load runtime; not old any more: set bit
 *   E4  full barrier			then at a block without bits, "changing" held:
 *   E5  load unlinked; set: give up	R1  set unlinked
 *					R2  full barrier
 *					R3  load bits; any: clear unlinked, else
 *					R4  take the block out of the table
 *
 * Assume that E5 sees unlinked clear. If E3 saw the bit clear, or C1 was before E3, the bit is set
 * after C1. If E3 saw it set and C1 comes after, E2 and C2 make C3 see E1's runtime and restore the
 * bit (store buffering). So the bit is set until a scanner finds that runtime too old. In the same
 * way, by E4 and R2, R3 sees the bit or E5 sees unlinked set. A CPU whose E3 found the bit set
 * needs no E4: the bit was set before E2, and C3 restores it before that scanner's R1. What C3, R3
 * and E5 store follows their loads by control dependencies.
 *
 * If R3 sees the bit and E5 sees unlinked set, the CPU drops one runtime without need, and the
 * block stays. visited_account() may have counted the CPU's earlier runtime, an epoch ago, before
 * R1: the CPU restores it. Between C1 and C3 the bit is missing. One scan runs at a time, and this
 * one finds the CPU at C3.
 *
 * Later in its epoch a CPU stores its runtime and reads neither bit nor unlinked. A runtime of this
 * epoch says that the CPU went through E1 to E5 in this epoch. A CPU that gives up restores an
 * older runtime, or none. Since then only a scanner whose epoch is more than the timeout ahead has
 * taken the bit. For that scanner the CPU is not in the set.
 *
 * One block per shard. Only the holder of "changing" puts blocks in and takes them out, and
 * insert() looks for one again as the holder. A release ends the hold, after all its loads. So no
 * shard has two blocks, and no scan finds a CPU twice. A reader sees a complete block: put() stores
 * its address last, with release. In a large table put() first stores the shard's bit, which a scan
 * reads first. A CPU that found the block by its address was counted after the bit, and every later
 * scan sees the bit.
 *
 * A slow CPU may write into a block that is out of the table: the memory gets another use only
 * after a grace period (visited.h). It may also still read the small table when a large one exists.
 * The large one begins as a copy, which grow() makes as the holder. A CPU that misses its shard in
 * the small one looks again in the current one (insert()).
 */
#include "visited.h"
#include "shard_lines.h"

static bool fill(const struct visited_pool *pool, u32 shard)
{
	u64 *reserve = pool->reserve[shard];

	for (u32 i = 0; i < VISITED_RESERVE; i++) {
		struct visited_block *b;

		if (READ_ONCE(reserve[i]))
			continue;
		b = (struct visited_block *)port_alloc(sizeof(*b), pool->plan->shard[shard].node);
		if (!b)
			return false;
		/* Pairs with port_xchg64() in take(): else the taker may miss the zeroes. */
		if (port_cmpxchg64(&reserve[i], 0, (u64)(unsigned long)b))
			port_free(b, sizeof(*b)); /* another CPU filled it */
	}
	return true;
}

static struct visited_block *take(u64 *reserve)
{
	for (u32 i = 0; i < VISITED_RESERVE; i++) {
		/* Pairs with port_cmpxchg64() in fill(): without it the block may hold old data. */
		u64 b = READ_ONCE(reserve[i]) ? port_xchg64(&reserve[i], 0) : 0;

		if (b)
			return (struct visited_block *)(unsigned long)b;
	}
	return NULL;
}

struct visited_pool *visited_pool_alloc(const struct shard_plan *plan)
{
	size_t bytes = sizeof(struct visited_pool) + plan->nr_shards * sizeof(u64 *);
	struct visited_pool *pool = (struct visited_pool *)port_alloc(bytes, -1);

	if (!pool)
		return NULL;
	pool->plan = plan;
	pool->bytes = bytes;
	if (!shard_lines_alloc(plan, pool->reserve)) {
		port_free(pool, bytes);
		return NULL;
	}
	for (u32 shard = 0; shard < plan->nr_shards; shard++)
		if (!fill(pool, shard)) {
			visited_pool_free(pool);
			return NULL;
		}
	return pool;
}

void visited_pool_free(struct visited_pool *pool)
{
	struct visited_block *b;

	if (!pool)
		return;
	for (u32 shard = 0; shard < pool->plan->nr_shards; shard++)
		while ((b = take(pool->reserve[shard])))
			port_free(b, sizeof(*b));
	shard_lines_free(pool->plan, pool->reserve);
	port_free(pool, pool->bytes);
}

bool visited_pool_fill(struct visited_pool *pool, u32 cpu)
{
	return fill(pool, pool->plan->slot[cpu].shard);
}

bool visited_pool_low(const struct visited_pool *pool, u32 cpu)
{
	const u64 *reserve = pool->reserve[pool->plan->slot[cpu].shard];
	u32 n = 0;

	for (u32 i = 0; i < VISITED_RESERVE; i++)
		n += READ_ONCE(reserve[i]) != 0;
	return n < VISITED_RESERVE / 2; /* with 1 here, 0.07% of runtimes would be dropped */
}

struct visited *visited_alloc(struct visited_pool *pool, s32 node, u32 epoch)
{
	struct visited *v = (struct visited *)port_alloc(sizeof(*v), node);

	if (!v)
		return NULL;
	v->pool = pool;
	v->slot = pool->plan->slot;
	v->scan = epoch;
	v->table = v->own;
	v->mask = VISITED_OWN - 1;
	v->spare = (struct visited_block *)port_alloc(sizeof(*v->spare), node);
	if (v->spare)
		return v;
	port_free(v, sizeof(*v));
	return NULL;
}

/* After the pointers of a large table, each in a u64: a bit for each shard that has a block. */
static u64 *present_of(struct visited_block **table, const struct shard_plan *plan)
{
	return (u64 *)(void *)table + plan->nr_shards;
}

/* The caller holds "changing". */
static void set_present(struct visited_block **table, const struct shard_plan *plan, u32 shard,
			u64 present)
{
	u64 *word = &present_of(table, plan)[shard / 64];

	WRITE_ONCE(*word, (READ_ONCE(*word) & ~(1ull << shard % 64)) | present << shard % 64);
}

static size_t table_bytes(const struct shard_plan *plan)
{
	return (plan->nr_shards + ((size_t)plan->nr_shards + 63) / 64) * sizeof(u64);
}

static u32 places(const struct visited *v, struct visited_block *const *table)
{
	return table == v->own ? VISITED_OWN : v->pool->plan->nr_shards;
}

void visited_free(struct visited *v)
{
	if (!v)
		return;
	for (u32 i = 0; i < places(v, v->table); i++)
		port_free(v->table[i], sizeof(struct visited_block));
	port_free(v->spare, sizeof(*v->spare));
	if (v->table != v->own)
		port_free((void *)v->table, table_bytes(v->pool->plan));
	port_free(v, sizeof(*v));
}

size_t visited_bytes(const struct visited *v)
{
	/* Pairs with the release in grow(): without it a large table's pointers may be unset. */
	struct visited_block *const *table = smp_load_acquire(&v->table);
	size_t blocks = !!READ_ONCE(v->spare);

	for (u32 i = 0; i < places(v, table); i++)
		blocks += !!READ_ONCE(table[i]);
	return sizeof(*v) + blocks * sizeof(struct visited_block) +
	       (table == v->own ? 0 : table_bytes(v->pool->plan));
}

/* The block of a shard, NULL when there is none. */
static struct visited_block *find(struct visited *v, u32 shard)
{
	/* Pairs with the release in grow(): without it a large table's pointers may be unset. */
	struct visited_block **table = smp_load_acquire(&v->table);
	struct visited_block *b;

	if (table != v->own)
		return smp_load_acquire(&table[shard]); /* pairs with the release in put() */
	for (u32 i = 0; i < VISITED_OWN; i++) {
		/* Pairs with the release in put(): without it the block may be unset. */
		b = smp_load_acquire(&table[(shard + i) % VISITED_OWN]);
		if (b && b->shard == shard)
			return b;
	}
	return NULL;
}

u64 visited_word(struct visited *v, u32 cpu)
{
	struct shard_slot slot = v->slot[cpu];
	struct visited_block *b = find(v, slot.shard);
	u64 word = b ? port_read64(visited_record(b, slot.pos)) : 0;

	/* Pairs with smp_wmb() in visited_account() and visited_enter(); occupancy.c says why. */
	smp_rmb();
	return word;
}

static bool try_change(struct visited *v)
{
	/* Pairs with the release in changed(): without it the holder may miss the last change. */
	return !READ_ONCE(v->changing) && !port_xchg64(&v->changing, 1);
}

static void changed(struct visited *v)
{
	/* Pairs with port_xchg64() in try_change(): the next holder sees this change. */
	port_release64(&v->changing, 0);
}

/* Put a block for a shard into the table. The caller holds "changing". */
static struct visited_block *put(struct visited *v, u32 shard)
{
	struct visited_block **place = v->table == v->own ? NULL : &v->table[shard];
	struct visited_block *b = v->spare;

	for (u32 i = 0; !place && i < VISITED_OWN; i++)
		if (!READ_ONCE(v->own[(shard + i) % VISITED_OWN]))
			place = &v->own[(shard + i) % VISITED_OWN];
	if (!place) {
		WRITE_ONCE(v->want_table, 1);
		return NULL;
	}
	if (b)
		WRITE_ONCE(v->spare, NULL);
	else
		b = take(v->pool->reserve[shard]);
	if (!b)
		return NULL;
	WRITE_ONCE(b->shard, shard);
	/* The bit before the pointer: else a scan misses a block that CPUs find (see above). */
	if (v->table != v->own)
		set_present(v->table, v->pool->plan, shard, 1);
	/* Pairs with the acquires in visited_account(), find(), sort_own() and next_block(). */
	smp_store_release(place, b);
	return b;
}

/* The shard's block: one that another CPU has put in, else a new one. NULL: none available. */
static struct visited_block *insert(struct visited *v, u32 shard)
{
	struct visited_block *b;

	/* Until a scan has made room, every CPU would contend for "changing" without success. */
	if (READ_ONCE(v->want_table) || !try_change(v))
		return NULL;
	b = find(v, shard);
	b = b ? b : put(v, shard);
	changed(v);
	return b;
}

bool visited_enter(struct visited *v, u64 *queue, u32 cpu, u32 epoch, u64 ns)
{
	struct shard_slot slot = v->slot[cpu];
	struct visited_block *b = find(v, slot.shard);
	u64 bit = 1ull << slot.pos, old;
	u64 *record;

	port_write64(queue, occupancy_add(READ_ONCE(*queue), epoch, ns));
	/* Pairs with smp_rmb() in visited_scan_next() and visited_word(); occupancy.c says why. */
	smp_wmb();
	if (!b)
		b = insert(v, slot.shard);
	if (!b)
		return false;
	record = visited_record(b, slot.pos);
	old = READ_ONCE(*record);
	port_write64(record, occupancy_add(old, epoch, ns)); /* E1 */
	if (occupancy_epoch(old) == epoch && occupancy_ns(old))
		return true; /* E1 to E5 are done in this epoch */
	/*
	 * E2: pairs with C2 in leave(). Without it the CPU may read the bit while the runtime is in
	 * the store buffer. A scanner takes the bit, reads the old runtime, and the CPU is lost.
	 */
	smp_mb();
	if (!(READ_ONCE(b->cpus) & bit))
		port_fetch_or64(&b->cpus, bit); /* E3, E4: pairs with R2 in release() */
	if (likely(!READ_ONCE(b->unlinked)))	/* E5 */
		return true;
	/* Else the CPU's next call in this epoch counts it as in the set (see above). */
	port_write64(record, old);
	return false;
}

/* Give a process that visits many shards a table with one place per shard. */
static void grow(struct visited *v)
{
	const struct shard_plan *plan = v->pool->plan;
	struct visited_block **table;

	table = (struct visited_block **)port_alloc(table_bytes(plan), plan->shard[0].node);
	if (!table) {
		/* Places may become free; a CPU that finds none sets it again. */
		WRITE_ONCE(v->want_table, 0);
		return;
	}
	if (!try_change(v)) {
		port_free((void *)table, table_bytes(plan));
		return;
	}
	for (u32 i = 0; i < VISITED_OWN; i++) {
		struct visited_block *b = v->own[i];

		if (!b)
			continue;
		WRITE_ONCE(table[b->shard], b);
		set_present(table, plan, b->shard, 1);
	}
	WRITE_ONCE(v->want_table, 0);
	/*
	 * Pairs with the acquires in find(), visited_bytes() and visited_account(). The last one
	 * loads the mask first: it never uses the large mask with the small table. With the small
	 * mask in the large table it may find no block or a wrong one: visited_enter() searches.
	 */
	smp_store_release(&v->table, table);
	/* Pairs with the acquire of the mask in visited_account(), as above. */
	smp_store_release(&v->mask, ~0u);
	changed(v);
}

/* Sort the occupied places of the small table by shard number. */
static void sort_own(struct visited_scan *s)
{
	u32 shard[VISITED_OWN];

	for (u32 i = 0; i < VISITED_OWN; i++) {
		/* Pairs with the release in put(): without it the shard's number may be missing. */
		struct visited_block *b = smp_load_acquire(&s->table[i]);
		u32 k;

		if (!b)
			continue;
		for (k = s->nr++; k && shard[k - 1] > b->shard; k--) {
			shard[k] = shard[k - 1];
			s->order[k] = s->order[k - 1];
		}
		shard[k] = b->shard;
		s->order[k] = (u8)i;
	}
}

bool visited_scan_begin(struct visited_scan *s, struct visited *v, u32 epoch, s32 timeout)
{
	u64 last = READ_ONCE(v->scan);

	/* One CPU claims the scan and ends it. Pairs with the release in visited_scan_end(). */
	if (last & VISITED_SCANNING || (s32)(epoch - (u32)last) <= 0 ||
	    port_cmpxchg64(&v->scan, last, last | VISITED_SCANNING) != last)
		return false;
	if (READ_ONCE(v->want_table))
		grow(v);
	*s = (struct visited_scan){ .v = v,
				    .plan = v->pool->plan,
				    .table = v->table, /* only a scanner changes it */
				    .epoch = epoch,
				    .timeout = timeout,
				    .idle = (s32)(epoch - (u32)last) };
	if (s->table == v->own)
		sort_own(s);
	return true;
}

static struct visited_block *next_block(struct visited_scan *s)
{
	if (s->table == s->v->own) {
		if (s->at == s->nr)
			return NULL;
		/* Pairs with the release in put(). Only this scan takes blocks out. */
		return smp_load_acquire(&s->table[s->order[s->at++]]);
	}
	while (s->at < s->plan->nr_shards) {
		u64 word = READ_ONCE(present_of(s->table, s->plan)[s->at / 64]) >> s->at % 64;
		struct visited_block *b;

		if (!word) {
			s->at += 64 - s->at % 64;
			continue;
		}
		s->at += port_ctz64(word) + 1;
		/* Pairs with the release in put(). NULL: the pointer is not visible yet. */
		b = smp_load_acquire(&s->table[s->at - 1]);
		if (b)
			return b;
	}
	return NULL;
}

/* The block has no bits: remove it, unless a CPU enters. */
static void release(struct visited_scan *s, struct visited_block *b)
{
	u32 place = s->at - 1;

	if (!try_change(s->v))
		return;
	WRITE_ONCE(b->unlinked, 1); /* R1 */
	/*
	 * R2: pairs with E4 in visited_enter(). Without it R3 may come before an entering CPU can
	 * see "unlinked": that CPU would be in a block that is in no table.
	 */
	smp_mb();
	if (READ_ONCE(b->cpus)) { /* R3 */
		WRITE_ONCE(b->unlinked, 0);
	} else {
		if (s->table == s->v->own)
			place = s->order[place];
		else
			set_present(s->table, s->plan, b->shard, 0);
		WRITE_ONCE(s->table[place], NULL); /* R4 */
		WRITE_ONCE(b->next, s->released);
		s->released = b;
	}
	changed(s->v);
}

/* The CPU's runtime is too old: clear its bit. Return: false if the CPU came back meanwhile. */
static bool leave(struct visited_scan *s, struct visited_block *b, u32 pos, u64 *word)
{
	/*
	 * C1 and C2, a full barrier: pairs with E2 in visited_enter(). Without it C3 may come
	 * before C1: a CPU that stores a new runtime in between sees its bit set.
	 */
	port_fetch_and64(&b->cpus, ~(1ull << pos));
	*word = port_read64(visited_record(b, pos)); /* C3 */
	if (occupancy_is_old(*word, s->epoch, s->timeout))
		return true;
	/*
	 * Needs no ordering: this scan sees the bit that it sets, and visited_scan_end() orders the
	 * next scan.
	 */
	port_or64(&b->cpus, 1ull << pos);
	return false;
}

bool visited_scan_next(struct visited_scan *s, u32 *cpu, u64 *word)
{
	for (;;) {
		struct visited_block *b = s->block;
		u32 pos;

		if (!s->left) {
			if (b && !READ_ONCE(b->cpus))
				release(s, b);
			s->block = next_block(s);
			if (!s->block)
				return false;
			s->left = READ_ONCE(s->block->cpus);
			continue;
		}
		pos = port_ctz64(s->left);
		s->left &= s->left - 1;
		s->looked++;
		*word = port_read64(visited_record(b, pos));
		if (occupancy_is_old(*word, s->epoch, s->timeout) && leave(s, b, pos, word))
			continue;
		*cpu = s->plan->shard_cpus[b->shard][pos];
		/* Pairs with smp_wmb() in visited_account() and visited_enter(). */
		smp_rmb();
		return true;
	}
}

struct visited_block *visited_scan_end(struct visited_scan *s)
{
	/* Pairs with port_cmpxchg64() in visited_scan_begin(): the next scan sees these changes. */
	port_release64(&s->v->scan, (u64)s->epoch);
	return s->released;
}

void visited_blocks_free(struct visited_block *list)
{
	while (list) {
		struct visited_block *next = list->next;

		port_free(list, sizeof(*list));
		list = next;
	}
}
