/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * access.h - memory accesses of watched code, from the vCPU's thread into its stream.
 *
 *   access_begin()         before the window opens
 *   access_watch()         any thread
 */
#ifndef PLUGIN_ACCESS_H
#define PLUGIN_ACCESS_H

#include "api.h"
#include "insn.h"

int access_begin(void);
void access_end(void);

/** access_watch - have the accesses of an instruction reported while the window is open. */
void access_watch(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc);

/** access_idle, access_resume - the vCPU halts, goes on; in its thread. */
void access_idle(unsigned int vcpu);
void access_resume(unsigned int vcpu);

#endif
