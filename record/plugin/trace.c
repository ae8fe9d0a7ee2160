// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The reader trusts nothing. Numbers end within ten bytes; CPUs, kinds and sizes exist; places stay
 * below 48 bits and counts of instructions below 62. So no computation with these numbers
 * overflows. The items may still make no sense, such as a CPU that resumes after an instruction
 * that never comes. The model handles that.
 */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAGIC	   "SCHSHTR1"
#define MAGIC_SIZE 8u
#define MAX_INSTR  (1ull << 62)
#define BUFFER	   (1u << 16)

struct last {
	uint64_t instr, place, pc;
};

/* ---- writing ---- */

struct trace_writer {
	gzFile file;
	bool failed;
	struct last last[TRACE_MAX_CPUS];
};

static size_t put_number(uint8_t *at, uint64_t value)
{
	size_t n = 0;

	do {
		at[n] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		value >>= 7;
	} while (at[n++] & 0x80);
	return n;
}

static uint64_t folded(uint64_t value, uint64_t last)
{
	int64_t change = (int64_t)(value - last);

	return change < 0 ? ~((uint64_t)change << 1) : (uint64_t)change << 1;
}

static void put(struct trace_writer *w, const uint8_t *data, size_t size)
{
	if (gzwrite(w->file, data, (unsigned int)size) != (int)size)
		w->failed = true;
}

struct trace_writer *trace_create(const char *path, uint32_t nr_cpus, struct trace_error *err)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	uint8_t number[10];

	if (w)
		w->file = gzopen(path, "wbe1");
	if (!w || !w->file) {
		snprintf(err->text, sizeof(err->text), "cannot write %s", path);
		free(w);
		return NULL;
	}
	gzbuffer(w->file, BUFFER);
	put(w, (const uint8_t *)MAGIC, MAGIC_SIZE);
	put(w, number, put_number(number, nr_cpus));
	return w;
}

void trace_write(struct trace_writer *w, uint32_t cpu, const struct item *item)
{
	struct last *last = &w->last[cpu];
	uint8_t data[64];
	size_t n = 0;

	n += put_number(data + n, cpu);
	data[n++] = (uint8_t)(item->kind | (item->size ? __builtin_ctz(item->size) : 0) << 3);
	n += put_number(data + n, item->instr - last->instr);
	if (!item_is_bare(item)) {
		n += put_number(data + n, folded(item->place, last->place));
		n += put_number(data + n, folded(item->pc, last->pc));
		last->place = item->place;
		last->pc = item->pc;
	}
	last->instr = item->instr;
	put(w, data, n);
}

int trace_close(struct trace_writer *w)
{
	bool failed = w->failed;

	failed |= gzclose(w->file) != Z_OK;
	free(w);
	return failed ? -1 : 0;
}

/* ---- reading ---- */

struct reader {
	const char *name;
	gzFile file; /* NULL: the whole trace is in memory */
	const uint8_t *at, *end;
	uint8_t *buffer;
	uint64_t items;
	struct trace_error *err;
};

__attribute__((format(printf, 2, 3))) static int bad(struct reader *r, const char *format, ...)
{
	int at = snprintf(r->err->text, sizeof(r->err->text), "%s: item %llu: ", r->name,
			  (unsigned long long)r->items + 1);
	va_list args;

	if (at < 0 || (size_t)at >= sizeof(r->err->text))
		return -1;
	va_start(args, format);
	vsnprintf(r->err->text + at, sizeof(r->err->text) - (size_t)at, format, args);
	va_end(args);
	return -1;
}

/* The next byte, or -1: the end, or an error of the compression. */
static int next(struct reader *r)
{
	int n;

	if (r->at < r->end)
		return *r->at++;
	if (!r->file)
		return -1;
	n = gzread(r->file, r->buffer, BUFFER);
	if (n <= 0)
		return -1;
	r->at = r->buffer;
	r->end = r->buffer + n;
	return *r->at++;
}

enum got { GOT, GOT_END, GOT_BAD };

static enum got number(struct reader *r, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 70; shift += 7) {
		int byte = next(r);

		if (byte < 0)
			return GOT_END;
		if (shift == 63 && byte > 1)
			return GOT_BAD;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return GOT;
	}
	return GOT_BAD;
}

static uint64_t unfolded(uint64_t value, uint64_t last)
{
	return last + (value & 1 ? ~(value >> 1) : value >> 1);
}

/*
 * Return: 1 if there is an item, 0 at the end (@cut: within an item), -1 if the trace is damaged. /
 */
static int read_item(struct reader *r, struct last *all, uint32_t nr_cpus, uint32_t *cpu,
		     struct item *item, bool *cut)
{
	uint64_t value[5] = { 0 };
	struct last *last;
	uint32_t n = 3;

	for (uint32_t i = 0; i < n; i++) {
		enum got got = number(r, &value[i]);

		if (got == GOT_BAD)
			return bad(r, "a number does not end");
		if (got == GOT_END) {
			*cut = i > 0;
			return 0;
		}
		if (i == 1 && (value[1] & 7) != ITEM_IDLE && (value[1] & 7) != ITEM_TIME)
			n = 5;
	}
	if (value[0] >= nr_cpus)
		return bad(r, "CPU %llu of %u", (unsigned long long)value[0], nr_cpus);
	if (value[1] >> 6 || (value[1] >> 3 & 7) > 6)
		return bad(r, "kind and size are %#llx", (unsigned long long)value[1]);
	last = &all[value[0]];
	if (value[2] >= MAX_INSTR || last->instr + value[2] >= MAX_INSTR)
		return bad(r, "too many instructions");
	*cpu = (uint32_t)value[0];
	*item = (struct item){
		.kind = value[1] & 7,
		.size = (uint8_t)(1u << (value[1] >> 3 & 7)),
	};
	item->instr = last->instr += value[2];
	if (item_is_bare(item))
		return 1;
	item->place = last->place = unfolded(value[3], last->place);
	item->pc = last->pc = unfolded(value[4], last->pc);
	if (item_is_access(item) && (item->place | item->pc) > ITEM_PLACE_MASK)
		return bad(r, "an address has more than 48 bits");
	if (!item_is_access(item) && item->place >= MAX_INSTR)
		return bad(r, "too many instructions of another CPU");
	return 1;
}

static int read_header(struct reader *r, uint64_t *nr_cpus)
{
	/* Without compression there is no checksum. */
	if (r->file && gzdirect(r->file)) {
		snprintf(r->err->text, sizeof(r->err->text),
			 "%s is not a trace: it is not compressed", r->name);
		return -1;
	}
	for (uint32_t i = 0; i < MAGIC_SIZE; i++) {
		if (next(r) != MAGIC[i]) {
			snprintf(r->err->text, sizeof(r->err->text), "%s is not a trace", r->name);
			return -1;
		}
	}
	if (number(r, nr_cpus) != GOT || !*nr_cpus || *nr_cpus > TRACE_MAX_CPUS) {
		snprintf(r->err->text, sizeof(r->err->text),
			 "%s: the number of CPUs is not 1 to %u", r->name, TRACE_MAX_CPUS);
		return -1;
	}
	return 0;
}

static int read_all(struct reader *r, int (*begin)(void *arg, uint32_t nr_cpus),
		    int (*take)(void *arg, uint32_t cpu, const struct item *item), void *arg,
		    bool *cut)
{
	struct last last[TRACE_MAX_CPUS] = { 0 };
	uint64_t nr_cpus;
	uint32_t cpu = 0;
	struct item item;
	int got;

	*cut = false;
	if (read_header(r, &nr_cpus))
		return -1;
	if (begin(arg, (uint32_t)nr_cpus))
		return bad(r, "no memory");
	while ((got = read_item(r, last, (uint32_t)nr_cpus, &cpu, &item, cut)) > 0) {
		if (take(arg, cpu, &item))
			return bad(r, "no memory");
		r->items++;
	}
	return got;
}

/*
 * Nothing more can be read from the file. Items before a cut are good; items before a wrong
 * checksum may be anything.
 */
static int end_of_file(struct reader *r, bool *cut)
{
	int code;

	gzerror(r->file, &code);
	if (code == Z_BUF_ERROR) {
		*cut = true;
		return 0;
	}
	if (code != Z_OK && code != Z_STREAM_END)
		return bad(r, "the file is damaged: its checksum is wrong");
	return 0;
}

int trace_parse(const void *data, size_t size, const char *name,
		int (*begin)(void *arg, uint32_t nr_cpus),
		int (*item)(void *arg, uint32_t cpu, const struct item *item), void *arg, bool *cut,
		struct trace_error *err)
{
	struct reader r = { .name = name, .at = data, .err = err };

	r.end = r.at + size;
	return read_all(&r, begin, item, arg, cut);
}

int trace_read(const char *path, int (*begin)(void *arg, uint32_t nr_cpus),
	       int (*item)(void *arg, uint32_t cpu, const struct item *item), void *arg, bool *cut,
	       struct trace_error *err)
{
	struct reader r = { .name = path, .err = err };
	int failed = -1;

	r.file = gzopen(path, "rbe");
	r.buffer = malloc(BUFFER);
	if (!r.file || !r.buffer) {
		snprintf(err->text, sizeof(err->text), "cannot open %s", path);
	} else {
		gzbuffer(r.file, BUFFER);
		failed = read_all(&r, begin, item, arg, cut);
		if (!failed)
			failed = end_of_file(&r, cut);
	}
	free(r.buffer);
	if (r.file)
		gzclose(r.file);
	return failed;
}

/* ---- one item at a time ---- */

struct trace_reader {
	struct reader r;
	char *name;
	uint32_t nr_cpus;
	struct last last[TRACE_MAX_CPUS];
};

struct trace_reader *trace_open(const char *path, uint32_t *nr_cpus, struct trace_error *err)
{
	struct trace_reader *t = calloc(1, sizeof(*t));
	uint64_t n = 0;

	if (t) {
		t->name = strdup(path);
		t->r = (struct reader){ .name = t->name, .err = err };
		t->r.file = gzopen(path, "rbe");
		t->r.buffer = malloc(BUFFER);
	}
	if (!t || !t->name || !t->r.file || !t->r.buffer) {
		snprintf(err->text, sizeof(err->text), "cannot open %s", path);
		trace_shut(t);
		return NULL;
	}
	gzbuffer(t->r.file, BUFFER);
	if (read_header(&t->r, &n)) {
		trace_shut(t);
		return NULL;
	}
	t->nr_cpus = *nr_cpus = (uint32_t)n;
	return t;
}

int trace_next(struct trace_reader *t, uint32_t *cpu, struct item *item, bool *cut)
{
	int got = read_item(&t->r, t->last, t->nr_cpus, cpu, item, cut);

	if (!got)
		return end_of_file(&t->r, cut);
	t->r.items++;
	return got;
}

void trace_shut(struct trace_reader *t)
{
	if (!t)
		return;
	if (t->r.file)
		gzclose(t->r.file);
	free(t->r.buffer);
	free(t->name);
	free(t);
}
