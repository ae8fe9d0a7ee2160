/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* blocks.h - how many instructions each basic block has. */
#ifndef EXACT_BLOCKS_H
#define EXACT_BLOCKS_H

#include "exact.h"

/** blocks_read - Return: 0, or -1: no file @path, or no memory; NULL: no block is known. */
int blocks_read(const char *path);

/** blocks_after - how many instructions follow the access that @pc returns to, in its block. */
uint32_t blocks_after(const void *pc);

#endif
