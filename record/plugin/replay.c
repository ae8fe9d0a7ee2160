// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-replay WATCH TRACE: repeats what guest CPUs did, on WATCH's machine (watch.h).
 *
 * The same trace, machine and program give the same result, byte for byte. A replay repeats the
 * recorded work, although on that machine the CPUs would do other work. In the recording a CPU that
 * waited for a line fell behind and did less; in a replay it does the same work later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "machine.h"
#include "stream.h"
#include "trace.h"
#include "watch.h"

static struct stream stream[TRACE_MAX_CPUS];
static uint32_t nr_streams;

/*
 * A program's trace may be far larger than memory. So the replay reads items when a CPU needs its
 * next one, and items of other CPUs wait in their streams. An idle CPU wakes when its next item has
 * been read (feed_source.news).
 */
static struct trace_reader *reader;
static struct trace_error reader_err;
static bool reader_ended, reader_failed, reader_cut;
static bool rests[TRACE_MAX_CPUS]; /* by CPU: its last item says that it is idle */
static uint64_t news;

static int refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	return 2;
}

static int begin(void *arg, uint32_t nr_cpus)
{
	for (uint32_t i = 0; i < nr_cpus; i++)
		if (stream_init(&stream[i]))
			return -1;
	nr_streams = nr_cpus;
	return 0;
}

static int take(void *arg, uint32_t cpu, const struct item *item)
{
	stream_push(&stream[cpu], item);
	return 0;
}

static enum feed_got get(void *arg, uint32_t cpu, struct item *item)
{
	return stream_pop(&stream[cpu], item) ? FEED_ITEM : FEED_END;
}

static bool ready(void *arg, uint32_t cpu)
{
	return true;
}

/* Return: false at the end of the trace. */
static bool read_one(void)
{
	struct item item;
	uint32_t cpu;
	int got;

	if (reader_ended)
		return false;
	got = trace_next(reader, &cpu, &item, &reader_cut);
	if (got > 0) {
		/*
		 * Report it only if the CPU is idle, because to look at all CPUs for each item
		 * would take long.
		 */
		if (rests[cpu] && stream_empty(&stream[cpu]))
			news++;
		stream_push(&stream[cpu], &item);
		return true;
	}
	reader_ended = true;
	reader_failed = got < 0;
	news++;
	return false;
}

static enum feed_got get_read(void *arg, uint32_t cpu, struct item *item)
{
	while (!stream_pop(&stream[cpu], item))
		if (!read_one())
			return FEED_END;
	rests[cpu] = item->kind == ITEM_IDLE;
	return item->kind == ITEM_TIME ? FEED_TIME : FEED_ITEM;
}

static bool ready_read(void *arg, uint32_t cpu)
{
	return reader_ended || !stream_empty(&stream[cpu]);
}

static void wait_read(void *arg)
{
	read_one();
}

/* All items are there from the start. */
static void wait(void *arg)
{
}

static int check(const struct watch *w, const struct machine *machine)
{
	char why[256];

	if (w->setup.nr_cpus != nr_streams) {
		snprintf(why, sizeof(why), "the trace has %u CPUs, the watch file names %u",
			 nr_streams, w->setup.nr_cpus);
		return refuse(why);
	}
	for (uint32_t i = 0; i < nr_streams; i++) {
		if (w->setup.cpu[i] >= machine->topo.nr_cpus ||
		    !machine->topo.cpu[w->setup.cpu[i]].possible) {
			snprintf(why, sizeof(why), "%s has no CPU %u", machine->name,
				 w->setup.cpu[i]);
			return refuse(why);
		}
	}
	for (uint32_t i = 0; i < w->setup.nr_nodes; i++)
		if (w->setup.node[i].node >= machine->nr_nodes)
			return refuse("the machine lacks a node that a 'node' line names");
	return 0;
}

static int replay(struct watch *w, bool cut)
{
	static const struct feed_source all_there = { .get = get, .ready = ready, .wait = wait };
	static const struct feed_source read_on = {
		.get = get_read, .ready = ready_read, .wait = wait_read, .news = &news
	};
	struct feed *f = feed_new(&w->setup, w->program ? &read_on : &all_there);
	json_t *all =
		json_pack("{s:s, s:b, s:i, s:I, s:[], s:{}}", "format", "schedshard/c2c-raw/1",
			  "partial", (int)cut, "guest_cpus", (int)nr_streams, "operations",
			  (json_int_t)0, "functions", "stepping");
	int failed;

	if (!f || !all)
		return refuse("no memory");
	feed_run(f);
	if (reader_failed)
		return refuse(reader_err.text);
	if (reader_cut)
		json_object_set_new(all, "partial", json_true());
	feed_json(f, all);
	failed = json_dump_file(all, w->result, JSON_COMPACT | JSON_REAL_PRECISION(12));
	json_decref(all);
	feed_free(f);
	return failed ? refuse("cannot write the result") : 0;
}

int main(int argc, char **argv)
{
	struct trace_error trace_err;
	struct watch_error watch_err;
	struct machine *machine;
	struct shard_err err;
	struct watch w;
	bool cut;
	int status;

	if (argc != 3)
		return refuse("usage: schedshard-replay WATCH TRACE");
	if (watch_read(&w, argv[1], &watch_err))
		return refuse(watch_err.text);
	if (!w.machine)
		return refuse("the watch file names no machine");
	if (machine_load(&machine, w.machine, &err))
		return refuse(err.text);
	w.setup.machine = machine;
	cut = false;
	if (w.program) {
		uint32_t n = 0;

		reader = trace_open(argv[2], &n, &reader_err);
		if (!reader)
			return refuse(reader_err.text);
		if (begin(NULL, n))
			return refuse("no memory");
	} else if (trace_read(argv[2], begin, take, NULL, &cut, &trace_err)) {
		return refuse(trace_err.text);
	}
	status = check(&w, machine);
	if (!status)
		status = replay(&w, cut);
	for (uint32_t i = 0; i < nr_streams; i++)
		stream_free(&stream[i]);
	trace_shut(reader);
	machine_free(machine);
	watch_free(&w);
	return status;
}
