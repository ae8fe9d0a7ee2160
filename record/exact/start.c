// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Begins and ends a recording. The command starts the program with the environment variable
 * SCHEDSHARD_EXACT; without it the program runs as always. The variable holds four paths: the
 * settings (record/plugin/watch.h), the file of names, the file of blocks, the folder of the
 * machine's files. Two words follow: the seed, and 'stacks' or 'none'.
 *
 * The recording begins when the first instrumented file calls __tsan_init() after this library's
 * constructors have run.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "away.h"
#include "blocks.h"
#include "dispatch.h"
#include "ends.h"
#include "lines.h"
#include "machine.h"
#include "masks.h"
#include "model.h"
#include "pass.h"
#include "preload.h"
#include "private.h"
#include "real.h"
#include "rseq.h"
#include "sim.h"
#include "sim_threads.h"
#include "stamps.h"
#include "start.h"
#include "timers.h"
#include "turns.h"
#include "user.h"
#include "ways.h"

#define SETTINGS "SCHEDSHARD_EXACT"

static _Noreturn void refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	_exit(2);
}

static void read_machine(void)
{
	struct feed_setup *s = &exact.watch.setup;
	struct machine *machine;
	struct shard_err err;

	if (!exact.watch.machine || !exact.watch.result)
		refuse("the settings name no machine, or no result");
	if (machine_load(&machine, exact.watch.machine, &err))
		refuse(err.text);
	s->machine = machine;
	s->detailed = true;
	for (uint32_t i = 0; i < s->nr_cpus; i++)
		if (s->cpu[i] >= machine->topo.nr_cpus || !machine->topo.cpu[s->cpu[i]].possible)
			refuse("the machine lacks a CPU that a 'cpu' line names");
	if (model_build(&exact_model, machine, s->cpu, s->nr_cpus))
		refuse("no memory for the model");
	exact.ps = model_cycles(&exact_model, 1);
	exact_model.waits_by_store = true;
}

/* The program goes on without a recording. */
static void leave(void)
{
	masks_end();
	stamps_end();
	rseq_end();
}

static bool began;

static void at_exit(void)
{
	result_write(NULL);
	leave();
}

/*
 * The recording ends here and not in a function of atexit(), because the program's own destructors
 * may still wait for threads. Its destructors run before those of libraries that it needs.
 */
__attribute__((destructor)) static void at_end(void)
{
	if (began)
		at_exit();
}

/* Prepare what needs no thread of the program. */
static void prepare(const char *settings)
{
	static char *own; /* a copy of @settings, used until the program ends */
	char *watch = strtok(own = strdup(settings), "\n"), *meta = strtok(NULL, "\n");
	char *blocks = strtok(NULL, "\n"), *view = strtok(NULL, "\n"), *seed = strtok(NULL, "\n");
	char *stacks = strtok(NULL, "\n");
	struct watch_error err;

	if (!stacks)
		refuse(SETTINGS " has too few parts; only 'record --exact' may set it");
	if (watch_read(&exact.watch, watch, &err))
		refuse(err.text);
	exact.meta = meta;
	exact.view = view;
	exact.seed = strtoull(seed, NULL, 10);
	exact.pid = getpid();
	read_machine();
	away_start();
	if (blocks_read(blocks, stamps_place))
		refuse("cannot read the file of blocks");
	if (!strcmp(stacks, "stacks") && ways_begin())
		refuse("no memory for stacks");
	if (sim_init(&exact_model, exact.seed) || lines_begin())
		refuse("no memory for the model");
}

static void alarm_of(uint32_t id, uint64_t at)
{
	if (id < TIMERS_FIRST)
		futex_alarm(id, at);
	else
		timers_due(id, at);
}

static void begin(const char *settings)
{
	const struct sim_threads threads = {
		.real = lines_real(),
		.alarm = alarm_of,
		.stuck = outside_stuck,
	};

	/*
	 * Allow many malloc arenas, as a large machine would, because the model takes one for
	 * itself.
	 */
	mallopt(M_ARENA_MAX, EXACT_THREADS);
	if (private_begin(prepare, settings) || threads_begin() || fatal_begin())
		refuse("no memory for the model");
	/* Now, because a library that the program loads later may have its part in the heap. */
	preload_locals(notes_locals);
	began = true;
	at_quick_exit(at_exit);
	sim_threads_begin(&threads, 0, &exact.threads[0]->fiber);
	exact.ends_now = ends_now;
	exact.endless = fatal_endless;
	dispatch_begin();
	stamps_begin();
	PASS((rseq_leave(), 0));
	rseq_thread();
	if (!dispatch_handle(TURNS_SIGNAL, 0, turns_tick))
		turns_begin();
	exact.recording = true;
	ways_thread(exact.threads[0]);
	lines_first();
}

/* This library's locks are instrumented too, and call start_once() before its constructors. */
static bool ready;

__attribute__((constructor)) static void is_ready(void)
{
	ready = true;
}

void start_once(void)
{
	const char *settings = getenv(SETTINGS);

	if (!settings || !ready)
		return;
	unsetenv(SETTINGS);
	begin(settings);
}

/* ---- ends that do not call atexit() functions ---- */

API _Noreturn void _exit(int status)
{
	/* A child of vfork() has the same memory. */
	if (exact.recording && exact_self && getpid() == exact.pid)
		result_write(NULL);
	REAL(_exit)(status);
	__builtin_unreachable();
}

API _Noreturn void _Exit(int status)
{
	_exit(status);
}

API pid_t fork(void)
{
	pid_t child;

	if (!exact_on())
		return PASS(REAL(fork)());
	/* Signals that the child is sent before it has its handlers stay pending in the kernel. */
	masks_hold(true);
	child = PASS(REAL(fork)());
	if (!child) {
		exact.recording = false;
		lines_mine = 0;
		leave();
		return 0;
	}
	masks_hold(false);
	if (child > 0) {
		exact.children++;
		exact.strangers = true;
		sched_cycles(50 * EXACT_CALL);
	}
	return child;
}
