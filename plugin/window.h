/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * window.h - what is measured begins and ends where the guest says so.
 *
 *   window_prepare()   each vCPU's thread sets up its clock, at its next block (guest_clock.c says
 *                      why not at the opening, which calls this if nobody has)
 *   window_open(), window_close()
 *   window_end()       when the emulator ends, whatever was open then
 *   window_finish()    the same of a program: what it did until now is whole; once
 *
 * All but the last two in the thread of the vCPU that executed the mark.
 */
#ifndef PLUGIN_WINDOW_H
#define PLUGIN_WINDOW_H

#include <stdint.h>

void window_prepare(void);
/* The model, which the window needs: window_open() makes it when nobody has. */
void window_model(void);
void window_open(void);
void window_close(void);
void window_end(void);
void window_finish(void);

/** window_trace_time - have the trace say at least so often how far each CPU has come. */
void window_trace_time(uint64_t instructions);

#endif
