// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * First use: a statistics counter with a line for each CPU, to which any thread adds, wherever it
 * runs. A thread may migrate between asking for its CPU and adding, so it adds by a locked
 * instruction. A thread that has a CPU number of its own can call schedshard_cpu_counter_add()
 * instead, which uses a plain store.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <schedshard/schedshard.h>

#define THREADS 8
#define PACKETS 10000

static struct schedshard_cpu_counter *bytes_sent;

static void *send_packets(void *unused)
{
	(void)unused;
	for (int i = 0; i < PACKETS; i++)
		schedshard_cpu_counter_add_any(bytes_sent, schedshard_this_cpu(), 1500);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	bytes_sent = schedshard_cpu_counter_create(0);
	if (!bytes_sent)
		err(1, "schedshard_cpu_counter_create");
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, send_packets, NULL))
			errx(1, "no thread");
	}
	/* a sum contains all earlier additions, and may contain some of those in progress */
	if (schedshard_cpu_counter_sum(bytes_sent) > THREADS * PACKETS * 1500)
		errx(1, "more than there are");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lld bytes sent\n", (long long)schedshard_cpu_counter_sum(bytes_sent));
	schedshard_cpu_counter_destroy(bytes_sent);
	return 0;
}
