// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Sends a message from the library inside the program, by a system call that no kernel has. */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"
#include "protocol.h"

void preload_send(long code, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	int before = errno;

	syscall(PROTOCOL_CALL, code, a, b, c, d, e);
	errno = before;
}

/*
 * Uses rt_sigaction() to find out whether a page can be read. The kernel and the emulator read the
 * action before they check the signal's number. No signal has the number PROTOCOL_CALL, so the call
 * always fails, with EFAULT if the page cannot be read.
 */
bool preload_readable(const void *page)
{
	int before = errno;
	bool faulted;

	preload_send(PROTOCOL_HIDE, 1, 0, 0, 0, 0);
	faulted = syscall(SYS_rt_sigaction, PROTOCOL_CALL, page, NULL, sizeof(uint64_t)) < 0 &&
		  errno == EFAULT;
	preload_send(PROTOCOL_HIDE, 0, 0, 0, 0, 0);
	errno = before;
	return !faulted;
}
