/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Four threads write elements of an array in a segment of System V. */
#include <pthread.h>
#include <sys/shm.h>

struct score {
	long hits, misses;
};

static void *play(void *arg)
{
	struct score *me = arg;

	for (int i = 0; i < 3000; i++)
		__atomic_fetch_add(&me->hits, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	struct score *score = shmat(id, NULL, 0);
	pthread_t t[4];

	shmctl(id, IPC_RMID, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, play, &score[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return shmdt(score);
}
