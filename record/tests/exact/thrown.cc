// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// The function of call_once() throws twice and then succeeds; other callers wait meanwhile.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

int main()
{
	std::once_flag flag;
	std::atomic<int> tried{ 0 }, done{ 0 }, thrown{ 0 };
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			try {
				std::call_once(flag, [&] {
					if (tried++ < 2)
						throw std::runtime_error("not yet");
					done++;
				});
			} catch (const std::runtime_error &) {
				thrown++;
			}
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("%d %d %d\n", tried.load(), done.load(), thrown.load());
}
