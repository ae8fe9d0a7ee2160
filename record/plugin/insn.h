/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * insn.h - the few properties of an x86-64 instruction that the plugin needs.
 *
 * Concurrency: pure functions of their arguments.
 */
#ifndef PLUGIN_INSN_H
#define PLUGIN_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A guest prepares, opens and closes the window with a no-op that compilers never emit: nopl
 * INSN_MARK | code (%rax). It needs no privilege and does nothing without the plugin. The plugin
 * recognises it when the code is translated, so looking for it slows down no other instruction at
 * run time.
 */
#define INSN_MARK 0x53c2c000u

enum insn_mark {
	MARK_NONE,
	MARK_OPEN,
	MARK_CLOSE,
	MARK_OPERATION, /* one operation of the workload is done */
	MARK_PREPARE,	/* the window will open soon */
	MARK_LAST = MARK_PREPARE,
};

/**
 * struct insn - the properties
 * @locked: it has a LOCK prefix, or is an exchange with memory, which needs none
 * @stack: it accesses nothing but its own stack (push, pop, call, return)
 * @ret: it returns from a function
 * @call: it calls a function
 * @jump: it is an unconditional jump to @target
 * @mark: a message of the guest
 */
struct insn {
	bool locked, stack, ret, call, jump;
	enum insn_mark mark;
	uint64_t target;
};

/**
 * insn_look() - look at one instruction
 * @insn: filled in
 * @code: its bytes
 * @size: how many, 1 to 15; a shorter buffer than the instruction is examined as it is
 * @pc: its address
 */
void insn_look(struct insn *insn, const uint8_t *code, size_t size, uint64_t pc);

#endif
