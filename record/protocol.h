/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * protocol.h - what the library inside the program (preload.c) tells the recorder.
 *
 * It calls the kernel with a number that no kernel knows: syscall(PROTOCOL_CALL, code, ...). The
 * emulator shows the arguments to the plugin and answers ENOSYS, which is what a program that
 * runs without the recorder gets as well.
 */
#ifndef RECORD_PROTOCOL_H
#define RECORD_PROTOCOL_H

#define PROTOCOL_CALL	0x53c2c0
#define PROTOCOL_FRAMES 16

/* The variable that says how many CPUs the program's machine has. */
#define PROTOCOL_CPUS "SCHEDSHARD_CPUS"

enum protocol {
	/*
	 * (where, what, from, to): the library is there; the word at @where of the program is
	 * @what; its own code is from @from to @to.
	 */
	PROTOCOL_HELLO = 1,
	/* (on): what this thread executes is none of the program's, until it is off again. */
	PROTOCOL_HIDE,
	/* (number, frames, n): a place that allocates, by its return addresses. */
	PROTOCOL_SITE,
	/* (address, bytes, site, bytes of an element or 0) */
	PROTOCOL_ALLOC,
	/* (address) */
	PROTOCOL_FREE,
	/* (thread or 0, mask, bytes of it): the CPUs on which a thread may run. */
	PROTOCOL_AFFINITY,
};

#endif
