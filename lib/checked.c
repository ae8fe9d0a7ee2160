// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Remembers in a table which call last claimed or put each slot. Only the message about a second
 * put needs the table, so entries may replace others. The set itself knows what is free.
 */
#include <dlfcn.h>
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

struct where {
	char text[300];
};

/* If @line is 0, @file is the address of the call, whose file is unknown (checked_so.c). */
static const char *where(struct where *w, const char *file, int line)
{
	Dl_info at;

	if (line)
		snprintf(w->text, sizeof(w->text), "%s:%d", file, line);
	else if (dladdr(file, &at))
		snprintf(w->text, sizeof(w->text), "%s+0x%tx", at.dli_fname,
			 file - (const char *)at.dli_fbase);
	else
		snprintf(w->text, sizeof(w->text), "%p", (const void *)file);
	return w->text;
}

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
	struct where here, before;

	if (!free) {
		note(set, slot, true, file, line);
		return;
	}
	if (last->set != set || last->what != slot)
		fprintf(stderr, "schedshard: %s: slot %u is put, but it is free\n",
			where(&here, file, line), slot);
	else
		fprintf(stderr,
			"schedshard: %s: slot %u is put, but it is free: thread %ld %s it at %s\n",
			where(&here, file, line), slot, last->thread, last->put ? "put" : "claimed",
			where(&before, last->file, last->line));
	abort();
}

void shard_watch_unknown(const char *kind, u32 what, const char *file, int line)
{
	struct where here;

	fprintf(stderr, "schedshard: %s: there is no %s %u\n", where(&here, file, line), kind,
		what);
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
