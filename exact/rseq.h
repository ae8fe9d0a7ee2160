/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* rseq.h - the word of each thread in which Linux tells it its CPU (restartable sequences). */
#ifndef EXACT_RSEQ_H
#define EXACT_RSEQ_H

#include "exact.h"

/** rseq_leave - the kernel leaves that of the calling thread of the host alone. */
void rseq_leave(void);

/** rseq_thread - the calling thread is on its CPU. */
void rseq_thread(void);

/** rseq_end - the C library asks the kernel instead. */
void rseq_end(void);

#endif
