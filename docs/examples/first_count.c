// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * First use: a statistics counter. Any thread counts, wherever it runs; threads of one last-level
 * cache share a line, others do not.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <schedshard/schedshard.h>

#define THREADS 8
#define PACKETS 10000

static struct shard_counter *bytes_sent;

static void *send_packets(void *unused)
{
	(void)unused;
	for (int i = 0; i < PACKETS; i++)
		shard_counter_add(bytes_sent, shard_this_cpu(), 1500);
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	bytes_sent = shard_counter_create();
	if (!bytes_sent)
		err(1, "shard_counter_create");
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread[i], NULL, send_packets, NULL))
			errx(1, "no thread");
	}
	/* at any time: all counts made before, and some of those under way */
	if (shard_counter_sum(bytes_sent) > THREADS * PACKETS * 1500)
		errx(1, "more than there are");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lld bytes sent\n", (long long)shard_counter_sum(bytes_sent));
	shard_counter_destroy(bytes_sent);
	return 0;
}
