/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * sim_threads.h - threads of an ordinary program on simulated CPUs.
 *
 * Instead of sim_spawn() and sim_run() the caller has a fiber for each of its threads, and says
 * which CPU runs which. A CPU without a fiber is idle. The memory of the program is not the arena:
 * the caller gives each line of the arena the memory that it stands for.
 *
 * Context: the functions that say so may switch to another fiber before they return.
 */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include <stdbool.h>
#include <stdint.h>

struct fiber;

/**
 * struct sim_threads - what the engine asks the caller
 * @real: address of an array: by line of the arena, the address of the memory that has its values
 * @alarm: sim_alarm()'s time has come; switches no fiber
 * @stuck: no CPU can run and no event is to come. Return: true if there are events now, and it
 *	does not return when nothing can ever happen
 */
struct sim_threads {
	uint64_t *const *real;
	void (*alarm)(uint32_t id, uint64_t at);
	bool (*stuck)(void);
};

/**
 * sim_threads_begin - the caller is fiber @f on @cpu from now on. After sim_init().
 */
void sim_threads_begin(const struct sim_threads *t, uint32_t cpu, struct fiber *f);

/** sim_threads_end - accesses are free again. */
void sim_threads_end(void);

/** sim_cpu - the CPU that runs. */
uint32_t sim_cpu(void);

/** sim_clock_of - the clock of a CPU: of an idle one, when it became idle. */
uint64_t sim_clock_of(uint32_t cpu);

/** sim_run_fiber - the idle @cpu runs @f from @at on, or from its own clock if that is later. */
void sim_run_fiber(uint32_t cpu, struct fiber *f, uint64_t at);

/** sim_idle - the running CPU has no fiber any more. Returns when some CPU runs the caller's. */
void sim_idle(void);

/** sim_change - the running CPU runs @to instead. Returns when some CPU runs the caller's fiber. */
void sim_change(struct fiber *to);

/** sim_catch_up - let all CPUs that are behind come so far. May switch. */
void sim_catch_up(void);

/** sim_alarm - call @alarm with @id at @at, or now if that has passed. */
void sim_alarm(uint64_t at, uint32_t id);

/** sim_locked_alone - a locked operation on a line that only this CPU has used. May switch. */
void sim_locked_alone(void);

/**
 * sim_has_line - @cpu has used the line alone until now, and nobody has used it in the arena.
 * @written: its copy is modified
 */
void sim_has_line(uint32_t line, uint32_t cpu, bool written);

#endif
