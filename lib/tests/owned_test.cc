// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests in a C++17 program each maker of schedshard.hh, and the object that it returns. */
#include <cstdio>
#include <cstdlib>

#include <schedshard/schedshard.hh>

static void check(bool right, const char *what)
{
	if (right)
		return;
	std::fprintf(stderr, "%s\n", what);
	std::exit(1);
}

static void pool()
{
	schedshard::SlotSet free = schedshard::make_slot_set(2, false, true);
	schedshard::Waiters waiters = schedshard::make_waiters(free->plan);
	const schedshard_plan *plan = free->plan;
	uint32_t cpu = plan->idx_to_cpu[0];

	for (uint32_t s = 0; s < plan->nr_shards; s++)
		check(plan->shard[s].nr_cpus <= SCHEDSHARD_CAP_POOL, "a line is not of a core");
	check(schedshard_slot_claim_wait(free.get(), waiters.get(), cpu, 0) < 0, "none is free");
	schedshard_slot_put_wake(free.get(), waiters.get(), 1, cpu);
	check(schedshard_slot_claim_wait(free.get(), waiters.get(), cpu, -1) == 1, "one is free");
}

static void slots()
{
	for (bool follow : { false, true }) {
		schedshard::SlotSet tags = schedshard::make_slot_set(3, follow);
		schedshard::Waiters waiters = schedshard::make_waiters(tags->plan);
		uint32_t cpu = tags->plan->idx_to_cpu[0];
		{
			schedshard::Slot tag(tags.get(),
					     schedshard_slot_claim_near(tags.get(), cpu));
			schedshard::Slot other(tags.get(), -1, waiters.get());

			check(tag && tag.number() < 3 && !other, "a slot is free");
			other = std::move(tag);
			check(schedshard_slot_set_nr_free(tags.get()) == 2, "two are left");
		}
		check(schedshard_slot_set_nr_free(tags.get()) == 3, "all are free");
	}
}

static void others()
{
	schedshard::Set set = schedshard::make_set();
	schedshard::Counter items = schedshard::make_counter();
	schedshard::CpuCounter count = schedshard::make_cpu_counter();
	uint32_t cpu = set->plan->idx_to_cpu[0];

	schedshard_sbm_set(set.get(), cpu);
	check(schedshard_sbm_test(set.get(), cpu), "the bit is set");
	schedshard_counter_add(items.get(), cpu, 2);
	check(schedshard_counter_sum(items.get()) == 2, "two items");
	schedshard_cpu_counter_add(count.get(), cpu, -5);
	check(schedshard_cpu_counter_sum(count.get()) == -5, "the count is what was added");
	try {
		schedshard::make_slot_set(0, false);
		check(false, "a wrong value throws");
	} catch (const std::system_error &e) {
		check(e.code().value() == EINVAL, "the error is EINVAL");
	}
}

int main()
{
	try {
		pool();
		slots();
		others();
	} catch (const std::exception &e) {
		check(false, e.what());
	}
	return 0;
}
