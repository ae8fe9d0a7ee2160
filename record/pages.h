/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * pages.h - which byte of memory an address of a process is.
 *
 * Addresses of the first program are their own numbers. Memory that is shared, memory of other
 * processes, and code of other programs get a page of a region where no program has any.
 *
 * Concurrency: any thread of any process, once shared_create() or shared_attach() has returned.
 */
#ifndef RECORD_PAGES_H
#define RECORD_PAGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGES_TLB 64u

/* A thread's last pages: page + 1, and where that is. */
struct pages_tlb {
	uint32_t generation;
	struct {
		uint64_t page, at;
	} entry[PAGES_TLB];
};

/** pages_init - make the tables, in the model's process. */
int pages_init(void);

/** pages_is_new - Return: true once a page of memory. */
bool pages_is_new(uint64_t place);

/**
 * pages_place - the number of a byte (struct item) of a process's memory.
 *
 * Return: 0 when there are too many pages.
 */
uint64_t pages_place(struct pages_tlb *tlb, uint64_t address);

/** pages_find - the same; 0 when nobody has asked for its page so far. */
uint64_t pages_find(uint64_t address);

/** pages_code - the number of an instruction. */
uint64_t pages_code(uint64_t pc);

/**
 * pages_follow - from now on the process is this image, of that program. Without it addresses are
 * their own numbers.
 */
void pages_follow(uint32_t image, uint32_t program);

/** pages_changed - something was mapped or is no longer; @shared: by several processes. */
void pages_changed(uint64_t at, uint64_t size, bool shared);

/* Around a fork. */
void pages_before_fork(void);
void pages_after_fork(void);

/** pages_regions - set "shared" in @into: what is shared, where, and the object's name. */
void pages_regions(json_t *into);

/** pages_json - set "pages" in @into: which pages the numbers are of. */
void pages_json(json_t *into);

#endif
