// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compares feed_bytes with its definition for random accesses of a line by up to 9 CPUs. By the
 * definition the times of each CPU's last access and last write of each byte decide.
 */
#include <stdlib.h>
#include <string.h>

#include "../../../model/tests/sim/check.h"
#include "feed_bytes.h"

#define CPUS 9u
#define LINE 64u

static uint32_t accessed[CPUS][LINE], written[CPUS][LINE];

static bool expected(uint32_t cpu, uint32_t offset, uint32_t size)
{
	for (uint32_t b = offset; b < offset + size; b++)
		for (uint32_t other = 0; other < CPUS; other++)
			if (other != cpu && written[other][b] > accessed[cpu][b])
				return true;
	return false;
}

static uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % n;
}

int main(void)
{
	uint64_t state = 1;
	uint32_t found = 0;

	for (uint32_t line = 0; line < 200; line++) {
		const uint32_t cpus = 1 + line % CPUS, reads = 1 + line % 4;
		struct feed_bytes b = { 0 };

		memset(accessed, 0, sizeof(accessed));
		memset(written, 0, sizeof(written));
		for (uint32_t now = 1; now <= 500; now++) {
			uint32_t size = 1u << random_below(&state, 7);
			uint32_t offset = random_below(&state, LINE - size + 1);
			uint32_t cpu = random_below(&state, cpus);
			bool write = !random_below(&state, reads + 1), want;

			want = expected(cpu, offset, size);
			CHECK(feed_bytes_access(&b, cpu, offset, size, write) == want);
			found += want;
			for (uint32_t i = offset; i < offset + size; i++) {
				accessed[cpu][i] = now;
				if (write)
					written[cpu][i] = now;
			}
		}
		free(b.unseen);
	}
	CHECK(found > 1000);
	return 0;
}
