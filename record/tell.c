// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A message of the library inside the program: a system call that no kernel has. */
#include <errno.h>
#include <unistd.h>

#include "preload.h"
#include "protocol.h"

void preload_tell(long code, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	int before = errno;

	syscall(PROTOCOL_CALL, code, a, b, c, d, e);
	errno = before;
}
