/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* stamps.h - makes the program read the simulated machine's time-stamp counter. */
#ifndef EXACT_STAMPS_H
#define EXACT_STAMPS_H

#include <stdint.h>

/**
 * stamps_place - add an instruction of the program that reads the counter
 * @pc: its address
 * @length: its bytes: 2: rdtsc, 3: rdtscp
 *
 * Return: 0, or -1 if there is no memory.
 */
int stamps_place(uint64_t pc, uint32_t length);

/**
 * stamps_begin - replace the added instructions. Call after dispatch_begin(): it needs masks_on().
 */
void stamps_begin(void);

/** stamps_end - restore the instructions: they read the host's counter again. */
void stamps_end(void);

#endif
