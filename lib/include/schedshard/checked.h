/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * checked.h - checks claims and puts, for programs under test; schedshard.h includes it.
 *
 * In a program that is compiled with -DSCHEDSHARD_CHECKED, a put of a slot that is already free in
 * its set ends the program. For this check, a put into a thread's cache goes to the set instead. A
 * put of a number that the set does not have ends the program, too, and so does a claim or a count
 * for a CPU that the plan does not have. A line on stderr shows the file and line of the call, and
 * which call last put or claimed the slot:
 *
 *	schedshard: pool.c:31: slot 3 is put, but it is free: thread 812 put it at pool.c:30
 *
 * In a program that is compiled with -fsanitize=thread, ThreadSanitizer knows that a put releases
 * and a claim acquires, even if the library is compiled without it.
 *
 * Concurrency: as without the checks.
 */
#ifndef SCHEDSHARD_CHECKED_H
#define SCHEDSHARD_CHECKED_H

#include "claim_wait.h"
#include "cpu_counter.h"
#include "shard_counter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* End the program: a set or counter has no such slot or CPU. */
void shard_watch_unknown(const char *kind, u32 what, const char *file, int line);

/* Note who put a slot; end the program if the slot is already @free. */
void shard_watch_put(const void *set, u32 slot, bool free, const char *file, int line);

/* Note where slot @what was claimed; forget the notes of a set that is destroyed. */
void shard_watch_claim(const void *set, u32 what, const char *file, int line);
void shard_watch_forget(const void *set);

#ifdef __cplusplus
}
#endif

#if defined(__SANITIZE_THREAD__)
#define SHARD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHARD_TSAN 1
#endif
#endif

#if !defined(SCHEDSHARD_INSIDE) && (defined(SHARD_TSAN) || defined(SCHEDSHARD_CHECKED))

#ifdef SHARD_TSAN
#ifdef __cplusplus
extern "C" {
#endif
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#ifdef __cplusplus
}
#endif
#define SHARD_TSAN_CLAIM(set, what) __tsan_acquire((char *)(uintptr_t)(set) + (what))
#define SHARD_TSAN_PUT(set, what)   __tsan_release((char *)(uintptr_t)(set) + (what))
#else
#define SHARD_TSAN_CLAIM(set, what) ((void)0)
#define SHARD_TSAN_PUT(set, what)   ((void)0)
#endif

#ifdef SCHEDSHARD_CHECKED
#define SHARD_CHECK(call)		 call
#define SHARD_CACHED(cached, passing_by) passing_by
#else
#define SHARD_CHECK(call)		 ((void)file, (void)line)
#define SHARD_CACHED(cached, passing_by) cached
#endif

static inline s64 shard_watched(const void *set, s64 got, const char *file, int line)
{
	if (got >= 0) {
		SHARD_TSAN_CLAIM(set, got);
		SHARD_CHECK(shard_watch_claim(set, (u32)got, file, line));
	}
	return got;
}

static inline u32 shard_watched_n(const void *set, u32 n, const u32 *what, const char *file,
				  int line)
{
	for (u32 i = 0; i < n; i++)
		shard_watched(set, what[i], file, line);
	return n;
}

/* Return the plan of a counter's lines, or NULL. Pairs with shard_counter_attach(). */
static inline const struct shard_plan *shard_watched_plan(const struct shard_counter *c)
{
	const struct shard_counter_lines *l = smp_load_acquire(&c->lines);

	return l ? l->plan : NULL;
}

/* Return @cpu, a call's CPU number; end the program if @plan is not NULL and lacks this number. */
static inline u32 shard_watched_from(const struct shard_plan *plan, u32 cpu, const char *file,
				     int line)
{
	SHARD_CHECK(!plan || cpu < plan->nr_cpus ? (void)0
						 : shard_watch_unknown("CPU", cpu, file, line));
	(void)plan;
	return cpu;
}

static inline void shard_watched_slot(struct slot_set *s, u32 slot, const char *file, int line)
{
	SHARD_CHECK(slot < slot_set_size(s)
			    ? shard_watch_put(s, slot, slot_is_free(s, slot), file, line)
			    : shard_watch_unknown("slot", slot, file, line));
	SHARD_TSAN_PUT(s, slot);
}

static inline void shard_watched_slots(struct slot_set *s, u32 n, const u32 *slots,
				       const char *file, int line)
{
	for (u32 i = 0; i < n; i++)
		shard_watched_slot(s, slots[i], file, line);
}

#define SHARD_CLAIM(s, cpu, call)                                                      \
	__extension__({                                                                \
		struct slot_set *set__ = (s);                                          \
		u32 from__ = shard_watched_from(set__->plan, cpu, __FILE__, __LINE__); \
		shard_watched(set__, (call), __FILE__, __LINE__);                      \
	})
#define SHARD_SLOT_PUT(s, slot, call)                                  \
	__extension__({                                                \
		struct slot_set *set__ = (s);                          \
		u32 what__ = (u32)(slot);                              \
		shard_watched_slot(set__, what__, __FILE__, __LINE__); \
		call;                                                  \
	})
#define SHARD_SLOTS_PUT(s, n, slots, call)                                    \
	__extension__({                                                       \
		struct slot_set *set__ = (s);                                 \
		u32 nr__ = (n);                                               \
		const u32 *what__ = (slots);                                  \
		shard_watched_slots(set__, nr__, what__, __FILE__, __LINE__); \
		call;                                                         \
	})

#define slot_claim_near(s, cpu)		SHARD_CLAIM(s, cpu, slot_claim_near(set__, from__))
#define slot_claim_limit(s, cpu, limit) SHARD_CLAIM(s, cpu, slot_claim_limit(set__, from__, limit))
#define slot_claim_wait(s, w, cpu, timeout_ns) \
	SHARD_CLAIM(s, cpu, slot_claim_wait(set__, w, from__, timeout_ns))
#define slot_claim_n(s, cpu, n, slots)                                                       \
	__extension__({                                                                      \
		struct slot_set *set__ = (s);                                                \
		u32 from__ = shard_watched_from(set__->plan, cpu, __FILE__, __LINE__);       \
		u32 *to__ = (slots);                                                         \
		shard_watched_n(set__, slot_claim_n(set__, from__, n, to__), to__, __FILE__, \
				__LINE__);                                                   \
	})
#define slot_take(s, slot)                                                                         \
	__extension__({                                                                            \
		struct slot_set *set__ = (s);                                                      \
		u32 what__ = (slot);                                                               \
		slot_take(set__, what__) && shard_watched(set__, what__, __FILE__, __LINE__) >= 0; \
	})
#define slot_put(s, slot)	    SHARD_SLOT_PUT(s, slot, slot_put(set__, what__))
#define slot_put_near(s, slot, cpu) SHARD_SLOT_PUT(s, slot, slot_put_near(set__, what__, cpu))
#define slot_put_n(s, cpu, n, slots) \
	SHARD_SLOTS_PUT(s, n, slots, slot_put_n(set__, cpu, nr__, what__))
#define slot_put_n_wake(s, w, cpu, n, slots) \
	SHARD_SLOTS_PUT(s, n, slots, slot_put_n_wake(set__, w, cpu, nr__, what__))
#define slot_put_wake(s, w, slot, cpu) SHARD_SLOT_PUT(s, slot, slot_put_wake(set__, w, what__, cpu))
#define slot_set_destroy(s)	       (shard_watch_forget(s), slot_set_destroy(s))

#define slot_cache_claim(c)                                                                 \
	__extension__({                                                                     \
		struct slot_cache *cache__ = (c);                                           \
		shard_watched(cache__->set, slot_cache_claim(cache__), __FILE__, __LINE__); \
	})
#define slot_cache_put(c, slot)                                                             \
	__extension__({                                                                     \
		struct slot_cache *cache__ = (c);                                           \
		SHARD_SLOT_PUT(cache__->set, slot,                                          \
			       SHARD_CACHED(slot_cache_put(cache__, what__),                \
					    (slot_put_near)(set__, what__, cache__->cpu))); \
	})
#define slot_cache_put_wake(c, w, slot)                                                        \
	__extension__({                                                                        \
		struct slot_cache *cache__ = (c);                                              \
		SHARD_SLOT_PUT(cache__->set, slot,                                             \
			       SHARD_CACHED(slot_cache_put_wake(cache__, w, what__),           \
					    (slot_put_wake)(set__, w, what__, cache__->cpu))); \
	})

#define slot_poll_claim(p)                                                               \
	__extension__({                                                                  \
		struct slot_poll *poll__ = (p);                                          \
		shard_watched(poll__->set, slot_poll_claim(poll__), __FILE__, __LINE__); \
	})

#define SHARD_COUNT(c, plan_, cpu, call)                                       \
	__extension__({                                                        \
		__typeof__(c) counter__ = (c);                                 \
		u32 at__ = shard_watched_from(plan_, cpu, __FILE__, __LINE__); \
		call;                                                          \
	})
#define shard_counter_add(c, cpu, n) \
	SHARD_COUNT(c, shard_watched_plan(counter__), cpu, shard_counter_add(counter__, at__, n))
#define shard_counter_more_than(c, cpu, n)                 \
	SHARD_COUNT(c, shard_watched_plan(counter__), cpu, \
		    shard_counter_more_than(counter__, at__, n))
#define cpu_counter_add(c, cpu, n) \
	SHARD_COUNT(c, counter__->plan, cpu, cpu_counter_add(counter__, at__, n))
#define cpu_counter_add_any(c, cpu, n) \
	SHARD_COUNT(c, counter__->plan, cpu, cpu_counter_add_any(counter__, at__, n))

#endif

#endif
