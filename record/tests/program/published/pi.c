// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * pi THREADS STEPS: the integral of 4/(1+x*x). Each thread adds to its element of an array, as in a
 * tutorial of OpenMP. -DAPART: each element has its own line.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "c2c-mark.h"

#ifdef APART
#define WIDE 8
#else
#define WIDE 1
#endif

/* Each addition is a store, as in a build without optimisation. */
static volatile double sum[256][WIDE];

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int threads = atoi(argv[1]);
	long steps = atol(argv[2]);
	double width = 1.0 / (double)steps, total = 0;

#pragma omp parallel num_threads(threads)
	{
		int me = omp_get_thread_num();

#pragma omp master
		c2c_open();
#pragma omp barrier
		for (long i = me; i < steps; i += threads) {
			double x = ((double)i + 0.5) * width;

			sum[me][0] = sum[me][0] + 4.0 / (1.0 + x * x);
		}
#pragma omp barrier
#pragma omp master
		c2c_close();
	}
	for (int i = 0; i < threads; i++)
		total += sum[i][0] * width;
	printf("%.8f\n", total);
	return 0;
}
