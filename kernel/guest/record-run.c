// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * record-run AFTER LENGTH MARKS: runs a program for record --guest. It reports to the host the
 * program's output, how it ended, and where its memory is.
 *
 * The file ARGV contains the program's arguments, each followed by a 0. The window opens AFTER
 * microseconds after the program began. It closes LENGTH microseconds later or, if LENGTH is 0,
 * when the program ends. With MARKS 1 the program itself opens and closes the window.
 *
 * ptrace stops the program before its first instruction, and at its end, while its memory still
 * exists. The program writes its output to files, so that the console is not part of the
 * measurement. Then the output goes to the second serial line, in sections: name, length, bytes.
 */
#define _GNU_SOURCE
#include "c2c-mark.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* A test on the host uses other paths. */
#ifndef ARGV
#define ARGV "/etc/record-argv"
#define LINE "/dev/ttyS1"
#define OUT  "/tmp/record-out"
#define ERR  "/tmp/record-err"
#endif
#define MAX_ARGS  1024
#define MAX_BYTES (1u << 20)
#define MAX_PAGES 16384u
#define PAGE	  4096ull
/* Of /proc/PID/pagemap: the frame, and whether the page has one. */
#define FRAME	((1ull << 55) - 1)
#define PRESENT (1ull << 63)

struct text {
	char *bytes;
	size_t used, size;
};

static struct text maps, pages;
static bool opened, closed;

static void add(struct text *t, const char *bytes, size_t n)
{
	if (t->used + n > t->size) {
		t->size = 2 * (t->used + n) + 4096;
		t->bytes = realloc(t->bytes, t->size);
		if (!t->bytes)
			_exit(125);
	}
	memcpy(t->bytes + t->used, bytes, n);
	t->used += n;
}

/* ---- the window ---- */

static void open_window(void)
{
	if (!opened)
		c2c_open();
	opened = true;
}

static void close_window(void)
{
	if (!closed)
		c2c_close();
	closed = true;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- the program's memory ---- */

/* Add the frames of the pages from @low on, below @high. */
static void add_pages(int pagemap, uint64_t low, uint64_t high, unsigned int *left)
{
	for (uint64_t at = low; at < high && *left; at += PAGE) {
		uint64_t entry;
		char line[64];

		if (pread(pagemap, &entry, sizeof(entry), (off_t)(at / PAGE * sizeof(entry))) !=
		    (ssize_t)sizeof(entry))
			return;
		if (!(entry & PRESENT))
			continue;
		add(&pages, line,
		    (size_t)snprintf(line, sizeof(line), "%llx %llx\n", (unsigned long long)at,
				     (unsigned long long)((entry & FRAME) * PAGE)));
		--*left;
	}
}

static void look(pid_t pid)
{
	unsigned int left = MAX_PAGES;
	char path[64], line[4352];
	FILE *file;
	int pagemap;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long low, high;
		char rights[8];

		add(&maps, line, strlen(line));
		/* A mapping that no thread can write is not contended. */
		if (sscanf(line, "%llx-%llx %7s", &low, &high, rights) == 3 && rights[1] == 'w')
			add_pages(pagemap, low, high, &left);
	}
	if (file)
		fclose(file);
	if (pagemap >= 0)
		close(pagemap);
}

/* ---- the program ---- */

static void run(char **argv)
{
	int out = open(OUT, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	int err = open(ERR, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0)
		_exit(125);
	execvp(argv[0], argv);
	fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
	fflush(stderr);
	_exit(127);
}

/* Wait for a change of the program until a time, 0: for ever. Return: false if the time is over. */
static bool wait_until(sigset_t *child, pid_t pid, int *status, uint64_t until)
{
	for (;;) {
		uint64_t now = now_us();
		struct timespec left = { 1, 0 };

		if (waitpid(pid, status, WNOHANG | __WALL) == pid)
			return true;
		if (until && now >= until)
			return false;
		if (until && until - now < 1000000) {
			left.tv_sec = 0;
			left.tv_nsec = (long)(until - now) * 1000;
		}
		sigtimedwait(child, NULL, &left);
	}
}

/* Why did the traced program stop? Return: the signal to deliver. */
static int stopped(pid_t pid, int status)
{
	if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
		close_window();
		look(pid);
		return 0;
	}
	return WSTOPSIG(status);
}

static int follow(sigset_t *child, pid_t pid, uint64_t after, uint64_t length, bool marks)
{
	uint64_t begun = now_us(), until = 0;
	int status;

	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		return status;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL))
		return -1;
	opened = marks;
	closed = marks;
	if (!marks && !after)
		open_window();
	if (!marks)
		until = opened ? (length ? begun + length : 0) : begun + after;
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	for (;;) {
		if (wait_until(child, pid, &status, until)) {
			if (!WIFSTOPPED(status))
				return status;
			ptrace(PTRACE_CONT, pid, NULL, (long)stopped(pid, status));
		} else if (!opened) {
			open_window();
			until = length ? now_us() + length : 0;
		} else {
			close_window();
			until = 0;
		}
	}
}

/* ---- the report to the host ---- */

static void send(int line, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = write(line, bytes, n);

		if (sent <= 0 && errno != EINTR)
			return;
		bytes += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
	}
}

static void send_section(int line, const char *name, const char *bytes, size_t n)
{
	char head[64];

	send(line, head, (size_t)snprintf(head, sizeof(head), "%s %zu\n", name, n));
	send(line, bytes, n);
}

static void send_file(int line, const char *name, const char *path)
{
	struct text t = { NULL, 0, 0 };
	int file = open(path, O_RDONLY | O_CLOEXEC);
	char part[4096];
	ssize_t got;

	while (file >= 0 && t.used < MAX_BYTES && (got = read(file, part, sizeof(part))) > 0)
		add(&t, part, (size_t)got);
	send_section(line, name, t.bytes, t.used);
	free(t.bytes);
	if (file >= 0)
		close(file);
}

static void tell_host(int status)
{
	int line = open(LINE, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	struct termios raw;
	char text[32];

	if (line < 0 || tcgetattr(line, &raw))
		return;
	cfmakeraw(&raw);
	tcsetattr(line, TCSANOW, &raw);
	send_section(line, "maps", maps.bytes, maps.used);
	send_section(line, "pages", pages.bytes, pages.used);
	send_file(line, "out", OUT);
	send_file(line, "err", ERR);
	send_section(line, "status", text, (size_t)snprintf(text, sizeof(text), "%d", status));
	tcdrain(line);
	close(line);
}

static int read_argv(char **argv)
{
	static char text[1u << 17];
	int file = open(ARGV, O_RDONLY | O_CLOEXEC), n = 0;
	ssize_t got = file < 0 ? -1 : read(file, text, sizeof(text) - 1);

	for (ssize_t at = 0; at < got && n < MAX_ARGS; at += (ssize_t)strlen(text + at) + 1)
		argv[n++] = text + at;
	argv[n] = NULL;
	return n;
}

int main(int argc, char **argv)
{
	static char *program[MAX_ARGS + 1];
	sigset_t child;
	int status;
	pid_t pid;

	if (argc != 4 || !read_argv(program)) {
		fprintf(stderr,
			"usage: record-run AFTER LENGTH MARKS, and a program in " ARGV "\n");
		return 127;
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	c2c_prepare();
	usleep(C2C_PREPARE_US);
	pid = fork();
	if (!pid) {
		sigprocmask(SIG_UNBLOCK, &child, NULL);
		run(program);
	}
	if (pid < 0) {
		fprintf(stderr, "record-run: %s\n", strerror(errno));
		return 127;
	}
	status = follow(&child, pid, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10),
			argv[3][0] == '1');
	if (opened && !closed)
		close_window();
	tell_host(status);
	return 0;
}
