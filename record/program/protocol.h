/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * protocol.h - messages of the library inside the program (preload.c) to the recorder.
 *
 * The library makes a system call that does not exist in any kernel: syscall(PROTOCOL_CALL, code,
 * ...). The emulator shows the arguments to the plugin and returns ENOSYS, as a kernel without the
 * recorder does.
 */
#ifndef RECORD_PROTOCOL_H
#define RECORD_PROTOCOL_H

#include <stdint.h>

#define PROTOCOL_CALL	0x53c2c0
#define PROTOCOL_FRAMES 16
/* No power of two, so no program requests it as an alignment. */
#define PROTOCOL_MAPPED 4097

enum protocol {
	/*
	 * (where, what, from, to): the library is loaded. The program's memory can be read if its
	 * word at @where reads as @what. The library's code is from @from to @to.
	 */
	PROTOCOL_HELLO = 1,
	/* (on): with 1, and until a 0 follows, this thread does not execute the program's code. */
	PROTOCOL_HIDE,
	/* (number, frames, n): a place that allocates, by its return addresses. */
	PROTOCOL_SITE,
	/*
	 * (address, bytes, site, bytes of an element or 0, requested alignment or 0). For memory
	 * from mmap() the alignment is PROTOCOL_MAPPED.
	 */
	PROTOCOL_ALLOC,
	/* (address) */
	PROTOCOL_FREE,
	/*
	 * (frames, n): frames of functions that start threads or wait for them, innermost first.
	 * Other threads may use their locals. The end of the last frame is not known.
	 */
	PROTOCOL_CALLERS,
	/* (base, distance) of a mapped file with thread-local memory (preload.h). */
	PROTOCOL_LOCALS,
};

/* A function's frame: the instruction it goes on with, and its registers rsp and rbp there. */
struct protocol_frame {
	uint64_t pc, sp, bp;
};

#endif
