/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sites.h - calls and accesses, each together with all calls that led to it.
 *
 * A site's number takes the place of an access's instruction in items, traces and the model, which
 * need not know of it.
 *
 *   sites_init()               first; the memory is that of memory.h
 *   sites_entry(), _number()   any thread of any process that shares the memory
 *   sites_json()               at the end
 */
#ifndef RECORD_SITES_H
#define RECORD_SITES_H

#include <jansson.h>
#include <stdint.h>

struct site;

/**
 * struct sites - all sites of a recording
 * @all: NULL: the recording has none
 * @lost: accesses that found no place; any
 */
struct sites {
	struct site *all;
	uint64_t lost;
};

/** sites_init - Return: 0, or -1: no memory. */
int sites_init(struct sites *s);

/**
 * sites_entry - a call at @pc below the call with entry @parent, 0: the outermost one.
 *
 * Return: its entry, or 0: the table is full.
 */
uint32_t sites_entry(struct sites *s, uint32_t parent, uint64_t pc);

/**
 * sites_number - what stands for an access at @pc below the call @parent.
 *
 * Return: its number, or @pc where the table is full.
 */
uint64_t sites_number(struct sites *s, uint32_t parent, uint64_t pc);

/**
 * sites_json - set in @into: "sites", each a number, an instruction and the number of the call that
 * led there or 0; and "lost_sites".
 */
void sites_json(const struct sites *s, json_t *into);

#endif
