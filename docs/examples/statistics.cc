// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A statistics counter in C++. Any thread counts the bytes that it sends, wherever it runs, and the
 * sum is read from time to time. The threads also record in a set from which CPUs they sent.
 *
 * Each thread counts under its current CPU. If the thread migrates between asking for that CPU and
 * adding, it takes a cache miss. That is not an error, because the addition is atomic. The sum is
 * exact while no thread counts. Otherwise it contains at least all additions made before it began.
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
	uint32_t cpu, listed = 0;

	for (int i = 0; i < 8; i++) {
		threads.emplace_back([&] {
			for (int packet = 0; packet < 10000; packet++) {
				uint32_t here = schedshard_this_cpu();

				schedshard_cpu_counter_add_any(sent.get(), here, 1500);
				schedshard_sbm_set(senders.get(), here);
			}
		});
	}
	for (int64_t before = 0, now; (now = schedshard_cpu_counter_sum(sent.get())) < 120000000;
	     before = now) {
		if (now < before) {
			std::cerr << "a sum went backwards\n";
			return 1;
		}
	}
	for (std::thread &thread : threads)
		thread.join();
	schedshard_sbm_for_each_cpu(cpu, it, senders.get())
		listed += schedshard_sbm_test(senders.get(), cpu);
	std::cout << schedshard_cpu_counter_sum(sent.get()) << " bytes sent from " << listed
		  << " CPUs\n";
	return 0;
}
