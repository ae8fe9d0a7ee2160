/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * toy.h - a machine small enough to predict by hand, and the tests' steps on it.
 *
 * 2 packages x 2 LLCs x 2 cores x 2 threads at 1 GHz; CPU = 8 * thread + core:
 *
 *   package 0: LLC 0 = cores 0 1, LLC 1 = cores 2 3; package 1: LLC 2 = 4 5, LLC 3 = 6 7
 */
#ifndef TESTS_SIM_TOY_H
#define TESTS_SIM_TOY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "model.h"

#define CHECK_EQ(a, b)                                                                       \
	do {                                                                                 \
		long long check_a = (long long)(a), check_b = (long long)(b);                \
		if (check_a != check_b) {                                                    \
			fprintf(stderr, "%s:%d: %s is %lld, expected %lld (%s)\n", __FILE__, \
				__LINE__, #a, check_a, check_b, #b);                         \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

#define NS  1000ull    /* in picoseconds */
#define FAR 1000000ull /* a time by which all earlier transfers have ended */

/* The steps of one CPU: a list, each at a given time. */
enum step_kind {
	STEP_LOAD, /* n is the value */
	STEP_STORE,
	STEP_ADD,
	STEP_FENCE,
	STEP_LOOP_ADD,
	STEP_TURNS,	  /* only compare-and-swaps until it is the CPU's turn */
	STEP_TURNS_LOAD,  /* loads until it is the CPU's turn, then a compare-and-swap */
	STEP_COMPUTE,	  /* n picoseconds, 0: idle */
	STEP_INTERRUPT,	  /* CPU n */
	STEP_PLAIN_LOAD,  /* n is the value */
	STEP_PLAIN_STORE, /* stores 2 */
	STEP_OBSERVE,	  /* n is the value */
};

struct step {
	uint64_t at; /* picoseconds; the CPU waits until then */
	enum step_kind kind;
	uint64_t *addr; /* NULL: the line of the play */
	uint64_t n;	/* number of times: STEP_LOOP_ADD, STEP_TURNS; the value of a load */
	bool odd;	/* STEP_TURNS: the second of the two */
	uint64_t took;	/* result: picoseconds */
};

/* A CPU's steps, the first of them at @start. */
struct script {
	uint32_t cpu;
	struct step *step;
	int n;
	uint64_t start;
};

#define SCRIPT(cpu, steps)                                            \
	(struct script)                                               \
	{                                                             \
		(cpu), (steps), sizeof(steps) / sizeof((steps)[0]), 0 \
	}

#define TOY_TURNS 20

/* Two players raise a word in turn by plain stores of its next value. */
struct spin {
	uint64_t *word;
	uint64_t player; /* 0 or 1 */
	uint64_t took;	 /* result: picoseconds */
};

/* A fresh simulated toy; @protocol: extra lines for its [protocol] table. */
void toy_begin(const char *protocol, uint64_t seed);
void toy_end(void);

/* The end of main(): run all tests of an array. */
#define TOY_RUN(test) toy_run(test, sizeof(test) / sizeof((test)[0]))
int toy_run(void (*const *test)(void), unsigned int n);

/* Its numbers may be changed before sim_run(). */
struct model *toy_model(void);

/* What a play left: its line, and when the last CPU ended, in picoseconds. */
struct played {
	uint64_t *line;
	uint64_t took;
};

/* Runs scripts after toy_begin(), with one line at home on node 0. */
#define TOY_PLAY(...)                              \
	toy_play((struct script[]){ __VA_ARGS__ }, \
		 sizeof((struct script[]){ __VA_ARGS__ }) / sizeof(struct script))
struct played toy_play(struct script *script, size_t n);

/* Runs a script; compiled with instrumentation. */
void toy_body(uint32_t cpu, void *script);

/* Plays a struct spin; compiled with instrumentation. */
void toy_spin(uint32_t cpu, void *spin);

#endif
