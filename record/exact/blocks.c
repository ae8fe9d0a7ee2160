// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Counts the instructions between accesses. Each basic block calls __sanitizer_cov_trace_pc() at
 * its beginning, and a file says how many instructions of the program the block has. The command
 * makes the file from a disassembly and leaves out the instrumentation's own instructions. A block
 * that is not in the file counts as UNKNOWN instructions. A block counts as a whole. So the file
 * also says how many of its instructions follow each access, because these are executed after it.
 *
 * A thread that has executed EXACT_AHEAD instructions lets others catch up. So a loop that waits
 * for another thread ends, even if it accesses nothing. Accesses to a line that one CPU alone has
 * used happen at most EXACT_AHEAD instructions too early.
 */
#include "blocks.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "away.h"
#include "lines.h"
#include "modules.h"

#define UNKNOWN 4u

API void __sanitizer_cov_trace_pc(void);

_Thread_local uint32_t exact_ran, exact_cycles;

/*
 * @pc: address of the block or access; 0 if this slot of the table is free
 * @instructions: instructions of the block; for an access, those after it in its block
 * @pauses: pause instructions in it, as waiting loops have
 * @calls: calls that it makes to code without instrumentation
 * @away: number of the set of functions to which these calls go (away.h)
 * @pointer: the calls go through a pointer, so only the next block shows whether they went to such
 * code
 * @entry: a function begins with this block
 */
static struct block {
	uint64_t pc;
	uint32_t instructions;
	uint16_t pauses, calls;
	uint32_t away;
	bool pointer, entry;
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

static void add(const struct block *new)
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
	b = find(new->pc);
	if (!b->pc)
		used++;
	*b = *new;
}

static __attribute__((noinline)) uint32_t unknown(uint64_t pc)
{
	add(&(struct block){ .pc = pc, .instructions = UNKNOWN });
	return UNKNOWN;
}

uint32_t blocks_after(const void *pc)
{
	const struct block *b = find((uint64_t)(uintptr_t)pc);

	return b->pc ? b->instructions : 0;
}

static __attribute__((noinline)) void rare(const struct block *b)
{
	if (b->calls)
		exact_self->block = (const void *)(uintptr_t)b->pc;
	exact_cycles += away_pointed(b->entry) * EXACT_AWAY;
	away_back();
	exact_cycles += b->pauses * EXACT_PAUSE + (b->pointer ? 0 : b->calls) * EXACT_AWAY;
	/* A loop that pauses waits for another thread. */
	if (b->pauses || exact_cycles > EXACT_AHEAD)
		sched_catch_up();
	if (b->calls && b->pointer)
		away_point(b->away, b->calls);
	else if (b->calls)
		away_begin(b->away, b->calls);
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
	if (__builtin_expect(away_since | b->pauses | b->calls, false))
		rare(b);
	if (__builtin_expect(exact_ran > EXACT_AHEAD, false))
		sched_catch_up();
}

/*
 * ---- the file ----
 *
 * "module DEVICE INODE" starts a module, which is that file. A line per block or access follows:
 * its offset and instructions. Some lines of blocks continue with pauses, calls of code without
 * instrumentation, the number of that set of callees, and flags. Flag 1: the block may contain a
 * lock that no hook sees; 2: the calls are by pointer; 4: a function begins with it. "tsc OFFSET
 * BYTES" is an instruction that reads the time-stamp counter.
 */

struct wanted {
	uint64_t device, inode;
	uint64_t base;
	bool found;
};

static int is_it(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;
	const char *name = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct stat file;

	if (stat(name, &file) || file.st_dev != w->device || file.st_ino != w->inode)
		return 0;
	w->base = info->dlpi_addr;
	w->found = true;
	return 1;
}

static int read_line(const char *line, uint64_t base, blocks_stamp *stamp)
{
	struct block b = { .pc = 0 };
	unsigned long flags;
	char *end;

	if (!strncmp(line, "tsc ", 4)) {
		b.pc = base + strtoull(line + 4, &end, 16);
		return stamp(b.pc, (uint32_t)strtoul(end, NULL, 10));
	}
	b.pc = base + strtoull(line, &end, 16);
	b.instructions = (uint32_t)strtoul(end, &end, 10);
	if (*end) {
		b.pauses = (uint16_t)strtoul(end, &end, 10);
		b.calls = (uint16_t)strtoul(end, &end, 10);
		b.away = (uint32_t)strtoul(end, &end, 10);
		flags = strtoul(end, &end, 10);
		b.pointer = flags & 1;
		b.entry = flags & 2;
		if (b.calls && away_room(b.away))
			return -1;
	}
	add(&b);
	return 0;
}

int blocks_read(const char *path, blocks_stamp *stamp)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	struct wanted module = { .found = false };
	/* Only fopen() allocates here, because malloc() may be the program's. */
	char line[256], *end;
	int failed = 0;

	add(&(struct block){ .pc = 1 });
	if (!file)
		return path ? -1 : 0;
	while (!failed && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "module ", 7)) {
			module = (struct wanted){ .device = strtoull(line + 7, &end, 10) };
			module.inode = strtoull(end, NULL, 10);
			dl_iterate_phdr(is_it, &module);
			if (module.found)
				modules_instrumented(module.base);
		} else if (module.found) {
			failed = read_line(line, module.base, stamp);
		}
	}
	fclose(file);
	return failed;
}
