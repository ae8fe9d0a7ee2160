/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * plain.h - the library as plain functions, for other languages, and for C and C++ programs that
 * have their own u64, likely() or READ_ONCE(). It defines nothing but names that begin with
 * schedshard_, needs C99 or C++ only, and includes <stdbool.h> and <stdint.h>.
 *
 * Each function is exported, also those that are inline functions elsewhere: a call costs some
 * nanoseconds more. Each does what the function does that its comment names; that one's page says
 * which calls may overlap, and what they order. A file may include schedshard.h as well.
 *
 * CPU numbers: those for which schedshard_has_cpu() is true. No other function checks them. What
 * create returns is NULL with errno when it failed; destroy takes NULL.
 */
#ifndef SCHEDSHARD_PLAIN_H
#define SCHEDSHARD_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct schedshard_set;	   /* a bit per CPU: struct sbm */
struct schedshard_bytes;   /* a byte per CPU: struct bytemap */
struct schedshard_counter; /* a count: struct cpu_counter */
struct schedshard_slots;   /* slots: struct slot_set */
struct schedshard_waiters; /* who waits: struct shard_wait */

/* shard_this_cpu(), also before anything was created. 0: there is no plan. */
uint32_t schedshard_this_cpu(void);
/* Is there a CPU of this number? shard_plan_has_cpu() of this machine's plan. */
bool schedshard_has_cpu(uint32_t cpu);
/* One more than the highest CPU number; 0 with errno: there is no plan. */
uint32_t schedshard_nr_cpus(void);
/* shard_nr_allowed() of this machine's plan; 0 with errno: there is no plan. */
uint32_t schedshard_nr_allowed(void);

/* sbm_create_opts(): at most @cap CPUs on a line, 0: the usual number. */
struct schedshard_set *schedshard_set_create(uint32_t cap, bool summary);
/* sbm_destroy() */
void schedshard_set_destroy(struct schedshard_set *set);
/* sbm_set() */
void schedshard_set_add(struct schedshard_set *set, uint32_t cpu);
/* sbm_clear() */
void schedshard_set_remove(struct schedshard_set *set, uint32_t cpu);
/* sbm_test() */
bool schedshard_set_has(const struct schedshard_set *set, uint32_t cpu);
/* sbm_weight() */
uint32_t schedshard_set_count(const struct schedshard_set *set);
/* sbm_first_cpu(): -1: none. */
int64_t schedshard_set_first(const struct schedshard_set *set);
/* sbm_next_cpu(): the one after @cpu, -1: none. */
int64_t schedshard_set_next(const struct schedshard_set *set, uint32_t cpu);
/* sbm_near_cpu() of all CPUs: -1: none. */
int64_t schedshard_set_near(const struct schedshard_set *set, uint32_t cpu);
/* sbm_claim_near(): -1: none. */
int64_t schedshard_set_claim(struct schedshard_set *set, uint32_t cpu);
/* sbm_claim_n() */
uint32_t schedshard_set_claim_n(struct schedshard_set *set, uint32_t cpu, uint32_t n,
				uint32_t *cpus);
/* sbm_put() */
void schedshard_set_put(struct schedshard_set *set, uint32_t cpu);

/* bytemap_create(), of a value from 0 to 127. */
struct schedshard_bytes *schedshard_bytes_create(uint8_t value);
/* bytemap_destroy() */
void schedshard_bytes_destroy(struct schedshard_bytes *map);
/* bytemap_set() */
void schedshard_bytes_store(struct schedshard_bytes *map, uint32_t cpu, uint8_t value);
/* bytemap_get() */
uint8_t schedshard_bytes_load(const struct schedshard_bytes *map, uint32_t cpu);

/* cpu_counter_create() */
struct schedshard_counter *schedshard_counter_create(uint32_t batch);
/* cpu_counter_destroy() */
void schedshard_counter_destroy(struct schedshard_counter *c);
/* cpu_counter_add() */
void schedshard_counter_add(struct schedshard_counter *c, uint32_t cpu, int64_t n);
/* cpu_counter_add_any() */
void schedshard_counter_add_any(struct schedshard_counter *c, uint32_t cpu, int64_t n);
/* cpu_counter_sum() */
int64_t schedshard_counter_sum(const struct schedshard_counter *c);
/* cpu_counter_take() */
int64_t schedshard_counter_take(struct schedshard_counter *c);
/* cpu_counter_about() */
int64_t schedshard_counter_about(const struct schedshard_counter *c);

/* slot_set_create() */
struct schedshard_slots *schedshard_slots_create(uint32_t nr);
/* slot_set_destroy() */
void schedshard_slots_destroy(struct schedshard_slots *s);
/* slot_set_grow() */
bool schedshard_slots_grow(struct schedshard_slots *s, uint32_t nr);
/* slot_set_nr_free() */
uint32_t schedshard_slots_nr_free(const struct schedshard_slots *s);
/* slot_claim_near(): -1: none. */
int64_t schedshard_slots_claim(struct schedshard_slots *s, uint32_t cpu);
/* slot_put() */
void schedshard_slots_put(struct schedshard_slots *s, uint32_t slot);

/* shard_wait_alloc() for this machine; for any number of sets and slots whose waiters are one. */
struct schedshard_waiters *schedshard_waiters_create(void);
/* shard_wait_free() */
void schedshard_waiters_destroy(struct schedshard_waiters *w);
/* sbm_claim_wait(): -1: the time is over. */
int64_t schedshard_set_claim_wait(struct schedshard_set *set, struct schedshard_waiters *w,
				  uint32_t cpu, int64_t timeout_ns);
/* sbm_put_wake() */
void schedshard_set_put_wake(struct schedshard_set *set, struct schedshard_waiters *w,
			     uint32_t cpu);
/* slot_claim_wait(): -1: the time is over. */
int64_t schedshard_slots_claim_wait(struct schedshard_slots *s, struct schedshard_waiters *w,
				    uint32_t cpu, int64_t timeout_ns);
/* slot_put_wake() */
void schedshard_slots_put_wake(struct schedshard_slots *s, struct schedshard_waiters *w,
			       uint32_t slot, uint32_t cpu);

#ifdef __cplusplus
}
#endif

#endif
