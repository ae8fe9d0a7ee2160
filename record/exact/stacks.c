// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One thread of the host executes all threads, so the kernel has one alternative stack for them.
 * That stack is this library's (fatal.c). No handler of the program runs on it, because the
 * handlers of two threads may overlap. For a fault this library copies the signal frame to the
 * stack that the program chose, and returns to the kernel. The thread continues on the chosen
 * stack, and the copied frame leads back to the fault.
 *
 * A stack of less than ENOUGH bytes is too small for this library, so its thread gets a larger one.
 */
#include "stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pass.h"

#define ENOUGH	   65536u
#define SMALLEST   2048u	     /* bytes; the kernel refuses smaller stacks */
#define AUTODISARM ((int)(1u << 31)) /* of <linux/signal.h> */
#define RED_ZONE   128u
#define FP_PLAIN   512u
#define FP_MAGIC   0x46505853u /* FP_XSTATE_MAGIC1 of <asm/sigcontext.h> */
#define FP_WORDS   464u	       /* offset of the magic number, which the size follows */

struct frame {
	ucontext_t uc;
	siginfo_t info;
	void (*then)(siginfo_t *info, ucontext_t *uc);
	void *restorer;
};

static bool within(const stack_t *s, uintptr_t sp)
{
	return sp - (uintptr_t)s->ss_sp - 1 < s->ss_size;
}

static bool on(const struct thread *t, uintptr_t sp)
{
	return within(&t->stack, sp) || within(&t->wide, sp);
}

void stacks_gone(struct thread *t)
{
	if (t->wide.ss_size)
		PASS(munmap(t->wide.ss_sp, t->wide.ss_size));
	t->stack = t->wide = (stack_t){ .ss_sp = NULL };
}

/* Return: the end of the alternative stack that is used. */
static uintptr_t top_of(struct thread *t)
{
	const stack_t *s = &t->stack;

	if (s->ss_size < ENOUGH && !t->wide.ss_size) {
		void *more = PASS(mmap(NULL, ENOUGH, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		if (more != MAP_FAILED)
			t->wide = (stack_t){ .ss_sp = more, .ss_size = ENOUGH };
	}
	if (s->ss_size < ENOUGH && t->wide.ss_size)
		s = &t->wide;
	return (uintptr_t)s->ss_sp + s->ss_size;
}

int stacks_set(const stack_t *asked, stack_t *before, uintptr_t sp)
{
	struct thread *t = exact_self;
	int flags;

	if (before) {
		*before = t->stack;
		before->ss_flags = on(t, sp) ? SS_ONSTACK : t->stack.ss_size ? 0 : SS_DISABLE;
	}
	if (!asked)
		return 0;
	flags = asked->ss_flags & ~AUTODISARM;
	if (on(t, sp))
		return EPERM;
	if (flags && flags != SS_DISABLE && flags != SS_ONSTACK)
		return EINVAL;
	if (flags != SS_DISABLE && asked->ss_size < SMALLEST)
		return ENOMEM;
	stacks_gone(t);
	if (flags != SS_DISABLE)
		t->stack = (stack_t){ .ss_sp = asked->ss_sp, .ss_size = asked->ss_size };
	return 0;
}

/* Return: where the handler's stack begins, or 0 if it uses the current stack. */
static uintptr_t chosen(const struct masks_action *a, uintptr_t sp)
{
	struct thread *t = exact_self;

	return a->flags & SA_ONSTACK && t->stack.ss_size && !on(t, sp) ? top_of(t) : 0;
}

void stacks_call(const struct masks_action *a, siginfo_t *info, ucontext_t *uc)
{
	/* Taking the address gives this function a frame pointer, so that it can be unwound. */
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), top = chosen(a, frame);
	void (*handler)(int which, siginfo_t *info, void *context) = a->handler;
	int which = info->si_signo;

	if (!top) {
		handler(which, info, uc);
		return;
	}
	top &= ~15ul;
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %[top], %%rsp\n\t"
			 "call *%[handler]\n\t"
			 "movq %%rbx, %%rsp"
			 : "+D"(which), "+S"(info),
			   "+d"(uc), [top] "+r"(top), [handler] "+r"(handler)
			 :
			 : "rax", "rbx", "rcx", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3",
			   "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15", "r8", "r9", "r10", "r11");
}

/* The thread goes on here, as if it had called this function. */
static _Noreturn void resume(struct frame *f)
{
	void *restorer = f->restorer;

	f->then(&f->info, &f->uc);
	__asm__ volatile("movq %0, %%rsp\n\t"
			 "jmp *%1"
			 :
			 : "r"(&f->uc), "r"(restorer)
			 : "memory");
	__builtin_unreachable();
}

static uint32_t size_of(const void *fp)
{
	uint32_t words[2];

	memcpy(words, (const char *)fp + FP_WORDS, sizeof(words));
	return words[0] == FP_MAGIC ? words[1] : FP_PLAIN;
}

bool stacks_after(const struct masks_action *a, siginfo_t *info, ucontext_t *uc,
		  void (*then)(siginfo_t *info, ucontext_t *uc), void *restorer)
{
	greg_t *r = uc->uc_mcontext.gregs;
	uintptr_t sp = (uintptr_t)r[REG_RSP], top = chosen(a, sp), fp = 0;
	void *floats = uc->uc_mcontext.fpregs;
	struct frame *f;
	uint64_t *none;

	if (!top)
		top = sp - RED_ZONE;
	if (floats)
		top = fp = (top - size_of(floats)) & ~63ul;
	f = (struct frame *)((top - sizeof(*f)) & ~15ul);
	/* A return address that leads nowhere. The kernel writes a mask there if it can. */
	none = (uint64_t *)f - 1;
	if (KERNEL(SYS_rt_sigpending, none, sizeof(*none)))
		return false;
	*none = 0;
	memcpy(&f->uc, uc, sizeof(f->uc));
	f->info = *info;
	f->then = then;
	f->restorer = restorer;
	if (floats) {
		memcpy((void *)fp, floats, size_of(floats));
		f->uc.uc_mcontext.fpregs = (void *)fp;
	}
	r[REG_RIP] = (greg_t)(uintptr_t)resume;
	r[REG_RDI] = (greg_t)(uintptr_t)f;
	r[REG_RSP] = (greg_t)(uintptr_t)f - 8;
	r[REG_EFL] &= ~0x400; /* a function expects the direction "up" */
	return true;
}
