/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Reads of the counters of counter_peers.c; they may overlap with adds. */
#ifndef PRIMITIVES_COUNTER_PEERS_H
#define PRIMITIVES_COUNTER_PEERS_H

#include "port.h"

/* The sum of all lines and the global count. */
u64 counter_peer_sum(const void *state);

/* Only the global count: it misses what is still in the lines. */
u64 counter_peer_about(const void *state);

#endif
