/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* names.h - all primitives, in the order of tables. An entry has the C structure and the name. */
#ifndef PRIMITIVES_NAMES_H
#define PRIMITIVES_NAMES_H

#ifdef WITH_CK
#define PRIMITIVES_CK(X) X(primitive_claim_ring, "claim-ring")
#else
#define PRIMITIVES_CK(X)
#endif

#define PRIMITIVES(X)                                           \
	X(primitive_atomic_inc, "atomic-inc")                   \
	X(primitive_plain_inc, "plain-inc")                     \
	X(primitive_refcount, "refcount")                       \
	X(primitive_cas_loop, "cas-loop")                       \
	X(primitive_rwlock_read, "rwlock-read")                 \
	X(primitive_rwsem_read, "rwsem-read")                   \
	X(primitive_rwlock_glibc_read, "rwlock-glibc-read")     \
	X(primitive_list_refcount_apart, "list-refcount-apart") \
	X(primitive_list_refcount, "list-refcount")             \
	X(primitive_spinlock, "spinlock")                       \
	X(primitive_sharded_counter, "sharded-counter")         \
	X(primitive_fetch_xor, "fetch-xor")                     \
	X(primitive_spinlock_hot_apart, "spinlock-hot-apart")   \
	X(primitive_ticket_lock_apart, "ticket-lock-apart")     \
	X(primitive_claim_packed, "claim-packed")               \
	X(primitive_claim_words, "claim-words")                 \
	X(primitive_claim_slots, "claim-slots")                 \
	X(primitive_claim_cached, "claim-cached")               \
	X(primitive_claim_caches, "claim-caches")               \
	X(primitive_claim_stacks, "claim-stacks")               \
	X(primitive_claim_queue, "claim-queue")                 \
	PRIMITIVES_CK(X)                                        \
	X(primitive_cpu_counter, "cpu-counter")                 \
	X(primitive_cpu_counter_any, "cpu-counter-any")         \
	X(primitive_mutex_apart, "mutex-apart")                 \
	X(primitive_counter_split, "counter-split")             \
	X(primitive_counter_cached, "counter-cached")           \
	X(primitive_counter_striped, "counter-striped")         \
	X(read_primitive_atomic_inc, "read-word")               \
	X(read_primitive_sharded_counter, "read-sharded")       \
	X(read_primitive_cpu_counter, "read-cpu")               \
	X(read_primitive_cpu_about, "read-cpu-about")           \
	X(read_primitive_counter_split, "read-split")           \
	X(read_primitive_counter_cached, "read-cached")         \
	X(read_primitive_counter_striped, "read-striped")       \
	X(primitive_set_clear, "set-clear")                     \
	X(primitive_set_clear_packed, "set-clear-packed")       \
	X(primitive_hand_same, "slots-used")                    \
	X(primitive_hand_same_follow, "slots-used-follow")      \
	X(primitive_hand_over, "slots-handed")                  \
	X(primitive_hand_over_follow, "slots-handed-follow")

#endif
