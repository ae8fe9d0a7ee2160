// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* schedshard's layout without the flag: a pull looks at the waiting tasks of all shards. */
#define LAYOUT	     bytes_waiting
#define RD_NAME	     "bytes-waiting"
#define ROOT_DOMAIN  struct root_domain_bytes
#define MASKS	     MASKS_NONE
#define COUNTS	     COUNTS_ONE
#define ONLY_WAITING true
#include "linux_rd.inc"
