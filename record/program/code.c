// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Watches the program's executed code: its blocks, accesses, locked instructions and marks.
 *
 * The code of the recorder's library inside the program (preload.c) is left out.
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

/* A block's instructions and its locked instructions, as counts packed into a pointer. */
#define LOCKED_SHIFT 32
/* Places in a table of instructions that accessed lines of other threads. */
#define MEETS 4096u
/* Interval and number of looks while waiting for the model's process. */
#define ASK_NS	  10000000
#define ASK_TURNS 300u

/* The thread has reached a point at which it checks for changes. */
static __attribute__((noinline)) void look_around(struct user_thread *t)
{
	struct vcpu *v = t->v;

	if (__atomic_load_n(&plugin.state->closed, __ATOMIC_RELAXED)) {
		user_finish(NULL);
		cpus_leave(t);
		return;
	}
	if (v->instr >= __atomic_load_n(&v->check_at, __ATOMIC_RELAXED))
		step_check(v);
	if (v->instr >= t->turn || __atomic_load_n(&t->moved, __ATOMIC_RELAXED))
		cpus_take_turns(t);
}

static inline void count(struct user_thread *t, uint64_t packed)
{
	struct vcpu *v = t->seen;
	uint64_t now = v->instr + (uint32_t)packed;

	__atomic_store_n(&v->instr, now, __ATOMIC_RELEASE);
	if (packed >> LOCKED_SHIFT)
		v->locked += packed >> LOCKED_SHIFT;
	if (now >= __atomic_load_n(&v->check_at, __ATOMIC_RELAXED) || now >= t->turn ||
	    __atomic_load_n(&t->moved, __ATOMIC_RELAXED))
		look_around(t);
}

/* A block begins while its thread has no CPU, or is hidden. */
static __attribute__((noinline)) void begin(struct user_thread *t, uint64_t packed)
{
	if (user.dead)
		return;
	if (__atomic_load_n(&plugin.state->closed, __ATOMIC_RELAXED)) {
		user_finish(NULL);
		return;
	}
	if (!t->v)
		cpus_enter(t);
	if (t->seen)
		count(t, packed);
}

/* This and on_access() take most of a recording's time, so rare cases have separate functions. */
static void on_block(unsigned int vcpu, void *data)
{
	struct user_thread *t = &user.thread[vcpu];

	if (t->seen)
		count(t, (uint64_t)(uintptr_t)data);
	else
		begin(t, (uint64_t)(uintptr_t)data);
}

/* Has an instruction accessed a line that others access? A wrong answer does no harm. */
static bool *meets_at(uint64_t pc)
{
	static bool meets[MEETS];

	return &meets[(pc ^ pc / MEETS) % MEETS];
}

static __attribute__((noinline)) void report(struct user_thread *t, qemu_plugin_meminfo_t info,
					     uint64_t vaddr, void *data)
{
	const struct pages_entry *page = pages_entry(&t->tlb, vaddr);

	if (!page)
		page = pages_enter(&t->tlb, vaddr, t->held);
	if (page && access_report(t->held, page->lines, page->at + vaddr % PAGES_SIZE,
				  (uint64_t)(uintptr_t)data, qemu_plugin_mem_is_store(info),
				  qemu_plugin_mem_size_shift(info)))
		__atomic_store_n(meets_at((uint64_t)(uintptr_t)data), true, __ATOMIC_RELAXED);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct user_thread *t = &user.thread[vcpu];
	const struct pages_entry *page;

	if (!t->seen || !window_is_open())
		return;
	vaddr &= ITEM_PLACE_MASK >> 1;
	page = pages_entry(&t->tlb, vaddr);
	if (page && access_is_own(page->lines, vaddr, t->held))
		t->seen->private_accesses++;
	else
		report(t, info, vaddr, data);
}

static void on_locked_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			     void *data)
{
	struct user_thread *t = &user.thread[vcpu];

	if (t->seen && window_is_open())
		report(t, info, vaddr & (ITEM_PLACE_MASK >> 1), data);
}

/* Called before a locked instruction, by which a thread may meet others again after a long time. */
static void on_locked(unsigned int vcpu, void *data)
{
	struct user_thread *t = &user.thread[vcpu];

	if (window_is_open() && t->seen &&
	    __atomic_load_n(meets_at((uint64_t)(uintptr_t)data), __ATOMIC_RELAXED))
		step_before(t->seen);
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
	if (!qemu_plugin_mem_is_store(info))
		return;
	if (data)
		stacks_call(vaddr, (uint64_t)(uintptr_t)data);
	else
		stacks_return(vaddr);
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

/* @after: how many instructions of the block follow; count() has counted them, too */
static void watch(struct qemu_plugin_insn *handle, const struct insn *insn, uint64_t pc,
		  uint64_t after)
{
	pc |= after << ITEM_PLACE_BITS;
	if (insn->locked)
		qemu_plugin_register_vcpu_insn_exec_cb(handle, on_locked, API_NO_REGS,
						       (void *)(uintptr_t)(pc ^ ACCESS_LOCKED));
	access_watch_by(handle, insn, pc, insn->locked ? on_locked_access : on_access);
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
		/* Calls in the library have no pc: they are in no report, but end other calls. */
		if (stacks)
			watch_calls(handle, &insn, own ? 0 : pages_code(pc));
		if (own)
			continue;
		if (insn.mark != MARK_NONE)
			qemu_plugin_register_vcpu_insn_exec_cb(handle, on_mark, API_NO_REGS,
							       (void *)(uintptr_t)insn.mark);
		else
			watch(handle, &insn, pages_code(pc), n - 1 - i);
	}
	if (own)
		return;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, API_NO_REGS,
					     (void *)(uintptr_t)(n | locked << LOCKED_SHIFT));
}
