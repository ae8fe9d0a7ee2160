/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef TESTS_RT_ONE_LOCK_H
#define TESTS_RT_ONE_LOCK_H

#include "rd.h"

extern const struct rd_ops one_lock;

#endif
