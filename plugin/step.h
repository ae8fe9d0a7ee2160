/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * step.h - keeps running vCPUs within a quantum of each other.
 */
#ifndef PLUGIN_STEP_H
#define PLUGIN_STEP_H

#include "vcpu.h"

/**
 * step_check - the vCPU has come to @check_at: wait a little if it is ahead
 *
 * In its thread, whose clock is set up when that is first called for.
 */
void step_check(struct vcpu *v);

/**
 * step_progress - the model has come further with this CPU: it may go on. In the model's thread.
 */
void step_progress(uint32_t cpu);

/** step_end - the window has closed: nobody waits any more. Any thread. */
void step_end(void);

/** step_slowest - the running vCPU with the lowest clock but @except; ITEM_NO_CPU: none runs. */
uint32_t step_slowest(uint32_t except);

/** step_sleep - nanoseconds of the host, whatever its clock is made to say. */
void step_sleep(long ns);

#endif
