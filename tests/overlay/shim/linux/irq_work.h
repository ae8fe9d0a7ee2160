/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* struct irq_work is in sched.h of this folder's parent. */
#include <sched.h>
