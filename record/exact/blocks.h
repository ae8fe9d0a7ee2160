/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* blocks.h - reads from a file how many instructions each basic block has. */
#ifndef EXACT_BLOCKS_H
#define EXACT_BLOCKS_H

#include "exact.h"

/* Called for each rdtsc and rdtscp: @length bytes at @pc. Return: 0 or -1. */
typedef int blocks_stamp(uint64_t pc, uint32_t length);

/**
 * blocks_read - read the file of blocks @path; NULL: no block is known
 * @stamp: called for each instruction that reads the time-stamp counter
 *
 * Return: 0, or -1 if there is no such file or no memory.
 */
int blocks_read(const char *path, blocks_stamp *stamp);

/**
 * blocks_after - how many instructions follow an access in its block. @pc: where its hook returns
 */
uint32_t blocks_after(const void *pc);

#endif
