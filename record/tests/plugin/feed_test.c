// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model gets guests with known sharing: no sharing, all write one line, all write one place.
 * CPUs idle and resume, time passes while all are idle, and some items make no sense.
 *
 * feed_test MACHINE: epyc-7763-2s in its flat form
 */
#include "../../../model/tests/sim/check.h"

#include <string.h>

#include "feed.h"
#include "machine.h"
#include "stream.h"

#define CPUS 4u
/* An address of the direct map, in the form of an item. */
#define PLACE 0x888010000000ull
#define PC    0xffff81000000ull

/* CPU 2 runs until CPUs 0 and 1 have no items left, or this long. */
#define FOREVER 1000000u

static struct stream stream[CPUS];
static uint64_t run_for = FOREVER;

static enum feed_got get(void *arg, uint32_t cpu, struct item *item)
{
	if (cpu == 2 && run_for < FOREVER &&
	    !(stream_empty(&stream[0]) && stream_empty(&stream[1]))) {
		item->instr = run_for += 1000;
		return FEED_TIME;
	}
	return stream_pop(&stream[cpu], item) ? FEED_ITEM : FEED_END;
}

static bool ready(void *arg, uint32_t cpu)
{
	return true;
}

static void wait(void *arg)
{
	CHECK(!"nothing to wait for: everything is there");
}

static const struct feed_source source = { .get = get, .ready = ready, .wait = wait };

static void push(uint32_t cpu, uint8_t kind, uint64_t place, uint64_t pc, uint64_t instr)
{
	struct item item = { place, pc, instr, kind, 8 };

	stream_push(&stream[cpu], &item);
}

static void start(void)
{
	for (uint32_t i = 0; i < CPUS; i++)
		CHECK(!stream_init(&stream[i]));
}

static json_t *run(const struct feed_setup *setup)
{
	struct feed *f = feed_new(setup, &source);
	json_t *all = json_object();

	CHECK(f && all);
	feed_run(f);
	feed_json(f, all);
	feed_free(f);
	for (uint32_t i = 0; i < CPUS; i++)
		stream_free(&stream[i]);
	return all;
}

static double number(json_t *all, const char *key)
{
	json_t *value = json_object_get(all, key);

	if (!value)
		value = json_object_get(json_object_get(all, "model"), key);
	CHECK(value);
	return json_number_value(value);
}

static double hitm(json_t *all)
{
	return number(all, "hitm_local") + number(all, "hitm_remote");
}

/* Every CPU adds to a counter 1,000 times; the counters are @apart bytes from each other. */
static json_t *count(const struct feed_setup *setup, uint64_t apart)
{
	start();
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = 1; i <= 1000; i++)
			push(cpu, ITEM_LOCKED, PLACE + cpu * apart, PC, 50 * i);
	return run(setup);
}

static void sharing(const struct feed_setup *setup)
{
	json_t *none = count(setup, 64), *false_sharing = count(setup, 8), *same = count(setup, 0);
	json_t *line;

	CHECK(hitm(none) == 0);
	CHECK(number(none, "nr_lines") == 4);
	/* Costs do not depend on the bytes in the line, and the report separates the bytes. */
	CHECK(hitm(false_sharing) == hitm(same));
	CHECK(number(false_sharing, "virtual_ns") == number(same, "virtual_ns"));
	/* An owner adds at least once, mostly a few times, before it loses the line. */
	CHECK(hitm(same) > 400 && hitm(same) <= 4000);
	CHECK(number(same, "virtual_ns") > 2 * number(none, "virtual_ns"));
	line = json_array_get(json_object_get(false_sharing, "lines"), 0);
	CHECK(json_array_size(json_object_get(line, "accesses")) == CPUS);
	CHECK(json_integer_value(json_object_get(line, "records")) == 4000);
	CHECK(!strcmp(json_string_value(json_object_get(line, "address")), "0xffff888010000000"));
	/* The setup puts this memory on node 1. */
	CHECK(json_integer_value(json_object_get(line, "home")) == 1);
	json_decref(none);
	json_decref(false_sharing);
	json_decref(same);
}

/* HITM of the first line's accesses that need a byte that another CPU wrote. */
static double hitm_true(json_t *all)
{
	json_t *line = json_array_get(json_object_get(all, "lines"), 0), *access;
	double sum = 0;
	size_t i;

	json_array_foreach(json_object_get(line, "accesses"), i, access) sum +=
		number(access, "hitm_true");
	return sum;
}

/*
 * Two tasks, whose counters lie side by side, swap their CPUs every 100 operations. Both CPUs write
 * both counters, but only the first operations after a swap need what the other CPU wrote.
 */
static void tasks_that_move(const struct feed_setup *setup)
{
	struct feed_setup detailed = *setup;
	json_t *all, *own, *same;

	detailed.detailed = true;
	start();
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		for (uint64_t i = 0; i < 2000; i++)
			push(cpu, ITEM_LOCKED, PLACE + (cpu + i / 100) % 2 * 8, PC, 50 * (i + 1));
	all = run(&detailed);
	CHECK(hitm(all) > 200);
	CHECK(hitm_true(all) <= 0.1 * hitm(all));
	own = count(&detailed, 8);
	CHECK(hitm(own) > 200 && hitm_true(own) == 0);
	same = count(&detailed, 0);
	CHECK(hitm(same) > 200 && hitm_true(same) == hitm(same));
	json_decref(all);
	json_decref(own);
	json_decref(same);
}

static json_t *read_by_all(const struct feed_setup *setup)
{
	start();
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = 1; i <= 1000; i++)
			push(cpu, ITEM_LOAD, PLACE, PC, 50 * i);
	return run(setup);
}

/*
 * Loads of a line that no CPU writes: each core misses once. If the bytes were moved, they do not,
 * because a recorder of the edited program would not report them.
 */
static void reading(const struct feed_setup *setup)
{
	struct feed_pad pad = { PLACE, PLACE + 8 };
	struct feed_setup moved = *setup;
	json_t *all = read_by_all(setup);

	CHECK(hitm(all) == 0);
	CHECK(number(all, "loads") == 4000);
	CHECK(json_integer_value(json_object_get(json_array_get(json_object_get(all, "lines"), 0),
						 "records")) <= CPUS);
	json_decref(all);
	moved.hits_free = true;
	moved.pad = &pad;
	moved.nr_pads = 1;
	all = read_by_all(&moved);
	CHECK(!json_array_size(json_object_get(all, "lines")));
	CHECK(number(all, "virtual_ns") < 50001 / 2.45);
	json_decref(all);
}

/*
 * The virtual time of loads and stores, one every 50 instructions, by CPUs @apart bytes apart.
 * @locked: a locked operation on another line before each load
 */
static double time_of_plain(const struct feed_setup *setup, uint64_t apart, bool locked)
{
	double took;
	json_t *all;

	start();
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		for (uint64_t i = 1; i <= 1000; i++) {
			if (locked)
				push(cpu, ITEM_LOCKED, PLACE + 64 * (CPUS + cpu), PC, 50 * i - 2);
			push(cpu, ITEM_LOAD, PLACE + cpu * apart, PC, 50 * i - 1);
			push(cpu, ITEM_STORE, PLACE + cpu * apart, PC, 50 * i);
		}
	all = run(setup);
	took = number(all, "virtual_ns");
	json_decref(all);
	return took;
}

/*
 * Without the cost of hits, bytes in a line each take as long as if the model had not seen their
 * accesses. A line that changes its CPU costs as much as before, but for the hits between.
 */
static void hits(const struct feed_setup *setup)
{
	const double instructions = 50000 / 2.45;
	struct feed_setup program = *setup;
	double charged, free, contended, locked;

	charged = time_of_plain(setup, 64, false);
	program.hits_free = true;
	free = time_of_plain(&program, 64, false);
	/* 2.4 cycles for a store, and something for a load of the word that was stored last. */
	CHECK(charged > instructions + 2400 / 2.45);
	CHECK(free < instructions + 1000 && free >= instructions);
	contended = time_of_plain(&program, 8, false);
	CHECK(contended > 1.5 * free);
	/* 20 cycles for a locked operation, and nothing for the load after it. */
	locked = time_of_plain(&program, 64, true) - free;
	CHECK(locked > 19800 / 2.45 && locked < 20200 / 2.45 + 1000);
	/* Neither a load nor a store takes more than 4 cycles. */
	CHECK(contended > time_of_plain(setup, 8, false) - 8000 / 2.45);
}

/* The second CPU begins at about half of the first one's time. */
static json_t *half(const struct feed_setup *setup)
{
	start();
	for (uint64_t i = 1; i <= 1000; i++)
		push(0, ITEM_STORE, PLACE, PC, 1000 * i);
	push(1, ITEM_IDLE, 0, 0, 10);
	push(1, ITEM_RESUME, 500000, 0, 10);
	push(1, ITEM_LOAD, PLACE, PC, 20);
	return run(setup);
}

/* The clock of a CPU that resumes is at least that of the CPU that woke it up. */
static void resuming(const struct feed_setup *setup)
{
	json_t *all = half(setup);
	double cycle;

	cycle = 1 / 2.45;
	CHECK(number(all, "released") == 0);
	CHECK(hitm(all) == 1);
	/* CPU 1 ends at about half of CPU 0's time: all busy time is 1.5 times CPU 0's. */
	CHECK(number(all, "busy_ns") > 1.49e6 * cycle && number(all, "busy_ns") < 1.6e6 * cycle);
	json_decref(all);
}

/* The figures of a program count from the first item of its second CPU. */
static void window(const struct feed_setup *setup)
{
	const double cycle = 1 / 2.45;
	struct feed_setup program = *setup;
	json_t *all;

	program.detailed = true;
	all = half(&program);
	CHECK(hitm(all) == 1);
	CHECK(number(all, "busy_ns") > 0.49e6 * cycle && number(all, "busy_ns") < 0.6e6 * cycle);
	CHECK(number(all, "virtual_ns") < 0.6e6 * cycle);
	json_decref(all);
}

/* Two CPUs resume after the same idle time: it passes only once. */
static void all_idle(const struct feed_setup *setup)
{
	const double cycle = 1 / 2.45, idle_ns = 10000;
	json_t *all;

	start();
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		const uint64_t until = 1000 + 500 * cpu;

		push(cpu, ITEM_IDLE, 0, 0, until);
		push(cpu, ITEM_RESUME, (uint64_t)idle_ns * 1000, ITEM_NO_CPU, until);
		push(cpu, ITEM_LOAD, PLACE, PC, 2000);
	}
	all = run(setup);
	CHECK(number(all, "virtual_ns") >= idle_ns + 2000 * cycle);
	CHECK(number(all, "virtual_ns") < idle_ns + 4000 * cycle);
	/* The time counts for both CPUs, although CPU 1 became idle a little later. */
	CHECK(number(all, "busy_ns") >= 2 * idle_ns);
	json_decref(all);
}

/*
 * A running guest: all its CPUs are idle, and a timer is due after 50 us. No item comes until time
 * has advanced to the timer; then CPU 0 resumes.
 */
static const uint64_t timer_ps = 50000000;
static uint64_t live_due, live_news;
static uint32_t live_waits, live_alarms;
static bool live_resumed;

static enum feed_got live_get(void *arg, uint32_t cpu, struct item *item)
{
	if (stream_pop(&stream[cpu], item))
		return FEED_ITEM;
	return live_resumed || cpu ? FEED_END : FEED_EMPTY;
}

static bool live_ready(void *arg, uint32_t cpu)
{
	return !stream_empty(&stream[cpu]) || live_resumed;
}

static void live_wait(void *arg)
{
	live_waits++;
}

static uint64_t live_idle(void *arg)
{
	/* Time stands still at first. */
	return live_waits < 3 ? 0 : timer_ps;
}

static void live_alarm(void *arg)
{
	live_alarms++;
	live_due = UINT64_MAX;
	push(0, ITEM_RESUME, timer_ps, ITEM_NO_CPU, 100);
	push(0, ITEM_LOCKED, PLACE, PC, 200);
	live_resumed = true;
}

static void timers(const struct feed_setup *setup)
{
	const struct feed_source live = {
		.get = live_get,
		.ready = live_ready,
		.wait = live_wait,
		.idle = live_idle,
		.news = &live_news,
		.due = &live_due,
		.alarm = live_alarm,
	};
	json_t *all = json_object();
	struct feed *f;

	live_due = timer_ps;
	start();
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		push(cpu, ITEM_IDLE, 0, 0, 100);
	f = feed_new(setup, &live);
	CHECK(f && all);
	feed_run(f);
	CHECK(live_alarms == 1 && live_waits >= 3);
	CHECK(*feed_clock(f) >= timer_ps);
	feed_json(f, all);
	CHECK(number(all, "locked") == 1);
	/* The time of the timer, and of what CPU 0 did before and after it. */
	CHECK(number(all, "virtual_ns") > 50000 && number(all, "virtual_ns") < 51000);
	json_decref(all);
	feed_free(f);
	for (uint32_t i = 0; i < CPUS; i++)
		stream_free(&stream[i]);
}

/* CPUs wait for each other, for themselves, or for what never comes: the feed still ends. */
static void nonsense(const struct feed_setup *setup)
{
	json_t *all;

	start();
	push(0, ITEM_RESUME, 1000, 1, 5);
	push(1, ITEM_RESUME, 1000, 0, 5);
	push(2, ITEM_RESUME, 1ull << 61, 2, 5);
	push(3, ITEM_IDLE, 0, 0, 5);
	push(3, ITEM_RESUME, 1ull << 61, 2, 5);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		push(cpu, ITEM_IDLE, 0, 0, 6);
		push(cpu, ITEM_IDLE, 0, 0, 7);
		push(cpu, ITEM_LOCKED, PLACE + 60, PC, 8);
	}
	all = run(setup);
	CHECK(number(all, "locked") == CPUS);
	CHECK(number(all, "released") > 0);
	json_decref(all);
}

/*
 * CPU 0 resumes while CPU 1 executes the block of instructions up to 100. Instruction 90 in that
 * block reads what CPU 0 wrote then. Regression: each was held for the other as long as CPU 2 ran.
 */
static void circle(const struct feed_setup *setup, bool access_first)
{
	const uint64_t idled = access_first ? 1000 : 10;
	json_t *all;

	start();
	push(0, ITEM_IDLE, 0, 0, idled);
	push(0, ITEM_RESUME, 100, 1, idled);
	push(0, ITEM_STORE, PLACE, PC, idled + 40);
	push(1, ITEM_AFTER, idled + 40, 0, 90);
	push(1, ITEM_LOAD, PLACE, PC, 90);
	push(1, ITEM_LOAD, PLACE, PC, 120);
	run_for = 0;
	all = run(setup);
	CHECK(run_for < FOREVER / 10);
	CHECK(number(all, "released") == 1);
	run_for = FOREVER;
	json_decref(all);
}

static void repeats(const struct feed_setup *setup)
{
	json_t *a = count(setup, 0), *b = count(setup, 0);

	CHECK(json_equal(a, b));
	json_decref(a);
	json_decref(b);
}

int main(int argc, char **argv)
{
	struct feed_setup setup = { .nr_cpus = CPUS, .nr_nodes = 2 };
	struct machine *machine;
	struct shard_err err;

	CHECK(argc == 2);
	CHECK(!machine_load(&machine, argv[1], &err));
	setup.machine = machine;
	/* Two cores of one cache, one of another, one of another socket. */
	memcpy(setup.cpu, (uint32_t[]){ 0, 1, 8, 64 }, CPUS * sizeof(uint32_t));
	setup.node[0] = (struct feed_node){ 0, 0x10000000, 0 };
	setup.node[1] = (struct feed_node){ 0x10000000, 0x20000000, 1 };
	sharing(&setup);
	tasks_that_move(&setup);
	reading(&setup);
	hits(&setup);
	resuming(&setup);
	window(&setup);
	all_idle(&setup);
	timers(&setup);
	nonsense(&setup);
	circle(&setup, false);
	circle(&setup, true);
	repeats(&setup);
	machine_free(machine);
	return 0;
}
