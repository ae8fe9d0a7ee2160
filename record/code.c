// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The program's executed code: its blocks, accesses, locked instructions and marks.
 *
 * Code of the library inside the program is left out.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "api.h"
#include "insn.h"
#include "pages.h"
#include "shared.h"
#include "stacks.h"
#include "step.h"
#include "user.h"

/* Instructions of a block and locked ones, packed into a pointer. */
#define LOCKED_SHIFT 32
/* Places in a table of instructions that accessed lines of other threads. */
#define MEETS 4096u
/* Interval and number of looks while waiting for the model's process. */
#define ASK_NS	  10000000
#define ASK_TURNS 300u

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
	if (mark == MARK_OPEN && user.by_marks)
		ask(SHARED_OPEN);
	else if (mark == MARK_CLOSE && user.by_marks)
		ask(SHARED_CLOSED);
	else if (mark == MARK_OPERATION && window_is_open())
		__atomic_fetch_add(&plugin.state->operations, 1, __ATOMIC_RELAXED);
}

static void on_push(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	/* A call through memory also loads its target. */
	if (qemu_plugin_mem_is_store(info))
		stacks_call(vaddr, (uint64_t)(uintptr_t)data);
}

static void on_return(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	stacks_return(vaddr);
}

static void watch_calls(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc)
{
	/* Loads and stores: QEMU 7.2 confuses callbacks for one of the two. */
	if (insn->call)
		qemu_plugin_register_vcpu_mem_cb(handle, on_push, API_NO_REGS, API_MEM_RW,
						 (void *)(uintptr_t)pc);
	if (insn->ret)
		qemu_plugin_register_vcpu_mem_cb(handle, on_return, API_NO_REGS, API_MEM_RW, NULL);
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

void code_translated(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	bool own = is_own(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)));
	bool stacks = stacks_on();
	uint64_t locked = 0;

	if (own && !stacks)
		return;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *handle = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(handle);
		uint8_t space[API_INSN];
		struct insn insn;

		insn_look(&insn, api_insn(handle, space), qemu_plugin_insn_size(handle), pc);
		locked += insn.locked;
		/* The library's calls too: a program's functions run below them. */
		if (stacks)
			watch_calls(handle, &insn, pages_code(pc));
		if (own)
			continue;
		if (insn.mark != MARK_NONE)
			qemu_plugin_register_vcpu_insn_exec_cb(handle, on_mark, API_NO_REGS,
							       (void *)(uintptr_t)insn.mark);
		else
			watch(handle, &insn, pages_code(pc));
	}
	if (own)
		return;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, API_NO_REGS,
					     (void *)(uintptr_t)(n | locked << LOCKED_SHIFT));
}
