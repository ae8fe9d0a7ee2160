/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * window.h - what is measured begins and ends where the guest says so.
 *
 *   window_prepare()   each vCPU's thread sets up its clock, at its next block (guest_clock.c says
 *                      why not at the opening, which calls this if nobody has)
 *   window_open(), window_close()
 *   window_end()       when the emulator ends, whatever was open then
 *
 * All but the last in the thread of the vCPU that executed the mark.
 */
#ifndef PLUGIN_WINDOW_H
#define PLUGIN_WINDOW_H

void window_prepare(void);
void window_open(void);
void window_close(void);
void window_end(void);

#endif
