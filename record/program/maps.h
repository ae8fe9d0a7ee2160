/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* maps.h - reads the list of this process's mapped files. */
#ifndef RECORD_MAPS_H
#define RECORD_MAPS_H

#include <stdint.h>

/** maps_read - call @each for each mapped file. */
void maps_read(void (*each)(uint64_t low, uint64_t high, uint64_t offset, const char *path,
			    void *arg),
	       void *arg);

/* Call it before the root folder changes: afterwards there may be no /proc. */
void maps_keep(void);

#endif
