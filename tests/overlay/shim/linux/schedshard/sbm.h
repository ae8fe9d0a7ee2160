/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* In the kernel the headers of core/ lie here. */
#include <sbm.h>
