/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * window.h - the window is the measured part of a run; marks in the guest open and close it.
 *
 *   window_prepare()   each vCPU's thread sets up its clock, at its next block (guest_clock.c says
 *                      why it comes before the window); window_open() calls it if the guest has not
 *   window_open(), window_close()
 *   window_end()       when the emulator ends, whether or not a window is open
 *   window_finish()    the same for a program, whose result is complete; once
 *
 * The thread of the vCPU that executed the mark calls all of them but the last two.
 */
#ifndef PLUGIN_WINDOW_H
#define PLUGIN_WINDOW_H

#include <stdint.h>

void window_prepare(void);
/* The model of the window: window_open() makes it if no caller has. */
void window_model(void);
void window_open(void);
void window_close(void);
void window_end(void);
void window_finish(void);

/**
 * window_trace_time - have the trace record how far each CPU has come, at least this often.
 */
void window_trace_time(uint64_t instructions);

#endif
