/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* away.h - calls of code without instrumentation. */
#ifndef EXACT_AWAY_H
#define EXACT_AWAY_H

#include <jansson.h>
#include <stdint.h>

#include "exact.h"

/*
 * Is the calling thread in such code? 0: no; 1: it was, and is in this library; else the host's
 * time since when.
 */
extern _Thread_local uint64_t away_since HIDDEN __attribute__((tls_model("initial-exec")));

/** away_start - the host's clock from here on. */
void away_start(void);

/** away_room - there is a set of callees with this number. Return: 0, or -1: no memory. */
int away_room(uint32_t set);

/** away_begin - a block is about to make so many calls. away_back: another block has begun. */
void away_begin(uint32_t set, uint32_t calls);
void away_back(void);

/**
 * away_point - the same by pointer: perhaps into code with hooks. away_pointed: the next block has
 * begun, @entry: as a function's first.
 *
 * Return: how many calls left.
 */
void away_point(uint32_t set, uint32_t calls);
uint32_t away_pointed(bool entry);

/** away_stay - the thread is in this library, until away_leave(). */
void away_stay(void);
void away_leave(void);

/** away_json - what to tell: of each set its calls, and ticks of the host's clock. */
void away_json(json_t *into);

#endif
