/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef EXACT_START_H
#define EXACT_START_H

/**
 * start_once - an instrumented file is loaded: begin the recording, if any, the first time.
 */
void start_once(void);

#endif
