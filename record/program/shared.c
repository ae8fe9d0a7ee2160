// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The shared memory is an anonymous file (memfd), mapped far from programs and libraries. The file
 * is as large as its range of addresses, and takes memory only where it is used. Memory is
 * allocated from its front, and never freed, except for chunks of streams. Free chunks form a stack
 * whose head counts its changes. So a compare-and-exchange fails if another thread took and freed
 * the chunk in between.
 */
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

#define AT	   ((void *)0x510000000000)
#define SIZE	   (1ull << 36)
#define ALIGN	   128u
#define CHUNK_BITS 32
#define CHUNK_MASK ((1ull << CHUNK_BITS) - 1)

struct shared *shared;

static void *zeroed(size_t size)
{
	uint64_t at = __atomic_fetch_add(&shared->used, (size + ALIGN - 1) / ALIGN * ALIGN,
					 __ATOMIC_RELAXED);

	return at + size <= SIZE ? (char *)AT + at : NULL;
}

/* A free chunk's first word: the next one, in units of ALIGN. */
static void *chunk(size_t size)
{
	uint64_t head = __atomic_load_n(&shared->chunks, __ATOMIC_ACQUIRE);

	while (head & CHUNK_MASK) {
		uint64_t *first = (uint64_t *)((char *)AT + (head & CHUNK_MASK) * ALIGN);
		uint64_t next = __atomic_load_n(first, __ATOMIC_RELAXED) & CHUNK_MASK;

		if (__atomic_compare_exchange_n(&shared->chunks, &head,
						((head >> CHUNK_BITS) + 1) << CHUNK_BITS | next,
						false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
			return first;
	}
	return zeroed(size);
}

static void drop(void *at)
{
	uint64_t mine = (uint64_t)((char *)at - (char *)AT) / ALIGN;
	uint64_t head = __atomic_load_n(&shared->chunks, __ATOMIC_RELAXED);

	do
		__atomic_store_n((uint64_t *)at, head & CHUNK_MASK, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&shared->chunks, &head,
					    ((head >> CHUNK_BITS) + 1) << CHUNK_BITS | mine, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static int map(int file)
{
	void *at = mmap(AT, SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, file, 0);

	if (at == MAP_FAILED)
		return -1;
	if (at != AT) {
		munmap(at, SIZE);
		errno = EEXIST;
		return -1;
	}
	/* A program that dumps core would take minutes to write it. */
	madvise(at, SIZE, MADV_DONTDUMP);
	shared = at;
	memory = (struct memory){ .zeroed = zeroed, .chunk = chunk, .drop = drop };
	return 0;
}

static int make_lock(void)
{
	pthread_mutexattr_t attr;

	return pthread_mutexattr_init(&attr) ||
	       pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) ||
	       pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) ||
	       pthread_mutex_init(&shared->lock, &attr);
}

int shared_create(uint32_t nr_cpus)
{
	int file = memfd_create("schedshard-record", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, (off_t)SIZE) || map(file))
		return -1;
	shared->used = (sizeof(*shared) + ALIGN - 1) / ALIGN * ALIGN;
	shared->nr_cpus = nr_cpus;
	shared->cpu = zeroed(nr_cpus * sizeof(*shared->cpu));
	shared->vcpu = zeroed(nr_cpus * sizeof(*shared->vcpu));
	shared->owned = zeroed((size_t)SHARED_IMAGES * nr_cpus * sizeof(*shared->owned));
	if (!shared->cpu || !shared->vcpu || !shared->owned || make_lock())
		return -1;
	return file;
}

int shared_attach(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC), failed;

	if (file < 0)
		return -1;
	failed = map(file);
	close(file);
	return failed;
}

void shared_lock(void)
{
	/* A process killed inside it leaves the numbers of threads slightly wrong, no more. */
	if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&shared->lock);
}

void shared_unlock(void)
{
	pthread_mutex_unlock(&shared->lock);
}

uint32_t shared_image(pid_t pid, uint32_t parent, uint32_t program)
{
	uint32_t n = __atomic_fetch_add(&shared->images, 1, __ATOMIC_RELAXED);

	if (n >= SHARED_IMAGES) {
		__atomic_fetch_add(&shared->children, 1, __ATOMIC_RELAXED);
		return SHARED_NONE;
	}
	shared->image[n].parent = parent;
	shared->image[n].program = program;
	__atomic_store_n(&shared->image[n].pid, pid, __ATOMIC_RELEASE);
	return n;
}

uint32_t shared_object(uint64_t device, uint64_t inode)
{
	for (uint32_t i = 0; i < SHARED_OBJECTS; i++) {
		struct shared_object *o = &shared->object[i];
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&o->state, &none, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			o->device = device;
			o->inode = inode;
			__atomic_store_n(&o->state, 2, __ATOMIC_RELEASE);
			return i;
		}
		/* Bounded: its maker may have been killed. */
		for (uint32_t turns = 0; none == 1 && turns < 1000000; turns++)
			none = __atomic_load_n(&o->state, __ATOMIC_ACQUIRE);
		if (none == 2 && o->device == device && o->inode == inode)
			return i;
	}
	return SHARED_NONE;
}
