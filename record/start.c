// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-qemu-user.so: the plugin for programs that QEMU emulates without a kernel.
 *
 *   -plugin PATH,watch=FILE,meta=FILE,shared=FILE[,follow=on][,marks=on]
 *	[,arrives=THREAD.CPU]
 *
 * The watch file (watch.h) has a 'cpu' line for each CPU on which threads may run. The model runs
 * in its own process (model.c), which has made the shared memory. user.c has what this process
 * writes at its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "api.h"
#include "pages.h"
#include "shared.h"
#include "user.h"

/* Quanta that a lone thread may be ahead: one that resumes beside it takes over its clock. */
#define ALONE 32u

int qemu_plugin_version = API_VERSION;

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

static void on_end(qemu_plugin_id_t id, void *data)
{
	user_finish(NULL);
}

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
			user.meta = strdup(argv[i] + 5);
		else if (!strncmp(argv[i], "shared=", 7))
			*file = argv[i] + 7;
		else if (!strcmp(argv[i], "marks=on"))
			user.by_marks = true;
		else if (!strcmp(argv[i], "follow=on"))
			user.follow = true;
		else if (sscanf(argv[i], "arrives=%u.%u", &user.arrived.number,
				&user.arrived.cpu) == 2)
			*arrives = true;
		else
			return refuse("arguments are watch=, meta=, shared=, follow=on, marks=on "
				      "and arrives=THREAD.CPU");
	}
	if (!watch || !user.meta || !*file)
		return refuse("watch=FILE, meta=FILE or shared=FILE is missing");
	if (user.follow)
		exec_init(watch, user.meta, *file, user.by_marks);
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
	if (forks_watch())
		return refuse("cannot start");
	user.readable = true;
	qemu_plugin_register_vcpu_init_cb(id, on_thread);
	qemu_plugin_register_vcpu_tb_trans_cb(id, code_translated);
	qemu_plugin_register_vcpu_syscall_cb(id, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_call_end);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
