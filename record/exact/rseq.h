/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* rseq.h - the area in which Linux writes each thread's CPU (restartable sequences). */
#ifndef EXACT_RSEQ_H
#define EXACT_RSEQ_H

#include "exact.h"

/** rseq_leave - unregister the area of the calling real thread from the kernel. */
void rseq_leave(void);

/** rseq_thread - write the calling thread's simulated CPU and node to its area. */
void rseq_thread(void);

/** rseq_end - mark the area as not registered: the C library asks the kernel instead. */
void rseq_end(void);

#endif
