// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A statistics counter, in C++: bytes sent, counted by any thread wherever it runs, read now
 * and then.
 *
 * Each thread counts under the CPU that it is on. It may be moved to another one between the
 * question and the addition: that costs a cache miss, not an error, since the addition is
 * atomic. The sum is exact when nobody counts, and otherwise holds all that was counted
 * before it began.
 */
#include <memory>
#include <thread>
#include <vector>

#include <sched.h>

#include "example.h"

namespace
{

struct PlanDeleter {
	void operator()(shard_plan *plan) const
	{
		shard_plan_free(plan);
	}
};

class Statistic
{
      public:
	explicit Statistic(const shard_plan *plan) : plan(plan)
	{
		example_need(shard_counter_attach(&counter, plan), "out of memory");
	}
	~Statistic()
	{
		shard_counter_detach(&counter);
	}
	Statistic(const Statistic &) = delete;
	Statistic &operator=(const Statistic &) = delete;

	void add(s64 n)
	{
		int cpu = sched_getcpu();

		/* a plan of another machine, as in the tests, may not know this CPU */
		if (cpu < 0 || !shard_plan_has_cpu(plan, (u32)cpu))
			cpu = (int)plan->idx_to_cpu[0];
		shard_counter_add(&counter, (u32)cpu, n);
	}
	s64 sum() const
	{
		return shard_counter_sum(&counter);
	}

      private:
	const shard_plan *plan;
	shard_counter counter = SHARD_COUNTER_INIT;
};

} // namespace

int main(int argc, char **argv)
{
	std::unique_ptr<shard_plan, PlanDeleter> plan(example_plan(argc, argv));
	Statistic sent(plan.get());
	std::vector<std::thread> threads;

	for (int i = 0; i < 8; i++) {
		threads.emplace_back([&sent] {
			for (int packet = 0; packet < 10000; packet++)
				sent.add(1500);
		});
	}
	for (s64 before = 0, now; (now = sent.sum()) < 60000000; before = now)
		example_need(now >= before, "a sum went backwards");
	for (std::thread &thread : threads)
		thread.join();
	printf("%lld bytes sent\n", (long long)sent.sum());
	return 0;
}
