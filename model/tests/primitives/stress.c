// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Every primitive and every kind of ping-pong, on real threads. Few operations: a waiter of a
 * queued lock spins without yielding its CPU, and there may be more threads than CPUs.
 */
#include "../../../core/tests/stress/threads.h"
#include "ping_pong.h"
#include "primitive.h"
#include "shapes.h"

#define ROUNDS	   100u
#define AT_ONCE	   8u /* operations of one call */
#define FAST_TURNS 500u

static const struct primitive *primitive;
static struct shard_plan *plan;
static void *state;
static const int node[NR_THREADS] = { -1, 0, -1, 0 };

static void set_up(void)
{
	const struct primitive_place place = { NR_THREADS, -1, node, plan, plan };

	state = primitive->create(&place);
	CHECK(state != NULL);
	CHECK(primitive->consistent(state, 0));
}

static void tear_down(void)
{
	primitive->destroy(state);
}

/* By thread; each element has its own line. */
static struct {
	u64 holds;
} port_cacheline_aligned held[NR_THREADS];

static void count_hold(void *arg)
{
	held[*(u32 *)arg].holds++;
}

static void work(u32 number)
{
	struct primitive_thread me = { number, 3 * number, count_hold, &number };

	for (u32 i = 0; i < ROUNDS; i++) {
		primitive->ops(state, &me, AT_ONCE);
		primitive->ops(state, &me, 1);
	}
}

static void nothing_is_lost(void)
{
	set_up();
	memset(held, 0, sizeof(held));
	run_threads(work);
	CHECK(primitive->consistent(state, (u64)NR_THREADS * ROUNDS * (AT_ONCE + 1)));
	for (u32 i = 0; i < NR_THREADS; i++) {
		if (!primitive->holds)
			CHECK_EQ(held[i].holds, 0);
		else
			CHECK_EQ(held[i].holds, ROUNDS * (AT_ONCE + 1));
	}
	tear_down();
}

/* Plain counters: two threads at once lose an update, and ThreadSanitizer reports a race. */
static u64 inside, entered;

static void only_me(void *arg)
{
	CHECK_EQ(inside, 0);
	inside++;
	entered++;
	port_compiler_barrier();
	inside--;
}

static void exclude(u32 number)
{
	struct primitive_thread me = { number, number, only_me, NULL };

	primitive->ops(state, &me, ROUNDS);
}

static void a_lock_excludes(void)
{
	set_up();
	entered = 0;
	run_threads(exclude);
	CHECK_EQ(entered, NR_THREADS * ROUNDS);
	CHECK(primitive->consistent(state, entered));
	tear_down();
}

static u32 together;

static void wait_for_all(void *arg)
{
	__atomic_fetch_add(&together, 1, __ATOMIC_RELAXED);
	while (READ_ONCE(together) < NR_THREADS)
		sched_yield();
}

static void share(u32 number)
{
	struct primitive_thread me = { number, number, wait_for_all, NULL };

	primitive->ops(state, &me, 1);
}

/* Each reader waits inside for all others, forever if one of them could not enter. */
static void readers_are_inside_at_once(void)
{
	set_up();
	together = 0;
	run_threads(share);
	CHECK(primitive->consistent(state, NR_THREADS));
	tear_down();
}

static bool looked;

static void look(void *arg)
{
	CHECK(!primitive->consistent(state, 1));
	looked = true;
}

static void the_hold_is_between_acquire_and_release(void)
{
	struct primitive_thread me = { 1, 1, look, NULL };

	set_up();
	looked = false;
	primitive->ops(state, &me, 1);
	CHECK(looked);
	CHECK(primitive->consistent(state, 1));
	tear_down();
}

static void a_lost_operation_is_noticed(void)
{
	struct primitive_thread me = { 0, 0, NULL, NULL };

	set_up();
	primitive->ops(state, &me, 4);
	CHECK(primitive->consistent(state, 4));
	CHECK(!primitive->consistent(state, 3)); /* one operation too many */
	if (strcmp(primitive->name, "plain-inc"))
		CHECK(!primitive->consistent(state, 5));
	tear_down();
}

static void without_memory_there_is_none(void)
{
	const struct primitive_place place = { NR_THREADS, -1, node, plan, plan };
	size_t before = test_bytes_allocated();

	for (unsigned int n = 1; n < 100; n++) {
		test_fail_alloc(n);
		state = primitive->create(&place);
		test_fail_alloc(0);
		if (state) {
			CHECK(n > 1);
			primitive->destroy(state);
			CHECK_EQ(test_bytes_allocated(), before);
			return;
		}
		CHECK_EQ(test_bytes_allocated(), before);
	}
	CHECK(false);
}

static const struct ping_pong *way;
static u64 word port_cacheline_aligned;

static void play(u32 number)
{
	if (number > 1)
		return;
	for (u64 turn = number; turn < ROUNDS * 2; turn += 2)
		way->turns(&word, turn, 1);
	way->turns(&word, ROUNDS * 2 + number, FAST_TURNS);
}

static void two_take_turns(void)
{
	word = 0;
	run_threads(play);
	CHECK_EQ(word, 2 * ROUNDS + 2 * FAST_TURNS);
}

static void names_are_found(void)
{
	CHECK(primitive_find("rwsem-read") != NULL);
	CHECK(!strcmp(primitive_find("rwsem-read")->name, "rwsem-read"));
	CHECK(!primitive_find("rwsem"));
	CHECK(!primitive_find(""));
	CHECK(ping_pong_find("read-cas") == &ping_pongs[1]);
	CHECK(!ping_pong_find("read"));
}

static bool counts(const char *name)
{
	return strstr(name, "inc") || strstr(name, "cas") || strstr(name, "counter");
}

int main(void)
{
	plan = shape_plan(&shapes[3]);
	RUN(names_are_found);
	for (u32 i = 0; primitives[i]; i++) {
		primitive = primitives[i];
		printf("%s\n", primitive->name);
		RUN(nothing_is_lost);
		RUN(without_memory_there_is_none);
		if (counts(primitive->name))
			RUN(a_lost_operation_is_noticed);
		if (!primitive->holds)
			continue;
		if (primitive->sleeps ||
		    (strstr(primitive->name, "lock") && !strstr(primitive->name, "read")))
			RUN(a_lock_excludes);
		else
			RUN(readers_are_inside_at_once);
		RUN(the_hold_is_between_acquire_and_release);
	}
	for (way = ping_pongs; way->name; way++) {
		printf("ping-pong %s\n", way->name);
		RUN(two_take_turns);
	}
	shard_plan_free(plan);
	return test_done();
}
