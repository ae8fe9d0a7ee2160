// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* As bytes_waiting.c, but the bytes are in the order of CPU numbers, not of caches. */
#define LAYOUT	     flat_waiting
#define RD_NAME	     "flat-waiting"
#define ROOT_DOMAIN  struct root_domain_bytes
#define MASKS	     MASKS_NONE
#define COUNTS	     COUNTS_ONE
#define ONLY_WAITING true
#define FLAT	     true
#include "linux_rd.inc"
