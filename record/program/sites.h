/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sites.h - calls and accesses, each identified together with all calls that led to it.
 *
 * A site's number replaces the address of an access's instruction in items, traces and the model,
 * which treat it like an address.
 *
 *   sites_init()               first; the memory is that of memory.h
 *   sites_full(), _lost(), _entry(), _number()
 *                              any thread of any process that shares the memory
 *   sites_json()               at the end
 */
#ifndef RECORD_SITES_H
#define RECORD_SITES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct site;

/**
 * struct sites - all sites of a recording
 * @all: the sites; NULL if none are recorded
 * @ways: number of sites, per hash of the instruction; used by any thread
 * @lost: accesses recorded without their calls; used by any thread
 */
struct sites {
	struct site *all;
	uint32_t *ways;
	uint64_t lost;
};

/** sites_init - Return: 0, or -1 if there is no memory. */
int sites_init(struct sites *s);

/**
 * sites_full - has an access at @pc as many sites as the table distinguishes? Then sites_number()
 * makes no new site for @pc, because recursion can make more than any table holds.
 */
bool sites_full(const struct sites *s, uint64_t pc);

/** sites_lost - count an access at @pc without a site. Return: @pc, for use as a number. */
uint64_t sites_lost(struct sites *s, uint64_t pc);

/**
 * sites_entry - find the entry of a call at @pc below the call @parent; 0: below none
 * @make: make it if there is none
 *
 * Return: its entry, or 0 if there is none, or no room.
 */
uint32_t sites_entry(struct sites *s, uint32_t parent, uint64_t pc, bool make);

/**
 * sites_number - find the number of an access at @pc below the call @parent
 *
 * Return: its number, or that of sites_lost() if there is no room.
 */
uint64_t sites_number(struct sites *s, uint32_t parent, uint64_t pc);

/**
 * sites_json - set in @into: "sites", each a number, an instruction and the number of the call that
 * led there or 0; and "lost_sites".
 */
void sites_json(const struct sites *s, json_t *into);

#endif
