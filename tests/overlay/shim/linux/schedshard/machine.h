/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* The plan, which a case makes; see the kernel's own. */
#ifndef SHIM_SCHEDSHARD_MACHINE_H
#define SHIM_SCHEDSHARD_MACHINE_H

#include <shard_plan.h>

extern const struct shard_plan *schedshard_plan;

#endif
