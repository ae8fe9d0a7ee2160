// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Exact instruction counts: runs the same binary under valgrind's callgrind.
 *
 * callgrind counts executed instructions, here only inside functions whose name starts with
 * bench_k_ and their callees, that is, inside the kernels. The copy of this program runs the bouts
 * in the same order as this one. Around each kernel it calls bench_count_begin() and
 * bench_count_end(), at which callgrind clears its counts and writes them to a file. So a count
 * covers one call of one kernel: its prologue, its loop and its operations. It contains nothing of
 * callgrind, of the set-up, or of this machine's noise, and is the same in every run. The empty
 * loop is a row like the others, and is not subtracted from any row.
 *
 * The copy prints the bout and the entry of each file, in the order of writing.
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_BOUTS 128
/* Exit statuses of the child, as a shell has them. */
#define NOT_STARTED 126
#define NOT_FOUND   127

/* By bout and entry: instructions in one call of the entry's kernel; -1: not counted. */
struct bench_counts {
	double call[MAX_BOUTS][BENCH_MAX_ENTRIES];
};

/*
 * callgrind finds these functions by name. The compiler must not inline them, drop them as empty,
 * or merge them as equal, hence the two different assembler comments.
 */

__attribute__((noinline)) static void bench_count_begin(void)
{
	__asm__ __volatile__("# begin" ::: "memory");
}

__attribute__((noinline)) static void bench_count_end(void)
{
	__asm__ __volatile__("# end" ::: "memory");
}

static int count_bout(struct bench_bout *bout, void *unused)
{
	for (u32 i = 0; i < bout->nr; i++) {
		struct bench_entry *entry = &bout->entry[i];

		/*
		 * The first call may do work that later calls need not repeat, for example in a
		 * summary.
		 */
		entry->kernel(entry->object, bout->cpu, bout->n);
		bench_count_begin();
		entry->kernel(entry->object, bout->cpu, bout->n);
		bench_count_end();
		printf("%u %u\n", bout->number, i);
	}
	return 0;
}

int bench_counts_run(void)
{
	return bench_for_each_bout(count_bout, NULL) ? 1 : fflush(stdout) != 0;
}

/* The side that starts valgrind. */

static int path_in(char *path, size_t size, const char *dir, const char *name)
{
	return snprintf(path, size, "%s/%s", dir, name) < (int)size ? 0 : -1;
}

static void remove_tree(const char *dir)
{
	DIR *d = opendir(dir);
	char path[512];

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		if (e->d_name[0] != '.' && !path_in(path, sizeof(path), dir, e->d_name))
			unlink(path);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Show valgrind's output: its last lines explain a failure better than its exit status. */
static void show_file(const char *path)
{
	char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		fputs(line, stderr);
	if (f)
		fclose(f);
}

static int run_valgrind(const char *dir)
{
	char self[512], out_arg[600], list_path[512], err_path[512];
	static const char count_in[] = "--toggle-collect=" BENCH_KERNEL_PREFIX "*";
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pid_t self_pid = getpid(), pid;
	struct stat said;
	int status;

	if (len < 0 || path_in(list_path, sizeof(list_path), dir, "list") ||
	    path_in(err_path, sizeof(err_path), dir, "messages"))
		return -1;
	self[len] = '\0';
	snprintf(out_arg, sizeof(out_arg), "--callgrind-out-file=%s/count", dir);
	const char *argv[] = {
		"valgrind",
		"--quiet",
		"--tool=callgrind",
		count_in,
		"--zero-before=bench_count_begin",
		"--dump-after=bench_count_end",
		out_arg,
		self,
		"--count-kernels",
		NULL,
	};

	pid = fork();
	if (!pid) {
		int list = open(list_path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		int messages = open(err_path, O_WRONLY | O_CREAT | O_EXCL, 0600);

		/* A caller that ends kills this program, which then cannot end valgrind itself. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self_pid && list >= 0 && messages >= 0 && dup2(messages, 2) >= 0 &&
		    dup2(list, 1) >= 0) {
			/* POSIX requires the cast: execvp() does not write to the strings. */
			execvp(argv[0], (char *const *)argv);
			if (errno == ENOENT)
				_exit(NOT_FOUND);
		}
		dprintf(2, "valgrind: %s\n", strerror(errno));
		_exit(NOT_STARTED);
	}
	if (pid < 0) {
		fprintf(stderr, "schedshard-bench: valgrind: %s\n", strerror(errno));
		return -1;
	}
	if (waitpid(pid, &status, 0) < 0) {
		fprintf(stderr, "schedshard-bench: cannot wait for valgrind: %s\n",
			strerror(errno));
		return -1;
	}
	/* A wrapper that is called valgrind may end with the same status, after a message. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND &&
	    (stat(err_path, &said) || !said.st_size)) {
		fprintf(stderr,
			"schedshard-bench: no instruction counts: valgrind is not installed "
			"(Debian: apt-get install valgrind)\n");
		return -1;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		show_file(err_path);
		fprintf(stderr,
			"schedshard-bench: no instruction counts: valgrind failed, see above\n");
		return -1;
	}
	return 0;
}

/* Return the instruction count of a callgrind file, which ends with a line "totals: N". */
static double read_total(const char *path)
{
	unsigned long long total;
	char line[512];
	double found = -1;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "totals: %llu", &total) == 1)
			found = (double)total;
	if (f)
		fclose(f);
	return found;
}

static int read_counts(const char *dir, struct bench_counts *counts)
{
	char path[512], name[32];
	u32 bout, entry, file = 0;
	int err = 0;
	FILE *list;

	if (path_in(path, sizeof(path), dir, "list"))
		return -1;
	list = fopen(path, "r");
	if (!list)
		return -1;
	while (!err && fscanf(list, "%u %u", &bout, &entry) == 2) {
		double total = -1;

		snprintf(name, sizeof(name), "count.%u", ++file);
		if (!path_in(path, sizeof(path), dir, name))
			total = read_total(path);
		if (bout >= MAX_BOUTS || entry >= BENCH_MAX_ENTRIES || total < 0)
			err = -1;
		else
			counts->call[bout][entry] = total;
	}
	fclose(list);
	if (err || file == 0) {
		fprintf(stderr,
			"schedshard-bench: no instruction counts: callgrind's file %s contains "
			"none\n",
			path);
		return -1;
	}
	return 0;
}

struct bench_counts *bench_counts_get(void)
{
	struct bench_counts *counts = malloc(sizeof(*counts));
	const char *tmp = getenv("TMPDIR");
	char dir[256];
	int err;

	if (!counts)
		return NULL;
	for (u32 i = 0; i < MAX_BOUTS; i++)
		for (u32 e = 0; e < BENCH_MAX_ENTRIES; e++)
			counts->call[i][e] = -1;
	err = path_in(dir, sizeof(dir), tmp && *tmp ? tmp : "/tmp", "schedshard-bench-XXXXXX");
	if (err || !mkdtemp(dir)) {
		fprintf(stderr,
			"schedshard-bench: no instruction counts: cannot make directory %s: %s\n",
			dir, strerror(errno));
		free(counts);
		return NULL;
	}
	err = run_valgrind(dir);
	if (!err)
		err = read_counts(dir, counts);
	remove_tree(dir);
	if (err) {
		free(counts);
		return NULL;
	}
	return counts;
}

void bench_counts_free(struct bench_counts *counts)
{
	free(counts);
}

void bench_counts_apply(const struct bench_counts *counts, struct bench_bout *bout)
{
	for (u32 i = 0; i < bout->nr; i++) {
		struct bench_entry *entry = &bout->entry[i];
		double call = bout->number < MAX_BOUTS ? counts->call[bout->number][i] : -1;

		entry->counted = call >= 0;
		entry->instructions = call / bout->ops;
	}
}
