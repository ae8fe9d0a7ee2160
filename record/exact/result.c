// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Writes the result in the format of a recording in the emulator: the model's lines and, for names,
 * the program's mappings, threads and objects. Each file has a temporary name until it is complete.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "away.h"
#include "pass.h"
#include "feed.h"
#include "lines.h"
#include "maps.h"
#include "model.h"
#include "sim.h"
#include "sim_threads.h"
#include "spin.h"
#include "turns.h"
#include "user.h"
#include "ways.h"

/* Not stdio, which allocates: the program's own malloc(), if any, may be locked. */
static struct {
	const char *path;
	char temp[4096];
	int file;
	bool failed;
	size_t n;
	char part[1 << 16];
} out;

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

static int flush(void)
{
	size_t done = 0;

	while (done < out.n) {
		ssize_t n = write(out.file, out.part + done, out.n - done);

		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	out.n = 0;
	return 0;
}

static int put(const char *text, size_t size, void *unused)
{
	while (size) {
		size_t n = sizeof(out.part) - out.n < size ? sizeof(out.part) - out.n : size;

		memcpy(out.part + out.n, text, n);
		out.n += n;
		text += n;
		size -= n;
		if (out.n == sizeof(out.part) && flush())
			return -1;
	}
	return 0;
}

static void begin(const char *path)
{
	out.path = path;
	out.n = 0;
	out.failed =
		(size_t)snprintf(out.temp, sizeof(out.temp), "%s.tmp", path) >= sizeof(out.temp);
	out.file = out.failed ? -1 : open(out.temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	out.failed = out.file < 0;
}

static void text(const char *is)
{
	out.failed = out.failed || put(is, strlen(is), NULL);
}

static void value(json_t *is)
{
	out.failed = out.failed || json_dump_callback(is, put, NULL, FLAGS);
	json_decref(is);
}

static void end(void)
{
	if (out.failed || flush() || close(out.file) || rename(out.temp, out.path))
		fprintf(stderr, "schedshard: cannot write %s\n", out.path);
}

static void dump(json_t *all, const char *path)
{
	begin(path);
	value(all);
	end();
}

/* An array per CPU that did anything: number, instructions, busy and idle picoseconds. */
static json_t *cpu_times(uint64_t *busy, uint64_t *latest, uint64_t *instructions)
{
	json_t *all = json_array();

	for (uint32_t n = 0; n < exact.watch.setup.nr_cpus; n++) {
		uint64_t worked, idle, executed, time;

		time = sched_cpu_time(n, &worked, &idle, &executed);
		if (!executed)
			continue;
		*busy += worked;
		*instructions += executed;
		if (time > *latest)
			*latest = time;
		json_array_append_new(all, json_pack("[I, I, I, I]", (json_int_t)exact_cpu(n),
						     (json_int_t)executed, (json_int_t)worked,
						     (json_int_t)idle));
	}
	return all;
}

static json_t *raw(void)
{
	uint64_t busy = 0, latest = 0, instructions = 0, loads, stores, locked;
	json_t *times = cpu_times(&busy, &latest, &instructions), *all;
	json_int_t reported;

	lines_counts(&loads, &stores, &locked);
	reported = (json_int_t)loads + (json_int_t)stores + (json_int_t)locked;
	all = json_pack("{s:s, s:b, s:i, s:i}", "format", "schedshard/c2c-raw/1", "partial", 0,
			"guest_cpus", (int)exact.watch.setup.nr_cpus, "operations", 0);
	json_object_set_new(all, "stepping",
			    json_pack("{s:I, s:I, s:I}", "instructions", (json_int_t)instructions,
				      "accesses_reported", reported, "waited_outside",
				      (json_int_t)exact.waited_outside));
	feed_machine_json(exact.watch.setup.machine, all);
	json_object_set_new(all, "model",
			    json_pack("{s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "virtual_ns",
				      (double)latest / 1000, "busy_ns", (double)busy / 1000,
				      "instructions", (json_int_t)instructions, "loads",
				      (json_int_t)loads, "stores", (json_int_t)stores, "locked",
				      (json_int_t)locked, "lines_touched",
				      (json_int_t)sim_lines_touched()));
	json_object_set_new(all, "cpu_times", times);
	return all;
}

/* Write each line at once: all of them in JSON would take as much memory as the records. */
static void put_line(json_t *line, void *before)
{
	text(*(const char **)before);
	*(const char **)before = ",";
	value(line);
}

static void dump_raw(const char *path)
{
	const char *before = "";
	json_t *all = raw();
	char *rest;

	begin(path);
	text("{\"lines\":[");
	lines_json(all, put_line, &before);
	text("],");
	rest = json_dumps(all, FLAGS);
	text(rest + 1);
	free(rest);
	json_decref(all);
	end();
}

static void add_map(uint64_t low, uint64_t high, uint64_t offset, const char *path, void *maps)
{
	json_array_append_new(maps, json_pack("[I, I, I, s]", (json_int_t)low, (json_int_t)high,
					      (json_int_t)offset, path));
}

static json_t *image(const char *why)
{
	json_t *maps = json_array(), *all;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	maps_read(add_map, maps);
	all = json_pack("{s:s, s:i, s:i, s:i, s:s, s:b, s:o, s:[]}", "format",
			"schedshard/record-image/1", "image", 0, "program", 0, "pid", (int)getpid(),
			"path", path, "readable", 1, "maps", maps, "shared");
	if (why)
		json_object_set_new(all, "ended_by", json_string(why));
	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		struct user_thread t = { .number = i,
					 .cpu = exact.threads[i]->cpu,
					 .tid = exact.threads[i]->tid };

		notes_thread(&t);
		notes_stack(t.tid, 0, (uint64_t)(uintptr_t)exact.threads[i]->fiber.local);
	}
	notes_json(all);
	heap_json(all);
	return all;
}

/* [thread, pc, address that it reads] of each loop that cannot end. */
static json_t *spins(void)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		const struct thread *t = exact.threads[i];

		if (t->ended)
			continue;
		if (turns_endless(t))
			json_array_append_new(all, json_pack("[i, I, I]", (int)i,
							     (json_int_t)t->turns.pc + 1, 0));
		else if (spin_endless(t))
			json_array_append_new(all, json_pack("[i, I, I]", (int)i,
							     (json_int_t)(uintptr_t)t->spin.pc,
							     (json_int_t)(uintptr_t)t->spin.at));
	}
	return all;
}

static json_t *meta(bool deadlock, bool spin)
{
	json_t *waits = json_array(), *all;

	for (uint32_t i = 0; deadlock && i < exact.nr_threads; i++) {
		const struct thread *t = exact.threads[i];

		if (!t->ended && !(spin && (spin_endless(t) || turns_endless(t))))
			json_array_append_new(waits, json_pack("[i, s, I]", (int)i,
							       t->waits_in ? t->waits_in : "?",
							       (json_int_t)(uintptr_t)t->waits_pc));
	}
	all = json_pack("{s:s, s:i, s:i, s:i, s:i, s:[[i, i, i, b]], s:[], s:o}", "format",
			"schedshard/record-meta/2", "nr_threads", (int)exact.nr_threads, "children",
			(int)exact.children, "unseen_blocks", 0, "lost_accesses", 0, "images",
			(int)getpid(), 0, -1, 1, "pages", "deadlock", waits);
	json_object_set_new(all, "spins", spin ? spins() : json_array());
	json_object_set_new(all, "turns", turns_json());
	away_json(all);
	if (ways_sites.all)
		sites_json(&ways_sites, all);
	return all;
}

void result_waits(const void *pc)
{
	static char path[4096];

	if (path[0] || snprintf(path, sizeof(path), "%s.waits", exact.meta) >= (int)sizeof(path))
		return;
	pass_all(true);
	begin(path);
	for (uint32_t i = 0; i < exact.nr_threads; i++) {
		const struct thread *t = exact.threads[i];
		bool outside = t->outside || t == exact_self;
		const void *from = outside ? t->from : t->waits_pc;
		const char *in = outside ? "a call that waits for the world" : t->waits_in;
		char row[256];

		if (outside && (t->dispatched || !from))
			from = (const char *)t->block + 1;
		if (pc && t == exact_self) {
			from = pc;
			in = "code of the system";
		}
		if (t->ended || !in)
			continue;
		snprintf(row, sizeof(row), "%lx %s\n", (unsigned long)(uintptr_t)from, in);
		text(row);
	}
	end();
	pass_all(false);
}

static void write_all(const char *why, bool deadlock, bool spin)
{
	json_malloc_t allocate;
	json_free_t release;
	char path[4096];

	if (!exact.recording)
		return;
	sched_work(0);
	pass_all(true);
	exact.recording = false;
	lines_mine = 0;
	sim_threads_end();
	json_get_alloc_funcs(&allocate, &release);
	json_set_alloc_funcs(malloc, free);
	if (snprintf(path, sizeof(path), "%s.0", exact.meta) < (int)sizeof(path))
		dump(image(why), path);
	dump(meta(deadlock, spin), exact.meta);
	dump_raw(exact.watch.result);
	json_set_alloc_funcs(allocate, release);
}

void result_write(const char *why)
{
	write_all(why, false, false);
}

void result_deadlock(void)
{
	write_all(NULL, true, false);
	fflush(NULL);
	_exit(1);
}

void result_spin(void)
{
	write_all(NULL, true, true);
	fflush(NULL);
	_exit(1);
}
