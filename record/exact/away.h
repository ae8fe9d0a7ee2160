/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* away.h - measures calls to code without instrumentation. */
#ifndef EXACT_AWAY_H
#define EXACT_AWAY_H

#include <jansson.h>
#include <stdint.h>

#include "exact.h"

/*
 * 0: the calling thread is not in code without instrumentation. 1: it is, and called this library.
 * Else the host's time-stamp counter when the thread entered that code.
 */
extern _Thread_local uint64_t away_since HIDDEN __attribute__((tls_model("initial-exec")));

/** away_start - start to measure the host's time. */
void away_start(void);

/** away_room - make room to count calls of callees' set @set. Return: 0, or -1 without memory. */
int away_room(uint32_t set);

/** away_begin - a block is about to make @calls calls. away_back - the next block has begun. */
void away_begin(uint32_t set, uint32_t calls);
void away_back(void);

/**
 * away_point - as away_begin(), for calls by a pointer that may lead into code with hooks
 * away_pointed - the next block has begun
 * @entry: the next block is the first one of a function
 *
 * Return of away_pointed(): how many calls of away_point() went to code without instrumentation.
 */
void away_point(uint32_t set, uint32_t calls);
uint32_t away_pointed(bool entry);

/** away_stay - the thread is in this library, until away_leave(). */
void away_stay(void);
void away_leave(void);

/** away_json - write the calls of each set, and the host's ticks in them, to @into. */
void away_json(json_t *into);

#endif
