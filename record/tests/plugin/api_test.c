// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * api-N PLUGIN FOLDER: tests the plugin in an emulator with version N of the interface. This
 * program exports that emulator's functions, and calls the plugin as the emulator would. The guest
 * opens the window, calls a counted function three times, and closes the window. The result must
 * count the calls.
 */
#include <dlfcn.h>
#include <jansson.h>
#include <string.h>

#include "../../../model/tests/sim/check.h"
#include "api.h"

#define CALLS 3

typedef void (*any_cb)(void);

struct qemu_plugin_insn {
	uint64_t pc;
	const char *code;
	size_t size;
	any_cb cb;
	void *data;
};

struct qemu_plugin_tb {
	struct qemu_plugin_insn *insn;
	size_t n;
	any_cb cb;
	void *data;
};

static any_cb translated;
static void *translated_data;

/* ---- functions that the emulator exports ---- */

API_EXPORT void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, any_cb cb, void *data);
API_EXPORT void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, any_cb cb);
API_EXPORT void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, any_cb cb);
API_EXPORT void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, any_cb cb, void *data);
API_EXPORT uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *into,
					   size_t size);
#if VERSION == 1
API_EXPORT int qemu_plugin_n_vcpus(void);
int qemu_plugin_n_vcpus(void)
{
	return 1;
}
#else
API_EXPORT int qemu_plugin_num_vcpus(void);
int qemu_plugin_num_vcpus(void)
{
	return 1;
}
#endif
#if VERSION >= 5
API_EXPORT int qemu_plugin_write_register(void);
int qemu_plugin_write_register(void)
{
	return 0;
}
#endif
#if VERSION >= 6
API_EXPORT int qemu_plugin_set_pc(void);
int qemu_plugin_set_pc(void)
{
	return 0;
}
#endif

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, any_cb cb, void *data)
{
	translated = cb;
	translated_data = data;
}

void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, any_cb cb)
{
}

void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, any_cb cb)
{
}

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, any_cb cb, void *data)
{
}

API_EXPORT void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, api_exec_cb cb,
						     int flags, void *data)
{
	tb->cb = (any_cb)cb;
	tb->data = data;
}

API_EXPORT void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
						       api_exec_cb cb, int flags, void *data)
{
	insn->cb = (any_cb)cb;
	insn->data = data;
}

API_EXPORT size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	return tb->n;
}

API_EXPORT struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
							    size_t index)
{
	return &tb->insn[index];
}

uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *into, size_t size)
{
	if (VERSION < 3)
		return (uintptr_t)insn->code;
	CHECK(size >= insn->size);
	memcpy(into, insn->code, insn->size);
	return insn->size;
}

API_EXPORT size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	return insn->size;
}

API_EXPORT uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->pc;
}

/* ---- calls that the emulator makes ---- */

static void translate(struct qemu_plugin_tb *tb)
{
	if (VERSION < 7)
		((void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *))translated)(7, tb);
	else
		((void (*)(struct qemu_plugin_tb *, void *))translated)(tb, translated_data);
}

static void execute(struct qemu_plugin_tb *tb)
{
	if (tb->cb)
		((api_exec_cb)tb->cb)(0, tb->data);
	for (size_t i = 0; i < tb->n; i++)
		if (tb->insn[i].cb)
			((api_exec_cb)tb->insn[i].cb)(0, tb->insn[i].data);
}

static void run_guest(void)
{
	/* nopl of the marks; lock incl (%rax); ret */
	struct qemu_plugin_insn open = { 0x500, "\x0f\x1f\x80\x01\xc0\xc2\x53", 7, NULL, NULL };
	struct qemu_plugin_insn close = { 0x600, "\x0f\x1f\x80\x02\xc0\xc2\x53", 7, NULL, NULL };
	struct qemu_plugin_insn body[] = { { 0x1000, "\xf0\xff\x00", 3, NULL, NULL },
					   { 0x1003, "\xc3", 1, NULL, NULL } };
	struct qemu_plugin_tb opens = { &open, 1, NULL, NULL }, closes = { &close, 1, NULL, NULL },
			      function = { body, 2, NULL, NULL };

	translate(&opens);
	translate(&closes);
	translate(&function);
	execute(&opens);
	for (int i = 0; i < CALLS; i++)
		execute(&function);
	execute(&closes);
}

static long long value_of(const json_t *function, const char *key)
{
	return json_integer_value(json_object_get(function, key));
}

int main(int argc, char **argv)
{
	struct qemu_info info = { .target_name = "x86_64",
				  .version = { VERSION < 7 ? VERSION > 1 ? 2 : 0 : 7, VERSION },
				  .system_emulation = true,
				  .system = { 1, 1 } };
	int (*install)(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);
	char watch[4096], result[4096], argument[4200], *arguments[] = { argument };
	const json_t *function;
	const int *version;
	json_t *all;
	void *plugin;
	FILE *file;

	CHECK(argc == 3);
	plugin = dlopen(argv[1], RTLD_LAZY);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(plugin);
	/* The emulator checks the plugin's version first, and refuses versions that it lacks. */
	version = dlsym(plugin, "qemu_plugin_version");
	CHECK(version && *version >= info.version.min && *version <= info.version.cur);
	*(void **)&install = dlsym(plugin, "qemu_plugin_install");
	CHECK(install);

	snprintf(watch, sizeof(watch), "%s/api-%d.watch", argv[2], VERSION);
	snprintf(result, sizeof(result), "%s/api-%d.json", argv[2], VERSION);
	file = fopen(watch, "w");
	CHECK(file && fprintf(file, "function f 0x1000 0x1004\nresult %s\n", result) > 0 &&
	      !fclose(file));
	snprintf(argument, sizeof(argument), "watch=%s", watch);
	remove(result);
	CHECK(!install(7, &info, 1, arguments));
	run_guest();
	all = json_load_file(result, 0, NULL);
	function = json_array_get(json_object_get(all, "functions"), 0);
	CHECK(value_of(function, "calls") == CALLS);
	CHECK(value_of(function, "instructions") == 2 * CALLS);
	CHECK(value_of(function, "locked") == CALLS);
	json_decref(all);
	return 0;
}
