/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target is one file with LLVMFuzzerTestOneInput(). Linked with libFuzzer it is a fuzzer,
 * linked with replay.c it runs the seeds under any compiler.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <schedshard/schedshard.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program like a crash when a property does not hold. */
#define FUZZ_CHECK(cond)                                                                     \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* A refusal must have a description, in one printable line. */
void fuzz_check_refusal(int ret, const struct shard_err *err);

/*
 * An accepted topology must be valid input for a plan: ids in range, and each CPU of the plan where
 * its record says. Returns the result of shard_plan_build().
 */
enum shard_plan_err fuzz_check_topo(const struct shard_topo *topo);

#endif
