/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* blocks.h - how many instructions each basic block has. */
#ifndef EXACT_BLOCKS_H
#define EXACT_BLOCKS_H

#include "exact.h"

/* The instruction of @length bytes at @pc reads the time-stamp counter. Return: 0 or -1. */
typedef int blocks_stamp(uint64_t pc, uint32_t length);

/**
 * blocks_read - read the file @path; NULL: no block is known
 * @stamp: for each read of the counter
 *
 * Return: 0, or -1: no such file, or no memory.
 */
int blocks_read(const char *path, blocks_stamp *stamp);

/** blocks_after - how many instructions follow the access that @pc returns to, in its block. */
uint32_t blocks_after(const void *pc);

#endif
