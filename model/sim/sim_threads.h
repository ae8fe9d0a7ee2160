/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sim_threads.h - threads of an ordinary program on simulated CPUs.
 *
 * Instead of using sim_spawn() and sim_run(), the caller has a fiber per thread, and decides which
 * CPU runs which fiber. A CPU without a fiber is idle. The memory of the program is outside of the
 * arena, so the caller says for each line of the arena which memory it represents.
 *
 * Context: the functions that say so may switch to another fiber before they return.
 */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct fiber;

/**
 * struct sim_threads - what the engine needs from the caller
 * @real: address of an array: by line of the arena, the address of the memory that contains its
 *	values
 * @alarm: called when the time of sim_alarm() has come; must not switch fibers
 * @stuck: called when no CPU can run and there is no event. It returns true if there are events
 *	now, and does not return if nothing can ever happen
 */
struct sim_threads {
	uint64_t *const *real;
	void (*alarm)(uint32_t id, uint64_t at);
	bool (*stuck)(void);
};

/**
 * sim_threads_begin - make the caller fiber @f on @cpu. Call it after sim_init().
 */
void sim_threads_begin(const struct sim_threads *t, uint32_t cpu, struct fiber *f);

/** sim_threads_end - end the simulation: accesses are free again. */
void sim_threads_end(void);

/** sim_cpu - return the running CPU. */
uint32_t sim_cpu(void);

/** sim_clock_of - return the clock of a CPU; for an idle CPU, the time when it became idle. */
uint64_t sim_clock_of(uint32_t cpu);

/** sim_run_fiber - let the idle @cpu run @f from @at on, or from its own clock if that is later. */
void sim_run_fiber(uint32_t cpu, struct fiber *f, uint64_t at);

/** sim_idle - make the running CPU idle. Returns when some CPU runs the caller's fiber. */
void sim_idle(void);

/*
 * sim_change - let the running CPU run @to instead. Returns when some CPU runs the caller's fiber.
 */
void sim_change(struct fiber *to);

/**
 * sim_catch_up - let CPUs that are behind catch up with this one. May switch fibers.
 */
void sim_catch_up(void);

/** sim_alarm - call sim_threads.alarm with @id at time @at, or now if @at has passed. */
void sim_alarm(uint64_t at, uint32_t id);

/*
 * sim_locked_alone - charge a locked operation on a line that no other CPU used. May switch fibers.
 */
void sim_locked_alone(void);

/**
 * sim_has_line - put a line into @cpu's cache: until now the line was outside of the arena, and
 * only @cpu used it
 * @written: the copy is modified
 */
void sim_has_line(uint32_t line, uint32_t cpu, bool written);

#endif
