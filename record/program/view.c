// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Shows the machine's files of /sys and /proc to programs that call faccessat() or statx().
 *
 * In other calls that name a file, the emulator prefers files of a folder (its option -L) to the
 * host's. For faccessat() and statx() it calls the C library. So this preloaded library intercepts
 * these two calls, and looks for the file in the folder.
 */
#include "view.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "user.h"

#define CPUS  "/sys/devices/system/cpu/cpu"
#define NODES "/sys/devices/system/node/node"

__attribute__((visibility("default"))) int faccessat(int folder, const char *path, int mode,
						     int flags);

const char *view_path(const char *path, char space[VIEW_PATH])
{
	struct stat file;

	if (!user.view || !path || path[0] != '/' ||
	    (size_t)snprintf(space, VIEW_PATH, "%s%s", user.view, path) >= VIEW_PATH)
		return path;
	/* The machine has no other CPU or node, even if the host has it. */
	if (!strncmp(path, CPUS, strlen(CPUS)) || !strncmp(path, NODES, strlen(NODES)))
		return space;
	/* In folders above these the program sees the host's files as well: use the host's. */
	return stat(space, &file) || S_ISDIR(file.st_mode) ? path : space;
}

int faccessat(int folder, const char *path, int mode, int flags)
{
	static int (*real)(int folder, const char *path, int mode, int flags);
	char space[VIEW_PATH];

	if (!real)
		real = (int (*)(int, const char *, int, int))dlsym(RTLD_NEXT, "faccessat");
	return real(folder, view_path(path, space), mode, flags);
}
