// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The emulator loads the plugin, reads qemu_plugin_version, and then calls the plugin. So a
 * constructor sets the version. The constructor knows the emulator by the emulator's exports: each
 * version that matters has a function that older ones lack. The emulator reports its version in
 * the first call, and only that version decides how the plugin talks to the emulator.
 *
 * The registration passes more arguments than some versions take. In the calling conventions of all
 * processors that the project knows, the callee ignores them.
 */
#include "api.h"

#include <dlfcn.h>
#include <stdio.h>

#define COPIES	   3 /* the first version that copies instructions */
#define NO_NUMBERS 7 /* the first version whose callbacks get no plugin id */

typedef void (*any_cb)(void);

/* The types of these functions depend on the version. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, any_cb cb, void *data);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, any_cb cb, void *data);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, any_cb cb, void *data);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, any_cb cb, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, any_cb cb, void *data);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, any_cb cb, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, any_cb cb, void *data);
/*
 * Returns a pointer to the bytes; from version COPIES on it copies them, and returns their number.
 */
uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *into, size_t size);

API_EXPORT int qemu_plugin_version = API_LAST;

static int version;
static const struct api_callbacks *on;

__attribute__((constructor)) static void find_version(void)
{
	/* Version 6 (QEMU 11.0) has the same functions as 7, but refuses this plugin. */
	static const struct {
		const char *has;
		int version;
	} known[] = {
		{ "qemu_plugin_set_pc", 7 },
		{ "qemu_plugin_write_register", 5 },
		{ "qemu_plugin_num_vcpus", 2 },
		{ "qemu_plugin_n_vcpus", 1 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (dlsym(RTLD_DEFAULT, known[i].has)) {
			qemu_plugin_version = known[i].version;
			return;
		}
	}
}

bool api_refuses(const struct qemu_info *info, char *why, size_t size)
{
	version = info->version.cur;
	if (version >= API_FIRST && version <= API_LAST)
		return false;
	snprintf(why, size,
		 "this emulator's plugin interface is version %d, this plugin is for %d to %d "
		 "(QEMU 7.2 to 11.1)",
		 version, API_FIRST, API_LAST);
	return true;
}

/* ---- with a plugin id ---- */

static void old_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	on->translated(tb);
}

static void old_begun(qemu_plugin_id_t id, unsigned int vcpu)
{
	on->begun(vcpu);
}

static void old_idle(qemu_plugin_id_t id, unsigned int vcpu)
{
	on->idle(vcpu);
}

static void old_resumed(qemu_plugin_id_t id, unsigned int vcpu)
{
	on->resumed(vcpu);
}

static void old_call(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
		     uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
		     uint64_t a8)
{
	const uint64_t arg[] = { a1, a2, a3, a4, a5, a6 };

	on->call(vcpu, number, arg);
}

static void old_called(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result)
{
	on->called(vcpu, number, result);
}

/* ---- the same without a plugin id, from version NO_NUMBERS on ---- */

static void new_call(unsigned int vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
		     uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8, void *data)
{
	const uint64_t arg[] = { a1, a2, a3, a4, a5, a6 };

	on->call(vcpu, number, arg);
}

/* In all versions this callback ignores its arguments. */
static void ended(void)
{
	on->end();
}

void api_register(qemu_plugin_id_t id, const struct api_callbacks *all)
{
	bool new = version >= NO_NUMBERS;

	on = all;
	if (on->translated)
		qemu_plugin_register_vcpu_tb_trans_cb(
			id, new ? (any_cb)on->translated : (any_cb)old_translated, NULL);
	if (on->begun)
		qemu_plugin_register_vcpu_init_cb(id, new ? (any_cb)on->begun : (any_cb)old_begun,
						  NULL);
	if (on->idle)
		qemu_plugin_register_vcpu_idle_cb(id, new ? (any_cb)on->idle : (any_cb)old_idle,
						  NULL);
	if (on->resumed)
		qemu_plugin_register_vcpu_resume_cb(
			id, new ? (any_cb)on->resumed : (any_cb)old_resumed, NULL);
	if (on->call)
		qemu_plugin_register_vcpu_syscall_cb(id, new ? (any_cb)new_call : (any_cb)old_call,
						     NULL);
	if (on->called)
		qemu_plugin_register_vcpu_syscall_ret_cb(
			id, new ? (any_cb)on->called : (any_cb)old_called, NULL);
	if (on->end)
		qemu_plugin_register_atexit_cb(id, ended, NULL);
}

const uint8_t *api_insn(const struct qemu_plugin_insn *insn, uint8_t space[API_INSN])
{
	uintptr_t told = qemu_plugin_insn_data(insn, space, API_INSN);

	return version >= COPIES ? space : (const uint8_t *)told;
}

bool api_node_twice(void)
{
	return version == 1;
}
