// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests which simulations the watchdog ends, and what it prints; each runs in its own process. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "sim.h"
#include "toy.h"

#define PATIENCE 10000

/* Two threads take turns, without the second one if @alone; the first one begins at @start. */
static void turns(bool alone, uint64_t start)
{
	uint64_t *word = arena_alloc(64, 0, "turn", NULL);
	struct spin a = { .word = word, .player = 1 }, b = { .word = word };

	sim_spawn(0, toy_spin, &a, 0);
	if (!alone)
		sim_spawn(4, toy_spin, &b, start);
	sim_run();
}

static void spins_for_ever(void)
{
	turns(true, 0);
}

static void waits_for_a_late_thread(void)
{
	turns(false, PATIENCE * 100 * NS); /* many times the patience at 4 ns a load */
}

static void swaps_in_vain(void)
{
	struct step s[] = { { .kind = STEP_TURNS, .n = 1, .odd = true } };

	TOY_PLAY(SCRIPT(0, s));
}

static void sleeps_for_ever(void)
{
	struct step s[] = { { .kind = STEP_COMPUTE } }, none[] = { { .kind = STEP_FENCE } };

	TOY_PLAY(SCRIPT(0, s), SCRIPT(1, none));
}

/* Return the exit status of a simulation; @said receives what it says on stderr. */
static int status_of(void (*simulation)(void), char *said, size_t size)
{
	int pipes[2], status;
	ssize_t n;
	size_t at = 0;
	pid_t child;

	CHECK(!pipe(pipes));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		dup2(pipes[1], STDERR_FILENO);
		toy_begin("", 1);
		sim_give_up_after(PATIENCE);
		simulation();
		_exit(0);
	}
	close(pipes[1]);
	while (at < size - 1 && (n = read(pipes[0], said + at, size - 1 - at)) > 0)
		at += (size_t)n;
	said[at] = '\0';
	close(pipes[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

int main(void)
{
	static const struct {
		void (*simulation)(void);
		int status;
		const char *says[2];
	} cases[] = {
		{ spins_for_ever,
		  1,
		  { "no simulated CPU makes progress", "; last miss: read turn, byte 0\n" } },
		{ swaps_in_vain,
		  1,
		  { "no simulated CPU makes progress", "; last miss: wrote line, byte 0\n" } },
		{ sleeps_for_ever,
		  1,
		  { ": idle until an interrupt\n", "CPU 1 at 12.000 ns: returned\n" } },
		{ waits_for_a_late_thread, 0, { "", "" } },
	};
	unsigned int n = sizeof(cases) / sizeof(cases[0]);
	char said[4096];

	for (unsigned int i = 0; i < n; i++) {
		CHECK_EQ(status_of(cases[i].simulation, said, sizeof(said)), cases[i].status);
		for (int j = 0; j < 2; j++)
			if (!strstr(said, cases[i].says[j])) {
				fprintf(stderr, "case %u lacks \"%s\":\n%s", i, cases[i].says[j],
					said);
				return 1;
			}
	}
	printf("%u passed, 0 failed\n", n);
	return 0;
}
