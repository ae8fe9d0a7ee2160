// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A step towards ours: its bytes with one walk; the overload set has every CPU that Linux's has. */
#define LAYOUT	     bytes
#define RD_NAME	     "bytes"
#define ONLY_WAITING false
#define WALK_A_SHARD false
#include "shard_rd.h"
