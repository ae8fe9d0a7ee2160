// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * For each address addr2line -a -i -f prints a line "0x...". Then it prints two lines for each
 * function inlined there, innermost first: its name and file:line. So a line that starts with "0x"
 * always starts the next address.
 *
 * The compiler inlines the barriers and atomics of port/, so a schedule names their callers. The
 * addresses are return addresses, so addr2line gets the address before, which is inside the call.
 */
#include "explore_symbols.h"

#include <link.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The first object is the program itself: get the load address that ASLR chose. */
static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

/* Return: addr2line's output as a stream, or NULL. */
static FILE *start_addr2line(const struct x_symbol *sym, size_t n, pid_t *pid)
{
	char self[4096], (*hex)[24] = NULL, **argv = NULL;
	posix_spawn_file_actions_t actions;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	uintptr_t base = 0;
	int fds[2], err;
	FILE *out = NULL;

	if (len <= 0 || pipe(fds))
		return NULL;
	self[len] = 0;
	dl_iterate_phdr(first_object, &base);
	hex = calloc(n + 1, sizeof(*hex));
	argv = calloc(n + 7, sizeof(*argv));
	if (!hex || !argv)
		abort();
	argv[0] = (char[]){ "addr2line" };
	argv[1] = (char[]){ "-a" };
	argv[2] = (char[]){ "-i" };
	argv[3] = (char[]){ "-f" };
	argv[4] = (char[]){ "-e" };
	argv[5] = self;
	for (size_t i = 0; i < n; i++) {
		snprintf(hex[i], sizeof(hex[i]), "0x%zx", (uintptr_t)sym[i].pc - 1 - base);
		argv[6 + i] = hex[i];
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	err = posix_spawnp(pid, "addr2line", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!err)
		out = fdopen(fds[0], "r");
	else
		close(fds[0]);
	free(hex);
	free(argv);
	return out;
}

static void take_answer(struct x_symbol *sym, const char *function, char *where)
{
	const char *file = strrchr(where, '/');
	char *end;

	if (sym->function[0] != '?' || strstr(where, "/port/"))
		return;
	file = file ? file + 1 : where;
	end = strchr(where, ' '); /* "(discriminator 3)" */
	if (end)
		*end = 0;
	snprintf(sym->function, sizeof(sym->function), "%.63s", function);
	snprintf(sym->source, sizeof(sym->source), "%.63s", file);
}

void x_symbols(struct x_symbol *sym, size_t n)
{
	char line[512], function[512] = "";
	size_t at = 0; /* the next answers are for sym[at - 1] */
	pid_t pid;
	FILE *out;

	for (size_t i = 0; i < n; i++) {
		strcpy(sym[i].function, "?");
		strcpy(sym[i].source, "?");
	}
	if (!n)
		return;
	out = start_addr2line(sym, n, &pid);
	if (!out)
		return;
	while (fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0x", 2)) {
			at++;
			function[0] = 0;
		} else if (!function[0]) {
			strcpy(function, line);
		} else {
			if (at && at <= n)
				take_answer(&sym[at - 1], function, line);
			function[0] = 0;
		}
	}
	fclose(out);
	waitpid(pid, NULL, 0);
}
