// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Makes trees of /sys from text.
 *
 * The text may come from a fuzzer. A tree stays inside its root directory, because a path contains
 * only letters, digits, "_" and "/", thus no "..". A tree has no links.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cpulist.h"
#include "tree.h"

bool tree_make(char *root)
{
	static const char *const dirs[] = { "sys", "sys/devices", "sys/devices/system" };
	/* in memory if possible: a tree has thousands of files */
	const char *parent = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	char path[128];

	snprintf(root, 64, "%s/schedshard-tree-XXXXXX", parent);
	if (!mkdtemp(root))
		return false;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
		if (mkdir(path, 0700))
			return false;
	}
	return true;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void tree_remove(const char *root)
{
	/* A test may have changed the name, for instance to "/". */
	if (!strstr(root, "/schedshard-tree-"))
		return;
	nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the directories above the last "/" of a path, below a directory. */
static void make_parents(int dir, char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdirat(dir, path, 0700);
		*slash = '/';
	}
}

static u32 write_entry(int dir, char *path, const char *value, size_t len)
{
	size_t end = strlen(path);
	bool whole;
	int fd;

	if (!end || path[end - 1] == '/') {
		make_parents(dir, path);
		return 1;
	}
	fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT) {
		make_parents(dir, path);
		fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	}
	if (fd < 0)
		return 0;
	whole = write(fd, value, len) == (ssize_t)len && write(fd, "\n", 1) == 1;
	close(fd);
	return whole;
}

static bool path_ok(const char *path, size_t len)
{
	if (!len || len > 65536 || path[0] == '/')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)path[i]) && !strchr("_/{},-", path[i]))
			return false;
	}
	return true;
}

/* Expands the first {LIST} of a path. */
static u32 write_line(int dir, const char *path, size_t path_len, const char *value, size_t len,
		      u32 max_files)
{
	const char *open = memchr(path, '{', path_len);
	const char *shut = open ? memchr(open, '}', path_len - (size_t)(open - path)) : NULL;
	struct cpulist list;
	char full[256];
	u32 nr, written = 0;

	if (!shut) {
		snprintf(full, sizeof(full), "%.*s", (int)path_len, path);
		return write_entry(dir, full, value, len);
	}
	if (shard_cpulist_parse(&list, open + 1, (size_t)(shut - open - 1)))
		return 0;
	cpulist_for_each(nr, &list)
	{
		if (written == max_files)
			break;
		snprintf(full, sizeof(full), "%.*s%u%.*s", (int)(open - path), path, nr,
			 (int)(path + path_len - shut - 1), shut + 1);
		written += write_entry(dir, full, value, len);
	}
	return written;
}

u32 tree_write(const char *root, const char *text, size_t len, u32 max_files)
{
	const char *end = text + len;
	char path[128];
	u32 written = 0;
	int dir;

	snprintf(path, sizeof(path), "%s/sys/devices/system", root);
	dir = open(path, O_RDONLY | O_DIRECTORY);
	while (dir >= 0 && text < end && written < max_files) {
		const char *stop = memchr(text, '\n', (size_t)(end - text)), *equals;
		size_t path_len;

		if (!stop)
			stop = end;
		equals = memchr(text, '=', (size_t)(stop - text));
		path_len = (size_t)((equals ? equals : stop) - text);
		if (path_ok(text, path_len) && (equals || text[path_len - 1] == '/'))
			written += write_line(dir, text, path_len, equals ? equals + 1 : "",
					      equals ? (size_t)(stop - equals - 1) : 0,
					      max_files - written);
		text = stop + 1;
	}
	if (dir >= 0)
		close(dir);
	return written;
}

/* The CPUs whose @member is @id, as the kernel prints a list; free() it. */
static char *group_list(const struct shard_cpu *cpu, u32 nr_cpus, size_t member, s32 id)
{
	const char *comma = "";
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (u32 nr = 0; nr < nr_cpus; nr++) {
		u32 first = nr;

		while (nr < nr_cpus && cpu[nr].possible &&
		       *(const s32 *)((const char *)&cpu[nr] + member) == id)
			nr++;
		if (nr == first)
			continue;
		fprintf(out, "%s%u", comma, first);
		if (nr > first + 1)
			fprintf(out, "-%u", nr - 1);
		comma = ",";
	}
	fclose(out);
	return text;
}

/* The files that give an id of each level; "%s" is the list of its CPUs, "%d" the id. */
static const struct level {
	size_t member;
	const char *line[3];
} levels[] = {
	{ offsetof(struct shard_cpu, package),
	  { "cpu/cpu{%1$s}/topology/physical_package_id=%2$d\n" } },
	{ offsetof(struct shard_cpu, core), { "cpu/cpu{%1$s}/topology/core_cpus_list=%1$s\n" } },
	{ offsetof(struct shard_cpu, l2),
	  { "cpu/cpu{%1$s}/cache/index2/level=2\n", "cpu/cpu{%1$s}/cache/index2/type=Unified\n",
	    "cpu/cpu{%1$s}/cache/index2/shared_cpu_list=%1$s\n" } },
	{ offsetof(struct shard_cpu, llc),
	  { "cpu/cpu{%1$s}/cache/index3/level=3\n", "cpu/cpu{%1$s}/cache/index3/type=Unified\n",
	    "cpu/cpu{%1$s}/cache/index3/shared_cpu_list=%1$s\n" } },
	{ offsetof(struct shard_cpu, node), { "node/node%2$d/cpulist=%1$s\n" } },
};

static void print_level(FILE *out, const struct shard_cpu *cpu, u32 nr_cpus,
			const struct level *level)
{
	bool *done = calloc(nr_cpus, sizeof(*done)); /* NOLINT: a machine has CPUs */

	for (u32 nr = 0; nr < nr_cpus; nr++) {
		s32 id = *(const s32 *)((const char *)&cpu[nr] + level->member);
		char *list;

		if (done[nr] || !cpu[nr].possible || id < 0)
			continue;
		for (u32 other = nr; other < nr_cpus; other++)
			done[other] |=
				*(const s32 *)((const char *)&cpu[other] + level->member) == id;
		list = group_list(cpu, nr_cpus, level->member, id);
		for (u32 i = 0; i < 3 && level->line[i]; i++)
			fprintf(out, level->line[i], list, id);
		free(list);
	}
	free(done);
}

void tree_print_records(FILE *out, const struct shard_cpu *cpu, u32 nr_cpus)
{
	fprintf(out, "cpu/possible=");
	for (u32 nr = 0, comma = 0; nr < nr_cpus; nr++) {
		if (cpu[nr].possible)
			fprintf(out, comma++ ? ",%u" : "%u", nr);
	}
	fprintf(out, "\ncpu/kernel_max=8191\n"
		     "cpu/cpu{0}/cache/index0/level=1\n"
		     "cpu/cpu{0}/cache/index0/type=Data\n"
		     "cpu/cpu{0}/cache/index0/shared_cpu_list=0\n"
		     "cpu/cpu{0}/cache/index1/level=1\n"
		     "cpu/cpu{0}/cache/index1/type=Instruction\n"
		     "cpu/cpu{0}/cache/index1/shared_cpu_list=0\n");
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		print_level(out, cpu, nr_cpus, &levels[i]);
}
