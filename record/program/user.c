// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keeps the state of this process of the program, and notices its end.
 *
 * At its end this process, number N, writes mappings, threads and contended objects to META.N.
 *
 * The emulator stops all threads before it reports the end to a plugin, and reports nothing when a
 * signal ends the program. So the plugin detects where the end begins. That is the system call
 * exit_group, or the C library function kill(), by which the emulator ends itself after a fatal
 * signal. This library is preloaded and replaces kill().
 */
#include "names_file.h"
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api.h"
#include "maps.h"
#include "shared.h"

#define OWN_MAPS 1024u

__attribute__((visibility("default"))) int kill(pid_t pid, int sig);

struct plugin plugin;
struct user user;

bool user_find_path(void)
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t size = 0;
	int after = -1; /* words after the option */

	while (file && after < 2 && getdelim(&user.path, &size, '\0', file) > 0)
		if (after >= 0 || !strcmp(user.path, "-plugin"))
			after++;
	if (file)
		fclose(file);
	return after == 2;
}

bool user_read(void *into, uint64_t from, size_t size)
{
	struct iovec here = { into, size }, there = { (void *)(uintptr_t)from, size };

	return user.readable && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* The emulator's mapped files: all that are mapped before the program. */
static struct range {
	uint64_t low, high;
} own[OWN_MAPS];
static uint32_t nr_own;

static bool is_own(uint64_t low, uint64_t high)
{
	for (uint32_t i = 0; i < nr_own; i++)
		if (low >= own[i].low && high <= own[i].high)
			return true;
	return false;
}

static void note_own(uint64_t low, uint64_t high, uint64_t offset, const char *path, void *maps)
{
	if (nr_own && own[nr_own - 1].high == low)
		own[nr_own - 1].high = high;
	else if (nr_own < OWN_MAPS)
		own[nr_own++] = (struct range){ low, high };
}

void user_note_own(void)
{
	maps_read(note_own, NULL);
}

/* Return a file's name as a string, or as an array of bytes if it is not valid UTF-8. */
static json_t *path_json(const char *path)
{
	json_t *found = json_string(path);

	if (found || !path)
		return found;
	found = json_array();
	for (; *path; path++)
		json_array_append_new(found, json_integer((unsigned char)*path));
	return found;
}

static void add_map(uint64_t low, uint64_t high, uint64_t offset, const char *path, void *maps)
{
	if (!is_own(low, high))
		json_array_append_new(maps, json_pack("[I, I, I, o]", (json_int_t)pages_name(low),
						      (json_int_t)(pages_name(low) + high - low),
						      (json_int_t)offset, path_json(path)));
}

/* The program's mapped files. */
static json_t *maps_json(void)
{
	json_t *maps = json_array();

	maps_read(add_map, maps);
	return maps;
}

#define FOLDER_HIGH 500 /* programs close the low ones */
static int folder = -1; /* a descriptor of the folder of user.meta, once the root may change */

static void note_file(uint64_t low, uint64_t high, uint64_t offset, const char *path, void *arg)
{
	if (!is_own(low, high))
		notes_file(low, high, offset, path);
}

void user_new_root(void)
{
	char path[4096];
	char *last;
	int file;

	if (folder >= 0 || (size_t)snprintf(path, sizeof(path), "%s", user.meta) >= sizeof(path))
		return;
	maps_keep();
	maps_read(note_file, NULL);
	last = strrchr(path, '/');
	if (!last)
		return;
	*last = '\0';
	file = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file >= 0) {
		folder = fcntl(file, F_DUPFD_CLOEXEC, FOLDER_HIGH);
		close(file);
	}
}

/* Write to the kept folder, if there is one and the program has not closed it, else to @path. */
static int write_names(const json_t *all, const char *path)
{
	const char *last = strrchr(path, '/');

	if (folder >= 0 && last && !names_file_write(all, folder, last + 1))
		return 0;
	return names_file_write(all, AT_FDCWD, path);
}

static void write_meta(const char *why)
{
	const struct shared_image *i = &shared->image[user.image];
	json_t *all = json_pack("{s:s, s:i, s:i, s:i, s:o?, s:b, s:o}", "format",
				"schedshard/record-image/1", "image", (int)user.image, "program",
				(int)i->program, "pid", (int)i->pid, "path", path_json(user.path),
				"readable", (int)user.readable, "maps", maps_json());
	char path[4096];

	if (why)
		json_object_set_new(all, "ended_by", json_string(why));
	notes_json(all);
	heap_json(all);
	pages_regions(all);
	if ((size_t)snprintf(path, sizeof(path), "%s.%u", user.meta, user.image) >= sizeof(path) ||
	    (write_names(all, path) && errno != ENOSPC)) /* the model reports a full disk */
		fprintf(stderr, "schedshard: cannot write %s\n", user.meta);
	json_decref(all);
	__atomic_store_n(&shared->image[user.image].told, true, __ATOMIC_RELEASE);
}

/* Write the file, once, unless an exec failed and the process continues. */
static bool write_once(const char *why)
{
	if (user.dead || __atomic_exchange_n(&user.told, true, __ATOMIC_SEQ_CST))
		return false;
	write_meta(why);
	return true;
}

void user_finish(const char *why)
{
	if (write_once(why))
		__atomic_store_n(&user.dead, true, __ATOMIC_SEQ_CST);
}

void user_leave(struct user_thread *t)
{
	write_once(NULL);
	cpus_leave(t);
	__atomic_store_n(&shared->image[user.image].left, true, __ATOMIC_RELEASE);
}

void user_stay(void)
{
	__atomic_store_n(&shared->executes, false, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->image[user.image].left, false, __ATOMIC_RELEASE);
	__atomic_store_n(&user.told, false, __ATOMIC_SEQ_CST);
}

int kill(pid_t pid, int sig)
{
	char why[64];

	if (user.meta && shared && pid == getpid() && sig) {
		snprintf(why, sizeof(why), "signal %d", sig);
		user_finish(why);
	}
	return (int)syscall(SYS_kill, pid, sig);
}
