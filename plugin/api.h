/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * api.h - the part of QEMU's plugin interface, version 1, that the plugin uses.
 *
 * Debian ships the emulator without its header. These declarations come from the binary's exports
 * (nm -D) and from the interface's documentation. plugin.c refuses an emulator with another version
 * before it calls anything.
 *
 * Concurrency: with a thread a vCPU, callbacks that name a vCPU run in that vCPU's thread, those of
 * different vCPUs at once. Translation runs in the thread of the vCPU that needs the code, and
 * several at once. Idle and resume callbacks run under the emulator's global lock: a wait in them
 * stops the machine.
 */
#ifndef PLUGIN_API_H
#define PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_VERSION 1

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

typedef void (*api_vcpu_cb)(qemu_plugin_id_t id, unsigned int vcpu);
typedef void (*api_udata_cb)(qemu_plugin_id_t id, void *data);
typedef void (*api_exec_cb)(unsigned int vcpu, void *data);
typedef void (*api_mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			   void *data);
typedef void (*api_call_cb)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
			    uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
			    uint64_t a7, uint64_t a8);
typedef void (*api_call_end_cb)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number,
				int64_t result);
typedef void (*api_tb_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, api_tb_cb cb);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, api_vcpu_cb cb);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, api_vcpu_cb cb);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, api_vcpu_cb cb);
/* For programs: before and after each of their system calls, in the thread that makes it. */
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, api_call_cb cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, api_call_end_cb cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, api_udata_cb cb, void *data);

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, api_exec_cb cb, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, api_exec_cb cb,
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, api_mem_cb cb, int flags,
				      int rw, void *data);

/* The program that QEMU emulates; NULL when it is a kernel. */
const char *qemu_plugin_path_to_binary(void);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
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
