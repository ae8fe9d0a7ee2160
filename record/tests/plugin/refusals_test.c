// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * refusals PLUGIN: tests the plugin's errors for emulators of other versions, and for wrong
 * arguments. The test loads the plugin as the emulator would. The plugin then calls nothing of the
 * emulator, so the emulator's symbols stay unresolved.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "../../../model/tests/sim/check.h"
#include "api.h"

typedef int (*install_fn)(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

static install_fn install;

/* Does the plugin refuse, with one line that contains @words? */
static bool refused(const struct qemu_info *info, const char *argument, const char *words)
{
	char argument_copy[128], said[512];
	char *argv[] = { argument_copy };
	int end[2], kept = dup(STDERR_FILENO), status;
	ssize_t got;

	snprintf(argument_copy, sizeof(argument_copy), "%s", argument);
	CHECK(kept >= 0 && !pipe(end));
	CHECK(dup2(end[1], STDERR_FILENO) >= 0);
	status = install(1, info, 1, argv);
	fflush(stderr);
	CHECK(dup2(kept, STDERR_FILENO) >= 0);
	close(end[1]);
	got = read(end[0], said, sizeof(said) - 1);
	close(end[0]);
	close(kept);
	said[got > 0 ? got : 0] = '\0';
	fprintf(stderr, "%d: %s", status, said);
	return status && strstr(said, words) && strchr(said, '\n') == said + strlen(said) - 1;
}

int main(int argc, char **argv)
{
	struct qemu_info info = { .target_name = "x86_64",
				  .version = { 0, API_FIRST },
				  .system_emulation = true,
				  .system = { 4, 4 } };
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;
	const int *version;

	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(plugin);
	*(void **)&install = dlsym(plugin, "qemu_plugin_install");
	version = dlsym(plugin, "qemu_plugin_version");
	CHECK(install && version && *version == API_LAST);

	CHECK(refused(&info, "watch=/nowhere/watch", "/nowhere/watch"));
	CHECK(refused(&info, "look=/nowhere/watch", "one argument: watch=FILE"));
	info.version.cur = API_LAST + 1;
	CHECK(refused(&info, "watch=/nowhere/watch",
		      "this emulator's plugin interface is version 8"));
	info.version.cur = 0;
	CHECK(refused(&info, "watch=/nowhere/watch",
		      "this emulator's plugin interface is version 0"));
	info.version.cur = API_LAST;
	info.target_name = "aarch64";
	CHECK(refused(&info, "watch=/nowhere/watch", "for qemu-system-x86_64"));
	info.target_name = "x86_64";
	info.system_emulation = false;
	CHECK(refused(&info, "watch=/nowhere/watch", "for qemu-system-x86_64"));
	return 0;
}
