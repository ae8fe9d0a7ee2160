// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Reads a topology from /sys/devices/system/cpu and .../node, live or captured.
 *
 * Why the result is a partition at every level: sysfs describes a cache by a list of CPUs, in the
 * directory of each of these CPUs. It describes a core and an L2 in the same way. A list's lowest
 * CPU identifies the list. The list must contain the CPU in whose directory it is. A second list
 * with the same lowest CPU must be equal. In the end each CPU joins the list that contains it; a
 * second such list is an error. So lists are disjoint. A CPU without its own directory (offline, or
 * missing in the capture) is still placed by other CPUs' lists.
 *
 * A possible CPU that is not present has no cache and gets no shard. An offline CPU gets one.
 *
 * A missing file means "unknown". A file with contents that no kernel writes is an error: a plan
 * from misread input would be slow, and nobody would notice.
 *
 * A kernel does not contradict itself, and reading its files is slow. So on a live machine the
 * lists of one CPU apply to all CPUs in them.
 *
 * Files are opened relative to sys/devices/system. So their paths are short and fit a fixed buffer.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cpulist.h"
#include "topo_build.h"
#include "topology.h"

#define MAX_INDEX 16 /* cache directories of a CPU; x86 has 4, arm64 up to 6 */

/* A kind of group of CPUs. */
enum group_kind { GROUP_LLC, GROUP_L2, GROUP_CORE, GROUP_KINDS };

static const char *const group_name[] = { "last-level cache", "L2", "core" };

/**
 * struct reader - one tree being read
 * @root: the tree's name, from the caller
 * @fd: the tree's sys/devices/system directory
 * @err: receives the caller's error description
 * @live: the lists of one CPU apply to all CPUs in them
 * @l2_index: number of the L2's cache directory at the last CPU that was read completely; -1: none
 * @possible: CPU numbers that may exist
 * @present: the possible CPUs that exist; they get records
 * @listed: CPUs in a list of each kind
 * @by_first: the lists of each kind, by their lowest CPU; NULL: none
 * @cpu: the records
 * @nr_cpus: how many
 * @text: contents of the last file, NUL-terminated, without white space at the end; the longest
 *	list, with every second of 8,192 CPUs, has 19,000 characters
 * @len: their number
 * @path: path of that file, below sys/devices/system
 */
struct reader {
	const char *root;
	int fd;
	struct shard_err *err;
	bool live;
	s32 l2_index;
	struct cpulist possible, present;
	struct cpulist listed[GROUP_KINDS];
	struct cpulist *by_first[GROUP_KINDS][SHARD_LIB_MAX_CPUS];
	struct shard_cpu *cpu;
	u32 nr_cpus;
	size_t len;
	char path[96];
	char text[32768];
};

/* Report an error in the last file. */
#define bad_file(r, fmt, ...)                                                                    \
	shard_err_set((r)->err, -EINVAL, "%s/sys/devices/system/%s: " fmt, (r)->root, (r)->path, \
		      ##__VA_ARGS__)

/* Reads a file below sys/devices/system, named by a format; see read_path(). */
#define read_file(r, ...) (snprintf((r)->path, sizeof((r)->path), __VA_ARGS__), read_path(r))

/* Reads the file @path. Returns 1, or 0 if there is no such file, or an error. */
static int read_path(struct reader *r)
{
	ssize_t got = 0;
	int fd, ret;

	fd = openat(r->fd, r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	for (r->len = 0; fd >= 0 && r->len < sizeof(r->text) - 1; r->len += (size_t)got) {
		got = read(fd, r->text + r->len, sizeof(r->text) - 1 - r->len);
		if (got <= 0)
			break;
	}
	ret = fd < 0 || got < 0 ? -errno : 1;
	if (fd >= 0)
		close(fd);
	/* the CPU went offline meanwhile: treat its files as missing */
	if (ret == -ENODEV || ret == -ENXIO)
		return 0;
	if (ret < 0)
		return shard_err_set(r->err, ret, "%s/sys/devices/system/%s: cannot be read: %s",
				     r->root, r->path, strerror(-ret));
	if (r->len == sizeof(r->text) - 1)
		return bad_file(r, "is too long for a file of sysfs");
	/* some kernels end a list with a NUL */
	while (r->len && (!r->text[r->len - 1] || isspace((unsigned char)r->text[r->len - 1])))
		r->len--;
	r->text[r->len] = '\0';
	return 1;
}

/* A CPU that was never online has no directory; an offline CPU has no directory of caches. */
static bool has_dir(struct reader *r, u32 cpu, const char *dir)
{
	char path[64];

	snprintf(path, sizeof(path), "cpu/cpu%u/%s", cpu, dir);
	return !faccessat(r->fd, path, F_OK, 0);
}

/* Parse the contents of the file read last as a number from @min to @max. */
static int parse_int(struct reader *r, s32 min, s32 max, s32 *value)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(r->text, &end, 10);
	if (end == r->text || *end || strlen(r->text) != r->len || errno || number < min ||
	    number > max)
		return bad_file(r, "\"%.40s\" must be a number from %d to %d", r->text, min, max);
	*value = (s32)number;
	return 0;
}

static int parse_list(struct reader *r, struct cpulist *list)
{
	const char *why = shard_cpulist_parse(list, r->text, r->len);

	return why ? bad_file(r, "\"%.40s\" %s", r->text, why) : 0;
}

/*
 * Reads a set of CPUs from a list, or from a mask where a kernel before 5.4 has only that.
 * Return: 1 if it was read, 0 if there is neither file, else an error.
 */
static int read_set(struct reader *r, struct cpulist *set, const char *dir, const char *list,
		    const char *mask)
{
	int ret = read_file(r, "%s/%s", dir, list);
	const char *why;

	if (ret > 0)
		return parse_list(r, set) ?: 1;
	if (!ret)
		ret = read_file(r, "%s/%s", dir, mask);
	if (ret <= 0)
		return ret;
	why = shard_cpumask_parse(set, r->text, r->len);
	return why ? bad_file(r, "\"%.40s\" %s", r->text, why) : 1;
}

/* Finds the numbers N of directories <prefix>N in @dir; none if @dir is missing. */
static int list_numbered(struct reader *r, const char *dir, const char *prefix,
			 struct cpulist *list)
{
	int fd = openat(r->fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t skip = strlen(prefix);
	struct dirent *entry;
	DIR *stream;

	memset(list, 0, sizeof(*list));
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : shard_err_set(r->err, -errno,
					       "%s/sys/devices/system/%s: cannot be opened: %s",
					       r->root, dir, strerror(errno));
	stream = fdopendir(fd);
	if (!stream) {
		close(fd);
		return shard_err_set(r->err, -ENOMEM, "%s: out of memory", r->root);
	}
	while ((entry = readdir(stream))) {
		const char *digits = entry->d_name + skip;
		char *end;
		unsigned long nr;

		if (strncmp(entry->d_name, prefix, skip) || !isdigit((unsigned char)*digits))
			continue;
		nr = strtoul(digits, &end, 10);
		if (!*end && nr < SHARD_LIB_MAX_CPUS)
			cpulist_add(list, (u32)nr);
	}
	closedir(stream);
	return 0;
}

/* Reads which of the possible CPUs are present; all of them if there is no such file. */
static int read_present(struct reader *r)
{
	int ret = read_file(r, "cpu/present");

	r->present = r->possible;
	if (ret <= 0)
		return ret;
	ret = parse_list(r, &r->present);
	if (ret)
		return ret;
	for (u32 word = 0; word < SHARD_LIB_MAX_CPUS / 64; word++)
		r->present.word[word] &= r->possible.word[word];
	if (shard_cpulist_next(&r->present, 0) == SHARD_LIB_MAX_CPUS)
		return bad_file(r, "\"%.40s\" has no CPU that is possible", r->text);
	return 0;
}

/* Which CPUs exist: as the kernel says or, in a capture without that file, by directories. */
static int read_possible(struct reader *r)
{
	int ret = read_file(r, "cpu/possible");

	if (!ret)
		ret = read_file(r, "cpu/present");
	if (ret > 0)
		ret = parse_list(r, &r->possible);
	else if (!ret)
		ret = list_numbered(r, "cpu", "cpu", &r->possible);
	ret = ret ?: read_present(r);
	if (ret)
		return ret;
	for (u32 cpu = 0; cpu < SHARD_LIB_MAX_CPUS; cpu++) {
		if (cpulist_test(&r->present, cpu))
			r->nr_cpus = cpu + 1;
	}
	if (!r->nr_cpus)
		return shard_err_set(r->err, -EINVAL,
				     "%s/sys/devices/system/cpu: has no CPU, it must have a file "
				     "\"possible\" or directories cpu0, cpu1, ...",
				     r->root);
	return 0;
}

/*
 * Adds a CPU's list of one kind, from the file read last, without CPUs that are not present.
 */
static int add_group(struct reader *r, enum group_kind kind, u32 cpu, struct cpulist *list)
{
	struct cpulist **known;
	u32 first;

	if (!cpulist_test(list, cpu))
		return bad_file(r, "\"%.40s\" must contain CPU %u itself", r->text, cpu);
	for (u32 word = 0; word < SHARD_LIB_MAX_CPUS / 64; word++) {
		if (list->word[word] & ~r->possible.word[word])
			return bad_file(r, "\"%.40s\" has a CPU that is not possible", r->text);
		list->word[word] &= r->present.word[word];
	}
	first = shard_cpulist_next(list, 0);
	known = &r->by_first[kind][first];
	if (*known)
		return memcmp(*known, list, sizeof(*list))
			       ? bad_file(r, "\"%.40s\" contradicts another CPU of this %s",
					  r->text, group_name[kind])
			       : 0;
	*known = malloc(sizeof(*list));
	if (!*known)
		return shard_err_set(r->err, -ENOMEM, "%s: out of memory", r->root);
	**known = *list;
	for (u32 word = 0; word < SHARD_LIB_MAX_CPUS / 64; word++)
		r->listed[kind].word[word] |= list->word[word];
	return 0;
}

/* Has another CPU's list shown which CPUs share this one's cache or core? */
static bool is_known(const struct reader *r, enum group_kind kind, u32 cpu)
{
	return r->live && cpulist_test(&r->listed[kind], cpu);
}

/* The level of one cache directory; 0: there is none. */
static int read_level(struct reader *r, u32 cpu, u32 index, s32 *level)
{
	int ret = read_file(r, "cpu/cpu%u/cache/index%u/level", cpu, index);

	*level = 0;
	return ret > 0 ? parse_int(r, 1, 9, level) : ret;
}

/* The level of one cache directory, 0 also for an instruction cache. */
static int read_data_level(struct reader *r, u32 cpu, u32 index, s32 *level)
{
	int ret = read_file(r, "cpu/cpu%u/cache/index%u/type", cpu, index);

	*level = 0;
	if (ret <= 0 || !strcmp(r->text, "Instruction"))
		return ret < 0 ? ret : 0;
	if (strcmp(r->text, "Data") && strcmp(r->text, "Unified"))
		return bad_file(r, "\"%.40s\" must be Data, Instruction or Unified", r->text);
	return read_level(r, cpu, index, level);
}

static int read_package(struct reader *r, u32 cpu)
{
	int ret;

	if (r->cpu[cpu].package >= 0)
		return 0;
	ret = read_file(r, "cpu/cpu%u/topology/physical_package_id", cpu);
	/* -1: the firmware does not say */
	return ret > 0 ? parse_int(r, -1, 1000000000, &r->cpu[cpu].package) : ret;
}

/*
 * Reads the package of a cache's first and last CPU. If they agree, the cache's other CPUs get it,
 * too; else each CPU's is read later, for drop_false_packages().
 */
static int read_packages(struct reader *r, const struct cpulist *llc)
{
	u32 cpu, first = shard_cpulist_next(llc, 0), last = first;
	int ret;

	cpulist_for_each(cpu, llc) last = cpu;
	ret = read_package(r, first) ?: read_package(r, last);
	if (ret || r->cpu[first].package != r->cpu[last].package)
		return ret;
	cpulist_for_each(cpu, llc) r->cpu[cpu].package = r->cpu[first].package;
	return 0;
}

static int read_sharers(struct reader *r, u32 cpu, u32 index, bool llc, bool l2)
{
	struct cpulist list;
	char dir[48];
	int ret;

	snprintf(dir, sizeof(dir), "cpu/cpu%u/cache/index%u", cpu, index);
	ret = read_set(r, &list, dir, "shared_cpu_list", "shared_cpu_map");
	if (ret <= 0)
		return ret;
	ret = 0;
	if (l2)
		ret = add_group(r, GROUP_L2, cpu, &list);
	if (!ret && llc)
		ret = add_group(r, GROUP_LLC, cpu, &list);
	if (!ret && llc && r->live)
		ret = read_packages(r, &list);
	return ret;
}

/*
 * Reads the caches of a CPU. Level 1 never counts as last-level cache, even if no other is known:
 * it is private to a core, and shards of one core each would be useless.
 */
static int read_caches(struct reader *r, u32 cpu)
{
	s32 level[MAX_INDEX], highest = 2;
	struct cpulist indices;
	char dir[32];
	u32 index;
	int ret;

	if (is_known(r, GROUP_LLC, cpu)) {
		if (is_known(r, GROUP_L2, cpu) || r->l2_index < 0)
			return 0;
		/* nearly always an L2 as well */
		ret = read_level(r, cpu, (u32)r->l2_index, &level[0]);
		if (ret || level[0] == 2)
			return ret ?: read_sharers(r, cpu, (u32)r->l2_index, false, true);
	}
	snprintf(dir, sizeof(dir), "cpu/cpu%u/cache", cpu);
	ret = list_numbered(r, dir, "index", &indices);
	if (ret)
		return ret;
	r->l2_index = -1;
	for (index = 0; index < MAX_INDEX; index++) {
		level[index] = 0;
		ret = cpulist_test(&indices, index) ? read_data_level(r, cpu, index, &level[index])
						    : 0;
		if (ret)
			return ret;
		if (level[index] > highest)
			highest = level[index];
		if (level[index] == 2)
			r->l2_index = (s32)index;
	}
	for (index = 0; index < MAX_INDEX; index++) {
		bool llc = level[index] == highest, l2 = level[index] == 2;

		ret = llc || l2 ? read_sharers(r, cpu, index, llc, l2) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

static int read_topology(struct reader *r, u32 cpu)
{
	struct cpulist list;
	u32 sibling;
	char dir[32];
	int ret;

	if (is_known(r, GROUP_CORE, cpu))
		return 0;
	ret = read_package(r, cpu);
	if (ret)
		return ret;
	/* the name since Linux 5.3, then the older one; core_id is unique in a package only */
	snprintf(dir, sizeof(dir), "cpu/cpu%u/topology", cpu);
	ret = read_set(r, &list, dir, "core_cpus_list", "core_cpus");
	if (!ret)
		ret = read_set(r, &list, dir, "thread_siblings_list", "thread_siblings");
	if (ret > 0)
		ret = add_group(r, GROUP_CORE, cpu, &list) ?: 1;
	if (ret <= 0 || !r->live)
		return ret < 0 ? ret : 0;
	cpulist_for_each(sibling, &list)
	{
		r->cpu[sibling].package = r->cpu[cpu].package;
	}
	return 0;
}

/*
 * Reads the nodes from their lists of CPUs; for offline CPUs from the link in the CPU's directory.
 */
static int read_nodes(struct reader *r)
{
	struct cpulist nodes, cpus;
	u32 node, cpu;
	char dir[32];
	int ret = list_numbered(r, "node", "node", &nodes);

	if (ret)
		return ret;
	cpulist_for_each(node, &nodes)
	{
		snprintf(dir, sizeof(dir), "node/node%u", node);
		ret = read_set(r, &cpus, dir, "cpulist", "cpumap");
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		cpulist_for_each(cpu, &cpus)
		{
			if (!cpulist_test(&r->possible, cpu))
				return bad_file(r, "has CPU %u, which is not possible", cpu);
			if (!cpulist_test(&r->present, cpu))
				continue;
			if (r->cpu[cpu].node >= 0)
				return bad_file(r, "has CPU %u, which is in node %d already", cpu,
						r->cpu[cpu].node);
			r->cpu[cpu].node = (s32)node;
		}
	}
	cpulist_for_each(cpu, &r->present)
	{
		if (r->cpu[cpu].node >= 0 || !has_dir(r, cpu, ""))
			continue;
		snprintf(dir, sizeof(dir), "cpu/cpu%u", cpu);
		ret = list_numbered(r, dir, "node", &nodes);
		if (ret)
			return ret;
		node = shard_cpulist_next(&nodes, 0);
		if (node < SHARD_LIB_MAX_CPUS)
			r->cpu[cpu].node = (s32)node;
	}
	return 0;
}

#define TWO_LISTS                                                                        \
	"%s/sys/devices/system/cpu: CPU %u is in two of the lists of CPUs that share a " \
	"%s: those of CPU %d and of CPU %u"

/* Puts every CPU into the lists that contain it. */
static int assign_groups(struct reader *r)
{
	for (u32 kind = 0; kind < GROUP_KINDS; kind++) {
		for (u32 first = 0; first < r->nr_cpus; first++) {
			const struct cpulist *list = r->by_first[kind][first];
			s32 rank = 0;
			u32 nr;

			if (!list)
				continue;
			cpulist_for_each(nr, list)
			{
				struct shard_cpu *cpu = &r->cpu[nr];
				s32 *id = kind == GROUP_LLC  ? &cpu->llc
					  : kind == GROUP_L2 ? &cpu->l2
							     : &cpu->core;

				if (*id >= 0)
					return shard_err_set(r->err, -EINVAL, TWO_LISTS, r->root,
							     nr, group_name[kind], *id, first);
				*id = (s32)first;
				if (kind == GROUP_CORE)
					cpu->thread = rank++;
			}
		}
	}
	return 0;
}

static int read_tree(struct reader *r, struct shard_topo **topo)
{
	int ret = read_possible(r);
	struct shard_topo *result;
	u32 cpu;

	if (ret)
		return ret;
	result = shard_topo_alloc(r->nr_cpus, &r->cpu);
	if (!result)
		return shard_err_set(r->err, -ENOMEM, "%s: out of memory", r->root);
	cpulist_for_each(cpu, &r->present)
	{
		r->cpu[cpu].possible = true;
		/*
		 * on a live machine all CPUs have a directory, and most are known from others'
		 * lists
		 */
		if (r->live || has_dir(r, cpu, ""))
			ret = read_caches(r, cpu) ?: read_topology(r, cpu);
		if (ret)
			goto fail;
	}
	ret = read_nodes(r) ?: assign_groups(r);
	if (ret)
		goto fail;
	*topo = result;
	return 0;
fail:
	shard_topo_free(result);
	return ret;
}

/* Opens ROOT/sys/devices/system; on failure describes it and returns a negative errno value. */
static int open_tree(const char *root, struct shard_err *err)
{
	struct stat st;
	char *path;
	int fd, ret;

	if (asprintf(&path, "%s/sys/devices/system", strcmp(root, "/") ? root : "") < 0)
		return shard_err_set(err, -ENOMEM, "%s: out of memory", root);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = fd < 0 ? -errno : 0;
	free(path);
	if (!ret)
		return fd;
	if (stat(root, &st))
		return shard_err_set(err, -errno, "%s: %s", root, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return shard_err_set(err, -ENOTDIR, "%s: is not a directory", root);
	return shard_err_set(err, ret,
			     "%s: has no sys/devices/system below it (%s), it must be / or the "
			     "root of a captured tree",
			     root, strerror(-ret));
}

int shard_topo_read_known(struct shard_topo **topo, const char *root, bool live,
			  struct shard_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return shard_err_set(err, -ENOMEM, "%s: out of memory", root);
	r->root = strcmp(root, "/") ? root : ""; /* in front of "/sys" */
	r->err = err;
	r->live = live;
	r->l2_index = -1;
	r->fd = open_tree(root, err);
	ret = r->fd;
	if (r->fd >= 0) {
		ret = read_tree(r, topo);
		close(r->fd);
	}
	for (u32 kind = 0; kind < GROUP_KINDS; kind++) {
		for (u32 first = 0; first < r->nr_cpus; first++)
			free(r->by_first[kind][first]);
	}
	free(r);
	return ret;
}

int shard_topo_read(struct shard_topo **topo, const char *root, bool live, struct shard_err *err)
{
	struct shard_topo *known = NULL;
	int ret = shard_topo_read_known(&known, root, live, err);

	if (!known)
		return ret;
	*topo = shard_topo_complete(known);
	shard_topo_free(known);
	return *topo ? 0 : shard_err_set(err, -ENOMEM, "%s: out of memory", root);
}

int shard_topo_from_sysfs(struct shard_topo **topo, const char *root, struct shard_err *err)
{
	return shard_topo_read(topo, root, !strcmp(root, "/"), err);
}
