// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "maps.h"

#include <stdio.h>
#include <string.h>

void maps_read(void (*each)(uint64_t low, uint64_t high, uint64_t offset, const char *path,
			    void *arg),
	       void *arg)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[4352];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long low, high, offset;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &low, &high, rights, &offset,
			   &at) < 4 ||
		    !at || line[at] != '/')
			continue;
		line[strcspn(line, "\n")] = '\0';
		each(low, high, offset, &line[at], arg);
	}
	if (file)
		fclose(file);
}
