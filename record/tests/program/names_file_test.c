// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A file of names is written whole or not at all, and never through another user's link.
 *
 *	names-file-test FOLDER	an empty folder
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../model/tests/sim/check.h"
#include "names_file.h"

static char path[4096], temp[4096], victim[4096];

static void fill(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void check_holds(const char *name, const char *text)
{
	char got[64] = "";
	FILE *file = fopen(name, "r");

	CHECK(file);
	CHECK(fgets(got, sizeof(got), file) || !*text);
	fclose(file);
	CHECK(!strcmp(got, text));
}

int main(int argc, char **argv)
{
	json_t *all = json_pack("{s:i}", "names", 1);
	struct stat facts;

	CHECK(argc == 2 && all);
	snprintf(path, sizeof(path), "%s/meta.json.0", argv[1]);
	snprintf(temp, sizeof(temp), "%s/meta.json.0.tmp", argv[1]);
	snprintf(victim, sizeof(victim), "%s/victim", argv[1]);
	unlink(path);
	unlink(temp);
	fill(victim, "precious");

	CHECK(!symlink(victim, temp));
	CHECK(names_file_write(all, AT_FDCWD, path) == -1 && errno == EEXIST);
	check_holds(victim, "precious");
	CHECK(access(path, F_OK) == -1);
	CHECK(!unlink(temp));

	/* A link at the file's own path is replaced, not followed. */
	CHECK(!symlink(victim, path));
	CHECK(!names_file_write(all, AT_FDCWD, path));
	check_holds(victim, "precious");
	check_holds(path, "{\"names\":1}");
	CHECK(!lstat(path, &facts) && S_ISREG(facts.st_mode) && (facts.st_mode & 0777) == 0600);
	CHECK(access(temp, F_OK) == -1);

	memset(path, 'a', sizeof(path) - 1);
	CHECK(names_file_write(all, AT_FDCWD, path) == -1 && errno == ENAMETOOLONG);
	json_decref(all);
	return 0;
}
