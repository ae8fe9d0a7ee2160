/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A user's program in three forms. With -DSCHEDSHARD_CHECKED, and with libschedshard-checked.so
 * preloaded (PRELOADED), the program must end at each misuse with a line that names its place. With
 * -fsanitize=thread (and a library without it) threads hand plain data over by claims and puts, and
 * a report of a race fails the test.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <schedshard/schedshard.h>

#define ROUNDS 2000

static struct schedshard_slot_set *slots;
static struct schedshard_wait *slot_waiters;

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* Plain data of slots. */
static unsigned long of_slot[4], sum[3];

static void *work(void *arg)
{
	unsigned long *mine = arg;
	struct schedshard_slot_cache *cache = schedshard_slot_cache_alloc(slots, 0);
	uint32_t many[2], here = schedshard_this_cpu();

	for (int i = 0; i < ROUNDS; i++) {
		int64_t slot = i % 2 ? schedshard_slot_cache_claim(cache)
				     : schedshard_slot_claim_wait(slots, slot_waiters, here, -1);

		while (slot < 0)
			slot = schedshard_slot_claim_near(slots, here);
		of_slot[slot]++;
		if (i % 3)
			schedshard_slot_cache_put_wake(cache, slot_waiters, (uint32_t)slot);
		else
			schedshard_slot_put_wake(slots, slot_waiters, (uint32_t)slot, here);
		++*mine;
		for (uint32_t n = schedshard_slot_claim_n(slots, here, 1, many); n--; ++*mine) {
			of_slot[many[n]]++;
			schedshard_slot_put_n(slots, here, 1, &many[n]);
			schedshard_wait_wake_near(slot_waiters, here);
		}
	}
	schedshard_slot_cache_free(cache);
	schedshard_wait_wake_near(slot_waiters, here);
	return NULL;
}

static void data_is_handed_over(void)
{
	pthread_t thread[3];
	unsigned long all = 0;

	for (int i = 0; i < 3; i++)
		check(!pthread_create(&thread[i], NULL, work, &sum[i]), "no thread");
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		all += sum[i];
	}
	for (int i = 0; i < 4; i++)
		all -= of_slot[i];
	check(!all, "an update of a slot's data is lost");
}

#if defined(SCHEDSHARD_CHECKED) || defined(PRELOADED)
#ifdef PRELOADED
#define WHERE "lib-watch-so+0x"
#else
#define WHERE "watch_test.c:"
#endif

/* Run @misuse in a child, whose message must be @says. */
static void ends(void (*misuse)(void), const char *says)
{
	char text[512];
	ssize_t len;
	int both[2], status;
	pid_t child;

	check(!pipe(both), "no pipe");
	child = fork();
	if (!child) {
		dup2(both[1], 2);
		misuse();
		_exit(0);
	}
	close(both[1]);
	len = read(both[0], text, sizeof(text) - 1); /* a message is one write */
	text[len > 0 ? len : 0] = '\0';
	close(both[0]);
	waitpid(child, &status, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "misuse went on");
	if (!strstr(text, says) || !strstr(text, WHERE)) {
		fprintf(stderr, "'%s' lacks '%s'\n", text, says);
		exit(1);
	}
}

static void puts_twice(void)
{
	int64_t slot = schedshard_slot_claim_near(slots, 0);

	schedshard_slot_put(slots, (uint32_t)slot);
	schedshard_slot_put_near(slots, (uint32_t)slot, 0);
}

static void puts_beyond_the_end(void)
{
	schedshard_slot_put(slots, 1000);
}

static void puts_one_of_several_twice(void)
{
	uint32_t both[2] = { (uint32_t)schedshard_slot_claim_near(slots, 0), 3 };

	schedshard_slot_put_n(slots, 0, 2, both);
}

static void starts_nowhere(void)
{
	schedshard_slot_claim_near(slots, 100000);
}
#endif

#ifdef SCHEDSHARD_CHECKED
static void puts_what_nobody_claimed(void)
{
	schedshard_slot_put(slots, 3);
}

static void puts_twice_into_a_cache(void)
{
	struct schedshard_slot_cache *cache = schedshard_slot_cache_alloc(slots, 0);
	uint32_t slot = (uint32_t)schedshard_slot_cache_claim(cache);

	schedshard_slot_cache_put(cache, slot);
	schedshard_slot_cache_put_wake(cache, slot_waiters, slot);
}

/* Takes an item away, with the arguments in the wrong order. */
static void swaps_arguments(void)
{
	schedshard_counter_add(schedshard_counter_create(), -1, 0);
}

static void asks_with_swapped_arguments(void)
{
	schedshard_counter_more_than(schedshard_counter_create(), 100000, 0);
}

static void swaps_arguments_of_statistics(void)
{
	schedshard_cpu_counter_add(schedshard_cpu_counter_create(0), 100000, 0);
}
#endif

int main(void)
{
	slots = schedshard_slot_set_create(4);
	check(slots != NULL, "no set");
	slot_waiters = schedshard_wait_alloc(slots->plan);
	check(slot_waiters != NULL, "no waiters");
	data_is_handed_over();
#if defined(SCHEDSHARD_CHECKED) || defined(PRELOADED)
	ends(puts_twice, "is put, but it is free: thread ");
	ends(puts_beyond_the_end, "there is no slot 1000");
	ends(puts_one_of_several_twice, "slot 3 is put, but it is free");
	ends(starts_nowhere, "there is no CPU 100000");
#endif
#ifdef SCHEDSHARD_CHECKED
	ends(puts_what_nobody_claimed, "slot 3 is put, but it is free");
	ends(puts_twice_into_a_cache, "is put, but it is free: thread ");
	ends(swaps_arguments, "there is no CPU 4294967295");
	ends(asks_with_swapped_arguments, "there is no CPU 100000");
	ends(swaps_arguments_of_statistics, "there is no CPU 100000");
#endif
	schedshard_wait_free(slot_waiters);
	schedshard_slot_set_destroy(slots);
	return 0;
}
