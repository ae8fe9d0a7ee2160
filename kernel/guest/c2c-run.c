// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * c2c-run PROGRAM [ARGUMENT...]: opens the measured window, runs the program, closes the window.
 *
 * Exit status: that of the program; 126 when it was killed, 127 when it cannot be run.
 */
#define _GNU_SOURCE
#include "c2c-mark.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: c2c-run PROGRAM [ARGUMENT...]\n");
		return 127;
	}
	c2c_open();
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		fprintf(stderr, "c2c-run: %s: %s\n", argv[1], strerror(errno));
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	c2c_close();
	if (pid < 0) {
		fprintf(stderr, "c2c-run: no process: %s\n", strerror(errno));
		return 127;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
