// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-family CASE PROCESSES OPERATIONS THINK: runs processes whose sharing is known. Between two
 * of its operations a process executes about THINK instructions.
 *
 *   shared   all add to one counter in memory that was mapped before the forks
 *   private  each adds to its own counter, all at one address
 *   file     each opens and maps a file by itself, and adds to the counter in it
 *   segment  the same with a System V segment
 *   memfd    the same with a file without a name, which they inherit
 *   exec     each executes this program again, which then does the same as 'file'
 *   threads  two processes: in each two threads add to one counter at the same address
 *   crash    the children add to the shared counter, and then end by a fault
 *   daemon   a child outlives its parent, and notes that in the file
 *
 * The window is open from when all processes are ready until all have ended.
 *
 * Exit status: 0; 1 when the memory does not hold what it must in the end; 2 for bad arguments.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "c2c-mark.h"

#define LINE	  128
#define PROCESSES 128

/* What all processes share; each member has its own line. */
struct common {
	uint64_t counter __attribute__((aligned(LINE)));
	uint64_t ready __attribute__((aligned(LINE)));
	uint64_t go __attribute__((aligned(LINE)));
	uint64_t awake __attribute__((aligned(LINE)));
	uint64_t done __attribute__((aligned(LINE)));
};

static uint64_t own __attribute__((aligned(LINE)));
static const char *name, *path;
static char *self;
static unsigned long nr, operations, pause_for;
static int segment, unnamed;

static void think(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

static void *map(int file, int flags)
{
	void *at = mmap(NULL, sizeof(struct common), PROT_READ | PROT_WRITE, flags, file, 0);

	if (at == MAP_FAILED)
		exit(3);
	return at;
}

static struct common *map_file(void)
{
	int file = open(path, O_RDWR | O_CREAT, 0600);
	struct common *c;

	if (file < 0 || ftruncate(file, sizeof(*c)))
		exit(3);
	c = map(file, MAP_SHARED);
	close(file);
	return c;
}

/*
 * All processes begin when all are there and awake. A waiting process does not access the
 * counter's line.
 */
static void meet(struct common *c)
{
	__atomic_fetch_add(&c->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&c->go, __ATOMIC_SEQ_CST))
		usleep(20000);
	__atomic_fetch_add(&c->awake, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&c->awake, __ATOMIC_SEQ_CST) < nr)
		sched_yield();
}

static void add(uint64_t *counter, unsigned long i)
{
	think(i * pause_for / nr);
	for (unsigned long k = 0; k < operations; k++) {
		__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
		think(pause_for);
	}
}

static void *add_own(void *arg)
{
	add(&own, (unsigned long)(uintptr_t)arg);
	return NULL;
}

static void two_threads(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, add_own, (void *)(uintptr_t)0);
	pthread_create(&b, NULL, add_own, (void *)(uintptr_t)1);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static int child(struct common *c, unsigned long i)
{
	if (!strcmp(name, "file"))
		c = map_file();
	else if (!strcmp(name, "segment"))
		c = shmat(segment, NULL, 0);
	else if (!strcmp(name, "memfd"))
		c = map(unnamed, MAP_SHARED);
	meet(c);
	if (!strcmp(name, "private"))
		add(&own, i);
	else if (!strcmp(name, "threads"))
		two_threads();
	else
		add(&c->counter, i);
	if (!strcmp(name, "crash"))
		*(volatile int *)(uintptr_t)i = 1; /* NOLINT: it crashes on purpose */
	if (!strcmp(name, "daemon"))
		usleep(300000);
	__atomic_fetch_add(&c->done, 1, __ATOMIC_SEQ_CST);
	return own == (!strcmp(name, "private")	  ? operations
		       : !strcmp(name, "threads") ? 2 * operations
						  : 0)
		       ? 0
		       : 1;
}

static void begin(struct common *c, unsigned long i, char **argv)
{
	char number[24];

	if (fork())
		return;
	if (strcmp(name, "exec") != 0)
		_exit(child(c, i));
	snprintf(number, sizeof(number), "%lu", i);
	execl(self, self, "file", argv[2], argv[3], argv[4], path, number, (char *)NULL);
	_exit(127);
}

static bool wait_for_all(void)
{
	bool right = true;
	int status;

	for (unsigned long i = 0; i < nr; i++) {
		if (wait(&status) < 0)
			return false;
		if (!strcmp(name, "crash"))
			right &= WIFSIGNALED(status);
		else
			right &= WIFEXITED(status) && !WEXITSTATUS(status);
	}
	return right;
}

static struct common *make(void)
{
	if (!strcmp(name, "file") || !strcmp(name, "exec") || !strcmp(name, "daemon"))
		return map_file();
	if (!strcmp(name, "memfd")) {
		unnamed = memfd_create("family", 0);
		if (unnamed < 0 || ftruncate(unnamed, sizeof(struct common)))
			exit(3);
		return map(unnamed, MAP_SHARED);
	}
	if (strcmp(name, "segment") != 0)
		return map(-1, MAP_SHARED | MAP_ANONYMOUS);
	segment = shmget(IPC_PRIVATE, sizeof(struct common), IPC_CREAT | 0600);
	if (segment < 0)
		exit(3);
	return shmat(segment, NULL, 0);
}

int main(int argc, char **argv)
{
	struct common *c;
	bool right = true, counts;

	if (argc < 6)
		return 2;
	self = argv[0];
	name = argv[1];
	nr = strtoul(argv[2], NULL, 10);
	operations = strtoul(argv[3], NULL, 10);
	pause_for = strtoul(argv[4], NULL, 10);
	path = argv[5];
	if (!nr || nr > PROCESSES)
		return 2;
	if (argc > 6)
		return child(NULL, strtoul(argv[6], NULL, 10));
	c = make();
	for (unsigned long i = 0; i < nr; i++)
		begin(c, i, argv);
	while (__atomic_load_n(&c->ready, __ATOMIC_SEQ_CST) < nr)
		usleep(20000);
	c2c_open();
	__atomic_store_n(&c->go, 1, __ATOMIC_SEQ_CST);
	if (!strcmp(name, "daemon"))
		return 0;
	right = wait_for_all();
	c2c_close();
	counts = strcmp(name, "private") != 0 && strcmp(name, "threads") != 0;
	right &= c->counter == (counts ? nr * operations : 0);
	if (!strcmp(name, "segment"))
		shmctl(segment, IPC_RMID, NULL);
	printf("%s: %s\n", name, right ? "right" : "wrong");
	return right ? 0 : 1;
}
