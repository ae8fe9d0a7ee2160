/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* explore_symbols.h - translates addresses in this program to functions and source lines. */
#ifndef SIM_EXPLORE_SYMBOLS_H
#define SIM_EXPLORE_SYMBOLS_H

#include <stddef.h>

struct x_symbol {
	const void *pc;	   /* in: a return address */
	char function[64]; /* out: innermost inlined function outside port/, "?" if unknown */
	char source[64];   /* out: "file.c:12" in it, "?" if unknown */
};

/**
 * x_symbols - look up many addresses with one run of addr2line.
 * @sym: the addresses; receives the answers
 * @n: number of addresses
 *
 * Without addr2line or debug information all answers are "?".
 */
void x_symbols(struct x_symbol *sym, size_t n);

#endif
