/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * explore_case.h - the parts of a test case of the explorer.
 *
 * A case is a set-up, one body per CPU and a final check. The bodies of all CPUs run in every
 * possible interleaving of their accesses to shared memory. Shared memory is only memory from
 * port_alloc(): the explorer does not reset static variables or the heap between executions. So a
 * case keeps its state in one shared object that its set-up allocates. Static variables may contain
 * pointers to it, which only set-up writes.
 *
 * The explorer sees only accesses that the compiler instruments. So memset(), memcpy() and
 * assignments of whole structures to or from shared memory are allowed only in set-up.
 *
 * A body must depend only on what it reads from shared memory: if it reads the same values, it
 * performs the same operations. It must also end, so it may not wait for another CPU in a loop.
 */
#ifndef SIM_EXPLORE_CASE_H
#define SIM_EXPLORE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_MAX_CPUS 4
#define EXPLORE_RESULTS	 8
#define EXPLORE_GHOSTS	 16

struct explore_case {
	const char *name;
	const char *title; /* one line: what the case claims or plants */
	const char *kind;  /* "litmus", "litmus-weak", "core", "pattern" or "planted" */
	uint8_t min_cpus, max_cpus;
	/* The model for the case, see explore_machine.h; neither is set: x86-TSO. */
	bool posted;
	bool weak;
	void (*setup)(uint32_t nr_cpus);      /* once, on one CPU */
	void (*body)(uint32_t cpu);	      /* on each CPU */
	void (*check)(uint32_t nr_cpus);      /* after the last step of each execution, or NULL */
	const char *results[EXPLORE_RESULTS]; /* names of the results, for reports */
};

/* One case of an array. Designated initialisers of further members may follow the named ones. */
#define EXPLORE_CASE(name_, title_, kind_, min, max, setup_, body_, check_, ...)                 \
	{                                                                                        \
		.name = name_, .title = title_, .kind = kind_, .min_cpus = min, .max_cpus = max, \
		.setup = setup_, .body = body_, .check = check_, ##__VA_ARGS__                   \
	}

/* Define a body or a set-up that only calls a function, which others may call too. */
#define EXPLORE_BODY(name_, call_)  EXPLORE_CALL(name_, cpu, call_)
#define EXPLORE_SETUP(name_, call_) EXPLORE_CALL(name_, nr_cpus, call_)
#define EXPLORE_CALL(name_, arg_, call_) \
	static void name_(uint32_t arg_) \
	{                                \
		call_;                   \
	}

/* All cases, in arrays that end with a case without a name; the last entry is NULL. */
extern const struct explore_case *const explore_all_cases[];

/**
 * explore_name - set the name of a shared object in schedules.
 * @ptr: from port_alloc()
 * @size: bytes
 * @name: not copied
 * Context: set-up only.
 */
void explore_name(const void *ptr, size_t size, const char *name);

/**
 * explore_const - declare that no body writes an object.
 * @ptr: address of the object, from port_alloc(); its whole lines count
 * @size: bytes
 *
 * Loads from it are not steps, which keeps the number of interleavings low. A store to it is a
 * failure, which reveals a wrong declaration. Context: set-up only.
 */
void explore_const(const void *ptr, size_t size);

/**
 * explore_result - record a value that distinguishes executions.
 * @slot: 0..EXPLORE_RESULTS-1
 * Context: a body, or the final check. The value must depend only on values read.
 */
void explore_result(uint32_t slot, uint64_t val);

/* The value passed to explore_result() in this execution, else 0. Final check only. */
uint64_t explore_result_of(uint32_t slot);

/**
 * explore_give_up - end the body here; the execution does not count.
 *
 * For a body that would have to wait for a lock. There are other executions in which the body finds
 * the lock free, and only those count. The final check calls explore_gave_up().
 */
void explore_give_up(void);
bool explore_gave_up(void);

/**
 * explore_check - check the case's property: it is violated when @cond is false.
 *
 * The execution continues, so that the number of executions does not depend on the findings.
 */
#define explore_check(cond, ...)                   \
	do {                                       \
		if (!(cond))                       \
			explore_fail(__VA_ARGS__); \
	} while (0)
void explore_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * explore_ghost_set, explore_ghost_get - variables outside the machine.
 *
 * Accesses to them take effect at once, for all CPUs, past every store buffer, and order nothing
 * else. They stand for real time ("set() had returned when the search began"). They are steps like
 * any other. The variables are 0 at the start.
 */
void explore_ghost_set(uint32_t slot, uint64_t val);
uint64_t explore_ghost_get(uint32_t slot);

#endif
