// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * spinlock-pool THREADS COPIES: each thread copies its own pointer under one of 41 spinlocks, which
 * a hash of the pointer's address chooses. Boost's pool does so for a shared_ptr without atomic
 * operations. -DAPART: each lock has its own line.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "meet.h"

struct spinlock {
#ifdef APART
	alignas(64)
#endif
		std::atomic<int> held{ 0 };

	void lock()
	{
		while (held.exchange(1, std::memory_order_acquire))
			;
	}
	void unlock()
	{
		held.store(0, std::memory_order_release);
	}
};

static struct {
	spinlock lock[41];
	spinlock &of(const void *at)
	{
		return lock[reinterpret_cast<std::uintptr_t>(at) / 128 % 41];
	}
} pool;

struct alignas(128) counted {
	long uses;
};

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const long threads = std::atol(argv[1]), copies = std::atol(argv[2]);
	std::vector<counted> all(threads);
	long total = 0;

	meet(threads, [&](long me) {
		counted &mine = all[me];

		for (long i = 0; i < copies; i++) {
			pool.of(&mine).lock();
			mine.uses++;
			pool.of(&mine).unlock();
		}
	});
	for (const counted &each : all)
		total += each.uses;
	std::printf("%ld\n", total);
	return 0;
}
