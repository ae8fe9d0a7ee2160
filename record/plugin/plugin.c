// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-qemu.so: a plugin of QEMU's software emulation.
 *
 *   -plugin PATH,watch=FILE      (watch.h)
 *
 * Every translated block of guest code gets one callback, which counts its instructions. Each
 * watched instruction that accesses memory gets a callback for the access. The plugin changes
 * nothing in the guest and needs nothing of it, except for the marks (insn.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "api.h"
#include "counts.h"
#include "insn.h"
#include "machine.h"
#include "step.h"
#include "vcpu.h"
#include "window.h"

/* A block's instructions and its locked instructions, as counts packed into a pointer. */
#define LOCKED_SHIFT 32

static struct plugin_state state;
struct plugin plugin = { .state = &state };
static struct machine *machine;

static inline void count_block(struct vcpu *v, uint32_t instr, uint32_t locked)
{
	__atomic_store_n(&v->instr, v->instr + instr, __ATOMIC_RELEASE);
	v->locked += locked;
}

static inline void check(struct vcpu *v)
{
	if (v->instr >= __atomic_load_n(&v->check_at, __ATOMIC_RELAXED))
		step_check(v);
}

static void on_block(unsigned int vcpu, void *data)
{
	struct vcpu *v = &plugin.vcpu[vcpu];
	uint64_t packed = (uint64_t)(uintptr_t)data;

	count_block(v, (uint32_t)packed, (uint32_t)(packed >> LOCKED_SHIFT));
	check(v);
}

static void on_counted_block(unsigned int vcpu, void *data)
{
	struct vcpu *v = &plugin.vcpu[vcpu];
	const struct block *b = data;
	bool open = window_is_open();

	if (open)
		counts_before(v, b);
	count_block(v, b->instr, b->locked);
	if (open)
		counts_after(v, b);
	check(v);
}

static void on_mark(unsigned int vcpu, void *data)
{
	switch ((enum insn_mark)(uintptr_t)data) {
	case MARK_NONE:
		break;
	case MARK_OPEN:
		window_open();
		break;
	case MARK_CLOSE:
		window_close();
		break;
	case MARK_PREPARE:
		window_prepare();
		break;
	case MARK_OPERATION:
		if (window_is_open())
			__atomic_fetch_add(&plugin.state->operations, 1, __ATOMIC_RELAXED);
		break;
	}
}

static void on_translation(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	const struct watch *w = &plugin.watch;
	struct block b, *kept;

	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *handle = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(handle);
		uint8_t space[API_INSN];
		struct insn insn;

		if (!i)
			counts_begin(&b, w, pc);
		insn_look(&insn, api_insn(handle, space), qemu_plugin_insn_size(handle), pc);
		counts_add(&b, w, &insn, pc);
		if (insn.mark != MARK_NONE)
			qemu_plugin_register_vcpu_insn_exec_cb(handle, on_mark, API_NO_REGS,
							       (void *)(uintptr_t)insn.mark);
		else if (w->machine && watch_text(w, pc))
			access_watch(handle, &insn, pc);
	}
	if (!n)
		return;
	if (!counts_wanted(&b)) {
		uint64_t packed = b.instr | (uint64_t)b.locked << LOCKED_SHIFT;

		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, API_NO_REGS,
						     (void *)(uintptr_t)packed);
		return;
	}
	/* Kept for ever: the emulator does not say when it drops a translation. */
	kept = malloc(sizeof(*kept));
	if (!kept)
		abort();
	*kept = b;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_counted_block, API_NO_REGS, kept);
}

static const struct api_callbacks callbacks = {
	.translated = on_translation,
	.idle = access_idle,
	.resumed = access_resume,
	.end = window_end,
};

static int refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	return -1;
}

static int check_setup(void)
{
	struct feed_setup *s = &plugin.watch.setup;
	struct shard_err err;
	char why[256];

	if (!plugin.watch.machine)
		return 0;
	if (machine_load(&machine, plugin.watch.machine, &err))
		return refuse(err.text);
	s->machine = machine;
	if (s->nr_cpus != plugin.nr_vcpus) {
		snprintf(why, sizeof(why), "%u guest CPUs, but %u 'cpu' lines in the watch file",
			 plugin.nr_vcpus, s->nr_cpus);
		return refuse(why);
	}
	for (uint32_t i = 0; i < s->nr_cpus; i++) {
		if (s->cpu[i] >= machine->topo.nr_cpus || !machine->topo.cpu[s->cpu[i]].possible) {
			snprintf(why, sizeof(why), "%s has no CPU %u", machine->name, s->cpu[i]);
			return refuse(why);
		}
	}
	for (uint32_t i = 0; i < s->nr_nodes; i++) {
		if (s->node[i].node >= machine->nr_nodes) {
			snprintf(why, sizeof(why), "%s has no node %u", machine->name,
				 s->node[i].node);
			return refuse(why);
		}
	}
	return 0;
}

static int make_vcpus(void)
{
	plugin.vcpu = aligned_alloc(128, plugin.nr_vcpus * sizeof(*plugin.vcpu));
	if (!plugin.vcpu)
		return -1;
	memset(plugin.vcpu, 0, plugin.nr_vcpus * sizeof(*plugin.vcpu));
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		plugin.vcpu[i].check_at = UINT64_MAX;
		if (stream_init(&plugin.vcpu[i].stream))
			return -1;
	}
	return access_begin();
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	struct watch_error err;
	char why[128];

	if (api_refuses(info, why, sizeof(why)))
		return refuse(why);
	if (!info->system_emulation || strcmp(info->target_name, "x86_64"))
		return refuse("the plugin is for qemu-system-x86_64");
	if (argc != 1 || strncmp(argv[0], "watch=", 6))
		return refuse("the plugin has one argument: watch=FILE");
	plugin.nr_vcpus = (uint32_t)info->system.max_vcpus;
	if (watch_read(&plugin.watch, argv[0] + 6, &err))
		return refuse(err.text);
	if (check_setup() || make_vcpus())
		return refuse("cannot start");
	api_register(id, &callbacks);
	return 0;
}
