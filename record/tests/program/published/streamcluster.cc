// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * streamcluster THREADS POINTS: each thread computes distances, and adds the gain of a change of
 * centre to its part of an array. The parts begin at multiples of 32 bytes, as in streamcluster of
 * PARSEC. -DAPART: at multiples of 64.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "meet.h"

#ifdef APART
static constexpr long LINE = 64;
#else
static constexpr long LINE = 32;
#endif
static constexpr long DIMENSIONS = 32, CENTRES = 2;

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const long threads = std::atol(argv[1]), each = std::atol(argv[2]);
	const long part = (CENTRES * sizeof(double) + LINE - 1) / LINE * LINE / sizeof(double);
	std::vector<float> points(threads * each * DIMENSIONS);
	double *gain =
		static_cast<double *>(std::aligned_alloc(64, (threads * part * 8 + 63) / 64 * 64));
	double total = 0;

	for (std::size_t i = 0; i < points.size(); i++)
		points[i] = static_cast<float>(i % 17);
	for (long i = 0; i < threads * part; i++)
		gain[i] = 0;
	meet(threads, [&](long me) {
		volatile double *mine = gain + me * part;

		for (long i = me * each; i < (me + 1) * each; i++) {
			float apart = 0;

			for (long k = 0; k < DIMENSIONS; k++) {
				const float off = points[i * DIMENSIONS + k] - points[k];

				apart += off * off;
			}
			mine[i % CENTRES] = mine[i % CENTRES] + apart;
		}
	});
	for (long i = 0; i < threads * part; i++)
		total += gain[i];
	std::printf("%.0f\n", total);
	std::free(gain);
	return 0;
}
