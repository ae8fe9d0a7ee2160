// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The visited CPUs against three arrays by CPU number: an epoch, a runtime that is halved in steps,
 * and whether the CPU is in the set. The preference of a scan is compared with sums over all CPUs.
 * A CPU that has left counts as 0.
 */
#include "occupancy_llc.h"
#include "shapes.h"
#include "test.h"
#include "visited.h"

#define TIMEOUT 5

struct naive {
	const struct shard_plan *plan;
	u32 *epoch;
	u64 *ns;
	bool *in;
	u32 *cpus_of_shard; /* in the set */
	u32 *queue_epoch;
	u64 *queue_ns;
	u64 *queue; /* as packed words, for the code under test */
	bool grown, want;
};

static void *array(const struct shard_plan *plan, size_t size)
{
	void *a = calloc(plan->nr_cpus, size);

	CHECK(a);
	return a;
}

static void naive_init(struct naive *m, const struct shard_plan *plan)
{
	*m = (struct naive){ .plan = plan };
	m->epoch = array(plan, sizeof(*m->epoch));
	m->ns = array(plan, sizeof(*m->ns));
	m->in = array(plan, sizeof(*m->in));
	m->cpus_of_shard = array(plan, sizeof(*m->cpus_of_shard));
	m->queue_epoch = array(plan, sizeof(*m->queue_epoch));
	m->queue_ns = array(plan, sizeof(*m->queue_ns));
	m->queue = array(plan, sizeof(*m->queue));
}

static void naive_exit(struct naive *m)
{
	free(m->epoch);
	free(m->ns);
	free(m->in);
	free(m->cpus_of_shard);
	free(m->queue_epoch);
	free(m->queue_ns);
	free(m->queue);
}

/* Halves a runtime once per epoch, up to the epoch @now. */
static void advance(u32 *epoch, u64 *ns, u32 now)
{
	u32 steps = now - *epoch;

	for (u32 i = 0; i < steps && *ns; i++)
		*ns /= 2;
	*epoch = now;
}

/* The number of blocks: one per shard with a CPU in the set. A scan removes the others. */
static u32 blocks(const struct naive *m)
{
	u32 n = 0;

	for (u32 s = 0; s < m->plan->nr_shards; s++)
		n += m->cpus_of_shard[s] > 0;
	return n;
}

static void account(struct naive *m, struct visited *v, u32 cpu, u32 now, u64 ns)
{
	u32 shard = m->plan->slot[cpu].shard;
	bool room = m->cpus_of_shard[shard] || m->grown || blocks(m) < VISITED_OWN;

	advance(&m->queue_epoch[cpu], &m->queue_ns[cpu], now);
	m->queue_ns[cpu] += ns;
	CHECK_EQ(visited_account(v, &m->queue[cpu], cpu, now, ns), room);
	CHECK_EQ(m->queue[cpu], occupancy_pack(now, (u32)m->queue_ns[cpu]));
	if (!room) {
		m->want = true;
		return;
	}
	if (!m->cpus_of_shard[shard])
		for (u32 i = 0; i < m->plan->shard[shard].nr_cpus; i++)
			m->ns[m->plan->shard_cpus[shard][i]] = 0; /* a new block */
	m->cpus_of_shard[shard] += !m->in[cpu];
	m->in[cpu] = true;
	advance(&m->epoch[cpu], &m->ns[cpu], now);
	m->ns[cpu] += ns;
}

/* The result for the whole machine, LLC by LLC, in order. */
static s32 naive_preference(const struct naive *m, u32 now, s32 present)
{
	s32 llc = -1, best = -1;
	u64 sum = 0, best_sum = 0, present_sum = 0, ns, queue_ns;
	u32 epoch;

	for (u32 i = 0; i <= m->plan->nr_possible; i++) {
		bool last = i == m->plan->nr_possible;
		u32 cpu = last ? 0 : m->plan->idx_to_cpu[i];
		s32 here = last ? -2 : (s32)m->plan->shard[m->plan->slot[cpu].shard].llc;

		if (here != llc) {
			if (sum > best_sum) {
				best_sum = sum;
				best = llc;
			}
			if (llc == present)
				present_sum = sum;
			sum = 0;
			llc = here;
		}
		if (last || !m->in[cpu])
			continue;
		epoch = m->epoch[cpu];
		ns = m->ns[cpu];
		advance(&epoch, &ns, now);
		epoch = m->queue_epoch[cpu];
		queue_ns = m->queue_ns[cpu];
		advance(&epoch, &queue_ns, now);
		sum += port_div64(ns * OCCUPANCY_SCALE, queue_ns + 1);
	}
	return best_sum > 2 * present_sum ? best : present;
}

static s32 scan(struct naive *m, struct visited *v, u32 now, s32 present)
{
	struct visited_scan s;
	struct occupancy o;
	u32 next = 0, looked = 0, cpu;
	u64 word;

	CHECK(visited_scan_begin(&s, v, now, TIMEOUT));
	m->grown |= m->want;
	occupancy_begin(&o, present);
	for (u32 i = 0; i < m->plan->nr_cpus; i++) {
		if (!m->in[i])
			continue;
		looked++;
		if (now - m->epoch[i] <= TIMEOUT)
			continue;
		m->in[i] = false;
		m->cpus_of_shard[m->plan->slot[i].shard]--;
	}
	while (visited_scan_next(&s, &cpu, &word)) {
		/* the next one of the model, in topology order */
		while (next < m->plan->nr_possible && !m->in[m->plan->idx_to_cpu[next]])
			next++;
		CHECK(next < m->plan->nr_possible);
		CHECK_EQ(cpu, m->plan->idx_to_cpu[next++]);
		CHECK_EQ(occupancy_epoch(word), m->epoch[cpu]);
		CHECK_EQ(occupancy_ns(word), m->ns[cpu]);
		occupancy_cpu(&o, (s32)m->plan->shard[m->plan->slot[cpu].shard].llc,
			      occupancy_share(word, m->queue[cpu], now));
	}
	while (next < m->plan->nr_possible && !m->in[m->plan->idx_to_cpu[next]])
		next++;
	CHECK_EQ(next, m->plan->nr_possible);
	CHECK_EQ(s.looked, looked);
	visited_blocks_free(visited_scan_end(&s));
	CHECK_EQ(occupancy_end(&o), naive_preference(m, now, present));
	return o.best_sum > 2 * o.present_sum ? o.best : present;
}

static void check_bytes(const struct naive *m, const struct visited *v, bool spare)
{
	size_t table = (m->plan->nr_shards * sizeof(void *) + 7) / 8 * 8 +
		       (m->plan->nr_shards + 63) / 64 * 8;

	CHECK_EQ(visited_bytes(v), sizeof(*v) + (m->grown ? table : 0) +
					   (blocks(m) + spare) * sizeof(struct visited_block));
}

static void run_shape(const struct shape *shape)
{
	struct shard_plan *plan = shape_plan(shape);
	struct visited_pool *pool = visited_pool_alloc(plan);
	u64 random = test_state.start;
	u32 epoch = ~0u - 30, home = 0; /* wraps on the way */
	struct visited *v = visited_alloc(pool, 0, epoch - 1);
	s32 present = -1;
	bool ran = false;
	struct naive m;

	CHECK(pool && v);
	naive_init(&m, plan);
	test_state.shape = shape->name;
	for (test_state.step = 0; test_state.step < 20000; test_state.step++) {
		u32 what = test_below(&random, 100);

		if (what < 85) {
			/* mostly near home, so that sets are small */
			u32 far = test_below(&random, 20) ? 12 : plan->nr_possible;
			u32 idx = (home + test_below(&random, far)) % plan->nr_possible;

			account(&m, v, plan->idx_to_cpu[idx], epoch, test_below(&random, 100000));
			ran = true;
			CHECK(visited_pool_fill(pool, plan->idx_to_cpu[idx]));
		} else if (what < 87) {
			home = test_below(&random, plan->nr_possible);
		} else if (what < 97) {
			if (visited_scan_due(v, epoch))
				present = scan(&m, v, epoch, present);
			check_bytes(&m, v, !ran);
		} else {
			epoch += 1 + test_below(&random, 3);
		}
	}
	naive_exit(&m);
	visited_free(v);
	visited_pool_free(pool);
	shard_plan_free(plan);
}

static void set_and_preference(void)
{
	test_state.seed = test_state.start;
	for (u32 i = 0; i < nr_shapes; i++)
		run_shape(&shapes[i]);
}

/* Any word at any epoch is compared with halving in steps, and shares with the whole. */
static void words(void)
{
	u64 random = test_state.start;

	test_state.seed = test_state.start;
	test_state.shape = NULL;
	for (test_state.step = 0; test_state.step < 200000; test_state.step++) {
		u64 base = test_random(&random),
		    ns = test_random(&random) >> test_below(&random, 64);
		u32 epoch = occupancy_epoch(base), steps = test_below(&random, 40);
		u32 later = epoch + steps;
		u64 left = occupancy_ns(base), sum, queue, a, b;

		for (u32 i = 0; i < steps; i++)
			left /= 2;
		CHECK_EQ(occupancy_decayed(base, later), left);
		CHECK_EQ(occupancy_is_old(base, later, TIMEOUT), steps > TIMEOUT);
		sum = ns > ~0u - left ? ~0u : left + ns;
		CHECK_EQ(occupancy_add(base, later, ns), occupancy_pack(later, (u32)sum));

		/* two processes on a queue, whose runtime is their sum; read 2 epochs later */
		a = occupancy_add(0, epoch, ns >> 33);
		queue = occupancy_add(0, epoch, ns >> 33);
		queue = occupancy_add(queue, later, ns >> 34);
		b = occupancy_add(0, later, ns >> 34);
		CHECK(occupancy_share(a, queue, later + 2) + occupancy_share(b, queue, later + 2) <
		      OCCUPANCY_SCALE);
		/* the same for a reader whose epoch is behind */
		CHECK(occupancy_share(a, queue, later - 1) <= OCCUPANCY_SCALE);
	}
}

#define TESTS(TEST)              \
	TEST(set_and_preference) \
	TEST(words)

TEST_MAIN(visited_model, TESTS)
