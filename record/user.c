// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-qemu-user.so: the plugin for programs that QEMU emulates without a kernel.
 *
 *   -plugin PATH,watch=FILE,meta=FILE[,after=MS][,for=MS][,marks=on]
 *
 * The watch file (watch.h) has a 'cpu' line for each CPU on which threads may run. What the program
 * consists of is written to the meta file at the end: what is mapped where, its threads, and the
 * objects that were contended.
 *
 * The end. The emulator stops all threads before it tells a plugin of the end, and tells nothing
 * when a signal ends the program. So the end is seen where it begins: the system call exit_group,
 * and the function kill() of the C library, by which the emulator ends itself after a fatal
 * signal and which this library, being preloaded, has in its place.
 *
 * Children: a process that is forked is not recorded; it goes on emulated until it executes another
 * program.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "access.h"
#include "api.h"
#include "insn.h"
#include "machine.h"
#include "pages.h"
#include "step.h"
#include "user.h"
#include "window.h"

#define LINE_TABLE_BITS 24
#define TIME_EVERY	100000u
/* Where the emulator itself lies; the program is below. */
#define EMULATOR 0x500000000000ull
/* Instructions of a block and locked ones, packed into a pointer. */
#define LOCKED_SHIFT 32

__attribute__((visibility("default"))) int kill(pid_t pid, int sig);

int qemu_plugin_version = API_VERSION;

struct plugin plugin;
struct user user;
static struct machine *machine;
static const char *meta_path;
static uint64_t after_ms, for_ms;
static bool by_marks;

bool user_read(void *into, uint64_t from, size_t size)
{
	struct iovec here = { into, size }, there = { (void *)(uintptr_t)from, size };

	return user.readable && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* ---- what is executed ---- */

static void on_block(unsigned int vcpu, void *data)
{
	struct user_thread *t = &user.thread[vcpu];
	uint64_t packed = (uint64_t)(uintptr_t)data;
	struct vcpu *v;

	if (user.dead)
		return;
	if (!t->v && !cpus_enter(t))
		return;
	if (t->hidden)
		return;
	v = t->v;
	__atomic_store_n(&v->instr, v->instr + (uint32_t)packed, __ATOMIC_RELEASE);
	v->locked += packed >> LOCKED_SHIFT;
	if (v->instr >= __atomic_load_n(&v->check_at, __ATOMIC_RELAXED))
		step_check(v);
	if (v->instr >= t->turn || __atomic_load_n(&t->moved, __ATOMIC_RELAXED))
		cpus_take_turns(t);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct user_thread *t = &user.thread[vcpu];

	if (!window_is_open() || !t->v || t->hidden)
		return;
	access_tell((uint32_t)(t->v - plugin.vcpu), vaddr & (ITEM_PLACE_MASK >> 1),
		    (uint64_t)(uintptr_t)data, qemu_plugin_mem_is_store(info),
		    qemu_plugin_mem_size_shift(info));
}

static void on_mark(unsigned int vcpu, void *data)
{
	enum insn_mark mark = (enum insn_mark)(uintptr_t)data;

	if (user.dead)
		return;
	if (mark == MARK_OPEN && by_marks)
		window_open();
	else if (mark == MARK_CLOSE && by_marks)
		window_close();
	else if (mark == MARK_OPERATION && window_is_open())
		__atomic_fetch_add(&plugin.operations, 1, __ATOMIC_RELAXED);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t locked = 0;

	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *handle = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(handle);
		struct insn insn;

		insn_look(&insn, qemu_plugin_insn_data(handle), qemu_plugin_insn_size(handle), pc);
		locked += insn.locked;
		if (insn.mark != MARK_NONE)
			qemu_plugin_register_vcpu_insn_exec_cb(handle, on_mark, API_NO_REGS,
							       (void *)(uintptr_t)insn.mark);
		else
			access_watch_by(handle, &insn, pc, on_access);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, API_NO_REGS,
					     (void *)(uintptr_t)(n | locked << LOCKED_SHIFT));
}

/* ---- system calls ---- */

static void on_call(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1,
		    uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
		    uint64_t a8)
{
	const uint64_t arg[6] = { a1, a2, a3, a4, a5, a6 };

	if (!user.dead)
		calls_begin(&user.thread[vcpu], number, arg);
}

static void on_call_end(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result)
{
	if (!user.dead)
		calls_end(&user.thread[vcpu], number, result);
}

/* ---- the end ---- */

/* The files that the program has mapped. */
static json_t *maps_json(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	json_t *maps = json_array();
	char line[4352];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long low, high, offset;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &low, &high, rights, &offset,
			   &at) < 4 ||
		    !at || line[at] != '/' || low >= EMULATOR)
			continue;
		line[strcspn(line, "\n")] = '\0';
		json_array_append_new(maps,
				      json_pack("[I, I, I, s]", (json_int_t)low, (json_int_t)high,
						(json_int_t)offset, &line[at]));
	}
	if (file)
		fclose(file);
	return maps;
}

static void write_meta(const char *why)
{
	json_t *all = json_pack("{s:s, s:i, s:b, s:i, s:I, s:o}", "format",
				"schedshard/record-meta/1", "nr_threads", (int)user.begun,
				"readable", (int)user.readable, "children", (int)user.children,
				"unseen_blocks", (json_int_t)user.unseen, "maps", maps_json());
	char temp[4096];

	if (why)
		json_object_set_new(all, "ended_by", json_string(why));
	calls_json(all);
	heap_json(all);
	if ((size_t)snprintf(temp, sizeof(temp), "%s.tmp", meta_path) >= sizeof(temp) ||
	    json_dump_file(all, temp, JSON_COMPACT) || rename(temp, meta_path))
		fprintf(stderr, "schedshard: cannot write %s\n", meta_path);
	json_decref(all);
}

void user_finish(const char *why)
{
	static bool begun;

	if (user.dead || __atomic_exchange_n(&begun, true, __ATOMIC_SEQ_CST))
		return;
	window_finish();
	write_meta(why);
	__atomic_store_n(&user.dead, true, __ATOMIC_SEQ_CST);
}

static void on_end(qemu_plugin_id_t id, void *data)
{
	user_finish(NULL);
}

int kill(pid_t pid, int sig)
{
	char why[64];

	if (meta_path && pid == getpid() && sig) {
		snprintf(why, sizeof(why), "signal %d", sig);
		user_finish(why);
	}
	return (int)syscall(SYS_kill, pid, sig);
}

static void in_child(void)
{
	user.dead = true;
	plugin.open = false;
	plugin.closed = true;
}

/* ---- the window ---- */

static void *watch_time(void *arg)
{
	const uint64_t nap_ms = 10;

	for (uint64_t ms = 0; ms < after_ms; ms += nap_ms)
		step_sleep((long)nap_ms * 1000000);
	if (!user.dead)
		window_open();
	for (uint64_t ms = 0; ms < for_ms && !user.dead; ms += nap_ms)
		step_sleep((long)nap_ms * 1000000);
	if (for_ms && !user.dead)
		window_close();
	return NULL;
}

static int start_watch(void)
{
	sigset_t all, old;
	pthread_t thread;
	int failed;

	if (by_marks || (!after_ms && !for_ms))
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&thread, NULL, watch_time, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return failed;
}

/* The emulator has forked into the background of nothing yet: threads can be made. */
static void on_thread(qemu_plugin_id_t id, unsigned int vcpu)
{
	static bool first = true;

	if (vcpu >= USER_THREADS) {
		fprintf(stderr, "schedshard: the program has more than %u threads\n", USER_THREADS);
		exit(1);
	}
	if (!first)
		return;
	first = false;
	if (!by_marks && !after_ms)
		window_open();
	if (start_watch()) {
		fprintf(stderr, "schedshard: cannot start a thread\n");
		exit(1);
	}
}

/* ---- the beginning ---- */

static int refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	return -1;
}

static int check_machine(void)
{
	struct feed_setup *s = &plugin.watch.setup;
	struct shard_err err;

	if (!plugin.watch.machine || !plugin.watch.trace)
		return refuse("the watch file names no machine, or no trace");
	if (machine_load(&machine, plugin.watch.machine, &err))
		return refuse(err.text);
	s->machine = machine;
	for (uint32_t i = 0; i < s->nr_cpus; i++)
		if (s->cpu[i] >= machine->topo.nr_cpus || !machine->topo.cpu[s->cpu[i]].possible)
			return refuse("the machine lacks a CPU that a 'cpu' line names");
	plugin.nr_vcpus = s->nr_cpus;
	return 0;
}

static int make_cpus(void)
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
	for (uint32_t i = 0; i < USER_THREADS; i++)
		user.thread[i].cpu = USER_NO_CPU;
	window_trace_time(TIME_EVERY);
	return pages_init() || cpus_init() || access_writers() ||
	       access_begin_large(LINE_TABLE_BITS, pages_is_new);
}

static int read_arguments(int argc, char **argv)
{
	struct watch_error err;
	const char *watch = NULL;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "watch=", 6))
			watch = argv[i] + 6;
		else if (!strncmp(argv[i], "meta=", 5))
			meta_path = strdup(argv[i] + 5);
		else if (!strncmp(argv[i], "after=", 6))
			after_ms = strtoull(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "for=", 4))
			for_ms = strtoull(argv[i] + 4, NULL, 10);
		else if (!strcmp(argv[i], "marks=on"))
			by_marks = true;
		else
			return refuse("arguments are watch=, meta=, after=, for= and marks=on");
	}
	if (!watch || !meta_path)
		return refuse("watch=FILE or meta=FILE is missing");
	return watch_read(&plugin.watch, watch, &err) ? refuse(err.text) : 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	char why[128];

	if (info->version.cur != API_VERSION) {
		snprintf(why, sizeof(why),
			 "this emulator's plugin interface is version %d, this plugin is for %d "
			 "(QEMU 7.2 of Debian 12)",
			 info->version.cur, API_VERSION);
		return refuse(why);
	}
	if (info->system_emulation || strcmp(info->target_name, "x86_64"))
		return refuse("the plugin is for qemu-x86_64");
	if (read_arguments(argc, argv) || check_machine())
		return -1;
	if (make_cpus() || pthread_atfork(NULL, NULL, in_child))
		return refuse("cannot start");
	user.readable = true;
	qemu_plugin_register_vcpu_init_cb(id, on_thread);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_call_end);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
