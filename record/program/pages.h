/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * pages.h - numbers the bytes of memory that recorded processes use.
 *
 * Addresses of the first program are their own numbers. Shared memory, memory of other processes,
 * and code of other programs get pages in a region that no program uses.
 *
 * Concurrency: any thread of any process, once pages_init() or shared_attach() has returned.
 */
#ifndef RECORD_PAGES_H
#define RECORD_PAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGES_TLB  64u
#define PAGES_SIZE 4096u

/*
 * The name of an address: the address, and in the bits above it the number of its tenant
 * (tenants.h). The file that a process writes at its end contains names (record/names/memory.py).
 */
#define PAGES_NAME_SHIFT       48
#define PAGES_NAME(at, tenant) ((at) | (uint64_t)(tenant) << PAGES_NAME_SHIFT)
#define PAGES_ADDRESS(name)    ((name) & ((1ull << PAGES_NAME_SHIFT) - 1))
#define PAGES_TENANT(name)     ((uint32_t)((name) >> PAGES_NAME_SHIFT))

/**
 * struct pages_entry - one of a thread's last pages
 * @page: its address in the process / PAGES_SIZE + 1
 * @at: number of its first byte
 * @lines: what access_lines() returned for it
 */
struct pages_entry {
	uint64_t page, at;
	uint16_t *lines;
};

struct pages_tlb {
	uint32_t generation;
	struct pages_entry entry[PAGES_TLB];
};

/* A number that changes when the mappings of the process change. */
extern uint32_t pages_generation __attribute__((visibility("hidden")));

/** pages_init - make the tables, in the model's process, after shared_create(). */
int pages_init(void);

/** pages_entry - find a page among the thread's last pages. Return: NULL if it is not there; then
 * call pages_enter(). */
static inline const struct pages_entry *pages_entry(const struct pages_tlb *tlb, uint64_t address)
{
	uint64_t page = address / PAGES_SIZE;
	const struct pages_entry *entry = &tlb->entry[page % PAGES_TLB];

	return entry->page == page + 1 && tlb->generation == __atomic_load_n(&pages_generation,
									     __ATOMIC_RELAXED)
		       ? entry
		       : NULL;
}

/**
 * pages_enter - add a page that CPU @cpu accesses to the thread's last pages.
 *
 * Return: its entry, valid until the next call, or NULL if there are too many pages.
 */
const struct pages_entry *pages_enter(struct pages_tlb *tlb, uint64_t address, uint32_t cpu);

/** pages_find - return the number of the byte at an address; 0: its page was never entered. */
uint64_t pages_find(uint64_t address);

/** pages_code - return the number of an instruction's address. */
uint64_t pages_code(uint64_t pc);

/**
 * pages_follow - from now on the process is this image, of that program. Before the first call
 * addresses are their own numbers.
 */
void pages_follow(uint32_t image, uint32_t program);

/**
 * pages_changed - a mapping has changed; @shared: several processes share it.
 */
void pages_changed(uint64_t at, uint64_t size, bool shared);

/**
 * pages_mapped, pages_unmapped - the process has mapped memory, or will unmap it. If it maps over a
 * file's memory, the addresses get another tenant (tenants.h). @file: -1 if no file is mapped
 */
void pages_mapped(uint64_t at, uint64_t size, int file, uint64_t offset, bool shared);
void pages_unmapped(uint64_t at, uint64_t size);

/**
 * pages_tenants - return how often memory got another tenant.
 */
uint32_t pages_tenants(void);

/** pages_name - the name of an address, now. */
uint64_t pages_name(uint64_t address);

/* Call these before and after a fork. */
void pages_before_fork(void);
void pages_after_fork(void);

/**
 * pages_regions - set "shared" in @into: shared memory, its addresses, and the object's name.
 */
void pages_regions(json_t *into);

/**
 * pages_json - set "pages" in @into: the page of each number.
 */
void pages_json(json_t *into);

#endif
