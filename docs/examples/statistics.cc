// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A statistics counter, in C++: bytes sent, counted by any thread wherever it runs, read from time
 * to time. The threads put the CPUs that they sent from into a set.
 *
 * Each thread counts under its current CPU. It may migrate between the question and the addition:
 * that costs a cache miss, not an error, since the addition is atomic. The sum is exact while no
 * thread counts. Otherwise it has all counts made before it began.
 */
#include <iostream>
#include <thread>
#include <vector>

#include <schedshard/schedshard.hh>

int main()
{
	schedshard::CpuCounter sent = schedshard::make_cpu_counter();
	schedshard::Set senders = schedshard::make_set();
	std::vector<std::thread> threads;
	u32 cpu, listed = 0;

	for (int i = 0; i < 8; i++) {
		threads.emplace_back([&] {
			for (int packet = 0; packet < 10000; packet++) {
				u32 here = shard_this_cpu();

				cpu_counter_add_any(sent.get(), here, 1500);
				sbm_set(senders.get(), here);
			}
		});
	}
	for (s64 before = 0, now; (now = cpu_counter_sum(sent.get())) < 120000000; before = now) {
		if (now < before) {
			std::cerr << "a sum went backwards\n";
			return 1;
		}
	}
	for (std::thread &thread : threads)
		thread.join();
	sbm_for_each_cpu(cpu, it, senders.get())
		listed += sbm_test(senders.get(), cpu);
	std::cout << cpu_counter_sum(sent.get()) << " bytes sent from " << listed << " CPUs\n";
	return 0;
}
