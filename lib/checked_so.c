// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-checked.so makes the checks of checked.h for a program that uses libschedshard.so
 * and was compiled without -DSCHEDSHARD_CHECKED, in the library's functions that claim and put:
 *
 *	LD_PRELOAD=libschedshard-checked.so ./program
 *
 * A language that loads the library by its file name loads this file instead. A message names the
 * call as OBJECT+OFFSET, for `addr2line -e OBJECT OFFSET`. An operation that a C compiler expanded
 * from a header calls no function, so it is not checked.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <schedshard/schedshard.h>

#define IN_FRONT_OF(returns, name, ...)                                   \
	returns checked_##name(__VA_ARGS__) __asm__("schedshard_" #name); \
	__attribute__((visibility("default"))) returns checked_##name(__VA_ARGS__)
/* The library's own function. */
#define NEXT(name) ((__typeof__(&checked_##name))dlsym(RTLD_NEXT, "schedshard_" #name))
/* The call, for addr2line; as line 0 says, it is no file. */
#define CALL ((const char *)__builtin_return_address(0) - 1), 0

typedef struct schedshard_slot_set set_t;
typedef struct schedshard_slot_cache cache_t;
typedef struct schedshard_wait wait_t;

IN_FRONT_OF(int64_t, slot_claim_near, set_t *s, uint32_t cpu)
{
	schedshard_watched_from(s->plan, cpu, CALL);
	return schedshard_watched(s, NEXT(slot_claim_near)(s, cpu), CALL);
}

IN_FRONT_OF(int64_t, slot_claim_limit, set_t *s, uint32_t cpu, uint32_t limit)
{
	schedshard_watched_from(s->plan, cpu, CALL);
	return schedshard_watched(s, NEXT(slot_claim_limit)(s, cpu, limit), CALL);
}

IN_FRONT_OF(int64_t, slot_claim_wait, set_t *s, wait_t *w, uint32_t cpu, int64_t timeout_ns)
{
	schedshard_watched_from(s->plan, cpu, CALL);
	return schedshard_watched(s, NEXT(slot_claim_wait)(s, w, cpu, timeout_ns), CALL);
}

IN_FRONT_OF(uint32_t, slot_claim_n, set_t *s, uint32_t cpu, uint32_t n, uint32_t *slots)
{
	schedshard_watched_from(s->plan, cpu, CALL);
	return schedshard_watched_n(s, NEXT(slot_claim_n)(s, cpu, n, slots), slots, CALL);
}

IN_FRONT_OF(bool, slot_take, set_t *s, uint32_t slot)
{
	return NEXT(slot_take)(s, slot) && schedshard_watched(s, slot, CALL) >= 0;
}

IN_FRONT_OF(int64_t, slot_cache_claim, cache_t *c)
{
	return schedshard_watched(c->set, NEXT(slot_cache_claim)(c), CALL);
}

IN_FRONT_OF(void, slot_put, set_t *s, uint32_t slot)
{
	schedshard_watched_slot(s, slot, CALL);
	NEXT(slot_put)(s, slot);
}

IN_FRONT_OF(void, slot_put_any, set_t *s, uint32_t slot)
{
	schedshard_watched_slot(s, slot, CALL);
	NEXT(slot_put_any)(s, slot);
}

IN_FRONT_OF(void, slot_put_near, set_t *s, uint32_t slot, uint32_t cpu)
{
	schedshard_watched_slot(s, slot, CALL);
	NEXT(slot_put_near)(s, slot, cpu);
}

IN_FRONT_OF(void, slot_put_wake, set_t *s, wait_t *w, uint32_t slot, uint32_t cpu)
{
	schedshard_watched_slot(s, slot, CALL);
	NEXT(slot_put_wake)(s, w, slot, cpu);
}

IN_FRONT_OF(void, slot_put_n, set_t *s, uint32_t cpu, uint32_t n, const uint32_t *slots)
{
	schedshard_watched_slots(s, n, slots, CALL);
	NEXT(slot_put_n)(s, cpu, n, slots);
}

IN_FRONT_OF(void, slot_put_n_wake, set_t *s, wait_t *w, uint32_t cpu, uint32_t n,
	    const uint32_t *slots)
{
	schedshard_watched_slots(s, n, slots, CALL);
	NEXT(slot_put_n_wake)(s, w, cpu, n, slots);
}

/* Puts go to the set, where a second one is noticed. */
IN_FRONT_OF(void, slot_cache_put, cache_t *c, uint32_t slot)
{
	schedshard_watched_slot(c->set, slot, CALL);
	NEXT(slot_put_near)(c->set, slot, c->cpu);
}

IN_FRONT_OF(void, slot_cache_put_wake, cache_t *c, wait_t *w, uint32_t slot)
{
	schedshard_watched_slot(c->set, slot, CALL);
	NEXT(slot_put_wake)(c->set, w, slot, c->cpu);
}

IN_FRONT_OF(void, slot_set_destroy, set_t *s)
{
	schedshard_watch_forget(s);
	NEXT(slot_set_destroy)(s);
}
