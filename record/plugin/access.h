/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * access.h - passes accesses of watched code from the vCPU's thread to its stream.
 *
 *   access_begin()         before the window opens
 *   access_watch()         any thread
 */
#ifndef PLUGIN_ACCESS_H
#define PLUGIN_ACCESS_H

#include "api.h"
#include "insn.h"

/* Bit of a program counter whose instruction is locked; such an address is not canonical. */
#define ACCESS_LOCKED (1ull << 62)
/* Mask of bits above a program's address: how many instructions follow in the block. */
#define ACCESS_AFTER 0x1fffu

/* Bits 62 and 63 of an address are the same. */
static inline bool access_is_locked(uint64_t data)
{
	return (data >> 62 ^ data >> 63) & 1;
}

/* A line's state: 0, or the first CPU + 1 and these flags. */
#define ACCESS_WRITTEN	 0x8000u
#define ACCESS_SHARED	 0x4000u
#define ACCESS_CONTENDED 0x2000u /* written while it was shared */
#define ACCESS_CPU	 0x0fffu
/* Lines of a page. */
#define ACCESS_LINES 64u

/*
 * Says which lines are contended, and between which CPUs, for all processes of a recording. @pages:
 * hash table of page numbers + 1; @lines: the states of each page's lines. @homes: report to the
 * model to which node each page belongs.
 */
struct access_tables {
	uint64_t *pages;
	uint16_t *lines;
	uint32_t bits;
	bool homes;
	uint64_t *writers, *seen; /* @seen: by CPU */
	struct access_loads *loads;
};

int access_begin(void);

/**
 * access_begin_large - as access_begin(), for programs, with 2^bits pages. A page belongs to the
 * node of the CPU that first accesses it.
 */
int access_begin_large(uint32_t bits);

/**
 * access_writers - from now on, report whose store an access sees (struct item). Call this before
 * the window opens, and only if a program is recorded.
 *
 * Return: 0, or -1 if there is no memory.
 */
int access_writers(void);

/**
 * access_tables, access_attach - get access_begin_large()'s tables, use them in another process.
 */
struct access_tables access_tables(void);
void access_attach(const struct access_tables *t);

/**
 * access_sites - from now on, report @site(pc) instead of the address of the instruction that
 * accesses. @site runs in the thread that accesses.
 */
void access_sites(uint64_t (*site)(uint64_t pc));

/**
 * access_contended - was the line written while several CPUs used it? Any thread may ask.
 */
bool access_contended(uint64_t line);

/** access_page_contended - is any line of the page contended? @place: the page's first byte. */
bool access_page_contended(uint64_t place);

/**
 * access_watch - report the accesses of an instruction while the window is open.
 */
void access_watch(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc);

/* access_watch() with a callback that ends in access_report(). */
void access_watch_by(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc,
		     api_mem_cb cb);

/**
 * access_lines - get the states of the lines of @place's page. They never move. In the CPU's
 * thread.
 *
 * Return: NULL if there are too many pages.
 */
uint16_t *access_lines(uint64_t place, uint32_t cpu);

/*
 * Has only this CPU used the line, and written it? Then only locked accesses need to be reported.
 */
static inline bool access_is_own(const uint16_t *lines, uint64_t place, uint32_t cpu)
{
	return __atomic_load_n(&lines[place / 64 % ACCESS_LINES], __ATOMIC_RELAXED) ==
	       (ACCESS_WRITTEN | (cpu + 1));
}

/**
 * access_report - report an access to the model, while the window is open; in the CPU's thread
 * @lines: what access_lines() returned for the page
 * @data: argument of the callback; @shift: log2 of the access's bytes
 *
 * Return: is the line contended?
 */
bool access_report(uint32_t cpu, uint16_t *lines, uint64_t place, uint64_t data, bool write,
		   uint32_t shift);

/**
 * access_idle, access_resume - the vCPU halts or resumes. Its own thread calls them. A CPU that
 * resumes has the time of the slowest one, or of instruction @instr of CPU @other.
 */
void access_idle(unsigned int vcpu);
void access_resume(unsigned int vcpu);
void access_resume_after(uint32_t vcpu, uint32_t other, uint64_t instr);

#endif
