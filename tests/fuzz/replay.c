// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Runs a fuzz target on every file of a directory: the committed corpus, without clang. An empty or
 * missing directory is a failure: the test would test nothing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0, room = 0, got;

	if (!file) {
		fprintf(stderr, "%s: cannot be opened\n", path);
		return 1;
	}
	do {
		if (size == room) {
			room = room ? 2 * room : 4096;
			data = realloc(data, room);
			if (!data)
				abort();
		}
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (got);
	fclose(file);
	/* The allocation has the exact size, so that a sanitizer sees reads beyond its end. */
	data = realloc(data, size ? size : 1);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent *entry;
	char path[4096];
	int files = 0;
	DIR *dir;

	if (argc != 2) {
		fprintf(stderr, "usage: replay DIRECTORY\n");
		return 2;
	}
	dir = opendir(argv[1]);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (replay(path))
			return 1;
		files++;
	}
	if (dir)
		closedir(dir);
	printf("%d inputs\n", files);
	return !files;
}
