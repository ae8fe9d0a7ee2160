/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * plain.h in C99 and in C++, pedantic, in a program whose own names are those of port.h.
 */
typedef struct {
	double x;
} u64;
typedef char s64, u32, u8;
#define likely	 this program has its own
#define unlikely this program has its own
#define READ_ONCE
#define smp_mb
#define __aligned

#include <schedshard/plain.h>

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
	struct schedshard_set *set = schedshard_set_create(0, true);
	uint32_t cpu = schedshard_this_cpu(), got[2];

	CHECK(set && schedshard_has_cpu(cpu) && !schedshard_has_cpu(schedshard_nr_cpus()));
	CHECK(schedshard_nr_allowed() >= 1);
	CHECK(schedshard_set_claim(set, cpu) == -1);
	schedshard_set_add(set, cpu);
	CHECK(schedshard_set_has(set, cpu) && schedshard_set_count(set) == 1);
	CHECK(schedshard_set_first(set) == cpu && schedshard_set_next(set, cpu) == -1);
	CHECK(schedshard_set_near(set, cpu) == cpu);
	CHECK(schedshard_set_claim(set, cpu) == cpu && !schedshard_set_has(set, cpu));
	schedshard_set_put(set, cpu);
	CHECK(schedshard_set_claim_n(set, cpu, 2, got) == 1 && got[0] == cpu);
	schedshard_set_add(set, cpu);
	schedshard_set_remove(set, cpu);
	CHECK(!schedshard_set_count(set));
	schedshard_set_destroy(set);
	CHECK(!schedshard_set_create(65, false));
	return 0;
}

static int numbers(void)
{
	struct schedshard_bytes *map = schedshard_bytes_create(7);
	struct schedshard_counter *c = schedshard_counter_create(1);
	uint32_t cpu = schedshard_this_cpu();

	CHECK(map && c);
	CHECK(schedshard_bytes_load(map, cpu) == 7);
	schedshard_bytes_store(map, cpu, 100);
	CHECK(schedshard_bytes_load(map, cpu) == 100);
	schedshard_counter_add(c, cpu, -3);
	CHECK(schedshard_counter_about(c) == -3 && schedshard_counter_sum(c) == -3);
	CHECK(schedshard_counter_take(c) == -3);
	CHECK(schedshard_counter_take(c) == 0);
	schedshard_bytes_destroy(map);
	schedshard_counter_destroy(c);
	c = schedshard_counter_create(0);
	CHECK(c);
	schedshard_counter_add_any(c, cpu, 5);
	CHECK(schedshard_counter_sum(c) == 5);
	schedshard_counter_destroy(c);
	return 0;
}

static int slots(void)
{
	struct schedshard_slots *s = schedshard_slots_create(2);
	struct schedshard_waiters *w = schedshard_waiters_create();
	struct schedshard_set *set = schedshard_set_create(8, false);
	uint32_t cpu = schedshard_this_cpu();
	int64_t one, two;

	CHECK(s && w && set);
	one = schedshard_slots_claim(s, cpu);
	two = schedshard_slots_claim_wait(s, w, cpu, -1);
	CHECK(one + two == 1 && !schedshard_slots_nr_free(s));
	CHECK(schedshard_slots_claim_wait(s, w, cpu, 1) == -1);
	CHECK(schedshard_slots_grow(s, 1) && schedshard_slots_claim(s, cpu) == 2);
	schedshard_slots_put(s, (uint32_t)one);
	schedshard_slots_put_wake(s, w, 2, cpu);
	CHECK(schedshard_slots_nr_free(s) == 2);
	CHECK(schedshard_set_claim_wait(set, w, cpu, 0) == -1);
	schedshard_set_put_wake(set, w, cpu);
	CHECK(schedshard_set_claim_wait(set, w, cpu, -1) == cpu);
	schedshard_set_destroy(set);
	schedshard_waiters_destroy(w);
	schedshard_slots_destroy(s);
	return 0;
}

int main(void)
{
	if (sets() || numbers() || slots())
		return 1;
	puts("3 passed, 0 failed");
	return 0;
}
