// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A program may read the processor's time-stamp counter instead of a clock. No hook sees such a
 * read, so the file of blocks lists the instructions that read the counter. Each is replaced by an
 * invalid instruction, and the handler of SIGILL returns the machine's cycles.
 *
 * Nothing else of the program changes: ud2 has two bytes, rdtsc has as many, and rdtscp has more.
 * rdtsc and rdtscp change no flags, and only the registers of their results.
 *
 * Linux can make the instruction itself fault (PR_SET_TSC). This library does not use that, because
 * the vDSO's clocks and away.c read the counter far more often than the program does.
 */
#include "stamps.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "dispatch.h"
#include "exact.h"
#include "masks.h"
#include "pass.h"
#include "spin.h"

#define CYCLES 24u /* one read takes, without its instruction: a guess, 17 to 44 */
#define NODE   12  /* rdtscp also returns the CPU, and above these bits its node */

static const uint8_t fault[] = { 0x0f, 0x0b };		 /* ud2 */
static const uint8_t reads[] = { 0x0f, 0x31 };		 /* rdtsc */
static const uint8_t reads_cpu[] = { 0x0f, 0x01, 0xf9 }; /* rdtscp */

/* Sorted by address. */
static struct stamp {
	uint64_t pc;
	uint32_t length;
} * stamps;
static uint32_t nr_stamps;

int stamps_place(uint64_t pc, uint32_t length)
{
	struct stamp *more = realloc(stamps, (nr_stamps + 1ul) * sizeof(*stamps));

	if (!more)
		return -1;
	stamps = more;
	stamps[nr_stamps++] = (struct stamp){ pc, length };
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct stamp *x = a, *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

static const uint8_t *code_of(const struct stamp *s)
{
	return s->length == sizeof(reads) ? reads : reads_cpu;
}

/*
 * Replace an instruction. If memory does not match the file, or the page cannot be changed, the
 * instruction stays, and reads the host's counter.
 */
static void replace(const struct stamp *s, const uint8_t *from, const uint8_t *to, size_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = s->pc & ~(page - 1);
	uint64_t end = (s->pc + size + page - 1) & ~(page - 1);
	void *at = (void *)(uintptr_t)s->pc, *pages = (void *)(uintptr_t)begin;

	if (memcmp(at, from, size) != 0 ||
	    PASS(mprotect(pages, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC)))
		return;
	memcpy(at, to, size);
	PASS(mprotect(pages, end - begin, PROT_READ | PROT_EXEC));
}

/* Runs on the alternative stack, as masks_fault() requires. */
static void illegal(int which, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct stamp key = { .pc = (uint64_t)r[REG_RIP] };
	const struct stamp *s = bsearch(&key, stamps, nr_stamps, sizeof(*stamps), by_address);
	uint64_t cycles;
	uint32_t cpu = 0;

	if (!s || info->si_code <= 0) {
		masks_fault(which, info, context);
		return;
	}
	if (exact_on()) {
		spin_else();
		sched_cycles(CYCLES);
		cycles = sched_time() / exact.ps;
		cpu = exact_cpu(exact_self->cpu) | exact_node(exact_self->cpu) << NODE;
	} else {
		cycles = __builtin_ia32_rdtscp(&cpu);
	}
	r[REG_RAX] = (greg_t)(uint32_t)cycles;
	r[REG_RDX] = (greg_t)(cycles >> 32);
	if (s->length == sizeof(reads_cpu))
		r[REG_RCX] = (greg_t)cpu;
	r[REG_RIP] += s->length;
}

void stamps_begin(void)
{
	qsort(stamps, nr_stamps, sizeof(*stamps), by_address);
	if (!nr_stamps || !masks_on() || dispatch_handle(SIGILL, SA_ONSTACK, illegal))
		return;
	masks_keep(SIGILL);
	for (uint32_t i = 0; i < nr_stamps; i++)
		replace(&stamps[i], code_of(&stamps[i]), fault, sizeof(fault));
}

void stamps_end(void)
{
	for (uint32_t i = 0; i < nr_stamps; i++)
		replace(&stamps[i], fault, code_of(&stamps[i]), sizeof(fault));
}
