// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * c2c-share LAYOUT OPERATIONS THINK: runs a thread on every CPU. Each thread performs OPERATIONS
 * operations on memory with known sharing, and about THINK instructions after each operation:
 *
 *   none    add to the thread's own counter, which has a line of its own
 *   false   add to the thread's own counter; eight counters of different cores share a line
 *   true    add to one of two counters, each of which has a line of its own
 *   global  set, then clear, the CPU's bit in one common mask
 *   half    as global, with a mask for each half of the CPUs
 *   byte    as half, with a byte per CPU, written by a plain store, in place of the bit
 *
 * In false and true no siblings share a line. Otherwise the number of transfers would depend on the
 * order in which the threads start.
 *
 * The measured window opens when all threads run, each on its CPU, and closes when all have ended.
 * A thread that was still asleep would begin late, because an idle CPU does not hold back the
 * others. A mark follows every operation. The plugin must watch only operate().
 *
 * Exit status: 0, or 1 if the memory has a wrong value at the end.
 */
#define _GNU_SOURCE
#include "c2c-mark.h"
#include "guest.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE 64

enum layout { NONE, FALSE_SHARING, TRUE_SHARING, GLOBAL, HALF, BYTE, LAYOUTS };

static const char *const names[LAYOUTS] = { "none", "false", "true", "global", "half", "byte" };

struct line {
	union {
		uint64_t word[LINE / 8];
		uint8_t byte[LINE];
	};
} __attribute__((aligned(LINE)));

static struct line memory[GUEST_CPUS];
static enum layout layout;
static unsigned long operations, think;
static struct cpu_list cpus;
static unsigned int running;
static volatile int go;

/* One operation of the thread of CPU number @i; @set: in a mask the bit is set, else cleared. */
__attribute__((noinline, noclone)) void operate(unsigned int i, int set);
void operate(unsigned int i, int set)
{
	struct line *half = &memory[2 * i / cpus.nr];
	uint64_t *mask = layout == GLOBAL ? memory[0].word : half->word;
	/* Siblings have the numbers 2n and 2n + 1. */
	uint64_t *own = memory[2 * (i / 16) + i % 2].word;

	switch (layout) {
	case NONE:
		__atomic_fetch_add(&memory[i].word[0], 1, __ATOMIC_RELAXED);
		break;
	case FALSE_SHARING:
		__atomic_fetch_add(&own[i / 2 % 8], 1, __ATOMIC_RELAXED);
		break;
	case TRUE_SHARING:
		__atomic_fetch_add(&memory[i % 2].word[0], 1, __ATOMIC_RELAXED);
		break;
	case GLOBAL:
	case HALF:
		if (set)
			__atomic_fetch_or(&mask[i / 64], 1ull << i % 64, __ATOMIC_RELAXED);
		else
			__atomic_fetch_and(&mask[i / 64], ~(1ull << i % 64), __ATOMIC_RELAXED);
		break;
	case BYTE:
		__atomic_store_n(&half->byte[i % LINE], (uint8_t)set, __ATOMIC_RELAXED);
		break;
	case LAYOUTS:
		break;
	}
}

/* About @n instructions without an access, a tenth more or less so that CPUs do not synchronise. */
static void wait_a_little(uint32_t *random)
{
	unsigned long n;

	*random = *random * 1664525 + 1013904223;
	n = think * 9 / 10 + (*random >> 8) % (think / 5 + 1);
	/* Two instructions per round. */
	for (n /= 2; n; n--)
		__asm__ volatile("");
}

static void *body(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;
	uint32_t random = i + 1;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpus.cpu[i], &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		exit(2);
	__atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
	while (!go)
		continue;
	for (unsigned long n = 0; n < operations; n++) {
		wait_a_little(&random);
		operate(i, !(n & 1));
		c2c_operation();
	}
	return NULL;
}

/* Does the memory hold what all operations together must leave there? */
static int is_right(void)
{
	uint64_t total = 0, bits = 0;

	for (unsigned int i = 0; i < GUEST_CPUS; i++)
		for (unsigned int w = 0; w < LINE / 8; w++) {
			total += memory[i].word[w];
			bits |= memory[i].word[w];
		}
	if (layout <= TRUE_SHARING)
		return total == operations * cpus.nr;
	return operations & 1 ? bits != 0 : bits == 0;
}

int main(int argc, char **argv)
{
	static pthread_t thread[GUEST_CPUS];

	for (layout = NONE; layout < LAYOUTS; layout++)
		if (argc == 4 && !strcmp(argv[1], names[layout]))
			break;
	if (argc != 4 || layout == LAYOUTS) {
		fprintf(stderr,
			"usage: c2c-share none|false|true|global|half|byte OPERATIONS THINK\n");
		return 2;
	}
	operations = strtoul(argv[2], NULL, 10);
	think = strtoul(argv[3], NULL, 10);
	if (online_cpus(&cpus) < 0 || !cpus.nr)
		return 2;
	for (unsigned int i = 0; i < cpus.nr; i++)
		if (pthread_create(&thread[i], NULL, body, (void *)(uintptr_t)i))
			return 2;
	while (__atomic_load_n(&running, __ATOMIC_RELAXED) < cpus.nr)
		usleep(1000);
	/* No c2c_prepare() here: no thread reads the time, and in a sleep other tasks would run. */
	c2c_open();
	go = 1;
	for (unsigned int i = 0; i < cpus.nr; i++)
		pthread_join(thread[i], NULL);
	c2c_close();
	printf("%lu operations on each of %u CPUs\n", operations, cpus.nr);
	return is_right() ? 0 : 1;
}
