// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Workers of oneTBB wake each other and sleep again, with the library's private_server.cpp.
 *
 * usage: idle WORKERS ROUNDS: prints nanoseconds per round of a busy worker. When all workers have
 * started, half of them go to sleep. In a round a worker counts to 1,000, wakes another one, and
 * goes to sleep unless somebody wants a worker by then. This file stands for the market, which asks
 * for workers. If a wake-up is lost, the program may never end.
 */
#include "governor.h"
#include "rml_tbb.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

/* clang-format off */
namespace tbb::detail::r1 {
bool governor::does_client_join_workers(const rml::tbb_client &) { return true; }
bool terminate_on_exception() { return true; }
namespace rml { tbb_server *make_private_server(tbb_client &client); }
}

static const std::chrono::microseconds some(20);

struct alignas(128) worker : rml::job {
	long rounds = 0;
};

struct crew : tbb::detail::r1::rml::tbb_client {
	const unsigned size;
	const long rounds;
	tbb::detail::r1::rml::tbb_server *server = nullptr;
	std::vector<worker> workers;
	std::atomic<unsigned> jobs{ 0 }, asleep{ 0 }, retired{ 0 };
	std::atomic<bool> begun{ false }, enough{ false }, closed{ false };

	crew(unsigned n, long each) : size(n), rounds(each), workers(n) {}
	version_type version() const override { return 0; }
	size_type max_job_count() const override { return size; }
	std::size_t min_stack_size() const override { return 256 << 10; }
	job *create_one_job() override { return &workers[jobs++]; }
	void acknowledge_close_connection() override { closed = true; }
	void cleanup(job &) override {}
	/* clang-format on */

	void process(job &j) override
	{
		worker &w = static_cast<worker &>(j);
		const bool first = w.rounds++ == 0, idle = first && &w >= &workers[size / 2];

		while (!begun || (first && !idle && asleep < size - size / 2))
			std::this_thread::sleep_for(some);
		for (volatile int i = 0; i < 1000; i++)
			; /* the job */
		if (w.rounds > rounds)
			enough = true;
		if (enough)
			retired++;
		else if (idle)
			asleep++;
		else
			server->adjust_job_count_estimate(1);
		server->adjust_job_count_estimate(-1);
	}
};

int main(int argc, char **argv)
{
	int size = argc == 3 ? std::atoi(argv[1]) : 0;
	long rounds = argc == 3 ? std::atol(argv[2]) : 0;
	unsigned busy = unsigned(size) / 2;

	if (size < 2 || rounds < 1) {
		std::fprintf(stderr, "usage: idle WORKERS ROUNDS, at least 2 and 1\n");
		return 2;
	}
	crew crew(size, rounds);
	crew.server = make_private_server(crew);
	crew.server->adjust_job_count_estimate(size);
	while (crew.jobs < unsigned(size))
		std::this_thread::sleep_for(some);
	auto from = std::chrono::steady_clock::now();
	crew.begun = true;
	while (crew.retired < busy)
		std::this_thread::sleep_for(some);
	std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - from;
	crew.server->request_close_connection();
	while (!crew.closed)
		std::this_thread::sleep_for(some);
	long sum = 0;
	for (const auto &w : crew.workers)
		sum += w.rounds;
	std::printf("%.0f\n", took.count() * busy / double(sum));
}
