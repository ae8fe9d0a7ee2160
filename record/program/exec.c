// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Records a program that a recorded program executes.
 *
 * The emulator would leave the call to the kernel, and the new program would run on the host,
 * unrecorded. The emulator shows each system call to the plugin before it makes the call. So the
 * plugin makes this call itself, and executes an emulator that runs the new program with the same
 * plugin. The function and the language from which the program makes the call do not matter then.
 * Interposing a C library function would miss the C library's internal calls. Children of glibc's
 * posix_spawn() and vfork() share memory with the parent, but the emulator forks for them.
 *
 * The kernel executes what cannot be executed this way: programs that are not x86-64, and those
 * that change the user. It also handles all errors, so that error codes are the kernel's.
 *
 * The program's environment is its own, except for LD_PRELOAD. Scripts are interpreted as in Linux.
 */

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"
#include "protocol.h"
#include "shared.h"
#include "user.h"

#define PATH	4096u
#define STRINGS 1048576u /* at most this many in argv, and in envp */
#define SCRIPTS 4
#define HEAD	256
#define EXTRA	20u

static char emulator[PATH], plugin_path[PATH], own_preload[PATH + 16], library[PATH + 32],
	common[5 * PATH], files[PATH];

void exec_init(const char *watch, const char *meta, const char *file, const char *view,
	       bool by_marks)
{
	ssize_t n = readlink("/proc/self/exe", emulator, sizeof(emulator) - 1);
	Dl_info info;
	char *slash;

	emulator[n > 0 ? n : 0] = '\0';
	if (!dladdr(emulator, &info) || !info.dli_fname ||
	    strlen(info.dli_fname) >= sizeof(plugin_path)) {
		emulator[0] = '\0';
		return;
	}
	strcpy(plugin_path, info.dli_fname);
	snprintf(own_preload, sizeof(own_preload), "LD_PRELOAD=%s", plugin_path);
	slash = strrchr(plugin_path, '/');
	snprintf(library, sizeof(library), "%.*s/libschedshard-record.so",
		 slash ? (int)(slash - plugin_path) : 1, slash ? plugin_path : ".");
	snprintf(files, sizeof(files), "%s", view);
	snprintf(common, sizeof(common), "%s,watch=%s,meta=%s,shared=%s,view=%s,follow=on%s",
		 plugin_path, watch, meta, file, view, by_marks ? ",marks=on" : "");
}

/* ---- what to execute ---- */

static bool read_string(char *into, uint64_t from, size_t size)
{
	for (size_t n = 0; n < size; n++) {
		if (!user_read(&into[n], from + n, 1))
			return false;
		if (!into[n])
			return true;
	}
	return false;
}

/* The file of the call, as a path that is valid here. */
static bool name_of(char *path, int64_t number, const uint64_t *arg)
{
	char name[PATH];
	int n;

	if (!read_string(name, number == SYS_execveat ? arg[1] : arg[0], sizeof(name)))
		return false;
	if (number == SYS_execveat && name[0] != '/' && (int)arg[0] != AT_FDCWD)
		n = snprintf(path, PATH, "/proc/self/fd/%d%s%s", (int)arg[0], name[0] ? "/" : "",
			     name);
	else if (!strcmp(name, "/proc/self/exe") || !strcmp(name, "/proc/thread-self/exe"))
		n = snprintf(path, PATH, "%s", user.path);
	else
		n = snprintf(path, PATH, "%s", name);
	return n > 0 && (size_t)n < PATH;
}

enum what { NOT_OURS, PROGRAM, SCRIPT };

/* @head receives a script's first line without the mark. */
static enum what look(const char *path, char *head)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	enum what found = NOT_OURS;
	Elf64_Ehdr elf;
	struct stat st;
	ssize_t n;

	if (file < 0)
		return NOT_OURS;
	n = read(file, head, HEAD - 1);
	head[n > 0 ? n : 0] = '\0';
	if (n >= (ssize_t)sizeof(elf))
		memcpy(&elf, head, sizeof(elf));
	if (n < 2 || fstat(file, &st) || !S_ISREG(st.st_mode) || access(path, X_OK) ||
	    ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getegid())) {
		found = NOT_OURS;
	} else if (head[0] == '#' && head[1] == '!') {
		head[strcspn(head, "\n")] = '\0';
		memmove(head, head + 2, strlen(head + 2) + 1);
		found = SCRIPT;
	} else if (n >= (ssize_t)sizeof(elf) && !memcmp(elf.e_ident, ELFMAG, SELFMAG) &&
		   elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_machine == EM_X86_64) {
		found = PROGRAM;
	}
	close(file);
	return found;
}

/*
 * Return the interpreter of a script's first line, or NULL; @rest receives the rest of the line.
 */
static char *split(char *line, char **rest)
{
	char *end;

	line += strspn(line, " \t");
	end = line + strlen(line);
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	*rest = NULL;
	end = line + strcspn(line, " \t");
	if (*end) {
		*end++ = '\0';
		*rest = end + strspn(end, " \t");
	}
	return *line ? line : NULL;
}

/* ---- how ---- */

/* Return the length of argv or envp at @at in the program, or -1. */
static long count(uint64_t at)
{
	uint64_t word = 0;

	for (long n = 0; at && n < STRINGS; n++) {
		if (!user_read(&word, at + 8 * (uint64_t)n, sizeof(word)))
			return -1;
		if (!word)
			return n;
	}
	return at ? -1 : 0;
}

static bool is_set(const char *text, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(text, name, n) && text[n] == '=';
}

/*
 * Return the emulator's environment: the program's, but with this plugin's LD_PRELOAD. @preload:
 * the program's
 */
static char **environment(char **old, long n, const char **preload)
{
	char **new = calloc((size_t)n + 2, sizeof(*new));
	long kept = 0;

	*preload = NULL;
	for (long i = 0; new &&i < n; i++) {
		if (is_set(old[i], "LD_PRELOAD"))
			*preload = old[i] + strlen("LD_PRELOAD=");
		else
			new[kept++] = old[i];
	}
	if (new)
		new[kept] = own_preload;
	return new;
}

/* Return the LD_PRELOAD for the program: its own, with the recorder's library first. */
static char *inside(const char *preload)
{
	char *text = NULL;
	bool has = preload && strstr(preload, library);
	int n;

	if (has)
		n = asprintf(&text, "LD_PRELOAD=%s", preload);
	else
		n = asprintf(&text, "LD_PRELOAD=%s%s%s", library, preload && *preload ? ":" : "",
			     preload ? preload : "");
	return n < 0 ? NULL : text;
}

/* A file to execute, the interpreter that it names as a script, and so on to a program. */
struct way {
	char path[SCRIPTS + 1][PATH], head[SCRIPTS + 1][HEAD];
	int depth; /* the index of the last file */
};

/* Find the last interpreter. Return: false if there are too many, or a script names none. */
static bool follow_scripts(struct way *w)
{
	while (look(w->path[w->depth], w->head[w->depth]) == SCRIPT) {
		char line[HEAD], *rest, *first;

		strcpy(line, w->head[w->depth]);
		first = split(line, &rest);
		if (!first || w->depth == SCRIPTS)
			return false;
		strcpy(w->path[++w->depth], first);
	}
	return true;
}

/* The emulator's arguments, then the program's. */
static void fill(char **new, struct way *w, char **argv, long argc, char *preload, char *arguments)
{
	long n = 0;

	new[n++] = emulator;
	new[n++] = (char *)"-L";
	new[n++] = files;
	new[n++] = (char *)"-U";
	new[n++] = (char *)"LD_PRELOAD";
	new[n++] = (char *)"-E";
	new[n++] = preload;
	new[n++] = (char *)"-0";
	new[n++] = w->depth ? w->path[w->depth] : argc ? argv[0] : w->path[0];
	new[n++] = (char *)"-plugin";
	new[n++] = arguments;
	new[n++] = w->path[w->depth];
	/* The innermost interpreter first, each with its script. */
	for (int i = w->depth; i > 0; i--) {
		char *rest;

		split(w->head[i - 1], &rest);
		if (rest)
			new[n++] = rest;
		new[n++] = w->path[i - 1];
	}
	for (long i = 1; i < argc; i++)
		new[n++] = argv[i];
}

void exec_follow(struct user_thread *t, int64_t number, const uint64_t *arg)
{
	uint64_t argv_at = number == SYS_execveat ? arg[2] : arg[1];
	uint64_t envp_at = number == SYS_execveat ? arg[3] : arg[2];
	char arguments[sizeof(common) + 64], *text, **new, **env;
	long argc = count(argv_at), envc = count(envp_at);
	const char *preload;
	struct way w;

	w.depth = 0;
	if (!emulator[0] || argc < 0 || envc < 0 || !name_of(w.path[0], number, arg))
		return;
	if (!follow_scripts(&w))
		return;
	if (look(w.path[w.depth], w.head[w.depth]) != PROGRAM) {
		if (!access(w.path[0], X_OK)) {
			__atomic_fetch_add(&shared->children, 1, __ATOMIC_RELAXED);
			user_leave(t);
		}
		return;
	}
	new = calloc((size_t)argc + EXTRA + 2 * SCRIPTS, sizeof(*new));
	env = environment((char **)(uintptr_t)envp_at, envc, &preload);
	text = inside(preload);
	if (!new || !env || !text)
		goto out;
	snprintf(arguments, sizeof(arguments), "%s,arrives=%u.%u", common, t->number, t->cpu);
	fill(new, &w, (char **)(uintptr_t)argv_at, argc, text, arguments);
	__atomic_fetch_add(&shared->coming, 1, __ATOMIC_SEQ_CST);
	user_leave(t);
	cpus_carry(t, true);
	execve(emulator, new, env);
	cpus_carry(t, false);
	__atomic_fetch_sub(&shared->coming, 1, __ATOMIC_SEQ_CST);
out:
	free(new);
	free(env);
	free(text);
}
