// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A caller that breaks a contract: in user space it gets a message, and is stopped. */
#include "shapes.h"
#include "shard_counter.h"
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct shape shape_48 = { .name = "2 x 2 x 12", 2, 2, 1, 6, 2, 1 };

static void attaching_twice_stops_the_program(void)
{
	struct shard_plan *plan = shape_plan(&shape_48);
	struct shard_counter c = SHARD_COUNTER_INIT;
	int status;
	pid_t child;

	CHECK(shard_counter_attach(&c, plan));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		fclose(stderr);
		shard_counter_attach(&c, plan);
		_exit(0);
	}
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGABRT);
	shard_counter_detach(&c);
	shard_plan_free(plan);
}

int main(void)
{
	RUN(attaching_twice_stops_the_program);
	return test_done();
}
