// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * trial-encode SECONDS THREADS CPUS...: starts a process for each list of CPUs. Each process
 * imitates an instance of FFmpeg in which x264's threads encode frames in parallel. The program
 * prints how many frames all processes finished.
 *
 * The threads of an instance have FIFO priority 99, may run on all CPUs of its list, and take turns
 * at frames. Row r of a frame waits until the frame before it has finished row r + LAG. A thread
 * that finishes a row wakes the thread that waits for it. The numbers are those of
 * model/experiments/ffmpeg-rt.toml, which predicts this workload. The steps of a row depend neither
 * on the kernel nor on the clock.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS	 68
#define LAG	 6
#define PRIORITY 99
#define STEPS	 40000 /* in an average row: about 41 us where a step takes 1 ns */
#define STACK	 (64 * 1024)
#define MOST	 1024

static struct thread {
	unsigned int number;
	unsigned long rows; /* finished rows of all its frames; under the lock */
	pthread_mutex_t lock;
	pthread_cond_t more;
} __attribute__((aligned(128))) threads[MOST];

static unsigned int nr_threads;
static uint64_t until;
static atomic_ulong *frames; /* of all instances */
static atomic_bool ended;

/* Half to one and a half times the mean; the frame has such a share of its own, in percent. */
static void work(uint64_t *random, unsigned int share)
{
	unsigned int steps = STEPS / 10000 * share * (50 + rng_below(random, 101));
	uint64_t x = steps;

	while (steps--) {
		x *= x;
		__asm__ volatile("" : "+r"(x));
	}
}

static void *encode(void *arg)
{
	struct thread *own = arg;
	struct thread *before = &threads[(own->number + nr_threads - 1) % nr_threads];
	uint64_t random = own->number + 1;

	for (unsigned long turn = 0; !ended; turn++) {
		/* The first thread's frame follows the last thread's frame of the turn before. */
		unsigned long base = (own->number ? turn : turn - 1) * ROWS;
		unsigned int share = 50 + rng_below(&random, 101);

		for (unsigned int row = 0; row < ROWS && !ended; row++) {
			unsigned int ahead = row + LAG < ROWS ? row + LAG : ROWS;

			pthread_mutex_lock(&before->lock);
			while (own != before && (own->number || turn) && !ended &&
			       before->rows < base + ahead)
				pthread_cond_wait(&before->more, &before->lock);
			pthread_mutex_unlock(&before->lock);
			work(&random, share);
			if (now_ns() > until)
				ended = true;
			pthread_mutex_lock(&own->lock);
			own->rows++;
			pthread_cond_signal(&own->more);
			pthread_mutex_unlock(&own->lock);
		}
		if (!ended)
			atomic_fetch_add(frames, 1);
	}
	/* The thread after this one sees the end, and wakes the next one. */
	pthread_mutex_lock(&own->lock);
	pthread_cond_signal(&own->more);
	pthread_mutex_unlock(&own->lock);
	return NULL;
}

static int instance(const char *cpus)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	pthread_t ids[MOST];
	struct cpu_list list;
	pthread_attr_t attr;
	cpu_set_t mask;

	parse_cpu_list(cpus, &list);
	CPU_ZERO(&mask);
	for (unsigned int i = 0; i < list.nr; i++)
		CPU_SET(list.cpu[i], &mask);
	if (sched_setaffinity(0, sizeof(mask), &mask) < 0)
		err(1, "%s", cpus);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	for (unsigned int i = 0; i < nr_threads; i++) {
		threads[i].number = i;
		pthread_mutex_init(&threads[i].lock, NULL);
		pthread_cond_init(&threads[i].more, NULL);
	}
	for (unsigned int i = 0; i < nr_threads; i++) {
		errno = pthread_create(&ids[i], &attr, encode, &threads[i]);
		if (errno)
			err(1, "a thread");
	}
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0, status;

	nr_threads = argc > 3 ? (unsigned int)atoi(argv[2]) : 0;
	if (!nr_threads || nr_threads > MOST)
		errx(2, "usage: trial-encode SECONDS THREADS CPUS..., up to %d threads", MOST);
	until = now_ns() + parse_seconds("trial-encode", argv[1]) * 1000000000ull;
	frames = mmap(NULL, sizeof(*frames), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (frames == MAP_FAILED)
		err(1, "memory");
	for (int i = 3; i < argc; i++) {
		pid_t pid = fork();

		if (!pid)
			return instance(argv[i]);
		if (pid < 0)
			err(1, "fork");
	}
	while (wait(&status) > 0)
		bad |= status;
	printf("frames %lu\n", atomic_load(frames));
	return bad ? 1 : 0;
}
