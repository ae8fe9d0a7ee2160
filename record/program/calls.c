// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Finds out which system calls may wait, what they reveal about memory and threads, and their cost.
 *
 * The emulator leaves the program's system calls to the host's kernel, so a thread that waits in
 * one executes nothing. The model treats such a thread as idle. The thread resumes at the clock of
 * the CPU furthest behind. Calls that never wait leave the thread running. The kernel's own work is
 * invisible; each call costs CALL_CYCLES.
 *
 * A sleep of at most LONG_SLEEP_NS takes that long in the model: the thread resumes when the clocks
 * of the other CPUs have advanced so far. If all are idle, the clocks advance to the sleep's end. A
 * longer sleep follows the host's clock, which is the clock that the program reads.
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host_time.h"
#include "protocol.h"
#include "shared.h"
#include "step.h"
#include "user.h"

#define CALL_CYCLES   300u
#define LONG_SLEEP_NS 10000000ull
#define MOST_EXTRA_NS 1000000000ull /* the most that one sleep may take on the host */
#define NAP_NS	      50000
#define STANDS_NS     20000000ull

#define CLONE_FLAG_THREAD  0x10000u
#define CLONE_FLAG_SETTLS  0x80000u
#define MAP_FLAG_SHARED	   1u
#define MAP_FLAG_ANON	   0x20u
#define MAP_FLAG_NORESERVE 0x4000u

/* The arguments of each thread's current call. */
static struct {
	uint64_t arg[6];
} in_call[USER_THREADS];

/* ---- which calls wait ---- */

static bool futex_waits(uint64_t op)
{
	switch (op & 0x7f) {
	case 0:	 /* FUTEX_WAIT */
	case 6:	 /* FUTEX_LOCK_PI */
	case 9:	 /* FUTEX_WAIT_BITSET */
	case 11: /* FUTEX_WAIT_REQUEUE_PI */
	case 13: /* FUTEX_LOCK_PI2 */
		return true;
	}
	return false;
}

/* Calls that end without waiting; all others may wait. */
static bool may_wait(int64_t number, const uint64_t *arg)
{
	switch (number) {
	case SYS_futex:
		return futex_waits(arg[1]);
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_madvise:
	case SYS_mremap:
	case SYS_brk:
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
	case SYS_sigaltstack:
	case SYS_clock_gettime:
	case SYS_gettimeofday:
	case SYS_time:
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getppid:
	case SYS_getuid:
	case SYS_geteuid:
	case SYS_getgid:
	case SYS_getegid:
	case SYS_getcpu:
	case SYS_getrandom:
	case SYS_getrusage:
	case SYS_sched_yield:
	case SYS_sched_getaffinity:
	case SYS_sched_setaffinity:
	case SYS_set_robust_list:
	case SYS_set_tid_address:
	case SYS_rseq:
	case SYS_prctl:
	case SYS_arch_prctl:
	case SYS_prlimit64:
	case SYS_membarrier:
	case SYS_clone:
	case SYS_clone3:
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_epoll_ctl:
	case SYS_fcntl:
	case SYS_lseek:
	case SYS_newfstatat:
	case SYS_fstat:
	case SYS_fork:
	case SYS_vfork:
		return false;
	}
	return true;
}

/* ---- messages of the library inside the program ---- */

static void bind_cpus(struct user_thread *self, uint64_t tid, uint64_t mask_at, uint64_t bytes)
{
	uint64_t mask[USER_MASK_WORDS] = { 0 };

	if (bytes > sizeof(mask))
		bytes = sizeof(mask);
	if (!user_read(mask, mask_at, bytes))
		return;
	if (!tid || tid == (uint64_t)self->tid) {
		cpus_bind(self, mask, USER_MASK_WORDS);
		return;
	}
	for (uint32_t i = 0; i < USER_THREADS; i++)
		if (user.thread[i].begun && (uint64_t)user.thread[i].tid == tid)
			cpus_bind(&user.thread[i], mask, USER_MASK_WORDS);
}

static void take_message(struct user_thread *t, const uint64_t *arg)
{
	struct protocol_frame caller[PROTOCOL_FRAMES];
	uint64_t frame[PROTOCOL_FRAMES], word;

	switch ((enum protocol)arg[0]) {
	case PROTOCOL_HELLO:
		user.readable = true;
		user.readable = user_read(&word, arg[1], sizeof(word)) && word == arg[2];
		__atomic_store_n(&user.own_low, arg[3], __ATOMIC_RELAXED);
		__atomic_store_n(&user.own_high, arg[4], __ATOMIC_RELAXED);
		break;
	case PROTOCOL_HIDE:
		t->hidden = arg[1];
		t->seen = t->hidden ? NULL : t->v;
		break;
	case PROTOCOL_SITE:
		if (arg[3] <= PROTOCOL_FRAMES && user_read(frame, arg[2], arg[3] * sizeof(*frame)))
			heap_site(arg[1], frame, (uint32_t)arg[3]);
		break;
	case PROTOCOL_ALLOC:
		heap_alloc(arg[1], arg[2], arg[3], arg[4], arg[5]);
		break;
	case PROTOCOL_FREE:
		heap_free(arg[1]);
		break;
	case PROTOCOL_CALLERS:
		if (arg[2] <= PROTOCOL_FRAMES &&
		    user_read(caller, arg[1], arg[2] * sizeof(*caller)))
			notes_frames(caller, (uint32_t)arg[2]);
		break;
	case PROTOCOL_LOCALS:
		notes_locals(arg[1], arg[2]);
		break;
	}
}

/* ---- sleeps ---- */

static uint64_t sleep_of(int64_t number, const uint64_t *arg)
{
	struct timespec time;
	uint64_t at = arg[0];

	if (number == SYS_clock_nanosleep) {
		if (arg[1])
			return 0; /* until a time of the host */
		at = arg[2];
	} else if (number != SYS_nanosleep) {
		return 0;
	}
	if (!user_read(&time, at, sizeof(time)) || time.tv_sec)
		return 0;
	return (uint64_t)time.tv_nsec <= LONG_SLEEP_NS ? (uint64_t)time.tv_nsec : 0;
}

/* All CPUs are idle: their clocks advance to the end of this sleep. */
static void pass_time(uint64_t until)
{
	uint64_t now;

	shared_lock();
	now = __atomic_load_n(feed_clock(plugin.feed), __ATOMIC_ACQUIRE);
	if (until > now)
		__atomic_fetch_add(&plugin.state->idled, until - now, __ATOMIC_RELEASE);
	shared_unlock();
}

static void sleep_on(uint64_t until)
{
	uint64_t began = host_now(), stood = began, last = 0;

	while (window_is_open() && !user.dead) {
		uint64_t model = __atomic_load_n(feed_clock(plugin.feed), __ATOMIC_ACQUIRE);
		uint64_t now = host_now();

		if (model >= until || now - began > MOST_EXTRA_NS)
			return;
		if (model != last)
			stood = now;
		last = model;
		if (step_slowest(ITEM_NO_CPU) == ITEM_NO_CPU) {
			pass_time(until);
			return;
		}
		if (now - stood > STANDS_NS)
			return;
		step_sleep(NAP_NS);
	}
}

/* ---- files of the machine ---- */

/*
 * Write the machine's version of a line of /proc/self/status that names CPUs or nodes. Return: is
 * @line such a line?
 */
static bool own_line(FILE *out, const char *line)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t mask[USER_MASK_WORDS] = { 0 }, nodes = 0;
	const struct feed_setup *s = &plugin.watch.setup;
	uint32_t top = 0;

	if (strncmp(line, "Cpus_allowed", 12) != 0 && strncmp(line, "Mems_allowed", 12) != 0)
		return false;
	if (syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask) < 0)
		return false;
	for (uint32_t i = 0; i < s->nr_cpus; i++) {
		nodes |= 1ull << shared->cpu[i].node % 64;
		if (s->cpu[i] / 32 > top)
			top = s->cpu[i] / 32;
	}
	if (line[0] == 'M') {
		mask[0] = nodes;
		top = nodes >> 32 ? 1 : 0;
	}
	fprintf(out, "%.12s", line);
	if (line[12] == ':') {
		for (uint32_t word = top + 1; word-- > 0;) {
			uint32_t bits = (uint32_t)(mask[word / 2] >> word % 2 * 32);

			fprintf(out, "%s", word == top ? ":\t" : ",");
			for (int digit = 28; digit >= 0; digit -= 4)
				fputc(hex[bits >> digit & 15], out);
		}
	} else {
		const char *between = "_list:\t";

		for (uint32_t n = 0; n < (top + 1) * 32; n++) {
			uint32_t first = n;

			if (!(mask[n / 64] >> n % 64 & 1))
				continue;
			while (n + 1 < (top + 1) * 32 && mask[(n + 1) / 64] >> (n + 1) % 64 & 1)
				n++;
			fprintf(out, n > first ? "%s%u-%u" : "%s%u", between, first, n);
			between = ",";
		}
	}
	fputc('\n', out);
	return true;
}

/*
 * The program is about to open a file. If it is /proc/self/status, the kernel's version names the
 * host's CPUs. Write the machine's version to the folder that the emulator prefers.
 */
static void opens(uint64_t path_at)
{
	static const char name[] = "/proc/self/status";
	char path[sizeof(name)], view[4096], line[256];
	FILE *from, *to;

	if (!user_read(path, path_at, sizeof(path)) || memcmp(path, name, sizeof(name)) != 0)
		return;
	snprintf(view, sizeof(view), "%s%s", user.view, name);
	from = fopen(name, "re");
	to = from ? fopen(view, "we") : NULL;
	while (to && fgets(line, sizeof(line), from))
		if (!own_line(to, line))
			fputs(line, to);
	if (to)
		fclose(to);
	if (from)
		fclose(from);
}

/* ---- calls ---- */

static bool will_exec(int64_t number, const uint64_t *arg)
{
	bool at = number == SYS_execveat;
	char path[4096], file[32];
	size_t n = 0;

	do {
		if (n == sizeof(path) || !user_read(&path[n], arg[at] + n, 1))
			return false;
	} while (path[n++]);
	if (!at || path[0])
		return !faccessat(at ? (int)arg[0] : AT_FDCWD, path, X_OK, 0);
	/* fexecve() */
	snprintf(file, sizeof(file), "/proc/self/fd/%d", (int)arg[0]);
	return arg[4] & AT_EMPTY_PATH && !access(file, X_OK);
}

void calls_begin(struct user_thread *t, int64_t number, const uint64_t *arg)
{
	uint64_t ns;

	if (number == PROTOCOL_CALL) {
		take_message(t, arg);
		return;
	}
	/*
	 * A hidden thread's work costs nothing, but its calls still count if others see their
	 * effects.
	 */
	if (t->v && !t->hidden)
		__atomic_store_n(&t->v->instr, t->v->instr + CALL_CYCLES, __ATOMIC_RELEASE);
	memcpy(in_call[t - user.thread].arg, arg, sizeof(in_call[0].arg));
	switch (number) {
	case SYS_chroot:
	case SYS_pivot_root:
	case SYS_setns:
		user_new_root();
		break;
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		if (t->v) {
			__atomic_store_n(&user.creator.instr, t->v->instr, __ATOMIC_RELAXED);
			__atomic_store_n(&user.creator.cpu, t->held, __ATOMIC_RELAXED);
		}
		return;
	case SYS_munmap:
		notes_unmaps(arg[0], arg[1]);
		pages_unmapped(arg[0], arg[1]);
		return;
	case SYS_exit_group:
		user_finish(NULL);
		cpus_leave(t);
		return;
	case SYS_execve:
	case SYS_execveat:
		if (user.follow) {
			exec_follow(t, number, arg);
		} else if (will_exec(number, arg)) {
			__atomic_store_n(&shared->executes, true, __ATOMIC_RELAXED);
			user_leave(t);
		}
		return;
	case SYS_sched_setaffinity:
		bind_cpus(t, arg[0], arg[2], arg[1]);
		return;
	case SYS_open:
		opens(arg[0]);
		break;
	case SYS_openat:
		opens(arg[1]);
		break;
	case SYS_exit:
		cpus_leave(t);
		cpus_forget(t);
		return;
	}
	if (!may_wait(number, arg))
		return;
	ns = window_is_open() && plugin.feed ? sleep_of(number, arg) : 0;
	t->sleep_until = ns ? *feed_clock(plugin.feed) + ns * 1000 : 0;
	cpus_leave(t);
	t->waits = true;
}

/* Update the memory map after a call that changed it. */
static void look_at_memory(int64_t number, const uint64_t *arg, uint64_t result)
{
	switch (number) {
	case SYS_mmap:
		pages_mapped(result, arg[1], arg[3] & MAP_FLAG_ANON ? -1 : (int)arg[4], arg[5],
			     arg[3] & MAP_FLAG_SHARED);
		pages_changed(result, arg[1], arg[3] & MAP_FLAG_SHARED);
		break;
	case SYS_munmap:
	case SYS_mremap:
		pages_changed(arg[0], arg[1], number == SYS_mremap);
		break;
	case SYS_shmat:
	case SYS_shmdt:
		pages_changed(0, 0, true);
		break;
	}
}

void calls_end(struct user_thread *t, int64_t number, int64_t result)
{
	const uint64_t *arg = in_call[t - user.thread].arg;

	if (number == PROTOCOL_CALL)
		return;
	forks_ended(result);
	if ((number == SYS_execve || number == SYS_execveat) && result < 0)
		user_stay();
	if (result >= 0)
		look_at_memory(number, arg, (uint64_t)result);
	if (number == SYS_mmap && result > 0 && arg[3] & (MAP_FLAG_ANON | MAP_FLAG_SHARED)) {
		notes_region((uint64_t)result, arg[1], arg[3] & MAP_FLAG_SHARED,
			     arg[2] == PROT_NONE && arg[3] & MAP_FLAG_NORESERVE);
	} else if (number == SYS_mmap && result > 0 && arg[2] & PROT_EXEC) {
		notes_code((uint64_t)result, arg[1]);
	} else if (number == SYS_brk && result > 0) {
		notes_break((uint64_t)result);
	} else if (number == SYS_clone && result > 0 && arg[0] & CLONE_FLAG_THREAD) {
		notes_stack((pid_t)result, arg[1], arg[0] & CLONE_FLAG_SETTLS ? arg[4] : 0);
	} else if (number == SYS_arch_prctl && !result && arg[0] == ARCH_SET_FS) {
		notes_stack(t->tid, 0, arg[1]);
	}
	if (!t->waits)
		return;
	if (t->sleep_until && !result)
		sleep_on(t->sleep_until);
	cpus_enter(t);
}
