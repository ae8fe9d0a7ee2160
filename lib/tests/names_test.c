/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A program whose own names are those of Linux, in C99 and in C++11 with -Wpedantic. It uses
 * inline functions and functions of the library. install.py compiles it as C and as C++, too.
 */
#ifdef __cplusplus
#include <memory>
#include <system_error>
#endif
#include "own_names.h"

#include <schedshard/schedshard.h>

#include <errno.h>
#include <stdio.h>

#define CHECK(cond)                                          \
	do {                                                 \
		if (!(cond)) {                               \
			printf("%d: %s\n", __LINE__, #cond); \
			return 1;                            \
		}                                            \
	} while (0)

static int sets(void)
{
	struct schedshard_create_opts none = { sizeof(none), false, false, false };
	struct schedshard_create_opts strange = { 4, false, false, false };
	struct schedshard_sbm *set = schedshard_sbm_create_opts(&none);
	uint32_t cpu = schedshard_this_cpu(), seen = 0;

	CHECK(set && schedshard_plan_has_cpu(set->plan, cpu));
	CHECK(!schedshard_plan_has_cpu(set->plan, set->plan->nr_cpus));
	CHECK(schedshard_nr_allowed(set->plan) >= 1);
	schedshard_sbm_set(set, cpu);
	CHECK(schedshard_sbm_test(set, cpu) && schedshard_sbm_weight(set) == 1);
	CHECK(schedshard_sbm_first_cpu(set) == cpu && schedshard_sbm_next_cpu(set, cpu) == -1);
	CHECK(schedshard_sbm_near_cpu(set, NULL, cpu) == cpu);
	schedshard_sbm_for_each_cpu(cpu, it, set)
		seen++;
	CHECK(seen == 1);
	cpu = (uint32_t)schedshard_sbm_first_cpu(set);
	schedshard_sbm_clear(set, cpu);
	CHECK(!schedshard_sbm_test_and_set(set, cpu) && schedshard_sbm_test_and_clear(set, cpu));
	schedshard_sbm_set_release(set, cpu);
	CHECK(schedshard_sbm_test_acquire(set, cpu));
	schedshard_sbm_clear_release(set, cpu);
	CHECK(!schedshard_sbm_test_acquire(set, cpu));
	schedshard_sbm_set(set, cpu);
	schedshard_sbm_clear(set, cpu);
	CHECK(schedshard_sbm_empty(set));
	schedshard_sbm_destroy(set);
	CHECK(!schedshard_sbm_create_opts(&strange));
	return 0;
}

static int numbers(void)
{
	struct schedshard_cpu_counter *c = schedshard_cpu_counter_create(1);
	struct schedshard_counter *items = schedshard_counter_create();
	uint32_t cpu = schedshard_this_cpu();

	CHECK(c && items);
	schedshard_cpu_counter_add(c, cpu, -3);
	CHECK(schedshard_cpu_counter_about(c) == -3 && schedshard_cpu_counter_sum(c) == -3);
	CHECK(schedshard_cpu_counter_take(c) == -3);
	CHECK(schedshard_cpu_counter_take(c) == 0);
	schedshard_counter_inc(items, cpu);
	CHECK(!schedshard_counter_is_zero(items, cpu));
	schedshard_counter_destroy(items);
	schedshard_cpu_counter_destroy(c);
	return 0;
}

static int slots(void)
{
	struct schedshard_slot_set *s = schedshard_slot_set_create(2);
	struct schedshard_wait *w = s ? schedshard_wait_alloc(s->plan) : NULL;
	struct schedshard_slot_poll *poll = w ? schedshard_slot_poll_alloc(s, w, 0) : NULL;
	uint32_t cpu = schedshard_this_cpu();
	struct schedshard_slot_tag tag = { 0 };
	uint32_t both[2];
	uint64_t handle;
	int64_t one, two;

	CHECK(s && w && poll);
	CHECK(schedshard_slot_claim_n(s, cpu, 2, both) == 2);
	CHECK(schedshard_slot_next_taken(s, 0) == 0 && schedshard_slot_next_taken(s, 2) == -1);
	handle = schedshard_slot_handle(&tag, both[0]);
	CHECK(schedshard_slot_handle_valid(&tag, handle) && (uint32_t)handle == both[0]);
	CHECK(schedshard_slot_handle_end(&tag, handle) &&
	      !schedshard_slot_handle_end(&tag, handle));
	CHECK(!schedshard_slot_handle_valid(&tag, handle));
	schedshard_slot_put_n(s, cpu, 2, both);
	CHECK(schedshard_slot_next_taken(s, 0) == -1);
	one = schedshard_slot_claim_near(s, cpu);
	two = schedshard_slot_claim_wait(s, w, cpu, -1);
	CHECK(one + two == 1 && !schedshard_slot_set_nr_free(s));
	CHECK(schedshard_slot_claim_wait(s, w, cpu, 1) == -1);
	CHECK(schedshard_slot_set_grow(s, 1) && schedshard_slot_claim_near(s, cpu) == 2);
	CHECK(schedshard_slot_set_size(s) == 3);
	schedshard_slot_put(s, (uint32_t)one);
	schedshard_slot_put_wake(s, w, 2, cpu);
	CHECK(schedshard_slot_set_nr_free(s) == 2);
	both[0] = (uint32_t)schedshard_slot_poll_claim(poll);
	both[1] = (uint32_t)schedshard_slot_poll_claim(poll);
	CHECK(schedshard_slot_poll_claim(poll) == -1 && errno == EAGAIN);
	schedshard_slot_put_n_wake(s, w, cpu, 2, both);
	CHECK(schedshard_slot_poll_claim(poll) >= 0);
	schedshard_slot_poll_free(poll);
	schedshard_wait_free(w);
	schedshard_slot_set_destroy(s);
	return 0;
}

static int own_plan(void)
{
	struct schedshard_counter counter = SCHEDSHARD_COUNTER_INIT;
	struct schedshard_topo *topo = NULL;
	struct schedshard_plan *plan = NULL;
	struct schedshard_err err = { "" };
	struct schedshard_sbm *set;
	uint32_t cpu, seen = 0;

	CHECK(!schedshard_topo_from_sysfs(&topo, "/", &err));
	CHECK(!schedshard_plan_build(&plan, topo, NULL));
	set = schedshard_sbm_alloc(plan, SCHEDSHARD_SBM_SUMMARY);
	CHECK(set && schedshard_counter_attach(&counter, plan));
	for (uint32_t idx = 0; idx < plan->nr_possible; idx++)
		schedshard_sbm_set(set, plan->idx_to_cpu[idx]);
	schedshard_sbm_for_each_cpu(cpu, it, set)
		schedshard_counter_add(&counter, cpu, 1);
	schedshard_sbm_for_each_cpu_wrap(cpu, it, set, plan->idx_to_cpu[0])
		seen++;
	CHECK(seen == plan->nr_possible && schedshard_sbm_weight(set) == seen);
	CHECK(schedshard_counter_sum(&counter) == (int64_t)seen);
	schedshard_counter_detach(&counter);
	schedshard_sbm_destroy(set);
	schedshard_plan_free(plan);
	schedshard_topo_free(topo);
	return 0;
}

int main(void)
{
	if (sets() || numbers() || slots() || own_plan())
		return 1;
	puts("4 passed, 0 failed");
	return 0;
}
