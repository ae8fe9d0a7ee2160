// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The reader of traces returns what was written. A file cut or changed anywhere does no harm.
 *
 * trace_test FOLDER: the folder for its files.
 */
#include "../../../model/tests/sim/check.h"

#include <string.h>
#include <zlib.h>

#include "trace.h"

#define ITEMS 5000u
#define CPUS  7u

struct seen {
	uint32_t nr_cpus, n;
	uint32_t cpu[ITEMS];
	struct item item[ITEMS];
};

static uint64_t state = 42;

static uint64_t random64(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

static int begin(void *arg, uint32_t nr_cpus)
{
	((struct seen *)arg)->nr_cpus = nr_cpus;
	return 0;
}

static int take(void *arg, uint32_t cpu, const struct item *item)
{
	struct seen *seen = arg;

	CHECK(cpu < seen->nr_cpus && item->kind < ITEM_KINDS && item->size && item->size <= 64);
	CHECK(!item_is_access(item) || (item->place | item->pc) <= ITEM_PLACE_MASK);
	if (seen->n == ITEMS)
		return -1;
	seen->cpu[seen->n] = cpu;
	seen->item[seen->n++] = *item;
	return 0;
}

static void write_file(const char *path, struct seen *told)
{
	struct trace_error err;
	struct trace_writer *w = trace_create(path, CPUS, &err);
	uint64_t instr[CPUS] = { 0 };

	CHECK(w);
	told->nr_cpus = CPUS;
	for (uint32_t i = 0; i < ITEMS; i++) {
		uint32_t cpu = (uint32_t)(random64() % CPUS);
		struct item *item = &told->item[i];

		instr[cpu] += random64() >> (40 + random64() % 24);
		memset(item, 0, sizeof(*item));
		item->kind = (uint8_t)(random64() % ITEM_KINDS);
		item->instr = instr[cpu];
		item->size = item_is_access(item) ? (uint8_t)(1u << random64() % 7) : 1;
		if (item->kind == ITEM_RESUME || item->kind == ITEM_AFTER) {
			item->pc = random64() % 2 ? random64() % CPUS : ITEM_NO_CPU;
			item->place = random64() % 2 ? instr[0] : 0;
		} else if (!item_is_bare(item)) {
			item->place = random64() & ITEM_PLACE_MASK;
			item->pc = random64() & ITEM_PLACE_MASK;
		}
		told->cpu[told->n++] = cpu;
		trace_write(w, cpu, item);
	}
	CHECK(!trace_close(w));
}

static void check_same(const struct seen *told, const struct seen *seen, uint32_t n)
{
	CHECK(seen->n == n && seen->nr_cpus == told->nr_cpus);
	for (uint32_t i = 0; i < n; i++) {
		const struct item *a = &told->item[i], *b = &seen->item[i];

		CHECK(told->cpu[i] == seen->cpu[i] && a->kind == b->kind && a->size == b->size);
		CHECK(a->instr == b->instr && a->place == b->place && a->pc == b->pc);
	}
}

static size_t unpack(const char *path, uint8_t *data, size_t size)
{
	gzFile file = gzopen(path, "rb");
	int n;

	CHECK(file);
	n = gzread(file, data, (unsigned int)size);
	CHECK(n > 0 && (size_t)n < size);
	gzclose(file);
	return (size_t)n;
}

/* A file whose emulator was stopped in the middle of a write. */
static void cut_file(const char *path, const char *cut_path, const struct seen *told)
{
	static uint8_t data[1 << 20];
	FILE *in = fopen(path, "rb"), *out = fopen(cut_path, "wb");
	static struct seen seen;
	struct trace_error err;
	size_t size;
	bool cut;

	CHECK(in && out);
	size = fread(data, 1, sizeof(data), in);
	CHECK(fwrite(data, 1, size * 2 / 3, out) == size * 2 / 3);
	fclose(in);
	fclose(out);
	CHECK(!trace_read(cut_path, begin, take, &seen, &cut, &err));
	CHECK(cut && seen.n > ITEMS / 3 && seen.n < ITEMS);
	check_same(told, &seen, seen.n);
}

/*
 * One bit of the file is wrong: the checksum does not match. If the stream no longer ends, the file
 * looks like one that was cut. The test spares gzip's header, the first ten bytes.
 */
static void flip_bits(const char *path, const char *flipped_path)
{
	static uint8_t data[1 << 20];
	static struct seen seen;
	uint32_t refused = 0, cuts = 0;
	struct trace_error err;
	FILE *in = fopen(path, "rb"), *out;
	size_t size;
	bool cut;

	CHECK(in);
	size = fread(data, 1, sizeof(data), in);
	fclose(in);
	for (uint32_t i = 0; i < 300; i++) {
		size_t at = 10 + random64() % (size - 10);
		uint8_t bit = (uint8_t)(1u << random64() % 8);

		data[at] ^= bit;
		out = fopen(flipped_path, "wb");
		CHECK(out && fwrite(data, 1, size, out) == size);
		fclose(out);
		memset(&seen, 0, sizeof(seen));
		err.text[0] = '\0';
		if (trace_read(flipped_path, begin, take, &seen, &cut, &err)) {
			refused++;
			CHECK(err.text[0] && !strchr(err.text, '\n'));
		} else {
			CHECK(cut);
			cuts++;
		}
		data[at] ^= bit;
	}
	CHECK(refused > 250 && refused + cuts == 300);
}

static void plain_file(const char *path, const uint8_t *data, size_t size)
{
	FILE *plain = fopen(path, "wb");
	static struct seen seen;
	struct trace_error err;
	bool cut;

	CHECK(plain && fwrite(data, 1, size, plain) == size && !fclose(plain));
	CHECK(trace_read(path, begin, take, &seen, &cut, &err) == -1);
	CHECK(strstr(err.text, "is not a trace: it is not compressed"));
}

static void damage(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);
	static struct seen seen;
	struct trace_error err;
	uint32_t refused = 0;
	bool cut;

	CHECK(copy);
	for (uint32_t i = 0; i < 3000; i++) {
		memcpy(copy, data, size);
		for (uint64_t n = random64() % 8 + 1; n; n--)
			copy[random64() % size] = (uint8_t)random64();
		memset(&seen, 0, sizeof(seen));
		err.text[0] = '\0';
		if (trace_parse(copy, random64() % size + 1, "damaged", begin, take, &seen, &cut,
				&err)) {
			refused++;
			CHECK(err.text[0] && !strchr(err.text, '\n'));
		}
	}
	CHECK(refused > 100);
	free(copy);
}

static void refused(const void *data, size_t size, const char *why)
{
	static struct seen seen;
	struct trace_error err = { "" };
	bool cut;

	CHECK(trace_parse(data, size, "t", begin, take, &seen, &cut, &err) == -1);
	if (strcmp(err.text, why))
		fprintf(stderr, "'%s' instead of '%s'\n", err.text, why);
	CHECK(!strcmp(err.text, why));
}

int main(int argc, char **argv)
{
	static struct seen told, seen;
	static uint8_t data[1 << 20];
	char path[4096], cut_path[4096];
	struct trace_error err;
	size_t size;
	bool cut;

	CHECK(argc == 2);
	snprintf(path, sizeof(path), "%s/whole.trace", argv[1]);
	snprintf(cut_path, sizeof(cut_path), "%s/cut.trace", argv[1]);
	write_file(path, &told);
	CHECK(!trace_read(path, begin, take, &seen, &cut, &err) && !cut);
	check_same(&told, &seen, ITEMS);
	cut_file(path, cut_path, &told);
	flip_bits(path, cut_path);
	size = unpack(path, data, sizeof(data));
	plain_file(cut_path, data, size);
	damage(data, size);
	refused("SCHSHTR2\1", 9, "t is not a trace");
	refused("", 0, "t is not a trace");
	refused("SCHSHTR1\0", 9, "t: the number of CPUs is not 1 to 1024");
	refused("SCHSHTR1\2\2\0\0\0\0", 14, "t: item 1: CPU 2 of 2");
	refused("SCHSHTR1\2\1\77\0\0\0", 14, "t: item 1: kind and size are 0x3f");
	refused("SCHSHTR1\2\1\200\1\0\0", 15, "t: item 1: kind and size are 0x80");
	refused("SCHSHTR1\2\1\3\377\377\377\377\377\377\377\377\377\377", 21,
		"t: item 1: a number does not end");
	CHECK(trace_read("/nonexistent", begin, take, &seen, &cut, &err) == -1);
	return 0;
}
