/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * window.h - what is measured begins and ends where the guest says so.
 *
 *   window_open(), window_close()   in the thread of the vCPU that executed the mark
 *   window_end()                    when the emulator ends, whatever was open then
 */
#ifndef PLUGIN_WINDOW_H
#define PLUGIN_WINDOW_H

void window_open(void);
void window_close(void);
void window_end(void);

#endif
