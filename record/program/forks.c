// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Follows the program into the children that it forks.
 *
 * A fork copies the emulator with this library and its private state, and shares the rest. So the
 * child only has to become a new image, whose threads have no CPUs and whose private memory has its
 * own numbers. If the child executes a program, this library makes that call instead of the
 * emulator (exec.c). Without follow=on a child continues emulated, unrecorded, until it executes
 * another program.
 */
#include <pthread.h>
#include <unistd.h>

#include "pages.h"
#include "shared.h"
#include "user.h"

static _Thread_local bool forks;

static void before_fork(void)
{
	forks = !user.dead;
	if (forks)
		__atomic_fetch_add(user.follow ? &shared->coming : &shared->children, 1,
				   __ATOMIC_SEQ_CST);
	notes_before_fork();
	heap_before_fork();
	pages_before_fork();
}

static void after_fork(bool in_child)
{
	pages_after_fork();
	heap_after_fork();
	notes_after_fork(in_child);
}

static void in_parent(void)
{
	after_fork(false);
}

static void in_child(void)
{
	uint32_t parent = user.image;

	after_fork(true);
	cpus_fork();
	if (user.dead || !user.follow) {
		user.dead = true;
		return;
	}
	forks = false;
	user.told = false;
	user.image = shared_image(getpid(), parent, shared->image[parent].program);
	if (user.image == SHARED_NONE)
		user.dead = true;
	else
		pages_follow(user.image, shared->image[parent].program);
	__atomic_fetch_sub(&shared->coming, 1, __ATOMIC_SEQ_CST);
}

int forks_watch(void)
{
	return pthread_atfork(before_fork, in_parent, in_child);
}

void forks_ended(int64_t result)
{
	if (forks && result < 0)
		__atomic_fetch_sub(user.follow ? &shared->coming : &shared->children, 1,
				   __ATOMIC_SEQ_CST);
	forks = false;
}
