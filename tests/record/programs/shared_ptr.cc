// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * shared-ptr THREADS COPIES: threads that copy one std::shared_ptr, read what it points to, and drop
 * the copy.
 *
 *   g++ -g -O2 -pthread shared_ptr.cc -o shared-ptr
 *   ./schedshard c2c record --machine epyc-9654-2s --placement scatter --marks -- shared-ptr 8 1000
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>

#include "c2c-mark.h"

struct settings {
	long limit = 1, seen[15] = {};
};

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	long threads = std::atol(argv[1]), copies = std::atol(argv[2]);
	std::shared_ptr<const settings> shared = std::make_shared<settings>();
	std::vector<long> sums(threads * 16);
	std::vector<std::thread> all;
	pthread_barrier_t ready;
	long sum = 0;

	pthread_barrier_init(&ready, nullptr, threads + 1);
	for (long i = 0; i < threads; i++)
		all.emplace_back([&, i] {
			pthread_barrier_wait(&ready);
			for (long k = 0; k < copies; k++) {
				std::shared_ptr<const settings> mine = shared;
				sums[i * 16] += mine->limit;
			}
		});
	c2c_open();
	pthread_barrier_wait(&ready);
	for (std::thread &one : all)
		one.join();
	c2c_close();
	for (long one : sums)
		sum += one;
	std::printf("%ld\n", sum);
	return 0;
}
