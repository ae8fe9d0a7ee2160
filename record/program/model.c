// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * schedshard-record-model WATCH META [after=MS] [for=MS] [marks=on] [stacks=on]: the model of a
 * recording, in its own process.
 *
 * Why one model: processes that share memory wait for each other's lines, as threads do. So the
 * model must process their accesses in the order of their clocks while they run. Separate
 * recordings, merged afterwards, would be simpler, but could hold no process back. Then the host,
 * not the clocks, would decide which process takes a lock. Why a separate process: a recorded
 * process may end at any time, and none is sure to outlive the others.
 *
 * The model's process prints "ready PATH" when programs may begin; PATH is the shared memory. The
 * end of its standard input says that the first program has ended. The recording ends when the
 * window has closed, or at SIGTERM, or when the first program and all others have ended. The
 * process then writes the result (window.c) and, to META, the list of processes.
 *
 * However a recorded process ends, the model's process releases what that process held: a
 * descriptor of the process signals its end. A process that executes another program reports that
 * itself. BURY_TURNS later, when its other threads are surely gone, the model's process releases
 * what they held.
 */
#include <fcntl.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host_time.h"
#include "machine.h"
#include "memory.h"
#include "names_file.h"
#include "pages.h"
#include "shared.h"
#include "sites.h"
#include "step.h"
#include "window.h"

#define PAGES_BITS 20
#define TIME_EVERY 100000u
#define TURN_NS	   5000000
#define BURY_TURNS 5u
#define COMING_NS  3000000000ull /* wait for a process that was announced */
#define TOLD_NS	   500000000ull	 /* time for processes to write their names */

struct plugin plugin;

static const char *meta_path;
static uint64_t after_ms, for_ms;
static bool with_stacks;
static volatile sig_atomic_t stop;

/* For each image: the descriptor of its process, and the turns since it left. */
static struct {
	int process;
	uint32_t left;
	bool known, buried;
} image[SHARED_IMAGES];

static int refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	return 1;
}

/* ---- processes ---- */

static void bury(uint32_t n)
{
	image[n].buried = true;
	shared_lock();
	for (uint32_t i = 0; i < shared->nr_cpus; i++) {
		struct shared_cpu *c = &shared->cpu[i];

		c->threads -= *shared_owned(n, i);
		*shared_owned(n, i) = 0;
		if (shared_holder(c) != n)
			continue;
		__atomic_store_n(&shared->vcpu[i].idle, true, __ATOMIC_RELEASE);
		if (__atomic_exchange_n(&c->held, 0, __ATOMIC_RELEASE) & 1)
			syscall(SYS_futex, &c->held, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	shared_unlock();
	if (image[n].process >= 0)
		close(image[n].process);
	image[n].process = -1;
	__atomic_store_n(&shared->image[n].gone, true, __ATOMIC_RELEASE);
}

static bool has_ended(uint32_t n)
{
	struct pollfd end = { .fd = image[n].process, .events = POLLIN };

	if (image[n].process < 0)
		return kill(shared->image[n].pid, 0) && errno == ESRCH;
	return poll(&end, 1, 0) > 0;
}

/* Return: the number of live processes. */
static uint32_t look_after(void)
{
	uint32_t n = __atomic_load_n(&shared->images, __ATOMIC_ACQUIRE), live = 0;

	if (n > SHARED_IMAGES)
		n = SHARED_IMAGES;
	for (uint32_t i = 0; i < n; i++) {
		pid_t pid = __atomic_load_n(&shared->image[i].pid, __ATOMIC_ACQUIRE);

		if (image[i].buried)
			continue;
		if (!pid) {
			live++; /* the process is just starting */
			continue;
		}
		if (!image[i].known) {
			image[i].known = true;
			image[i].process = (int)syscall(SYS_pidfd_open, pid, 0);
		}
		if (!__atomic_load_n(&shared->image[i].left, __ATOMIC_ACQUIRE))
			image[i].left = 0;
		else
			image[i].left++;
		if (has_ended(i) || image[i].left > BURY_TURNS)
			bury(i);
		else
			live += !image[i].left;
	}
	return live;
}

/* ---- the window ---- */

static void share_window(enum shared_window is)
{
	__atomic_store_n(&shared->is, is, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &shared->is, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void open_window(void)
{
	if (shared->is != SHARED_SHUT)
		return;
	window_open();
	share_window(SHARED_OPEN);
}

static void close_window(void)
{
	if (shared->is != SHARED_OPEN)
		return;
	window_close();
	share_window(SHARED_CLOSED);
}

static void on_stop(int number)
{
	stop = 1;
}

/* Has the first program ended? */
static bool first_has_ended(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) > 0;
}

static void take_a_turn(uint32_t wanted)
{
	const struct timespec turn = { 0, TURN_NS };

	/* A futex, so that requests of marks do not wait for a turn's end. */
	syscall(SYS_futex, &shared->wanted, FUTEX_WAIT, wanted, &turn, NULL, 0);
}

static void record(void)
{
	uint64_t began = host_now(), changed = began, opened = 0;
	uint32_t coming = 0;

	while (shared->is != SHARED_CLOSED) {
		uint32_t wanted = __atomic_load_n(&shared->wanted, __ATOMIC_SEQ_CST);
		uint32_t live = look_after(), come = shared->coming;
		bool ended = first_has_ended();
		uint64_t now = host_now();

		if (come != coming)
			changed = now;
		coming = come;
		if (stop)
			break;
		if (!live && ended && (!come || now - changed > COMING_NS))
			break;
		if ((after_ms && now - began >= after_ms * 1000000) || wanted >= SHARED_OPEN)
			open_window();
		if (shared->is == SHARED_OPEN && !opened)
			opened = now;
		if ((for_ms && opened && now - opened >= for_ms * 1000000) ||
		    wanted == SHARED_CLOSED)
			close_window();
		take_a_turn(wanted);
	}
	close_window();
}

/*
 * Wait for running processes, which write their names when they notice that the window has closed.
 */
static void wait_for_names(void)
{
	uint64_t since = host_now();
	bool all = false;

	while (!all && host_now() - since < TOLD_NS) {
		all = true;
		look_after();
		for (uint32_t i = 0; i < shared->images && i < SHARED_IMAGES; i++)
			all &= shared->image[i].told || image[i].buried;
		if (!all)
			step_sleep(TURN_NS);
	}
}

/* ---- the list of processes ---- */

static void images_json(json_t *into)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < shared->images && i < SHARED_IMAGES; i++) {
		const struct shared_image *s = &shared->image[i];

		json_array_append_new(all, json_pack("[i, i, i, b]", (int)s->pid, (int)s->program,
						     (int)s->parent, (int)s->told));
	}
	json_object_set_new(into, "images", all);
}

static int write_meta(void)
{
	json_t *all =
		json_pack("{s:s, s:i, s:i, s:b, s:I, s:I}", "format", "schedshard/record-meta/2",
			  "nr_threads", (int)shared->threads, "children", (int)shared->children,
			  "executes", (int)shared->executes, "unseen_blocks",
			  (json_int_t)shared->unseen, "lost_accesses", (json_int_t)shared->lost);
	int failed;

	images_json(all);
	pages_json(all);
	if (shared->sites.all)
		sites_json(&shared->sites, all);
	failed = names_file_write(all, AT_FDCWD, meta_path);
	json_decref(all);
	return failed ? refuse("cannot write the names") : 0;
}

/* ---- start ---- */

static int check_machine(void)
{
	struct feed_setup *s = &plugin.watch.setup;
	struct machine *machine;
	struct shard_err err;

	if (!plugin.watch.machine || !plugin.watch.trace)
		return refuse("the watch file names no machine, or no trace");
	if (machine_load(&machine, plugin.watch.machine, &err))
		return refuse(err.text);
	s->machine = machine;
	s->hits_free = true;
	for (uint32_t i = 0; i < s->nr_cpus; i++)
		if (s->cpu[i] >= machine->topo.nr_cpus || !machine->topo.cpu[s->cpu[i]].possible)
			return refuse("the machine lacks a CPU that a 'cpu' line names");
	return 0;
}

static int make_shared(int *file)
{
	*file = shared_create(plugin.watch.setup.nr_cpus);
	if (*file < 0 || pages_init())
		return refuse("cannot make shared memory");
	plugin.state = &shared->state;
	plugin.nr_vcpus = shared->nr_cpus;
	plugin.vcpu = shared->vcpu;
	plugin.apart = SHARED_APART;
	for (uint32_t i = 0; i < plugin.nr_vcpus; i++) {
		const struct feed_setup *s = &plugin.watch.setup;

		shared->cpu[i].node = (uint32_t)s->machine->topo.cpu[s->cpu[i]].node;
		plugin.vcpu[i].check_at = UINT64_MAX;
		plugin.vcpu[i].idle = true;
		if (stream_init(&plugin.vcpu[i].stream))
			return refuse("no memory");
	}
	if ((with_stacks && sites_init(&shared->sites)) || access_writers() ||
	    access_begin_large(PAGES_BITS))
		return refuse("no memory");
	window_trace_time(TIME_EVERY);
	window_model();
	shared->tables = access_tables();
	shared->feed = plugin.feed;
	return 0;
}

static int read_arguments(int argc, char **argv)
{
	struct watch_error err;

	if (argc < 3)
		return refuse("usage: schedshard-record-model WATCH META [after=MS] [for=MS] "
			      "[marks=on] [stacks=on]");
	meta_path = argv[2];
	for (int i = 3; i < argc; i++) {
		if (!strncmp(argv[i], "after=", 6))
			after_ms = strtoull(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "for=", 4))
			for_ms = strtoull(argv[i] + 4, NULL, 10);
		else if (!strcmp(argv[i], "stacks=on"))
			with_stacks = true;
		else if (strcmp(argv[i], "marks=on") != 0)
			return refuse("arguments are after=, for=, marks=on and stacks=on");
		else
			after_ms = UINT64_MAX / 1000000;
	}
	return watch_read(&plugin.watch, argv[1], &err) ? refuse(err.text) : 0;
}

int main(int argc, char **argv)
{
	int file = -1;

	/* Ctrl-C is for the programs. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, on_stop);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read_arguments(argc, argv) || check_machine() || make_shared(&file))
		return 1;
	if (!after_ms)
		open_window();
	printf("ready /proc/%d/fd/%d\n", (int)getpid(), file);
	fflush(stdout);
	record();
	window_finish();
	wait_for_names();
	return write_meta();
}
