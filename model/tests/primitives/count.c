// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * primitives-count NAME N: one thread does the operation N times. Run it under callgrind with two
 * N; the difference of the counts belongs to the operations.
 */
#include <stdio.h>
#include <stdlib.h>

#include "primitive.h"
#include "shapes.h"

int main(int argc, char **argv)
{
	static const int node[1] = { 0 };
	const struct primitive_thread me = { 0 };
	struct primitive_place place = { 1, 0, node, NULL, NULL };
	const struct primitive *primitive = argc == 3 ? primitive_find(argv[1]) : NULL;
	u64 n = primitive ? strtoull(argv[2], NULL, 10) : 0;
	struct shard_plan *plan;
	bool right;
	void *state;

	if (!n) {
		fputs("give a primitive and a number of operations\n", stderr);
		return 2;
	}
	plan = shape_plan(&shapes[3]);
	place.plan = place.pools = plan;
	state = primitive->create(&place);
	primitive->ops(state, &me, n);
	right = primitive->consistent(state, n);
	primitive->destroy(state);
	return right ? 0 : 1;
}
