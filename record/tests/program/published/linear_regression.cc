// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * linear-regression THREADS POINTS: each thread adds to the sums in its element of an array, as in
 * linear_regression of the Phoenix benchmarks. -DAPART: each element has its own lines.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "meet.h"

struct point {
	signed char x, y;
};

struct sums {
	const point *from;
	long count;
	/* Each addition is a store, as in the published program. */
	volatile long x, y, xx, yy, xy;
#ifdef APART
	char apart[128 - 7 * sizeof(long)];
#endif
};

static void add(sums &mine)
{
	for (long i = 0; i < mine.count; i++) {
		const point p = mine.from[i];

		mine.x = mine.x + p.x;
		mine.y = mine.y + p.y;
		mine.xx = mine.xx + p.x * p.x;
		mine.yy = mine.yy + p.y * p.y;
		mine.xy = mine.xy + p.x * p.y;
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const long threads = std::atol(argv[1]), each = std::atol(argv[2]);
	std::vector<point> points(threads * each);
	sums *all = static_cast<sums *>(std::calloc(threads, sizeof(sums)));
	long total = 0;

	for (long i = 0; i < threads * each; i++)
		points[i] = { static_cast<signed char>(i * 7), static_cast<signed char>(i * 13) };
	for (long i = 0; i < threads; i++) {
		all[i].from = &points[i * each];
		all[i].count = each;
	}
	meet(threads, [&](long me) { add(all[me]); });
	for (long i = 0; i < threads; i++)
		total += all[i].x + all[i].y + all[i].xx + all[i].yy + all[i].xy;
	std::printf("%ld\n", total);
	std::free(all);
	return 0;
}
