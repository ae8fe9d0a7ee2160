// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-qemu-user.so: the plugin for programs that QEMU emulates without a kernel.
 *
 *   -plugin PATH,watch=FILE,meta=FILE,shared=FILE[,follow=on][,marks=on]
 *	[,arrives=THREAD.CPU]
 *
 * The watch file (watch.h) has a 'cpu' line for each CPU on which threads may run. The model runs
 * in its own process (model.c), which has made the shared memory. At its end this process writes
 * its mappings, its threads, and the contended objects to META.N; N is its number.
 *
 * The end. The emulator stops all threads before it reports the end to a plugin, and reports
 * nothing when a signal ends the program. So the plugin detects the end at its start. That is the
 * system call exit_group, or the C library function kill(), by which the emulator ends itself after
 * a fatal signal. This library is preloaded and replaces kill().
 *
 * Children. A fork copies the emulator with this library and its private state, and shares the
 * rest. The child only becomes a new image, whose threads have no CPUs and whose private memory has
 * its own numbers. This library does an exec instead of the emulator (exec.c). Without follow=on a
 * child continues emulated, unrecorded, until it executes another program.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "access.h"
#include "api.h"
#include "insn.h"
#include "pages.h"
#include "shared.h"
#include "step.h"
#include "user.h"

/* Where the emulator itself lies; the program is below it. */
#define EMULATOR 0x500000000000ull
/* Instructions of a block and locked ones, packed into a pointer. */
#define LOCKED_SHIFT 32
/* Quanta that a lone thread may be ahead: one that resumes beside it takes over its clock. */
#define ALONE 32u
/* Places in a table of instructions that accessed lines of other threads. */
#define MEETS 4096u
/* Interval and number of looks while waiting for the model's process. */
#define ASK_NS	  10000000
#define ASK_TURNS 300u

__attribute__((visibility("default"))) int kill(pid_t pid, int sig);
__attribute__((visibility("default"))) long syscall(long number, ...);

int qemu_plugin_version = API_VERSION;

struct plugin plugin;
struct user user;
static const char *meta_path;
static bool by_marks, told;
static _Thread_local bool forks;

bool user_read(void *into, uint64_t from, size_t size)
{
	struct iovec here = { into, size }, there = { (void *)(uintptr_t)from, size };

	return user.readable && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* ---- executed code ---- */

static void on_block(unsigned int vcpu, void *data)
{
	struct user_thread *t = &user.thread[vcpu];
	uint64_t packed = (uint64_t)(uintptr_t)data;
	struct vcpu *v;

	if (user.dead)
		return;
	if (__atomic_load_n(&plugin.state->closed, __ATOMIC_RELAXED)) {
		user_finish(NULL);
		return;
	}
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

/* Has an instruction accessed a line that others access? A wrong answer does no harm. */
static bool *meets_at(uint64_t pc)
{
	static bool meets[MEETS];

	return &meets[(pc ^ pc / MEETS) % MEETS];
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct user_thread *t = &user.thread[vcpu];
	uint64_t place;

	if (!window_is_open() || !t->v || t->hidden)
		return;
	place = pages_place(&t->tlb, vaddr & (ITEM_PLACE_MASK >> 1));
	if (place && access_tell((uint32_t)(t->v - plugin.vcpu), place, (uint64_t)(uintptr_t)data,
				 qemu_plugin_mem_is_store(info), qemu_plugin_mem_size_shift(info)))
		__atomic_store_n(meets_at((uint64_t)(uintptr_t)data), true, __ATOMIC_RELAXED);
}

/* Before a locked instruction, which may be a thread's first meeting with others for long. */
static void on_locked(unsigned int vcpu, void *data)
{
	struct user_thread *t = &user.thread[vcpu];

	if (window_is_open() && t->v && !t->hidden &&
	    __atomic_load_n(meets_at((uint64_t)(uintptr_t)data), __ATOMIC_RELAXED))
		step_before(t->v);
}

/* The model's process opens and closes the window; the wait for it is bounded. */
static void ask(enum shared_window wanted)
{
	const struct timespec patience = { 0, ASK_NS };
	uint32_t is;

	__atomic_store_n(&shared->wanted, wanted, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &shared->wanted, FUTEX_WAKE, 1, NULL, NULL, 0);
	for (uint32_t i = 0; i < ASK_TURNS; i++) {
		is = __atomic_load_n(&shared->is, __ATOMIC_SEQ_CST);
		if (is >= wanted)
			return;
		syscall(SYS_futex, &shared->is, FUTEX_WAIT, is, &patience, NULL, 0);
	}
}

static void on_mark(unsigned int vcpu, void *data)
{
	enum insn_mark mark = (enum insn_mark)(uintptr_t)data;

	if (user.dead)
		return;
	if (mark == MARK_OPEN && by_marks)
		ask(SHARED_OPEN);
	else if (mark == MARK_CLOSE && by_marks)
		ask(SHARED_CLOSED);
	else if (mark == MARK_OPERATION && window_is_open())
		__atomic_fetch_add(&plugin.state->operations, 1, __ATOMIC_RELAXED);
}

static bool is_own(uint64_t pc)
{
	return pc >= __atomic_load_n(&user.own_low, __ATOMIC_RELAXED) &&
	       pc < __atomic_load_n(&user.own_high, __ATOMIC_RELAXED);
}

static void watch(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc)
{
	if (insn->locked)
		qemu_plugin_register_vcpu_insn_exec_cb(handle, on_locked, API_NO_REGS,
						       (void *)(uintptr_t)(pc ^ ACCESS_LOCKED));
	access_watch_by(handle, insn, pc, on_access);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uint64_t locked = 0;

	if (is_own(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0))))
		return;

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
			watch(handle, &insn, pages_code(pc));
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

/* The program's mapped files. */
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
	const struct shared_image *i = &shared->image[user.image];
	json_t *all = json_pack(
		"{s:s, s:i, s:i, s:i, s:s?, s:b, s:o}", "format", "schedshard/record-image/1",
		"image", (int)user.image, "program", (int)i->program, "pid", (int)i->pid, "path",
		qemu_plugin_path_to_binary(), "readable", (int)user.readable, "maps", maps_json());
	char path[4096], temp[4096];

	if (why)
		json_object_set_new(all, "ended_by", json_string(why));
	calls_json(all);
	heap_json(all);
	pages_regions(all);
	if ((size_t)snprintf(path, sizeof(path), "%s.%u", meta_path, user.image) >= sizeof(path) ||
	    (size_t)snprintf(temp, sizeof(temp), "%s.tmp", path) >= sizeof(temp) ||
	    json_dump_file(all, temp, JSON_COMPACT) || rename(temp, path))
		fprintf(stderr, "schedshard: cannot write %s\n", meta_path);
	json_decref(all);
	__atomic_store_n(&shared->image[user.image].told, true, __ATOMIC_RELEASE);
}

/* Once, unless the process continues after all. */
static bool tell(const char *why)
{
	if (user.dead || __atomic_exchange_n(&told, true, __ATOMIC_SEQ_CST))
		return false;
	write_meta(why);
	return true;
}

void user_finish(const char *why)
{
	if (tell(why))
		__atomic_store_n(&user.dead, true, __ATOMIC_SEQ_CST);
}

void user_leave(struct user_thread *t)
{
	tell(NULL);
	cpus_leave(t);
	__atomic_store_n(&shared->image[user.image].left, true, __ATOMIC_RELEASE);
}

void user_stay(void)
{
	__atomic_store_n(&shared->image[user.image].left, false, __ATOMIC_RELEASE);
	__atomic_store_n(&told, false, __ATOMIC_SEQ_CST);
}

static void on_end(qemu_plugin_id_t id, void *data)
{
	user_finish(NULL);
}

int kill(pid_t pid, int sig)
{
	char why[64];

	if (meta_path && shared && pid == getpid() && sig) {
		snprintf(why, sizeof(why), "signal %d", sig);
		user_finish(why);
	}
	return (int)syscall(SYS_kill, pid, sig);
}

/*
 * The emulator asks its own kernel for a thread's CPUs by this function of the C library, which
 * this preloaded library replaces. So a static program, or one that asks the kernel itself as Go's
 * runtime does, sees the machine's CPUs. calls.c handles the CPUs on which a thread may run, at the
 * start of the call.
 */
static long affinity(bool set, size_t size, unsigned char *mask)
{
	size_t bytes = (plugin.nr_vcpus + 63) / 64 * 8;

	if (set)
		return 0;
	if (size < bytes) {
		errno = EINVAL;
		return -1;
	}
	memset(mask, 0, bytes);
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++)
		mask[i / 8] |= (unsigned char)(1u << i % 8);
	return (long)bytes;
}

long syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (unsigned int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (plugin.nr_vcpus && (number == SYS_sched_getaffinity || number == SYS_sched_setaffinity))
		return affinity(number == SYS_sched_setaffinity, (size_t)a[1],
				(unsigned char *)(uintptr_t)a[2]);
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

/* ---- forks ---- */

static void before_fork(void)
{
	forks = !user.dead;
	if (forks)
		__atomic_fetch_add(user.follow ? &shared->coming : &shared->children, 1,
				   __ATOMIC_SEQ_CST);
	calls_before_fork();
	heap_before_fork();
	pages_before_fork();
}

static void after_fork(bool in_child)
{
	pages_after_fork();
	heap_after_fork();
	calls_after_fork(in_child);
}

static void in_parent(void)
{
	after_fork(false);
}

static void in_child(void)
{
	uint32_t parent = user.image;

	after_fork(true);
	cpus_fork();
	if (user.dead || !user.follow) {
		user.dead = true;
		return;
	}
	forks = false;
	told = false;
	user.image = shared_image(getpid(), parent, shared->image[parent].program);
	if (user.image == SHARED_NONE)
		user.dead = true;
	else
		pages_follow(user.image, shared->image[parent].program);
	__atomic_fetch_sub(&shared->coming, 1, __ATOMIC_SEQ_CST);
}

void user_forked(int64_t result)
{
	if (forks && result < 0)
		__atomic_fetch_sub(user.follow ? &shared->coming : &shared->children, 1,
				   __ATOMIC_SEQ_CST);
	forks = false;
}

/* ---- start ---- */

static int refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	return -1;
}

static void on_thread(qemu_plugin_id_t id, unsigned int vcpu)
{
	if (vcpu < USER_THREADS)
		return;
	fprintf(stderr, "schedshard: the program has more than %u threads\n", USER_THREADS);
	exit(1);
}

/* The file that the model's process has made. Return: false: that process has ended. */
static bool attach(const char *path, bool arrives)
{
	uint32_t parent = SHARED_NONE, program;

	if (shared_attach(path))
		return false;
	plugin.state = &shared->state;
	plugin.feed = shared->feed;
	plugin.vcpu = shared->vcpu;
	plugin.nr_vcpus = shared->nr_cpus;
	plugin.alone = ALONE;
	plugin.apart = SHARED_APART;
	access_attach(&shared->tables, pages_is_new);
	for (uint32_t i = 0; i < USER_THREADS; i++)
		user.thread[i].cpu = USER_NO_CPU;
	for (uint32_t i = 0; arrives && i < shared->images && i < SHARED_IMAGES; i++)
		if (shared->image[i].pid == getpid())
			parent = i;
	program = __atomic_fetch_add(&shared->programs, 1, __ATOMIC_RELAXED);
	user.image = shared_image(getpid(), parent, program);
	if (arrives)
		__atomic_fetch_sub(&shared->coming, 1, __ATOMIC_SEQ_CST);
	if (user.image == SHARED_NONE)
		return false;
	if (user.follow)
		pages_follow(user.image, program);
	return true;
}

static int read_arguments(int argc, char **argv, const char **file, bool *arrives)
{
	struct watch_error err;
	const char *watch = NULL;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "watch=", 6))
			watch = argv[i] + 6;
		else if (!strncmp(argv[i], "meta=", 5))
			meta_path = strdup(argv[i] + 5);
		else if (!strncmp(argv[i], "shared=", 7))
			*file = argv[i] + 7;
		else if (!strcmp(argv[i], "marks=on"))
			by_marks = true;
		else if (!strcmp(argv[i], "follow=on"))
			user.follow = true;
		else if (sscanf(argv[i], "arrives=%u.%u", &user.arrived.number,
				&user.arrived.cpu) == 2)
			*arrives = true;
		else
			return refuse("arguments are watch=, meta=, shared=, follow=on, marks=on "
				      "and arrives=THREAD.CPU");
	}
	if (!watch || !meta_path || !*file)
		return refuse("watch=FILE, meta=FILE or shared=FILE is missing");
	if (user.follow)
		exec_init(watch, meta_path, *file, by_marks);
	if (*arrives && access(watch, R_OK))
		return 0; /* the recording has ended */
	return watch_read(&plugin.watch, watch, &err) ? refuse(err.text) : 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *file = NULL;
	bool arrives = false;
	char why[128];

	user.arrived.cpu = USER_NO_CPU;

	if (info->version.cur != API_VERSION) {
		snprintf(why, sizeof(why),
			 "this emulator's plugin interface is version %d, this plugin is for %d "
			 "(QEMU 7.2 of Debian 12)",
			 info->version.cur, API_VERSION);
		return refuse(why);
	}
	if (info->system_emulation || strcmp(info->target_name, "x86_64"))
		return refuse("the plugin is for qemu-x86_64");
	if (read_arguments(argc, argv, &file, &arrives))
		return -1;
	if (!attach(file, arrives)) {
		/* A program must not fail because its recording started too late. */
		if (arrives)
			return 0;
		return refuse("cannot share memory with the model's process");
	}
	if (pthread_atfork(before_fork, in_parent, in_child))
		return refuse("cannot start");
	user.readable = true;
	qemu_plugin_register_vcpu_init_cb(id, on_thread);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_call_end);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
