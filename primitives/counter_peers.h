/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* How the counters of counter_peers.c are read; may overlap with adds. */
#ifndef PRIMITIVES_COUNTER_PEERS_H
#define PRIMITIVES_COUNTER_PEERS_H

#include "port.h"

/* All lines, and the count of all. */
u64 counter_peer_sum(const void *state);

/* The count of all alone: what the lines have not moved yet is missing. */
u64 counter_peer_about(const void *state);

#endif
