// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The real set of visited CPUs. Every later scan finds a CPU whose accounting returned true,
 * exactly once, while CPUs and blocks come and go. Bodies 0 and 1 account for CPUs 0 and 1, of one
 * shard or, where said, of two. The last body scans.
 */
#include "port.h"

#include <stdlib.h>

#include "cases.h"
#include "objects.h"
#include "visited.h"

#define TIMEOUT 5
#define OLD	10 /* epoch of the earlier runtime */
#define NOW	20
#define CPUS	10 /* CPUs of the largest plan */

enum { COUNTED_0, COUNTED_1, COUNTED_2, SCANS }; /* ghosts */

static const struct shard_plan *plan;
static struct visited *v;
static u64 *queue[CPUS]; /* by CPU: its run queue's runtime */

static void make_for(u32 nr, u32 per_shard)
{
	struct visited_pool *pool;

	plan = case_plan(nr, per_shard);
	pool = visited_pool_alloc(plan);
	v = pool ? visited_alloc(pool, -1, OLD) : NULL;
	if (!v)
		abort();
	explore_const(pool, pool->bytes);
	for (u32 cpu = 0; cpu < nr; cpu++) {
		queue[cpu] = port_alloc(PORT_CACHELINE, -1);
		explore_name(queue[cpu], 8, "run queue");
	}
	explore_name(v->own, sizeof(v->own), "table");
	explore_name(&v->changing, 8, "changing");
	explore_name(&v->scan, 8, "scan");
	explore_name(v->spare, sizeof(*v->spare), "spare block");
}

static void make(u32 per_shard)
{
	make_for(4, per_shard);
	explore_const(v, offsetof(struct visited, own));
}

/* An empty set: the first CPU inserts the block. */
static void setup_empty(uint32_t nr_cpus)
{
	make(2);
}

/* Two shards; one CPU of each enters. */
static void setup_two(uint32_t nr_cpus)
{
	make(1);
}

/* An empty set with a place for every shard of the machine. */
static void setup_large(uint32_t nr_cpus)
{
	struct visited_scan s;

	make(2);
	v->want_table = 1;
	if (!visited_scan_begin(&s, v, OLD + 1, TIMEOUT) || v->table == v->own)
		abort();
	visited_scan_end(&s);
}

/* CPU 9 is in the set, and its process is about to get a place for every shard. */
static void setup_grow(uint32_t nr_cpus)
{
	make_for(CPUS, 1);
	visited_account(v, queue[9], 9, NOW, 100);
	v->want_table = 1;
}

/* CPU 0's runtime is older than the timeout: a scan removes its bit, and the block. */
static void setup_old(uint32_t nr_cpus)
{
	make(2);
	visited_account(v, queue[0], 0, OLD, 100);
}

/* The same with a neighbour that keeps the block. */
static void setup_kept(uint32_t nr_cpus)
{
	setup_old(nr_cpus);
	visited_account(v, queue[1], 1, NOW, 100);
}

static void account(u32 cpu, u32 epoch)
{
	if (visited_account(v, queue[cpu], cpu, epoch, 7))
		explore_ghost_set(COUNTED_0 + cpu, epoch);
}

/* Count how often a scan finds each CPU. Return: false: another CPU had claimed the scan. */
static bool scan(u32 epoch, u32 *found)
{
	struct visited_scan s;
	u64 word, all;
	u32 cpu;

	for (u32 i = 0; i < CPUS; i++)
		found[i] = 0;
	if (!visited_scan_begin(&s, v, epoch, TIMEOUT))
		return false;
	while (visited_scan_next(&s, &cpu, &word)) {
		found[cpu]++;
		explore_check(occupancy_ns(word), "CPU %u is found, and ran nothing", cpu);
		all = READ_ONCE(*queue[cpu]);
		explore_check(occupancy_ns(all) >= occupancy_ns(word),
			      "CPU %u ran more of the process than it ran", cpu);
	}
	visited_scan_end(&s);
	return true;
}

static void scan_and_judge(u32 epoch)
{
	u64 counted[3];
	u32 found[CPUS];

	for (u32 i = 0; i < 3; i++)
		counted[i] = explore_ghost_get(COUNTED_0 + i);
	if (!scan(epoch, found))
		return;
	for (u32 i = 0; i < 3; i++) {
		explore_check(!counted[i] || found[i],
			      "CPU %u had accounted in epoch %u, and a scan misses it", i,
			      (u32)counted[i]);
		explore_check(found[i] <= 1, "CPU %u is found %u times", i, found[i]);
	}
}

/* A scan at the end finds each CPU that was counted, once. */
static void check_end(uint32_t nr_cpus)
{
	scan_and_judge(NOW + 4);
}

/* CPU 0 accounts twice in its epoch, the second time on the short path. */
static void come_and_scan(uint32_t cpu)
{
	if (!cpu) {
		account(0, NOW);
		account(0, NOW);
		return;
	}
	/* of two scanners one may fail to claim, or scan after the other */
	scan_and_judge(NOW + cpu - 1);
}

/* CPU 0 comes back while a scan removes its block, and accounts again an epoch later. */
static void next_epoch(uint32_t cpu)
{
	if (cpu) {
		scan_and_judge(NOW);
		return;
	}
	account(0, NOW);
	account(0, NOW + 1);
}

/* CPUs 0 and 1 enter; another CPU, the third if there are three, scans. */
static void both_come(uint32_t cpu)
{
	if (cpu < 2)
		account(cpu, NOW);
	else
		scan_and_judge(NOW);
}

/* CPU 0 comes back while a scan removes its block; CPU 1 enters for the first time. */
static void both_while_scanned(uint32_t cpu)
{
	if (cpu == 1)
		scan_and_judge(NOW);
	else
		account(cpu ? 1 : 0, NOW);
}

/* CPU 9 accounts while the table grows, which changes its place. */
static void account_while_growing(uint32_t cpu)
{
	u32 found[CPUS];

	if (!cpu) {
		explore_check(occupancy_ns(visited_word(v, 9)), "CPU 9 had run, and is not found");
		account(9, NOW);
		account(9, NOW);
	} else if (scan(NOW, found)) {
		explore_check(found[9] == 1, "CPU 9 is found %u times", found[9]);
	}
}

/* One scan per epoch, of a set whose only block is removed. */
static void scan_after_scan(uint32_t cpu)
{
	struct visited_scan s;
	u64 word;
	u32 n;

	if (!visited_scan_begin(&s, v, NOW + cpu, TIMEOUT))
		return;
	while (visited_scan_next(&s, &n, &word))
		;
	explore_result(cpu, visited_scan_end(&s) != NULL);
}

static void check_given_back_once(uint32_t nr_cpus)
{
	uint64_t times = explore_result_of(0) + explore_result_of(1) + explore_result_of(2);

	explore_check(times == 1, "a block is given back %u times", (u32)times);
}

/* Scans of one epoch: the one that claims it is alone. */
static void claim(uint32_t cpu)
{
	struct visited_scan s;

	if (!visited_scan_begin(&s, v, NOW, TIMEOUT))
		return;
	explore_check(!explore_ghost_get(SCANS), "two scan at once, or twice in an epoch");
	explore_ghost_set(SCANS, 1);
	visited_scan_end(&s);
}

/* ---- planted: steps of visited.c by hand, without one of them ---- */

static struct visited_block *block(void)
{
	return smp_load_acquire(&v->own[0]);
}

/* E1, no E2, E3. */
static void enter_no_barrier(uint32_t cpu)
{
	struct visited_block *b;

	if (cpu) {
		scan_and_judge(NOW);
		return;
	}
	b = block();
	WRITE_ONCE(*queue[0], occupancy_pack(NOW, 7));
	WRITE_ONCE(*visited_record(b, 0), occupancy_pack(NOW, 7));
	if (!(READ_ONCE(b->cpus) & 1))
		port_fetch_or64(&b->cpus, 1);
	explore_ghost_set(COUNTED_0, NOW);
}

/* C1 without C3. */
static void leave_no_look(uint32_t cpu)
{
	struct visited_block *b = block();
	u64 word;

	if (!cpu) {
		account(0, NOW);
		return;
	}
	word = READ_ONCE(*visited_record(b, 0));
	if (occupancy_is_old(word, NOW, TIMEOUT))
		port_fetch_and64(&b->cpus, ~1ull);
}

static void setup_no_bits(uint32_t nr_cpus)
{
	setup_old(nr_cpus);
	v->own[0]->cpus = 0;
}

/* R4 without R1 to R3. */
static void release_no_look(uint32_t cpu)
{
	struct visited_block *b = block();

	if (!cpu)
		account(0, NOW);
	else if (!READ_ONCE(b->cpus))
		WRITE_ONCE(v->own[0], NULL);
}

/* E1 to E3. */
static void store_and_join(struct visited_block *b, u32 cpu, u32 epoch)
{
	WRITE_ONCE(*queue[cpu], occupancy_pack(epoch, 7));
	WRITE_ONCE(*visited_record(b, cpu), occupancy_pack(epoch, 7));
	smp_mb();
	port_fetch_or64(&b->cpus, 1ull << cpu);
}

/* Without E5. */
static void enter_no_look(uint32_t cpu)
{
	struct visited_block *b;

	if (cpu) {
		scan_and_judge(NOW);
		return;
	}
	b = block();
	if (!b)
		return;
	store_and_join(b, 0, NOW);
	explore_ghost_set(COUNTED_0, NOW);
}

/* The second call, while a scan may remove the block: E5 drops the old runtime. */
static void give_up_and_forget(uint32_t cpu)
{
	struct visited_block *b;

	if (cpu) {
		scan_and_judge(NOW);
		return;
	}
	account(0, NOW);
	b = block();
	if (!b)
		return;
	store_and_join(b, 0, NOW + 1);
	if (READ_ONCE(b->unlinked))
		WRITE_ONCE(*visited_record(b, 0), 0);
}

/* Each CPU inserts a block into a place that it saw free, without holding "changing". */
static struct visited_block *two[2];

static void setup_two_blocks(uint32_t nr_cpus)
{
	make(2);
	for (u32 i = 0; i < 2; i++)
		two[i] = (struct visited_block *)(unsigned long)v->pool->reserve[0][i];
}

static void insert_unlocked(uint32_t cpu)
{
	struct visited_block *b = smp_load_acquire(&v->own[0]);

	if (!b) {
		b = two[cpu];
		smp_store_release(&v->own[0], b);
	}
	store_and_join(b, cpu, NOW);
	explore_ghost_set(COUNTED_0 + cpu, NOW);
}

/* The pointer first, then the bit of a large table. */
static void insert_pointer_first(uint32_t cpu)
{
	struct visited_block *b;

	if (cpu == 2) {
		scan_and_judge(NOW);
		return;
	}
	if (!cpu) {
		smp_store_release(&v->table[0], v->spare);
		WRITE_ONCE(*(u64 *)(void *)(v->table + plan->nr_shards), 1);
		return;
	}
	b = smp_load_acquire(&v->table[0]);
	if (!b)
		return;
	store_and_join(b, 1, NOW);
	explore_ghost_set(COUNTED_1, NOW);
}

/* Another process reuses the block as soon as it is removed, without a grace period. */
static struct visited *other;

static void setup_other(uint32_t nr_cpus)
{
	setup_old(nr_cpus);
	other = visited_alloc(v->pool, -1, OLD);
	if (!other)
		abort();
	explore_const(other, offsetof(struct visited, own));
	explore_name(other->own, sizeof(other->own), "other table");
}

static void reuse_at_once(uint32_t cpu)
{
	struct visited_scan s;
	struct visited_block *b;
	u32 n;
	u64 word;

	if (!cpu) {
		account(0, NOW);
		return;
	}
	if (!visited_scan_begin(&s, v, NOW, TIMEOUT))
		return;
	while (visited_scan_next(&s, &n, &word))
		;
	b = visited_scan_end(&s);
	if (!b)
		return;
	WRITE_ONCE(*visited_record(b, 0), 0);
	WRITE_ONCE(b->unlinked, 0);
	smp_store_release(&other->own[0], b);
}

static void check_other(uint32_t nr_cpus)
{
	struct visited_block *b = other->own[0];

	explore_check(!b || !b->cpus, "CPU 0 never ran the other process, and is in its set");
}

/* The claim by a load and a store. */
static void claim_plain(uint32_t cpu)
{
	u64 last = READ_ONCE(v->scan);

	if (last & VISITED_SCANNING || (s32)(NOW - (u32)last) <= 0)
		return;
	WRITE_ONCE(v->scan, last | VISITED_SCANNING);
	explore_check(!explore_ghost_get(SCANS), "two scan at once, or twice in an epoch");
	explore_ghost_set(SCANS, 1);
	smp_store_release(&v->scan, (u64)NOW);
}

#define CASE(name_, title_, kind_, min, max, setup_, body_, check_)                              \
	{                                                                                        \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = min, .max_cpus = max, \
		.setup = setup_, .body = body_, .check = check_                                  \
	}

const struct explore_case explore_visited_cases[] = {
	CASE("visited-comes-back", "a CPU comes back while a scan takes its bit and its block",
	     "core", 2, 3, setup_old, come_and_scan, check_end),
	CASE("visited-comes-back-kept", "the same in a block that a neighbour keeps", "core", 2, 3,
	     setup_kept, come_and_scan, check_end),
	CASE("visited-first", "two CPUs of a shard come first at once: one block", "core", 2, 3,
	     setup_empty, both_come, check_end),
	CASE("visited-first-two", "two shards come at once: a block each", "core", 2, 3, setup_two,
	     both_come, check_end),
	CASE("visited-first-large", "two CPUs of a shard come first at once, to a large table",
	     "core", 2, 3, setup_large, both_come, check_end),
	CASE("visited-grow", "a CPU accounts while the table grows", "core", 2, 2, setup_grow,
	     account_while_growing, NULL),
	CASE("visited-release", "two CPUs come while their shard's block is taken out", "core", 3,
	     3, setup_old, both_while_scanned, check_end),
	CASE("visited-next-epoch", "a CPU comes twice while its block is taken out", "core", 2, 2,
	     setup_old, next_epoch, check_end),
	CASE("visited-scans", "scan after scan: a block is given back once", "core", 2, 3,
	     setup_old, scan_after_scan, check_given_back_once),
	CASE("visited-claim", "one scans at a time, and once an epoch", "core", 2, 3, setup_old,
	     claim, NULL),
	CASE("planted-visited-enter", "planted: the bit is looked at before the runtime is there",
	     "planted", 2, 2, setup_kept, enter_no_barrier, check_end),
	CASE("planted-visited-leave", "planted: the runtime is not read again when the bit is gone",
	     "planted", 2, 2, setup_kept, leave_no_look, check_end),
	CASE("planted-visited-release", "planted: the bits are not read again before a block goes",
	     "planted", 2, 2, setup_no_bits, release_no_look, check_end),
	CASE("planted-visited-unlinked", "planted: an entering CPU does not ask if the block goes",
	     "planted", 2, 2, setup_old, enter_no_look, check_end),
	CASE("planted-visited-forget", "planted: a CPU that gives up loses what it had counted",
	     "planted", 2, 2, setup_old, give_up_and_forget, check_end),
	CASE("planted-visited-insert", "planted: blocks are put in without holding the table",
	     "planted", 2, 2, setup_two_blocks, insert_unlocked, check_end),
	CASE("planted-visited-present", "planted: a block is found before scans know of it",
	     "planted", 3, 3, setup_large, insert_pointer_first, NULL),
	CASE("planted-visited-reuse", "planted: a block serves again without a grace period",
	     "planted", 2, 2, setup_other, reuse_at_once, check_other),
	CASE("planted-visited-claim", "planted: the scan is claimed by a load and a store",
	     "planted", 2, 2, setup_old, claim_plain, NULL),
	{ 0 },
};
