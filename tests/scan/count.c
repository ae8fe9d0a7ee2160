// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * count WAY N: N updates of a running thread's runtime, 1,000 per epoch, accounted by WAY. valgrind
 * counts instructions (instructions.py); the difference between two N belongs to the updates.
 */
#include <string.h>

#include "scan.h"
#include "shapes.h"
#include "test.h"

static const struct shape shape = { .name = "24 LLCs of 16", 2, 2, 6, 8, 2, 1 };

int main(int argc, char **argv)
{
	struct shard_plan *plan = shape_plan(&shape);
	unsigned long online[TEST_MAX_WORDS];
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	memset(online, 0xff, sizeof(online));
	for (const struct scan_ops *const *ops = scan_ways; *ops && n; ops++) {
		struct scan_machine *m;
		struct scan_process *p;

		if (strcmp((*ops)->name, argv[1]))
			continue;
		m = (*ops)->create(plan, online, 1);
		p = m ? (*ops)->process(m, 0, 0) : NULL;
		if (!p)
			return 1;
		for (unsigned long i = 0; i < n; i++)
			if (!(*ops)->account(p, 5, 1 + (u32)(i / 1000), 1000))
				return 1;
		(*ops)->end(p);
		(*ops)->destroy(m);
	}
	shard_plan_free(plan);
	return 0;
}
