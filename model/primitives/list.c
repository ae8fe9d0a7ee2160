// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* All primitives, in the order of tables. */
#include <string.h>

#include "primitive.h"

extern const struct primitive primitive_atomic_inc, primitive_plain_inc, primitive_cas_loop,
	primitive_refcount, primitive_rwlock_read, primitive_rwsem_read,
	primitive_rwlock_glibc_read, primitive_list_refcount_apart, primitive_list_refcount,
	primitive_spinlock, primitive_seqlock_read, primitive_seqlock_read_written,
	primitive_sharded_counter, primitive_fetch_xor, primitive_spinlock_hot,
	primitive_spinlock_hot_apart, primitive_ticket_lock, primitive_ticket_lock_apart,
	primitive_ticket_lock_padded, primitive_claim_near, primitive_claim_two_steps,
	primitive_claim_pool, primitive_claim_packed, primitive_claim_words, primitive_claim_slots,
	primitive_cpu_counter, primitive_mutex, primitive_mutex_apart, primitive_counter_split,
	primitive_counter_cached, primitive_counter_striped, read_word_primitive_atomic_inc,
	read_shards_primitive_sharded_counter, read_cpus_primitive_cpu_counter,
	read_about_cpu_about, counter_peer_about_primitive_counter_split,
	counter_peer_sum_primitive_counter_cached, counter_peer_sum_primitive_counter_striped,
	primitive_set_clear, primitive_set_clear_packed, primitive_hand_same,
	primitive_hand_same_follow, primitive_hand_over, primitive_hand_over_follow;

const struct primitive *const primitives[] = {
	&primitive_atomic_inc,
	&primitive_plain_inc,
	&primitive_refcount,
	&primitive_cas_loop,
	&primitive_rwlock_read,
	&primitive_rwsem_read,
	&primitive_rwlock_glibc_read,
	&primitive_list_refcount_apart,
	&primitive_list_refcount,
	&primitive_spinlock,
	&primitive_seqlock_read,
	&primitive_seqlock_read_written,
	&primitive_sharded_counter,
	&primitive_fetch_xor,
	&primitive_spinlock_hot,
	&primitive_spinlock_hot_apart,
	&primitive_ticket_lock,
	&primitive_ticket_lock_apart,
	&primitive_ticket_lock_padded,
	&primitive_claim_near,
	&primitive_claim_pool,
	&primitive_claim_two_steps,
	&primitive_claim_packed,
	&primitive_claim_words,
	&primitive_claim_slots,
	&primitive_cpu_counter,
	&primitive_mutex,
	&primitive_mutex_apart,
	&primitive_counter_split,
	&primitive_counter_cached,
	&primitive_counter_striped,
	&read_word_primitive_atomic_inc,
	&read_shards_primitive_sharded_counter,
	&read_cpus_primitive_cpu_counter,
	&read_about_cpu_about,
	&counter_peer_about_primitive_counter_split,
	&counter_peer_sum_primitive_counter_cached,
	&counter_peer_sum_primitive_counter_striped,
	&primitive_set_clear,
	&primitive_set_clear_packed,
	&primitive_hand_same,
	&primitive_hand_same_follow,
	&primitive_hand_over,
	&primitive_hand_over_follow,
	NULL,
};

void (*primitive_label_hook)(const char *name, const char *type);

const struct primitive *primitive_find(const char *name)
{
	for (const struct primitive *const *p = primitives; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}
