/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* blocks.h - how many instructions the program's basic blocks have. */
#ifndef EXACT_BLOCKS_H
#define EXACT_BLOCKS_H

/** blocks_read - Return: 0, or -1: there is no file @path; NULL: no block is known. */
int blocks_read(const char *path);

#endif
