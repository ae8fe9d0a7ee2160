/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef EXACT_START_H
#define EXACT_START_H

/**
 * start_once - begin any recording at the first call; instrumented files call this when loaded.
 */
void start_once(void);

#endif
