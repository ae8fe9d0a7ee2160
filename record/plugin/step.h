/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* step.h - keeps running vCPUs within a quantum of each other. */
#ifndef PLUGIN_STEP_H
#define PLUGIN_STEP_H

#include "vcpu.h"

/**
 * step_check - wait a little if the vCPU is ahead; to be called when it has reached @check_at
 *
 * The caller is the vCPU's thread. Its first call in the window sets up the thread's clock.
 */
void step_check(struct vcpu *v);

/** step_meet - the vCPU accesses a line that others also access. In the vCPU's thread. */
void step_meet(struct vcpu *v);

/**
 * step_before - wait a little if the vCPU is ahead and may soon call step_meet(). In its thread.
 */
void step_before(struct vcpu *v);

/**
 * step_progress - the model has advanced this CPU: it may continue. In the model's thread.
 */
void step_progress(uint32_t cpu);

/**
 * step_rest - let the model's thread, the caller, sleep until it has something to do, at most 2 ms.
 * @behind: the CPU that the model waits for; ITEM_NO_CPU: any that resumes
 */
void step_rest(uint32_t behind);

/** step_rouse - @cpu halts or resumes: wake the model if it waits. In the CPU's thread. */
void step_rouse(uint32_t cpu);

/**
 * step_end - the window has closed: no CPU waits any more. Any thread.
 */
void step_end(void);

/**
 * step_slowest - the running vCPU with the lowest clock except @except; ITEM_NO_CPU: none runs.
 */
uint32_t step_slowest(uint32_t except);

/**
 * step_sleep - sleep for nanoseconds of the host's clock.
 */
void step_sleep(long ns);

#endif
