/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * apart.h - the plans of machines that are trees of files, for tests.
 *
 * The plans of a process stay until the process ends, so each test has a separate process.
 */
#ifndef APART_H
#define APART_H

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "shapes.h"
#include "test.h"
#include "tree.h"

static char root[64];
#define SYSFS_ROOT root
#include "../plans.c" /* NOLINT(bugprone-suspicious-include) */

static void write_tree(const char *text)
{
	CHECK(tree_write(root, text, strlen(text), UINT32_MAX) > 0);
}

static inline u32 bind_to_first_allowed(const cpu_set_t *allowed)
{
	cpu_set_t one;
	u32 cpu = 0;

	while (!CPU_ISSET(cpu, allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	return cpu;
}

/* Runs a test in a separate process, on a separate tree. */
static void in_child(void (*test)(void))
{
	int status;
	pid_t child;

	CHECK(tree_make(root));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		test();
		tree_remove(root); /* it may have made another one */
		exit(0);
	}
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	tree_remove(root);
	if (status)
		exit(1);
}

#define RUN_APART(test)                  \
	do {                             \
		test_state.name = #test; \
		in_child(test);          \
		test_state.passed++;     \
	} while (0)

/* Runs a test on each of these shapes, with a seed per shape; test_state.step is the index. */
#define RUN_APART_ON(shapes, test)                                               \
	do {                                                                     \
		for (u32 i = 0; i < sizeof(shapes) / sizeof((shapes)[0]); i++) { \
			test_state.shape = (shapes)[i].name;                     \
			test_state.seed = test_state.start + i;                  \
			test_state.step = i;                                     \
			RUN_APART(test);                                         \
		}                                                                \
		test_state.seed = 0;                                             \
	} while (0)

#endif
