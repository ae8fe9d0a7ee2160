// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Runs a fuzz target on its seeds, which are files, without clang. */
#include <stdio.h>
#include <stdlib.h>
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
	for (int i = 1; i < argc; i++)
		if (replay(argv[i]))
			return 1;
	printf("%d inputs\n", argc - 1);
	return argc < 2;
}
