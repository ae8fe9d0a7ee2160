// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Formats error texts, and reads whole files.
 *
 * An error text is one line, which may contain file names, keys and values of broken input. So the
 * code replaces every control character after formatting, in one place. A text that does not fit is
 * marked, and cut off after a whole character, because half a UTF-8 sequence is not printable.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "internal.h"

int shard_err_set(struct shard_err *err, int code, const char *fmt, ...)
{
	const size_t size = sizeof(err->text);
	va_list ap;
	int len;

	if (!err)
		return code;
	va_start(ap, fmt);
	/* clang-tidy 14 does not see that va_start() initialises it */
	len = vsnprintf(err->text, size, fmt, ap); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(ap);
	if (len < 0) {
		err->text[0] = '\0';
		return code;
	}
	if ((size_t)len >= size) {
		size_t cut = size - sizeof("...");

		while (cut && ((unsigned char)err->text[cut] & 0xc0) == 0x80)
			cut--;
		strcpy(err->text + cut, "...");
	}
	for (char *c = err->text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
	return code;
}

static int read_fd(int fd, const char *path, size_t max, char **buf, size_t *len,
		   struct shard_err *err)
{
	size_t room = 4096, used = 0;
	char *text = malloc(room + 1);

	while (text) {
		ssize_t got = read(fd, text + used, room - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int code = -errno;

			free(text);
			return shard_err_set(err, code, "%s: cannot be read: %s", path,
					     strerror(-code));
		}
		if (got == 0) {
			text[used] = '\0';
			*buf = text;
			*len = used;
			return 0;
		}
		used += (size_t)got;
		if (used > max) {
			free(text);
			return shard_err_set(err, -EFBIG,
					     "%s: is longer than the %zu bytes that such a file "
					     "may have",
					     path, max);
		}
		if (used == room) {
			char *more = realloc(text, 2 * room + 1);

			if (!more)
				free(text);
			text = more;
			room *= 2;
		}
	}
	return shard_err_set(err, -ENOMEM, "%s: out of memory", path);
}

int shard_read_file(const char *path, size_t max, char **buf, size_t *len, struct shard_err *err)
{
	struct stat st;
	int fd, ret;

	/*
	 * O_NONBLOCK: otherwise open() of a pipe waits for a writer, before fstat() can refuse the
	 * pipe
	 */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		ret = -errno;
		return shard_err_set(err, ret, "%s: cannot be opened: %s", path, strerror(-ret));
	}
	if (fstat(fd, &st) < 0)
		ret = shard_err_set(err, -errno, "%s: cannot be examined: %s", path,
				    strerror(errno));
	else if (!S_ISREG(st.st_mode))
		ret = shard_err_set(err, -EINVAL, "%s: is not a regular file", path);
	else
		ret = read_fd(fd, path, max, buf, len, err);
	close(fd);
	return ret;
}
