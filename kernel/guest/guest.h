/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * guest.h - what the guest programs share: time, random numbers, small files of /proc and sysfs,
 * and lists of CPUs in the kernel's format. The programs are linked statically and run as root in a
 * disposable machine. They report an error on stderr, in one line.
 */
#ifndef GUEST_H
#define GUEST_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest CPU number plus one of any test; the kernel of the lab has NR_CPUS=512. */
#define GUEST_CPUS 512

struct cpu_list {
	unsigned int nr;
	int cpu[GUEST_CPUS];
};

/**
 * now_ns() - the monotonic clock
 *
 * Return: nanoseconds since the guest started.
 */
uint64_t now_ns(void);

/**
 * sleep_ns() - sleep, and continue after a signal
 * @ns: nanoseconds to sleep
 */
void sleep_ns(uint64_t ns);

/**
 * rng_next() - a random number (splitmix64)
 * @state: the generator, any value to start with; one per thread, no ordering
 *
 * Return: 64 random bits.
 */
uint64_t rng_next(uint64_t *state);

/**
 * rng_below() - a random number below a limit
 * @state: the generator
 * @limit: at least 1
 *
 * Return: 0 to @limit - 1.
 */
unsigned int rng_below(uint64_t *state, unsigned int limit);

/**
 * read_text() - read a small file as text
 * @path: the file
 * @text: where to; always terminated
 * @size: room in @text, bytes
 *
 * Return: bytes read, or -1 with errno set and @text empty.
 */
int read_text(const char *path, char *text, size_t size);

/**
 * write_text() - write a small file in one write
 * @path: the file, which must exist
 * @text: what to write
 *
 * Return: 0, or -1 with errno set.
 */
int write_text(const char *path, const char *text);

/**
 * parse_cpu_list() - CPUs of a list like 0-3,8
 * @text: the list, as in sysfs; ends at the first character that cannot belong to it
 * @list: receives the CPUs, in the order of the text, without CPU numbers of GUEST_CPUS and above
 */
void parse_cpu_list(const char *text, struct cpu_list *list);

/**
 * online_cpus() - the CPUs that are online now
 * @list: receives the CPUs
 *
 * Return: 0, or -1 with errno set when sysfs does not say.
 */
int online_cpus(struct cpu_list *list);

/**
 * set_deadline() - make a thread a deadline task, whose deadline is the middle of its period
 * @tid: the thread, 0: the caller
 * @runtime_ns: its runtime in each period, at most half of the period
 * @period_ns: its period
 *
 * Return: 0, or -1 with errno set.
 */
int set_deadline(int tid, uint64_t runtime_ns, uint64_t period_ns);

/**
 * parse_seconds() - the SECONDS argument of a program
 * @program: name, for the error
 * @text: the argument, or NULL when it is missing
 *
 * Return: 1 to 86400. Ends the program with status 2 if @text is not such a number.
 */
unsigned int parse_seconds(const char *program, const char *text);

#endif
