/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * ping_pong.h - two players alternate on one word: the player whose turn it is increments it.
 *
 * Compiled twice, as primitive.h says. Each player runs ping_pong.turns() on its own CPU; one
 * begins at turn 0, the other at turn 1. The time of an operation is the total time divided by the
 * turns of both.
 *
 * A player does not pause while it waits, because a pause instruction takes longer than a transfer.
 */
#ifndef PRIMITIVES_PING_PONG_H
#define PRIMITIVES_PING_PONG_H

#include "port.h"

/**
 * struct ping_pong - one way to take a turn
 * @name: as on the command line
 * @what: short description, for tables
 * @turns: wait until *@word is @turn and make it @turn + 1; then the same with @turn + 2 and so on,
 *	@n times in all. The other player takes the turns between. @word has its own line.
 */
struct ping_pong {
	const char *name, *what;
	void (*turns)(u64 *word, u64 turn, u64 n);
};

extern const struct ping_pong ping_pongs[]; /* in the tables' order; ends with a NULL name */

/**
 * ping_pong_find - the entry of that name, or NULL.
 */
const struct ping_pong *ping_pong_find(const char *name);

#endif
