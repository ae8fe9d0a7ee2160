/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * exact.h - a program on the simulated machine's own clock: its threads, and what they share.
 *
 * Concurrency: one thread of the host executes all of the program's threads, one at a time. So
 * nothing here has a lock. A function that "may switch fibers" lets others run first.
 */
#ifndef EXACT_H
#define EXACT_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "alarms.h"
#include "fiber.h"
#include "machine.h"
#include "watch.h"

#define API	      __attribute__((visibility("default")))
#define HIDDEN	      __attribute__((visibility("hidden")))
#define EXACT_EVER    (UINT64_MAX / 4)
#define EXACT_THREADS 8192u
#define THREAD_MASK   64u
/* Cycles of a system call, as in record/program/, and of a CPU's change to another thread. */
#define EXACT_CALL   300u
#define EXACT_CHANGE 2000u
/*
 * Cycles of a pause, as in model/experiments/primitives.toml, and of a call of code without
 * instrumentation, which is an estimate.
 */
#define EXACT_PAUSE 140u
#define EXACT_AWAY  100u
/* A thread executes this many instructions before threads that are behind get a turn. */
#define EXACT_AHEAD 1000u
/* Time slice of threads that share a CPU, picoseconds. */
#define EXACT_SLICE 1000000000ull

/* What spin.c knows of a thread that may loop for ever. */
struct spin {
	uint32_t epoch, looks, times, states;
	uint32_t *seen;
	const void *at, *pc; /* what it read last, and where */
};

#define TURNS_STATES 32u

/*
 * What turns.c knows of a thread in code without instrumentation: its clock and counts at its last
 * hook, the host's time since then, and the latest states of its registers. While other threads
 * have a turn, the structure also has this thread's place, and how many turns brought nothing new.
 */
struct turns {
	uint64_t now, rest;
	uint32_t ran, cycles;
	long ns;
	uint32_t state[TURNS_STATES], nr_states, repeated;
	uintptr_t pc; /* 0: no other thread has a turn now */
	uint32_t times, epoch;
	uint64_t executed;
	time_t since;
};

/**
 * struct thread - a thread of the program
 * @fiber: its stack and thread-local memory
 * @parking: where its real thread waits while the first real thread executes it
 * @parked: state of the real thread, accessed with atomics
 * @number: in order of creation, from 0
 * @cpu: index of its CPU
 * @start, @arg, @result: of pthread_create()
 * @ended: it has ended
 * @detached: nobody joins it
 * @reaped: its real thread is gone
 * @joiner: the thread that waits for its end
 * @next: next in a queue
 * @at: address of the word that it waits for, or NULL
 * @value: the value that was there
 * @until: when the wait ends by itself, picoseconds
 * @alarms: the alarms for @until
 * @timed_out: the last wait ended by itself
 * @waits_in, @waits_pc: the function that it waits in, and where it was called
 * @block: its last block that calls code without instrumentation
 * @from: where it made its last call of a function of this library
 * @slice: when its time slice on its CPU ends, picoseconds
 * @top: where its own function's stack begins
 * @handlers: its cleanup handlers, of pthread_cleanup_push()
 * @end: where it continues if its function does not return (ends.c)
 * @robust: the first of the robust mutexes that it holds
 * @mask, @awaits: signals that it blocks, and signals that it waits for, a bit each
 * @stack: of sigaltstack(); @wide: a larger one that replaces it (stacks.c)
 * @handled, @broken: how many handlers it ran, and after how many of these a call ends with EINTR
 * @outside: it waits for something outside of the program
 * @dispatched: it is in a call that the kernel dispatched (dispatch.c)
 * @cancelled, @cancel_off, @cancel_soon: of pthread_cancel()
 * @cancel_point: pthread_cancel() ends this wait
 * @spin, @turns: to find out whether it loops for ever (spin.c, turns.c)
 * @stack_size: bytes of its stack
 * @allowed: the CPUs to which the program bound it, by the machine's numbers; with no words: all
 * @moved: it was bound to other CPUs, and may not have gone there yet
 */
struct thread {
	struct fiber fiber, parking;
	int parked;
	uint32_t number, cpu;
	pthread_t real;
	pid_t tid;
	void *(*start)(void *arg);
	void *arg, *result;
	bool ended, detached, reaped;
	struct thread *joiner, *next;
	const void *at;
	uint32_t value;
	uint64_t until;
	struct alarms alarms;
	bool timed_out;
	uint32_t bits;
	const char *waits_in;
	const void *waits_pc;
	const void *block, *from;
	uint64_t slice;
	uint64_t allowed[THREAD_MASK];
	uint32_t allowed_words;
	bool moved;
	void *parking_stack;
	void *top;
	__pthread_unwind_buf_t *handlers;
	jmp_buf *end;
	uint64_t mask, awaits;
	stack_t stack, wide;
	uint32_t handled, broken;
	const void **key;
	struct mutex *robust;
	bool outside, dispatched;
	bool cancelled, cancel_off, cancel_soon, cancel_point;
	uint64_t stack_size;
	struct spin spin;
	struct turns turns;
};

/**
 * struct exact - the recording
 * @watch: its settings
 * @ps: picoseconds of an instruction
 * @pid: of the process that is recorded
 * @recording: the recording has begun and not ended
 * @threads: all, by number
 * @live: how many threads have not ended
 * @children: how many processes the program started
 * @strangers: there are children, or threads that the C library made for itself: both may store to
 *	shared memory, and wait in the kernel
 * @waited_outside: calls that waited for something outside of the program
 * @meta: path of the file for names
 * @view: folder of the machine's files
 * @ends_now: ends_now(); @endless: fatal_endless(); @last_resort: the last handler of fatal.c
 * @sent: not 0 if a signal waits to be handled
 * @handle: of masks.c; NULL if there is one mask for all threads
 */
struct exact {
	struct watch watch;
	uint64_t ps, seed;
	bool recording;
	pid_t pid;
	struct thread *threads[EXACT_THREADS];
	uint32_t nr_threads, live;
	uint32_t children;
	bool strangers;
	uint64_t waited_outside;
	const char *meta, *view;
	void (*ends_now)(struct thread *t, void *result);
	void (*endless)(time_t since);
	void *last_resort;
	volatile uint32_t sent;
	void (*handle)(void);
};

extern struct exact exact HIDDEN;

/* The calling thread, and its instructions and cycles since its clock was last updated. */
extern _Thread_local struct thread *exact_self HIDDEN __attribute__((tls_model("initial-exec")));
extern _Thread_local uint32_t exact_ran HIDDEN __attribute__((tls_model("initial-exec")));
extern _Thread_local uint32_t exact_cycles HIDDEN __attribute__((tls_model("initial-exec")));

/*
 * How many of the next instructions take no time. The cost of a locked operation includes those
 * right after it, because it was measured on loops that contain them (op_cycles.locked and
 * protocol.after_locked_cycles in machines/). A counting loop has two, a loop of load and
 * compare-and-swap has five.
 */
#define EXACT_FREE	2u
#define EXACT_FREE_SWAP 5u
extern _Thread_local uint32_t exact_free HIDDEN __attribute__((tls_model("initial-exec")));

/* How many of the next instructions count as near a miss: see FEED_NEAR. */
extern _Thread_local uint32_t exact_near HIDDEN __attribute__((tls_model("initial-exec")));

/* The caller's thread-local memory. A fiber has that of its own thread. */
static inline void *exact_local(void)
{
	void *local;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(local));
	return local;
}

/* The machine's number of a CPU of the recording, and its node. */
static inline uint32_t exact_cpu(uint32_t cpu)
{
	return exact.watch.setup.cpu[cpu];
}

static inline uint32_t exact_node(uint32_t cpu)
{
	return (uint32_t)exact.watch.setup.machine->topo.cpu[exact_cpu(cpu)].node;
}

/* Is the caller a thread of a recorded program? If not, callers use the C library's functions. */
static inline bool exact_on(void)
{
	return exact_self && exact.recording;
}

/* Run the handlers of signals that the calling thread was sent. May switch fibers. */
static inline void exact_signals(void)
{
	if (__builtin_expect(exact.sent, false) && exact.handle)
		exact.handle();
}

/* ---- sched.c ---- */

/** sched_start - put the main thread on the first CPU. */
void sched_start(struct thread *main_thread);

/**
 * sched_bind - set the CPUs that a thread may use
 * @mask: a bit per CPU, by the machine's numbers; @words: its size in words
 *
 * Return: 0, or EINVAL if the machine has none of them.
 */
int sched_bind(struct thread *t, const uint64_t *mask, uint32_t words);

/** sched_settle - if the caller was moved, go to its new CPU. May switch fibers. */
void sched_settle(void);

/** sched_place - choose the CPU of a new thread. */
void sched_place(struct thread *t);

/** sched_time - this thread's clock, picoseconds. */
uint64_t sched_time(void);

/** sched_busy - the time that all CPUs have worked so far, picoseconds. */
uint64_t sched_busy(void);

/** sched_work - add @instructions, and those counted so far, to the caller's clock. */
void sched_work(uint32_t instructions);

/** sched_executed - instructions that all threads have executed so far. */
uint64_t sched_executed(void);

/** sched_cycles - add cycles of other work to the caller's clock. */
void sched_cycles(uint32_t cycles);

/** sched_catch_up - let threads run whose clocks are behind. May switch fibers. */
void sched_catch_up(void);

/** sched_block - the caller waits until sched_wake(). May switch fibers. */
void sched_block(void);

/** sched_wake - @t continues at @at. */
void sched_wake(struct thread *t, uint64_t at);

/** sched_leave - the caller's thread has ended. Returns in its real thread. */
void sched_leave(void);

/** sched_yield_cpu - let another thread of this CPU run. May switch fibers. */
void sched_yield_cpu(void);

/** sched_move - @t may run on these CPUs only. May switch fibers. */
int sched_move(struct thread *t, const uint64_t *mask, uint32_t words);

/** sched_second - the second thread starts: the result's times begin. */
void sched_second(void);

/**
 * sched_cpu_time - get CPU @n's busy and idle time, picoseconds, and its instructions
 *
 * All figures count from the start of the second thread or, without one, from the beginning.
 * Return: the time from that moment to the CPU's clock.
 */
uint64_t sched_cpu_time(uint32_t n, uint64_t *busy, uint64_t *idle, uint64_t *instructions);

/* ---- futex.c ---- */

/**
 * futex_wait - wait while *@word is @value. May switch fibers.
 * @until: picoseconds, or EXACT_EVER; @bits: as for FUTEX_WAIT_BITSET
 *
 * Return: 0, EAGAIN or ETIMEDOUT.
 */
int futex_wait(const void *word, uint32_t value, uint64_t until, uint32_t bits, const char *in,
	       const void *pc);

/** futex_wake - wake up to @n threads that wait for @word. May switch fibers. Return: how many. */
int futex_wake(const void *word, int n, uint32_t bits);

/** futex_requeue - wake up to @n threads, let up to @more wait for @to. May switch fibers. */
int futex_requeue(const void *word, int n, int more, const void *to);

/** futex_interrupt - end @t's wait, if it waits for a word, a time, or a thread's end. */
void futex_interrupt(struct thread *t);

/** futex_rouse - futex_interrupt() at time @at, for callers that are no threads of the program. */
void futex_rouse(struct thread *t, uint64_t at);

/** futex_look - wake threads whose words changed outside of the model. Return: did it wake any? */
bool futex_look(void);

/** futex_sleep - wait until a time, picoseconds. May switch fibers. */
void futex_sleep(uint64_t until, const char *in);

/** futex_alarm - an alarm of thread @id fired: end its wait if its time has come. */
void futex_alarm(uint32_t id, uint64_t at);

/* ---- threads.c ---- */

int threads_begin(void);

/** threads_find - find the thread of a pthread_t, if its real thread still exists; else NULL. */
struct thread *threads_find(pthread_t real);

/* ---- outside.c ---- */

/** outside_stuck - no thread can run: wait for a signal or a child, or report the deadlock. */
bool outside_stuck(void);

/* ---- fatal.c ---- */

/** fatal_begin - from now on the result is written when a signal ends the program. */
int fatal_begin(void);

/**
 * fatal_endless - since @since no thread has done anything new: end the process, or go on for now.
 */
void fatal_endless(time_t since);

/* ---- result.c ---- */

/** result_write - write all files, the first time only. @why: what ended the program, or NULL */
void result_write(const char *why);

/**
 * result_waits - write, the first time only, what each thread waits for; the process goes on
 * @pc: where the calling thread is, if it executes code that lets no other thread run; else NULL
 */
void result_waits(const void *pc);

/** result_deadlock - write the files, and what each thread waits for; end the process. */
_Noreturn void result_deadlock(void);

/** result_spin - as result_deadlock(), if some threads are in loops that cannot end. */
_Noreturn void result_spin(void);

#endif
