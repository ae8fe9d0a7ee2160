// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Instructions between accesses: each basic block calls __sanitizer_cov_trace_pc() at its
 * beginning, and a file says how many instructions of the program a block has. The command makes
 * that file from a disassembly, without what the instrumentation itself needs. A block that it does
 * not know counts as UNKNOWN instructions.
 *
 * A thread that has executed EXACT_AHEAD instructions lets others catch up. So a loop that waits
 * for another thread ends, even one that accesses nothing, and a line that one CPU has used alone
 * is never used much earlier than the clocks say.
 */
#include "blocks.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "lines.h"

#define UNKNOWN 4u

API void __sanitizer_cov_trace_pc(void);

_Thread_local uint32_t exact_ran;

static struct block {
	uint64_t pc; /* 0: a free place */
	uint32_t instructions;
} * blocks;
static uint64_t mask, used;

static inline uint64_t place_of(uint64_t pc)
{
	return (pc * 0x9e3779b97f4a7c15ull) >> 32;
}

static struct block *find(uint64_t pc)
{
	uint64_t i = place_of(pc) & mask;

	while (blocks[i].pc && blocks[i].pc != pc)
		i = (i + 1) & mask;
	return &blocks[i];
}

static void add(uint64_t pc, uint32_t instructions)
{
	struct block *b;

	if (2 * used >= mask) {
		struct block *old = blocks;
		uint64_t n = old ? mask + 1 : 0;

		mask = n ? 2 * n - 1 : 4095;
		blocks = calloc(mask + 1, sizeof(*blocks));
		if (!blocks)
			abort();
		for (uint64_t i = 0; i < n; i++)
			if (old[i].pc)
				*find(old[i].pc) = old[i];
		free(old);
	}
	b = find(pc);
	if (!b->pc)
		used++;
	*b = (struct block){ pc, instructions };
}

static __attribute__((noinline)) uint32_t unknown(uint64_t pc)
{
	add(pc, UNKNOWN);
	return UNKNOWN;
}

API void __sanitizer_cov_trace_pc(void)
{
	uint64_t pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	const struct block *b;

	if (!lines_mine)
		return;
	b = &blocks[place_of(pc) & mask];
	while (__builtin_expect(b->pc != pc, false)) {
		if (!b->pc) {
			exact_ran += unknown(pc);
			return;
		}
		b = b == &blocks[mask] ? blocks : b + 1;
	}
	exact_ran += b->instructions;
	if (__builtin_expect(exact_ran > EXACT_AHEAD, false))
		sched_catch_up();
}

/* ---- the file: "module PATH" begins one, then an offset and a number a line ---- */

struct wanted {
	const char *path;
	uint64_t base;
	bool found;
};

static int is_it(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;
	char own[4096], theirs[4096];
	const char *name = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";

	if (!realpath(name, own) || !realpath(w->path, theirs) || strcmp(own, theirs) != 0)
		return 0;
	w->base = info->dlpi_addr;
	w->found = true;
	return 1;
}

int blocks_read(const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	struct wanted module = { .found = false };
	unsigned long long offset;
	unsigned int instructions;
	char *line = NULL;
	size_t size = 0;

	add(1, 0);
	if (!file)
		return path ? -1 : 0;
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "module ", 7)) {
			module = (struct wanted){ .path = line + 7 };
			dl_iterate_phdr(is_it, &module);
		} else if (module.found && sscanf(line, "%llx %u", &offset, &instructions) == 2) {
			add(module.base + offset, instructions);
		}
	}
	free(line);
	fclose(file);
	return 0;
}
