// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * FFmpeg as published: one instance per 8 CPUs (4 cores), pinned there, with its encoder threads at
 * FIFO 99. The threads are those of a frame-threaded encoder (x264): each encodes one frame, row
 * after row. A row may begin when the previous frame is some rows further on, because motion
 * vectors point there. A thread that must wait sleeps on the frame's condition. A thread that
 * finishes a row wakes its frame's waiters. A cheap frame after an expensive one catches up and
 * then waits for every row, which causes the wake-ups. A main thread of the normal class takes
 * finished frames in order and starts the next ones. It runs when RT threads leave it a CPU.
 *
 * The work of a row is row_us on average, the only calibrated number. The work varies randomly from
 * frame to frame and from row to row, and is the same in all variants with the same seed.
 */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "machine.h"
#include "rt_body.h"

#define LEVEL	 99
#define ROW_BITS 10 /* a frame's progress: frame << ROW_BITS | finished rows */

/**
 * struct cond - a number that rises, and its waiters; the three of a frame share a line
 * @value: the number
 * @waiters: threads that sleep until it changes, or are about to sleep
 */
struct cond {
	u32 value, waiters;
};

/**
 * struct frame - a slot for frames under way: frame n of an instance uses slot n modulo threads
 * @progress: frame << ROW_BITS | finished rows; also rises when the next frame takes the slot
 * @started: number + 1 of the frame that a thread may encode in this slot
 * @done: number + 1 of the last frame encoded in this slot
 */
struct frame {
	struct cond progress, started, done;
};

struct slot {
	struct frame *frame;
	struct rt_futex *progress, *started, *done;
};

struct ffmpeg {
	const struct run *run;
	struct rt_phase phase;
	u32 rows, lag, threads;
	double row, row_spread, frame_spread;
	u64 main_work;
	u64 rows_done;
};

struct instance {
	struct ffmpeg *f;
	struct slot *slot; /* the index is the frame modulo the threads */
	u32 first_cpu, next;
	bool handing_out, waits;
};

struct worker {
	struct instance *in;
	u32 frame, row;
	enum { WAIT_START, WAIT_ROW, WORKED } at;
	bool waits;
};

static u64 mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Uniform in [1 - @spread, 1 + @spread]. */
static double vary(u64 x, double spread)
{
	return 1 + spread * (2 * ((double)(mix(x) >> 11) * 0x1p-53) - 1);
}

static u64 work_of(const struct rt *rt, const struct worker *w)
{
	const struct ffmpeg *f = w->in->f;
	u64 frame = rt_salt(rt, w->in->first_cpu) + ((u64)w->frame << 20);

	return (u64)(f->row * vary(frame, f->frame_spread) *
		     vary(frame + 1 + w->row, f->row_spread)) +
	       1;
}

/*
 * pthread_cond_wait() until the value is at least @need. @waits: state that the caller keeps during
 * the sleep. Return: false if the thread sleeps; then the program returns, and calls again later.
 */
static bool cond_wait(struct rt_cpu *me, struct cond *c, struct rt_futex *futex, u32 need,
		      bool *waits)
{
	for (;;) {
		u32 seen = READ_ONCE(c->value);

		if (*waits) {
			__atomic_fetch_sub(&c->waiters, 1, __ATOMIC_SEQ_CST);
			*waits = false;
		}
		if (seen >= need)
			return true;
		__atomic_fetch_add(&c->waiters, 1, __ATOMIC_SEQ_CST);
		*waits = true;
		if (rt_futex_wait(me, futex, &c->value, seen))
			return false;
	}
}

/* pthread_cond_broadcast(), which calls the kernel only if a thread waits. */
static void cond_raise(struct rt_cpu *me, struct cond *c, struct rt_futex *futex, u32 value)
{
	__atomic_exchange_n(&c->value, value, __ATOMIC_SEQ_CST);
	if (READ_ONCE(c->waiters))
		rt_futex_wake(me, futex, UINT32_MAX);
}

static struct slot *slot_of(const struct instance *in, u32 frame)
{
	return &in->slot[frame % in->f->threads];
}

/* Is the previous frame far enough? If not, the thread sleeps. */
static bool may_begin(struct rt_cpu *me, struct worker *w)
{
	const struct ffmpeg *f = w->in->f;
	u32 rows = w->row + f->lag < f->rows ? w->row + f->lag : f->rows;
	struct slot *before;

	if (!w->frame)
		return true;
	before = slot_of(w->in, w->frame - 1);
	return cond_wait(me, &before->frame->progress, before->progress,
			 (w->frame - 1) << ROW_BITS | rows, &w->waits);
}

static bool is_started(struct rt_cpu *me, struct worker *w)
{
	struct slot *s = slot_of(w->in, w->frame);

	return cond_wait(me, &s->frame->started, s->started, w->frame + 1, &w->waits);
}

static void publish(struct rt_cpu *me, struct worker *w)
{
	struct ffmpeg *f = w->in->f;
	struct slot *s = slot_of(w->in, w->frame);

	if (rt_body_phase(me, &f->phase))
		f->rows_done++;
	cond_raise(me, &s->frame->progress, s->progress, w->frame << ROW_BITS | ++w->row);
	if (w->row < f->rows)
		return;
	cond_raise(me, &s->frame->done, s->done, w->frame + 1);
	w->frame += f->threads;
	w->row = 0;
}

static void encode(struct rt_cpu *me, struct rt_thread *t)
{
	struct worker *w = t->arg;

	for (;;) {
		switch (w->at) {
		case WORKED:
			publish(me, w);
			w->at = w->row ? WAIT_ROW : WAIT_START;
			break;
		case WAIT_START:
			if (!is_started(me, w))
				return;
			w->at = WAIT_ROW;
			break;
		case WAIT_ROW:
			if (!may_begin(me, w))
				return;
			w->at = WORKED;
			t->left = work_of(rt_of(me), w);
			return;
		}
	}
}

/* The main thread: takes finished frames in order; each makes room for another one. */
static void hand_out(struct rt_cpu *me, struct rt_thread *t)
{
	struct instance *in = t->arg;
	struct ffmpeg *f = in->f;
	struct slot *s;

	if (in->handing_out) {
		s = slot_of(in, in->next);
		in->handing_out = false;
		cond_raise(me, &s->frame->started, s->started, ++in->next);
	}
	s = slot_of(in, in->next);
	if (in->next >= f->threads &&
	    !cond_wait(me, &s->frame->done, s->done, in->next - f->threads + 1, &in->waits))
		return;
	in->handing_out = true;
	t->left = f->main_work;
}

/* ---- building ---- */

/* Groups of CPUs whose first ones lie @by CPUs further on, in the order of caches. */
static u32 *shifted(u32 *cpus, u32 n, u32 by)
{
	u32 *out = calloc(n, sizeof(*out));

	if (!out)
		abort();
	for (u32 i = 0; i < n; i++)
		out[i] = cpus[(i + by) % n];
	free(cpus);
	return out;
}

static void make_instance(struct rt *rt, struct ffmpeg *f, const u32 *cpus, u32 n,
			  unsigned long *allowed)
{
	struct instance *in = calloc(1, sizeof(*in));
	struct worker *w = calloc(f->threads, sizeof(*w));
	int node = f->run->machine->topo.cpu[cpus[0]].node;

	if (!in || !w || !n)
		abort();
	in->f = f;
	in->first_cpu = cpus[0];
	in->slot = calloc(f->threads, sizeof(*in->slot));
	if (!in->slot)
		abort();
	for (u32 i = 0; i < f->threads; i++) {
		in->slot[i].frame =
			arena_alloc(sizeof(struct frame), node, "frame", "struct frame");
		in->slot[i].progress = rt_futex_new(node);
		in->slot[i].started = rt_futex_new(node);
		in->slot[i].done = rt_futex_new(node);
		w[i] = (struct worker){ .in = in, .frame = i };
		rt_thread_new(rt, cpus[i % n], LEVEL, allowed, encode, &w[i]);
	}
	rt_thread_new(rt, cpus[0], RT_NORMAL, allowed, hand_out, in);
}

static int build(struct run *run, struct rt *rt, struct ffmpeg *f)
{
	u32 size = (u32)run_param(run, "cpus_per_instance"), n;
	u32 *cpus = rt_body_groups(run, &size, &n);
	u32 words = (run->machine->topo.nr_cpus + 63) / 64;
	unsigned long *allowed = calloc(words, sizeof(*allowed));
	bool pinned = run_param(run, "pinned") > 0 || !strcmp(run->variant, "partition");
	int failed = 0;

	if (!allowed)
		abort();
	cpus = shifted(cpus, n * size, (u32)run_param(run, "offset"));
	for (u32 i = 0; i < n && !failed; i++) {
		memset(allowed, 0, words * sizeof(*allowed));
		for (u32 k = pinned ? i * size : 0; k < (pinned ? i + 1 : n) * size; k++)
			allowed[cpus[k] / 64] |= 1ul << (cpus[k] % 64);
		if (!strcmp(run->variant, "partition"))
			failed = rt_partition(rt, allowed);
		make_instance(rt, f, &cpus[i * size], size, allowed);
	}
	run_report(run, "instances", n);
	free(allowed);
	free(cpus);
	return failed ? run_fail(run, "out of memory") : 0;
}

static int execute(struct run *run)
{
	struct ffmpeg f = { .run = run, .phase = rt_body_phases(run) };
	double seconds, extra_finds;
	struct rt *rt;

	f.rows = (u32)run_param(run, "rows");
	f.lag = (u32)run_param(run, "lag_rows");
	f.threads = (u32)run_param(run, "threads");
	f.row = run_param(run, "row_us") * 1e6;
	f.row_spread = run_param(run, "row_spread");
	f.frame_spread = run_param(run, "frame_spread");
	extra_finds = run_param(run, "extra_finds");
	f.main_work = (u64)(f.row * f.rows * run_param(run, "main_share"));
	if (!f.rows || f.rows >> ROW_BITS || !f.threads || f.row < 1e6 || f.row_spread > 1 ||
	    f.frame_spread > 1 || !f.main_work || run_param(run, "cpus_per_instance") < 1 ||
	    extra_finds > 100)
		return run_fail(run,
				"rows must be 1 to 1023; threads, row_us and cpus_per_instance "
				"at least 1; main_share more than 0; row_spread and frame_spread "
				"at most 1; extra_finds at most 100");
	rt = rt_body_create(run);
	if (!rt || build(run, rt, &f))
		return -1;
	rt_set_extra_finds(rt, (u32)(extra_finds * 1000));
	run->simulated = rt_run(rt);
	seconds = (double)(f.phase.end - f.phase.begin) * 1e-12;
	run_report(run, "fps", (double)f.rows_done / f.rows / seconds);
	rt_body_report(run, rt, &f.phase);
	rt_free(rt);
	return 0;
}

static const char *const params[] = {
	RT_PARAMS,    "cpus_per_instance", "offset", "pinned",	   "threads",
	"rows",	      "lag_rows",	   "row_us", "row_spread", "frame_spread",
	"main_share", "extra_finds",	   NULL
};

extern const struct experiment ffmpeg_rt;
const struct experiment ffmpeg_rt = {
	.name = "ffmpeg-rt",
	.variants = rt_variants,
	.params = params,
	.execute = execute,
};
