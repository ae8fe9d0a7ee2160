/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * schedshard.h - everything of libschedshard, for C99 and C++11 (compilers: gcc, clang).
 *
 *   #include <schedshard/schedshard.h>
 *   cc ... $(pkg-config --cflags --libs schedshard)
 *
 * libschedshard needs only the C library.
 *
 * Contents; beginners need only create.h:
 *
 *   create.h         a set, a counter, slots for this machine, in one call
 *   plans.h          the plans of this machine, and what to do when its CPUs change
 *   claim_wait.h     wait for a slot of a set, and wake the waiters
 *   topology.h       which CPU is where
 *   shard_plan.h     CPUs to shards (a cache line each) and back
 *   sbm.h            a bit per CPU
 *   slot_set.h       pools: any number of slots, each with a home near some CPUs
 *   slot_claim.h     claims of one slot or several, or only up to a limit
 *   slot_cache.h     a thread's cache of slots, which other threads can take
 *   shard_counter.h  a count: is there any?
 *   cpu_counter.h    a count for statistics, by plain stores
 *   ordered.h        operations that release or acquire the object of a bit or a count
 *   checked.h        finds wrong puts, and reports claims to ThreadSanitizer
 *   shard_summary.h  a bit per shard above an sbm
 *   port.h           types, atomics and barriers of the inline functions
 *
 * Every name begins with schedshard_. The inline functions are symbols of the library as well, for
 * other languages. schedshard.hh is create.h for C++17, with std::unique_ptr.
 *
 * The table shows which calls on one object may run at the same time. Each header has the details.
 *
 *                   made, freed  writes                         reads, searches, walks
 *   sbm             alone        any                            any
 *   slot_set        alone        any; one grow at a time        any
 *   slot_cache      any          one thread                     -
 *   shard_counter   alone (1)    any; one attach at a time      any
 *   cpu_counter     alone        any, but one per CPU (2)       any; one take at a time
 *   shard_summary   alone        any                            any
 *   shard_wait      alone        any                            any
 *   slot_poll       any          one thread                     -
 *   plan, topology: constant from their making until they are freed
 *
 *   any: with every call of the row that is not "alone". alone: with no other call. one per CPU:
 *   the caller serialises the calls for one CPU, for example by a lock or by a bound thread. (1)
 *   only detach, because a counter needs no alloc. (2) cpu_counter_add_any(): any.
 */
#ifndef SCHEDSHARD_SCHEDSHARD_H
#define SCHEDSHARD_SCHEDSHARD_H

/* outside extern "C": port.h includes C headers that C++ replaces */
#include "port.h"

#include "claim_wait.h"
#include "create.h"
#include "plans.h"
#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "cpu_counter.h"
#include "ordered.h"
#include "sbm.h"
#include "sbm_more.h"
#include "shard_counter.h"
#include "shard_plan.h"
#include "shard_summary.h"
#include "shard_topo.h"
#include "slot_cache.h"
#include "slot_claim.h"
#include "slot_set.h"

#ifdef __cplusplus
}
#endif

/* the last one: it gives calls of the others a file and a line */
#include "checked.h"

#endif
