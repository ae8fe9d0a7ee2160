// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The command writes the watch file, but a user may write one by hand. So the reader checks every
 * line and guesses nothing. It sorts the ranges of code, so that each translated instruction costs
 * a binary search.
 */
#include "watch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (16u << 20)
#define MAX_PAD	 4096u

struct reader {
	struct watch *watch;
	struct watch_error *err;
	const char *name;
	unsigned int line;
	char *rest; /* of the line */
};

__attribute__((format(printf, 2, 3))) static int bad(struct reader *r, const char *format, ...)
{
	int at = snprintf(r->err->text, sizeof(r->err->text), "%s:%u: ", r->name, r->line);
	va_list args;

	if (at < 0 || (size_t)at >= sizeof(r->err->text))
		return -1;
	va_start(args, format);
	vsnprintf(r->err->text + at, sizeof(r->err->text) - (size_t)at, format, args);
	va_end(args);
	return -1;
}

static char *word(struct reader *r)
{
	char *found;

	do
		found = strsep(&r->rest, " \t");
	while (found && !*found);
	return found;
}

static int number(struct reader *r, const char *what, uint64_t *value)
{
	char *text = word(r), *end;

	if (!text)
		return bad(r, "%s is missing", what);
	if (*text < '0' || *text > '9')
		return bad(r, "%s is '%s', not a number", what, text);
	errno = 0;
	*value = strtoull(text, &end, text[1] == 'x' ? 16 : 10);
	if (*end || errno)
		return bad(r, "%s is '%s', not a number", what, text);
	return 0;
}

static int range(struct reader *r, struct watch_range *range)
{
	if (number(r, "the lower address", &range->low) ||
	    number(r, "the upper address", &range->high))
		return -1;
	if (range->low >= range->high)
		return bad(r, "the range from %#llx to %#llx is empty",
			   (unsigned long long)range->low, (unsigned long long)range->high);
	return 0;
}

/* Room for one more element of an array that grows by doubling. */
static void *one_more(void *array, uint32_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return realloc(array, (n ? 2 * n : 1) * size);
}

static int add_part(struct reader *r, const struct watch_part *part)
{
	struct watch *w = r->watch;
	void *grown = one_more(w->part, w->nr_parts, sizeof(*w->part));

	if (!grown)
		return bad(r, "no memory");
	w->part = grown;
	w->part[w->nr_parts++] = *part;
	return 0;
}

static int function_of(struct reader *r, uint32_t *index)
{
	struct watch *w = r->watch;
	char *name = word(r);

	if (!name)
		return bad(r, "the function's name is missing");
	for (*index = 0; *index < w->nr_functions; (*index)++)
		if (!strcmp(w->function[*index], name))
			return 0;
	if (w->nr_functions == WATCH_FUNCTIONS)
		return bad(r, "more than %u functions", WATCH_FUNCTIONS);
	w->function[w->nr_functions] = strdup(name);
	if (!w->function[w->nr_functions])
		return bad(r, "no memory");
	w->nr_functions++;
	return 0;
}

static int read_function(struct reader *r, bool cold)
{
	struct watch_part part = { 0 };

	if (function_of(r, &part.function) || range(r, &part.range))
		return -1;
	part.entry = cold ? 0 : part.range.low;
	return add_part(r, &part);
}

static int read_text(struct reader *r)
{
	struct watch *w = r->watch;
	void *grown = one_more(w->text, w->nr_text, sizeof(*w->text));

	if (!grown)
		return bad(r, "no memory");
	w->text = grown;
	if (range(r, &w->text[w->nr_text]))
		return -1;
	w->nr_text++;
	return 0;
}

static int read_cpu(struct reader *r)
{
	struct feed_setup *s = &r->watch->setup;
	uint64_t cpu = 0;

	if (s->nr_cpus == FEED_MAX_CPUS)
		return bad(r, "more than %u CPUs", FEED_MAX_CPUS);
	if (number(r, "the CPU", &cpu))
		return -1;
	if (cpu >= UINT32_MAX)
		return bad(r, "%llu is not a CPU number", (unsigned long long)cpu);
	for (uint32_t i = 0; i < s->nr_cpus; i++)
		if (s->cpu[i] == cpu)
			return bad(r, "CPU %llu stands for two guest CPUs",
				   (unsigned long long)cpu);
	s->cpu[s->nr_cpus++] = (uint32_t)cpu;
	return 0;
}

static int read_node(struct reader *r)
{
	struct feed_setup *s = &r->watch->setup;
	struct watch_range where = { 0 };
	uint64_t node = 0;

	if (s->nr_nodes == FEED_MAX_NODES)
		return bad(r, "more than %u nodes", FEED_MAX_NODES);
	if (range(r, &where) || number(r, "the node", &node))
		return -1;
	if (node >= FEED_MAX_NODES * 1024)
		return bad(r, "%llu is not a node number", (unsigned long long)node);
	s->node[s->nr_nodes++] = (struct feed_node){ where.low, where.high, (uint32_t)node };
	return 0;
}

static int read_pad(struct reader *r)
{
	struct feed_setup *s = &r->watch->setup;
	struct watch_range where = { 0 };
	void *grown;

	if (s->nr_pads == FEED_MAX_PADS)
		return bad(r, "more than %u ranges to move", FEED_MAX_PADS);
	if (range(r, &where))
		return -1;
	if (where.high - where.low > MAX_PAD)
		return bad(r, "a range to move has more than %u bytes", MAX_PAD);
	if (s->nr_pads && where.low < s->pad[s->nr_pads - 1].high)
		return bad(r, "the ranges to move are not in order");
	grown = one_more(s->pad, s->nr_pads, sizeof(*s->pad));
	if (!grown)
		return bad(r, "no memory");
	s->pad = grown;
	s->pad[s->nr_pads++] = (struct feed_pad){ where.low, where.high };
	return 0;
}

static int read_path(struct reader *r, char **path)
{
	/* The rest of the line: paths may have spaces. */
	while (r->rest && (*r->rest == ' ' || *r->rest == '\t'))
		r->rest++;
	if (!r->rest || !*r->rest)
		return bad(r, "the path is missing");
	free(*path);
	*path = strdup(r->rest);
	r->rest = NULL;
	return *path ? 0 : bad(r, "no memory");
}

static int read_program(struct reader *r)
{
	r->watch->program = true;
	r->watch->setup.detailed = true;
	r->watch->setup.hits_free = true;
	return 0;
}

static int read_line(struct reader *r)
{
	char *key = word(r), *more;
	int failed;

	if (!key || *key == '#')
		return 0;
	if (!strcmp(key, "text"))
		failed = read_text(r);
	else if (!strcmp(key, "function"))
		failed = read_function(r, false);
	else if (!strcmp(key, "cold"))
		failed = read_function(r, true);
	else if (!strcmp(key, "cpu"))
		failed = read_cpu(r);
	else if (!strcmp(key, "node"))
		failed = read_node(r);
	else if (!strcmp(key, "quantum"))
		failed = number(r, "the quantum", &r->watch->quantum);
	else if (!strcmp(key, "machine"))
		failed = read_path(r, &r->watch->machine);
	else if (!strcmp(key, "result"))
		failed = read_path(r, &r->watch->result);
	else if (!strcmp(key, "trace"))
		failed = read_path(r, &r->watch->trace);
	else if (!strcmp(key, "pad"))
		failed = read_pad(r);
	else if (!strcmp(key, "program"))
		failed = read_program(r);
	else if (!strcmp(key, "stop"))
		failed = !(r->watch->stop = true);
	else
		return bad(r, "'%s' is not a keyword of a watch file", key);
	if (failed)
		return -1;
	more = word(r);
	return more ? bad(r, "'%s' is one value too many", more) : 0;
}

static int by_low(const void *a, const void *b)
{
	const struct watch_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* Sort, and join ranges that overlap or touch. */
static void tidy_text(struct watch *w)
{
	uint32_t n = 0;

	if (!w->nr_text)
		return;
	qsort(w->text, w->nr_text, sizeof(*w->text), by_low);
	for (uint32_t i = 1; i < w->nr_text; i++) {
		if (w->text[i].low > w->text[n].high)
			w->text[++n] = w->text[i];
		else if (w->text[i].high > w->text[n].high)
			w->text[n].high = w->text[i].high;
	}
	w->nr_text = n + 1;
}

int watch_parse(struct watch *w, char *text, const char *name, struct watch_error *err)
{
	struct reader r = { .watch = w, .err = err, .name = name };

	memset(w, 0, sizeof(*w));
	while (text) {
		r.line++;
		r.rest = strsep(&text, "\n");
		if (read_line(&r)) {
			watch_free(w);
			return -1;
		}
	}
	if (!w->result || (w->machine && !w->setup.nr_cpus)) {
		snprintf(err->text, sizeof(err->text), "%s: no '%s' line", name,
			 w->result ? "cpu" : "result");
		watch_free(w);
		return -1;
	}
	tidy_text(w);
	return 0;
}

int watch_read(struct watch *w, const char *path, struct watch_error *err)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	int failed = -1;

	memset(w, 0, sizeof(*w));
	if (!file) {
		snprintf(err->text, sizeof(err->text), "cannot open %s: %s", path, strerror(errno));
		return -1;
	}
	text = malloc(MAX_FILE + 1);
	if (text)
		size = fread(text, 1, MAX_FILE + 1, file);
	if (!text || ferror(file) || size > MAX_FILE) {
		snprintf(err->text, sizeof(err->text), "cannot read %s: %s", path,
			 size > MAX_FILE ? "it is larger than 16 MiB" : "input error");
	} else {
		text[size] = '\0';
		failed = watch_parse(w, text, path, err);
	}
	free(text);
	fclose(file);
	return failed;
}

void watch_free(struct watch *w)
{
	for (uint32_t i = 0; i < w->nr_functions; i++)
		free(w->function[i]);
	free(w->text);
	free(w->part);
	free(w->setup.pad);
	free(w->machine);
	free(w->result);
	free(w->trace);
	memset(w, 0, sizeof(*w));
}

bool watch_text(const struct watch *w, uint64_t pc)
{
	uint32_t lo = 0, hi = w->nr_text;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (pc >= w->text[mid].high)
			lo = mid + 1;
		else if (pc < w->text[mid].low)
			hi = mid;
		else
			return true;
	}
	return false;
}

bool watch_in_function(const struct watch *w, uint32_t function, uint64_t pc)
{
	for (uint32_t i = 0; i < w->nr_parts; i++) {
		const struct watch_part *part = &w->part[i];

		if (part->function == function && pc >= part->range.low && pc < part->range.high)
			return true;
	}
	return false;
}
