// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The model runs in its own thread, from the opening of the window until it has processed all items
 * up to the closing. The result is written once, under a temporary name until it is complete.
 *
 * A run that is cut short (a signal ended the emulator, or the guest died) has a result too, which
 * says that it is partial. The window closes then, and the model gets GRACE_MS to process the rest.
 *
 * While the window is open the guest's time is the model's (guest_clock.h). While all CPUs are
 * idle, that time advances to the next timer when nothing has happened for SETTLED_NS. Meanwhile a
 * timer that is just due can fire, because only the host's time advances.
 *
 * No item says that a CPU was idle when the window opened. The model finds that out when it
 * requests that CPU's first item and there is none.
 */
#include "window.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counts.h"
#include "guest_clock.h"
#include "host_time.h"
#include "step.h"
#include "trace.h"
#include "vcpu.h"

#define GRACE_MS   2000
#define FINISH_MS  60000
#define NAP_NS	   20000
#define SETTLED_NS 300000
#define YIELDS	   200

static pthread_t model_thread;
static bool model_running, partial, abandoned, model_done, written;
static uint64_t opened_ns, closed_ns;
static struct trace_writer *trace;
/* When the guest's next timer is due, on the model's clock; NULL: guest time is not the model's. */
static const uint64_t *due;
static uint32_t yields;	  /* number of yields since the last item */
static uint32_t behind;	  /* the CPU that had no item; ITEM_NO_CPU: all are idle */
static uint64_t settling; /* since when all CPUs are idle and time stands still; 0: it does not */

/* ---- the model's source ---- */

/* How far each CPU has come according to the trace, and how far that may lag. */
static uint64_t *traced, trace_every;

static void keep(uint32_t cpu, const struct item *item)
{
	if (!trace)
		return;
	if (traced)
		traced[cpu] = item->instr;
	trace_write(trace, cpu, item);
}

static void keep_time(uint32_t cpu, uint64_t instr)
{
	struct item item = { .kind = ITEM_TIME, .instr = instr };

	if (traced && instr - traced[cpu] > trace_every)
		keep(cpu, &item);
}

void window_trace_time(uint64_t instructions)
{
	traced = calloc(plugin.nr_vcpus, sizeof(*traced));
	trace_every = instructions;
}

static enum feed_got get(void *arg, uint32_t cpu, struct item *item)
{
	struct vcpu *v = &plugin.vcpu[cpu];
	uint64_t instr;

	settling = 0;
	behind = ITEM_NO_CPU;
	step_progress(cpu);
	if (__atomic_load_n(&abandoned, __ATOMIC_RELAXED))
		return FEED_END;
	/*
	 * This load comes before the load of the stream, so that the stream contains all items of
	 * these instructions, except those of the last block.
	 */
	instr = __atomic_load_n(&v->instr, __ATOMIC_ACQUIRE) - v->base;
	if (stream_pop(&v->stream, item)) {
		yields = 0;
		v->idle_told = item->kind == ITEM_IDLE;
		/* The trace may have told the time of a whole block before its accesses. */
		if (traced && item->instr < traced[cpu])
			item->instr = traced[cpu];
		keep(cpu, item);
		return FEED_ITEM;
	}
	if (__atomic_load_n(&plugin.state->closed, __ATOMIC_ACQUIRE) && stream_empty(&v->stream))
		return FEED_END;
	if (!v->idle_told && __atomic_load_n(&v->idle, __ATOMIC_ACQUIRE) &&
	    stream_empty(&v->stream)) {
		v->idle_told = true;
		*item = (struct item){ .kind = ITEM_IDLE, .instr = instr };
		keep(cpu, item);
		return FEED_ITEM;
	}
	if (instr > feed_done(plugin.feed, cpu)) {
		/*
		 * For threads that may be far apart, progress without items does not keep the model
		 * awake.
		 */
		if (!plugin.apart)
			yields = 0;
		item->instr = instr;
		keep_time(cpu, instr);
		return FEED_TIME;
	}
	behind = cpu;
	return FEED_EMPTY;
}

static bool ready(void *arg, uint32_t cpu)
{
	return !stream_empty(&plugin.vcpu[cpu].stream) ||
	       __atomic_load_n(&plugin.state->closed, __ATOMIC_ACQUIRE);
}

/* Yield first: a sleep takes longer than most CPUs need to produce their next item. */
static void nap(void *arg)
{
	if (yields++ < YIELDS)
		sched_yield();
	else if (plugin.apart)
		step_rest(behind);
	else
		step_sleep(NAP_NS);
}

static uint64_t idle(void *arg)
{
	uint64_t next = due ? __atomic_load_n(due, __ATOMIC_SEQ_CST) : GUEST_CLOCK_NEVER;
	uint64_t now = *feed_clock(plugin.feed);

	if (!settling)
		settling = host_now();
	if (next == GUEST_CLOCK_NEVER || next <= now || host_now() - settling < SETTLED_NS)
		return plugin.state->idled;
	settling = 0;
	/*
	 * This store comes before the alarm, because the CPU that the alarm wakes reports how long
	 * all CPUs were idle. It pairs with the acquire in access_resume().
	 */
	__atomic_store_n(&plugin.state->idled, plugin.state->idled + next - now, __ATOMIC_RELEASE);
	return plugin.state->idled;
}

static void timer_due(void *arg)
{
	guest_clock_alarm();
}

/* ---- the result ---- */

static json_t *stepping_json(void)
{
	uint64_t private_accesses = 0, device = 0, reported = 0, waits = 0, timeouts = 0;
	uint64_t waited = 0, instructions = 0;

	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		const struct vcpu *v = &plugin.vcpu[i];

		private_accesses += v->private_accesses;
		device += v->device_accesses;
		reported += v->reported;
		waits += v->waits;
		timeouts += v->timeouts;
		waited += v->waited_ns;
		instructions += v->instr - v->base;
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "quantum",
			 (json_int_t)plugin.watch.quantum, "instructions", (json_int_t)instructions,
			 "accesses_private", (json_int_t)private_accesses, "accesses_device",
			 (json_int_t)device, "accesses_reported", (json_int_t)reported, "waits",
			 (json_int_t)waits, "timeouts", (json_int_t)timeouts, "waited_seconds",
			 (double)waited / 1e9, "window_seconds",
			 (double)(closed_ns - opened_ns) / 1e9);
}

static void write_result(void)
{
	const char *path = plugin.watch.result;
	json_t *all = json_pack("{s:s, s:b, s:i, s:I, s:o, s:o}", "format", "schedshard/c2c-raw/1",
				"partial", (int)partial, "guest_cpus", (int)plugin.nr_vcpus,
				"operations", (json_int_t)plugin.state->operations, "stepping",
				stepping_json(), "functions", counts_json());
	char temp[4096];

	if (plugin.feed)
		feed_json(plugin.feed, all);
	if ((size_t)snprintf(temp, sizeof(temp), "%s.tmp", path) >= sizeof(temp) ||
	    json_dump_file(all, temp, JSON_COMPACT | JSON_REAL_PRECISION(12)) || rename(temp, path))
		fprintf(stderr, "schedshard: cannot write %s: %s\n", path, strerror(errno));
	json_decref(all);
	/*
	 * SIGTERM ends the emulator as from outside: it stops the devices, and calls window_end().
	 */
	if (plugin.watch.stop && !partial)
		kill(getpid(), SIGTERM);
}

/* A part of a trace is useless: the command notices that the file is gone. A device stays. */
static void remove_trace(void)
{
	struct stat file;

	if (!lstat(plugin.watch.trace, &file) && S_ISREG(file.st_mode))
		unlink(plugin.watch.trace);
	else
		fprintf(stderr, "schedshard: cannot write all of %s\n", plugin.watch.trace);
}

static void *run_model(void *arg)
{
	feed_run(plugin.feed);
	if (due)
		guest_clock_leave();
	if (trace && trace_close(trace))
		remove_trace();
	write_result();
	__atomic_store_n(&model_done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* ---- the window ---- */

static void check_all(void)
{
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		__atomic_store_n(&plugin.vcpu[i].check_at, 0, __ATOMIC_RELAXED);
}

void window_prepare(void)
{
	if (__atomic_exchange_n(&plugin.state->soon, true, __ATOMIC_SEQ_CST))
		return;
	check_all();
}

/* The model's thread blocks all signals: they go to the emulator's threads only. */
static int start_model(void)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&model_thread, NULL, run_model, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return failed;
}

void window_model(void)
{
	struct feed_source source = {
		.get = get,
		.ready = ready,
		.wait = nap,
		.idle = idle,
		.news = &plugin.state->news,
		.alarm = timer_due,
	};

	if (plugin.feed)
		return;
	if (guest_clock_due)
		source.due = due = guest_clock_due();
	plugin.feed = feed_new(&plugin.watch.setup, &source);
	if (!plugin.feed) {
		fprintf(stderr, "schedshard: no memory for the model\n");
		exit(1);
	}
}

void window_open(void)
{
	struct trace_error err;

	if (plugin.state->open || plugin.state->closed)
		return;
	if (plugin.watch.machine)
		window_model();
	if (plugin.feed && plugin.watch.trace) {
		trace = trace_create(plugin.watch.trace, plugin.nr_vcpus, &err);
		if (!trace) {
			fprintf(stderr, "schedshard: %s\n", err.text);
			exit(1);
		}
	}
	window_prepare();
	opened_ns = host_now();
	if (due && guest_clock_follow(feed_clock(plugin.feed))) {
		fprintf(stderr, "schedshard: the guest's clock cannot be taken over: %s\n",
			strerror(errno));
		exit(1);
	}
	/* The last step, because the others run on while this CPU prepares the model. */
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		struct vcpu *v = &plugin.vcpu[i];

		v->base = __atomic_load_n(&v->instr, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&plugin.state->open, true, __ATOMIC_SEQ_CST);
	check_all();
	if (plugin.feed)
		model_running = !start_model();
	if (plugin.feed && !model_running) {
		fprintf(stderr, "schedshard: cannot start the model's thread\n");
		exit(1);
	}
}

void window_close(void)
{
	if (!plugin.state->open)
		return;
	closed_ns = host_now();
	__atomic_store_n(&plugin.state->open, false, __ATOMIC_SEQ_CST);
	__atomic_store_n(&plugin.state->closed, true, __ATOMIC_RELEASE);
	__atomic_fetch_add(&plugin.state->news, 1, __ATOMIC_RELEASE);
	check_all();
	step_end();
	if (!plugin.feed)
		write_result();
	written = true;
}

static void wait_for_result(int ms)
{
	for (int i = 0; i < ms && !__atomic_load_n(&model_done, __ATOMIC_ACQUIRE); i++)
		step_sleep(1000000);
	__atomic_store_n(&abandoned, true, __ATOMIC_RELAXED);
}

static void join_model(void)
{
	if (!written)
		return; /* the guest never opened the window: there is no result */
	if (model_running)
		pthread_join(model_thread, NULL);
	/* The model is not freed: a vCPU that has not noticed may still read its clocks. */
	model_running = false;
}

void window_end(void)
{
	if (plugin.state->open) {
		partial = true;
		window_close();
		wait_for_result(GRACE_MS);
	}
	join_model();
}

void window_finish(void)
{
	window_close();
	if (model_running)
		wait_for_result(FINISH_MS);
	join_model();
}
