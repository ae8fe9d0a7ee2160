// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A process of root may have changed its user when it ends, so root's folder of names lets all
 * users make files. Another local user could put a link there, so that root would write to another
 * file. So files are opened with O_EXCL, which fails if anything is there, even a link.
 */
#include "names_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int names_file_write(const json_t *all, int folder, const char *path)
{
	char temp[4096];
	int file, failed;

	if ((size_t)snprintf(temp, sizeof(temp), "%s.tmp", path) >= sizeof(temp)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	file = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -1;
	failed = json_dumpfd(all, file, JSON_COMPACT);
	failed |= close(file);
	if (!failed && !renameat(folder, temp, folder, path))
		return 0;
	unlinkat(folder, temp, 0);
	return -1;
}
