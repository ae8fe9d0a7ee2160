// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Each member waits on its own semaphore, so members without work sleep. They do not spin, because
 * that would take cycles from a sibling, and lower the clock of all CPUs.
 *
 * The semaphores order memory: members see what the caller stored before crew_begin(), and after
 * crew_end() the caller sees what the members stored.
 */
#include "crew.h"
#include "sample.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

struct member {
	struct crew *crew;
	pthread_t thread;
	sem_t wanted;
	u32 cpu, number;
	int failed; /* errno value of pinning */
	bool moved;
} port_cacheline_aligned;

struct crew {
	u32 nr, working;
	sem_t done;
	void (*work)(u32 number, void *arg); /* NULL: the thread ends */
	void *arg;
	struct member member[];
};

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

static void *run_member(void *arg)
{
	struct member *m = arg;
	struct crew *crew = m->crew;

	m->failed = sample_pin(m->cpu);
	sem_post(&crew->done);
	for (;;) {
		wait_for(&m->wanted);
		if (!crew->work)
			return NULL;
		crew->work(m->number, crew->arg);
		if (sched_getcpu() != (int)m->cpu)
			m->moved = true;
		sem_post(&crew->done);
	}
}

struct crew *crew_new(const u32 *cpu, u32 nr, int *error, u32 *at)
{
	struct crew *crew =
		aligned_alloc(PORT_CACHELINE, sizeof(*crew) + nr * sizeof(struct member));

	*at = cpu[0];
	*error = ENOMEM;
	if (!crew)
		return NULL;
	*error = 0;
	*crew = (struct crew){ 0 };
	sem_init(&crew->done, 0, 0);
	for (; crew->nr < nr && !*error; crew->nr++) {
		struct member *m = &crew->member[crew->nr];

		*m = (struct member){ .crew = crew, .cpu = cpu[crew->nr] };
		*at = m->cpu;
		sem_init(&m->wanted, 0, 0);
		*error = pthread_create(&m->thread, NULL, run_member, m);
		if (*error) {
			sem_destroy(&m->wanted);
			break;
		}
		wait_for(&crew->done);
		*error = m->failed;
	}
	if (!*error)
		return crew;
	crew_free(crew);
	return NULL;
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	crew->work = NULL;
	for (u32 i = 0; i < crew->nr; i++) {
		sem_post(&crew->member[i].wanted);
		pthread_join(crew->member[i].thread, NULL);
		sem_destroy(&crew->member[i].wanted);
	}
	sem_destroy(&crew->done);
	free(crew);
}

void crew_begin(struct crew *crew, const u32 *member, u32 nr, void (*work)(u32 number, void *arg),
		void *arg)
{
	crew->work = work;
	crew->arg = arg;
	crew->working = nr;
	for (u32 i = 0; i < nr; i++)
		crew->member[member ? member[i] : i].number = i;
	for (u32 i = 0; i < nr; i++)
		sem_post(&crew->member[member ? member[i] : i].wanted);
}

void crew_end(struct crew *crew)
{
	for (; crew->working; crew->working--)
		wait_for(&crew->done);
}

int crew_moved(const struct crew *crew)
{
	for (u32 i = 0; i < crew->nr; i++)
		if (crew->member[i].moved)
			return (int)crew->member[i].cpu;
	return -1;
}

static double own_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

struct crew_watch crew_watch_start(void)
{
	return (struct crew_watch){ .wall = sample_now_ns(), .cpu = own_ns() };
}

double crew_watch_lost(const struct crew_watch *watch)
{
	double cpu = own_ns() - watch->cpu, wall = sample_now_ns() - watch->wall;

	return wall > cpu ? wall - cpu : 0;
}
