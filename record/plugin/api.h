/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * api.h - the part of QEMU's plugin interface that the plugins use, versions 1 to 7.
 *
 * Debian ships the emulator without its header. These declarations come from the binary's exports
 * (nm -D) and from the interface's documentation. Three versions changed what the plugins use:
 *
 *   2 (QEMU 9.0)   refuses plugins for version 1
 *   3 (QEMU 9.1)   copies an instruction's bytes, and returns no pointer to them
 *   7 (QEMU 11.1)  refuses plugins for older versions; callbacks get no plugin id in front,
 *                  and the caller's pointer behind
 *
 * One binary serves all versions: api.c finds out which one the emulator has.
 *
 * Concurrency: with one thread per vCPU, a callback that names a vCPU runs in that vCPU's thread,
 * so callbacks of different vCPUs run in parallel. A block is translated in the thread of the vCPU
 * that needs the code, so several translations may also run in parallel. Idle and resume callbacks
 * run under the emulator's global lock: a wait in them stops the machine.
 */
#ifndef PLUGIN_API_H
#define PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_FIRST 1
#define API_LAST  7
/* Bytes of the longest instruction of x86-64, and one more. */
#define API_INSN 16u

#define API_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

/* May a callback read registers? Ours do not. */
enum { API_NO_REGS, API_R_REGS, API_RW_REGS };
/* Which accesses of an instruction a callback is for. */
enum { API_MEM_R = 1, API_MEM_W, API_MEM_RW };

typedef void (*api_exec_cb)(unsigned int vcpu, void *data);
typedef void (*api_mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			   void *data);

/**
 * struct api_callbacks - called when something happens in the emulator; NULL where not wanted
 * @translated: it has translated a block
 * @begun: a vCPU, or a program's thread, is new
 * @idle: a vCPU halts
 * @resumed: a halted vCPU runs again
 * @call: a program's thread is about to make a system call; six arguments
 * @called: the system call has returned
 * @end: the emulator ends
 */
struct api_callbacks {
	void (*translated)(struct qemu_plugin_tb *tb);
	void (*begun)(unsigned int vcpu);
	void (*idle)(unsigned int vcpu);
	void (*resumed)(unsigned int vcpu);
	void (*call)(unsigned int vcpu, int64_t number, const uint64_t *arg);
	void (*called)(unsigned int vcpu, int64_t number, int64_t result);
	void (*end)(void);
};

/**
 * api_refuses - does this emulator have an interface version that the plugin does not know?
 * @why: receives one line that says so
 */
bool api_refuses(const struct qemu_info *info, char *why, size_t size);

/** api_register - register the callbacks, once and after api_refuses(). @all must stay valid. */
void api_register(qemu_plugin_id_t id, const struct api_callbacks *all);

/**
 * api_insn - an instruction's bytes
 * @space: room for them
 *
 * Return: where they are; as many as qemu_plugin_insn_size() says, at most API_INSN.
 */
const uint8_t *api_insn(const struct qemu_plugin_insn *insn, uint8_t space[API_INSN]);

/** api_node_twice - does the emulator add the start of a node's memory to its addresses? */
bool api_node_twice(void);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, api_exec_cb cb, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, api_exec_cb cb,
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, api_mem_cb cb, int flags,
				      int rw, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *addr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *addr);

/* The emulator looks these up in a plugin. */
extern API_EXPORT int qemu_plugin_version;
API_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
				   char **argv);

#endif
