// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Remembers which call last claimed or put a slot. Only the message about a second put needs this,
 * so of two entries with the same place in the table the older is lost. The set itself knows what
 * is free.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "locks.h"
#include "checked.h"

static struct noted {
	const void *set;
	u32 what;
	bool put;
	const char *file;
	int line;
	long thread;
} noted[1u << 14];

static struct noted *place(const void *set, u32 what)
{
	u64 mix = ((uintptr_t)set / PORT_CACHELINE + what) * 0x9e3779b97f4a7c15ull;

	return &noted[mix >> 50];
}

static void note(const void *set, u32 what, bool put, const char *file, int line)
{
	shard_lock(LOCK_WATCH);
	*place(set, what) = (struct noted){ set, what, put, file, line, syscall(SYS_gettid) };
	shard_unlock(LOCK_WATCH);
}

void shard_watch_claim(const void *set, u32 what, const char *file, int line)
{
	note(set, what, false, file, line);
}

void shard_watch_put(const void *set, u32 slot, bool free, const char *file, int line)
{
	const struct noted *last = place(set, slot);

	if (!free) {
		note(set, slot, true, file, line);
		return;
	}
	if (last->set != set || last->what != slot)
		fprintf(stderr, "schedshard: %s:%d: slot %u is put, but it is free\n", file, line,
			slot);
	else
		fprintf(stderr,
			"schedshard: %s:%d: slot %u is put, but it is free: thread %ld %s it at "
			"%s:%d\n",
			file, line, slot, last->thread, last->put ? "put" : "claimed", last->file,
			last->line);
	abort();
}

void shard_watch_unknown(const char *kind, u32 what, const char *file, int line)
{
	fprintf(stderr, "schedshard: %s:%d: there is no %s %u\n", file, line, kind, what);
	abort();
}

void shard_watch_forget(const void *set)
{
	shard_lock(LOCK_WATCH);
	for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++)
		if (noted[i].set == set)
			noted[i].set = NULL;
	shard_unlock(LOCK_WATCH);
}
