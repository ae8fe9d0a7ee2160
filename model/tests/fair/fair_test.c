// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Tests the scheduler on the toy machine, with every layout of the idle set, by plays with a known
 * end, then by storms. Then the checker must find the bug of each planted layout.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "model.h"
#include "toy.h"

static struct storm_result one_storm(const struct idle_ops *ops, u32 threads, u64 us, u64 seed)
{
	struct storm_result r;

	toy_begin("", seed);
	r = storm(toy_model(), ops, threads, us);
	toy_end();
	return r;
}

static void storms(const struct idle_ops *ops)
{
	for (u32 seed = 0; seed < 8; seed++) {
		struct storm_result r = one_storm(ops, 8 + 8 * (seed % 4), 20000, seed);

		CHECK(r.checks > 50);
		CHECK(r.stats.wakeups > 500);
		CHECK(r.stats.enters > 20);
		CHECK(r.stats.exits > 10);
		CHECK(r.stats.balances > 10);
		CHECK(r.stats.walked > r.stats.balances);
	}
}

static void repeats(const struct idle_ops *ops)
{
	struct storm_result a = one_storm(ops, 24, 5000, 7), b = one_storm(ops, 24, 5000, 7);

	CHECK(!memcmp(&a, &b, sizeof(a)));
	CHECK(one_storm(ops, 24, 5000, 8).hash != a.hash);
}

static void all(const struct idle_ops *ops)
{
	plays(ops);
	who_still_runs_is_not_taken(ops);
	storms(ops);
	repeats(ops);
}

/* Runs a layout with a bug in a separate process, which the checker ends. */
static void is_found(const struct idle_ops *ops)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		CHECK(freopen("/dev/null", "w", stderr));
		one_storm(ops, 16, 20000, 1);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
		fprintf(stderr, "the checker did not find the bug in '%s'\n", ops->name);
		exit(1);
	}
}

int main(void)
{
	struct idle_ops faulty[PLANTED];

	for (const struct idle_ops *const *ops = idle_layouts; *ops; ops++)
		all(*ops);
	plant(faulty);
	for (u32 i = 0; i < PLANTED; i++)
		is_found(&faulty[i]);
	return 0;
}
