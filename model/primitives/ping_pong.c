// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A word's parity says which player has the turn, and only that player increments it. So no update
 * is lost, locked or not, and the word ends at the number of turns.
 */
#include <string.h>

#include "ping_pong.h"

static port_always_inline void await(const u64 *word, u64 turn)
{
	while (READ_ONCE(*word) != turn)
		port_compiler_barrier();
}

/* Only compare-and-swap: failed attempts also take the line exclusively. */
static void cas(u64 *word, u64 turn, u64 n)
{
	for (; n--; turn += 2)
		while (port_cmpxchg64(word, turn, turn + 1) != turn)
			port_compiler_barrier();
}

static void read_cas(u64 *word, u64 turn, u64 n)
{
	for (; n--; turn += 2)
		do
			await(word, turn);
		while (port_cmpxchg64(word, turn, turn + 1) != turn);
}

static void read_inc(u64 *word, u64 turn, u64 n)
{
	for (; n--; turn += 2) {
		await(word, turn);
		port_add64(word, 1);
	}
}

static void read_store(u64 *word, u64 turn, u64 n)
{
	for (; n--; turn += 2) {
		await(word, turn);
		WRITE_ONCE(*word, turn + 1);
	}
}

static void exchange(u64 *word, u64 turn, u64 n)
{
	for (; n--; turn += 2) {
		await(word, turn);
		port_xchg64(word, turn + 1);
	}
}

const struct ping_pong ping_pongs[] = {
	{ "cas", "compare-and-swap alone, retried until it is one's turn", cas },
	{ "read-cas", "read until it is one's turn, then compare-and-swap", read_cas },
	{ "read-inc", "read until it is one's turn, then atomic increment", read_inc },
	{ "read-store", "read until it is one's turn, then plain store", read_store },
	{ "exchange", "read until it is one's turn, then atomic exchange", exchange },
	{ NULL, NULL, NULL },
};

const struct ping_pong *ping_pong_find(const char *name)
{
	for (const struct ping_pong *p = ping_pongs; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}
