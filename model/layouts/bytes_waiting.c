// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* schedshard's bytes for levels, with Linux's mask and counter of overloaded CPUs. */
#define LAYOUT	     bytes_waiting
#define RD_NAME	     "bytes-waiting"
#define ROOT_DOMAIN  struct root_domain_bytes
#define MASKS	     MASKS_NONE
#define COUNTS	     COUNTS_ONE
#define ONLY_WAITING true
#include "linux_rd.inc"
