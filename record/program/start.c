// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * libschedshard-qemu-user.so: the plugin for programs that QEMU emulates without a kernel.
 *
 *   -plugin PATH,watch=FILE,meta=FILE,shared=FILE,view=FOLDER[,follow=on][,marks=on]
 *	[,arrives=THREAD.CPU]
 *
 * The watch file (watch.h) contains a 'cpu' line for each CPU on which threads may run. The model
 * runs in its own process (model.c), which has made the shared memory. user.c writes the files at
 * this process's end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "api.h"
#include "pages.h"
#include "shared.h"
#include "stacks.h"
#include "user.h"

/* Quanta that a lone thread may be ahead: one that resumes beside it takes over its clock. */
#define ALONE 32u

static void on_call(unsigned int vcpu, int64_t number, const uint64_t *arg)
{
	user_current = &user.thread[vcpu];
	if (!user.dead)
		calls_begin(&user.thread[vcpu], number, arg);
}

static void on_call_end(unsigned int vcpu, int64_t number, int64_t result)
{
	if (!user.dead)
		calls_end(&user.thread[vcpu], number, result);
}

static void on_end(void)
{
	user_finish(NULL);
}

static int refuse(const char *why)
{
	fprintf(stderr, "schedshard: %s\n", why);
	return -1;
}

static void on_thread(unsigned int vcpu)
{
	if (vcpu < USER_THREADS)
		return;
	fprintf(stderr, "schedshard: the program has more than %u threads\n", USER_THREADS);
	exit(1);
}

/*
 * Attach the memory that the model's process has made. Return: false if that process has ended, or
 * if there are too many images.
 */
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
	access_attach(&shared->tables);
	if (stacks_on())
		access_sites(stacks_site);
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
		else if (!strncmp(argv[i], "view=", 5))
			user.view = strdup(argv[i] + 5);
		else if (!strcmp(argv[i], "marks=on"))
			user.by_marks = true;
		else if (!strcmp(argv[i], "follow=on"))
			user.follow = true;
		else if (sscanf(argv[i], "arrives=%u.%u", &user.arrived.number,
				&user.arrived.cpu) == 2)
			*arrives = true;
		else
			return refuse("arguments are watch=, meta=, shared=, view=, follow=on, "
				      "marks=on and arrives=THREAD.CPU");
	}
	if (!watch || !user.meta || !*file || !user.view)
		return refuse("watch=FILE, meta=FILE, shared=FILE or view=FOLDER is missing");
	if (user.follow)
		exec_init(watch, user.meta, *file, user.view, user.by_marks);
	if (*arrives && access(watch, R_OK))
		return 0; /* the recording has ended */
	return watch_read(&plugin.watch, watch, &err) ? refuse(err.text) : 0;
}

static const struct api_callbacks callbacks = {
	.translated = code_translated,
	.begun = on_thread,
	.call = on_call,
	.called = on_call_end,
	.end = on_end,
};

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *file = NULL;
	bool arrives = false;
	char why[128];

	user.arrived.cpu = user.creator.cpu = USER_NO_CPU;

	if (api_refuses(info, why, sizeof(why)))
		return refuse(why);
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
	user_note_own();
	if (!user_find_path() || forks_watch())
		return refuse("cannot start");
	user.readable = true;
	api_register(id, &callbacks);
	return 0;
}
