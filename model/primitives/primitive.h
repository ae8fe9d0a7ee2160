/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * primitive.h - the operations that the experiment `primitives` and `bench primitives` time.
 *
 * Each file of this folder is one operation, written over port.h and compiled twice: against
 * port/sim for the simulated machine, against port/user for the host. So prediction and measurement
 * run the same code.
 *
 * Memory that threads share comes from port_alloc(), in separate lines; on the simulated machine
 * accesses to such memory take time. The state itself may be private memory if create() fills it,
 * and each thread later writes only its own part.
 *
 * Concurrency of one state:
 *
 *                  | ops  | consistent | destroy
 *   ops            | (1)  | -          | -
 *   consistent     | -    | ok         | -
 *
 *   ok: at once;  -: the caller excludes;  (1): any number, each with its own thread number.
 */
#ifndef PRIMITIVES_PRIMITIVE_H
#define PRIMITIVES_PRIMITIVE_H

#include "port.h"

struct shard_plan;

/**
 * struct primitive_place - the threads that take part, and where their lines go
 * @nr_threads: threads, at least 1
 * @home: NUMA node of the lines that all threads share, -1: any
 * @node: by thread: NUMA node of the thread's own lines, -1: any
 * @plan: the shard plan of the machine; must outlive the state
 * @pools: the plan with a line per core, for pools
 */
struct primitive_place {
	u32 nr_threads;
	int home;
	const int *node;
	const struct shard_plan *plan, *pools;
};

/**
 * struct primitive_thread - the caller
 * @number: 0 to nr_threads - 1
 * @cpu: CPU number in the plan
 * @hold: called between acquire and release of an operation that holds something; NULL: no hold
 *	time
 * @arg: for @hold
 *
 * On the simulated machine @hold spends simulated time, in a benchmark it spins, in a test it
 * checks that no other thread is inside. Operations without a hold time do not call it.
 */
struct primitive_thread {
	u32 number, cpu;
	void (*hold)(void *arg);
	void *arg;
};

/**
 * struct primitive - one operation
 * @name: as on the command line
 * @what: short description, for tables
 * @holds: whether ops() calls primitive_thread.hold
 * @sleeps: whether ops() calls primitive_sleep()
 * @create: returns a new state, or NULL if there is no memory
 * @ops: do the operation @n times in a row: one operation is a whole acquire and release, or
 *	increment and decrement
 * @consistent: is the state right after @ops operations in total? None may run meanwhile
 * @destroy: free a state, or NULL
 */
struct primitive {
	const char *name, *what;
	bool holds, sleeps;
	void *(*create)(const struct primitive_place *place);
	void (*ops)(void *state, const struct primitive_thread *thread, u64 n);
	bool (*consistent)(const void *state, u64 ops);
	void (*destroy)(void *state);
};

/* Define primitive_@id, which does not sleep. The arguments are the members in order. */
#define PRIMITIVE(id, name_, what_, holds_, create_, ops_, consistent_, destroy_) \
	const struct primitive primitive_##id = { .name = name_,                  \
						  .what = what_,                  \
						  .holds = holds_,                \
						  .create = create_,              \
						  .ops = ops_,                    \
						  .consistent = consistent_,      \
						  .destroy = destroy_ }

/*
 * Define create() and destroy() of a state that is one zeroed struct @type on primitive_place.home;
 * reports call it @label.
 */
#define PRIMITIVE_OBJECT(type, label)                                                             \
	static void *create(const struct primitive_place *place)                                  \
	{                                                                                         \
		return primitive_alloc(sizeof(struct type), place->home, label, "struct " #type); \
	}                                                                                         \
	static void destroy(void *state)                                                          \
	{                                                                                         \
		port_free(state, sizeof(struct type));                                            \
	}

extern const struct primitive *const primitives[]; /* all of names.h, NULL-terminated */

/** primitive_find - the primitive of that name, or NULL. */
const struct primitive *primitive_find(const char *name);

/* Called before each port_alloc() with the object's name and C type; for reports, or NULL. */
extern void (*primitive_label_hook)(const char *name, const char *type);

static inline void *primitive_alloc(size_t size, int node, const char *name, const char *type)
{
	if (primitive_label_hook)
		primitive_label_hook(name, type);
	return port_alloc(size, node);
}

static inline void primitive_hold(const struct primitive_thread *thread)
{
	if (thread->hold)
		thread->hold(thread->arg);
}

/**
 * primitive_sleep() - sleep unless @word is no longer @value
 * @word: shared by all threads
 * @value: the value for which the caller sleeps
 * @thread: the caller
 *
 * Like port_alloc(), the user of the primitives implements it: model/primitives/futex.c for the
 * host, model/experiments/sim_futex.c for simulated threads.
 *
 * Returns after primitive_wake(), or spuriously.
 */
void primitive_sleep(u32 *word, u32 value, const struct primitive_thread *thread);

/** primitive_wake() - wake one thread that sleeps at @word, if any does. */
void primitive_wake(u32 *word, const struct primitive_thread *thread);

#endif
