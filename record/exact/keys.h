/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* keys.h - calls the destructors of a thread's thread-specific data. */
#ifndef EXACT_KEYS_H
#define EXACT_KEYS_H

struct thread;

/** keys_end - call the destructors of the calling thread @t, which ends. */
void keys_end(struct thread *t);

#endif
