// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Avoids stdio: it allocates, and the allocator may be the program's, whose lock may be held. */
#include "maps.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAPS_HIGH 500 /* programs close the low ones */

struct reader {
	int file;
	ssize_t at, end;
	char part[4096];
};

static int proc = -1; /* a descriptor of /proc, or -1 */

void maps_keep(void)
{
	int file = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0 && file >= 0)
		proc = fcntl(file, F_DUPFD_CLOEXEC, MAPS_HIGH);
	if (file >= 0)
		close(file);
}

static int open_maps(void)
{
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	return file < 0 && proc >= 0 ? openat(proc, "self/maps", O_RDONLY | O_CLOEXEC) : file;
}

/* Return: false at the end of the file. A line that is too long is cut. */
static bool next_line(struct reader *r, char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		if (r->at == r->end) {
			r->at = 0;
			r->end = read(r->file, r->part, sizeof(r->part));
			if (r->end <= 0)
				return false;
		}
		if (r->part[r->at] == '\n')
			break;
		if (n + 1 < size)
			line[n++] = r->part[r->at];
		r->at++;
	}
	r->at++;
	line[n] = '\0';
	return true;
}

void maps_read(void (*each)(uint64_t low, uint64_t high, uint64_t offset, const char *path,
			    void *arg),
	       void *arg)
{
	struct reader r = { .file = open_maps() };
	char line[4352];

	while (r.file >= 0 && next_line(&r, line, sizeof(line))) {
		unsigned long long low, high, offset;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &low, &high, rights, &offset,
			   &at) < 4 ||
		    !at || line[at] != '/')
			continue;
		each(low, high, offset, &line[at], arg);
	}
	if (r.file >= 0)
		close(r.file);
}
