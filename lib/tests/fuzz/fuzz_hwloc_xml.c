// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Topologies in hwloc's XML. hwloc itself is not instrumented, and crashes on some input. The
 * target is the library's handling of the trees that hwloc accepts. So a child reads the input
 * first, and the target skips input that kills the child inside hwloc.
 */
#include <errno.h>
#include <hwloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fuzz.h"
#include "topo_hwloc.h"

/* hwloc 2.9 forgets an object when an XML file ends in the middle of one. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libhwloc\n";
}

/* Does hwloc load it without crashing? The same calls as in lib/topo_hwloc.c. */
static bool hwloc_survives(const char *text, size_t size)
{
	pid_t child = fork();
	int status;

	FUZZ_CHECK(child >= 0);
	if (!child) {
		hwloc_topology_t hwloc;

		/* The default actions, so that a sanitizer does not report a crash of hwloc. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		signal(SIGFPE, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		fclose(stderr);
		alarm(5);
		if (!hwloc_topology_init(&hwloc)) {
			hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
			if (!hwloc_topology_set_xmlbuffer(hwloc, text, (int)size + 1))
				hwloc_topology_load(hwloc);
			hwloc_topology_destroy(hwloc);
		}
		_exit(0);
	}
	/* libFuzzer's timer interrupts waitpid(). */
	while (waitpid(child, &status, 0) < 0)
		FUZZ_CHECK(errno == EINTR);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shard_topo *topo = NULL;
	struct shard_err err = { "" };
	char *text = malloc(size + 1);
	int ret;

	FUZZ_CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	setenv("HWLOC_HIDE_ERRORS", "2", 1);
	if (hwloc_survives(text, size)) {
		ret = shard_topo_from_xml_text(&topo, text, size, "input", &err);
		if (ret)
			fuzz_check_refusal(ret, &err);
		else
			fuzz_check_topo(topo);
	}
	shard_topo_free(topo);
	free(text);
	return 0;
}
