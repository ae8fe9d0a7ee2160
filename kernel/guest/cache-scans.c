// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * cache-scans FILE [COMM]: summarises the scans of cache-aware scheduling in a trace. It reads the
 * lines of the event sched_cache_scan, all or those of one command name. In one line it prints
 * their number, the number of CPUs read (median, 99th percentile, most), their mean time in the
 * guest's clock, and how many preferred a cache.
 *
 * Exit status 0, also without scans.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT "sched_cache_scan: "

struct tally {
	unsigned long scans, preferring;
	double ns;
	unsigned long of_length[GUEST_CPUS + 1];
};

static bool read_event(const char *line, const char *comm, struct tally *tally)
{
	const char *event = strstr(line, EVENT), *fields;
	size_t length = strlen(comm);
	unsigned long long ns;
	unsigned int scan;
	int preferred;

	if (!event)
		return true;
	event += strlen(EVENT);
	if (strncmp(event, "comm=", 5))
		return false;
	event += 5;
	if (length && (strncmp(event, comm, length) || event[length] != ' '))
		return true;
	fields = strstr(event, " pid=");
	if (!fields ||
	    sscanf(fields, " pid=%*d scan=%u preferred=%d ns=%llu", &scan, &preferred, &ns) != 3 ||
	    scan > GUEST_CPUS)
		return false;
	tally->scans++;
	tally->preferring += preferred >= 0;
	tally->ns += (double)ns;
	tally->of_length[scan]++;
	return true;
}

/* The shortest length that @percent of the scans do not exceed. */
static unsigned int percentile(const struct tally *tally, unsigned int percent)
{
	unsigned long seen = 0;

	for (unsigned int length = 0; length <= GUEST_CPUS; length++) {
		seen += tally->of_length[length];
		if (seen * 100 >= tally->scans * percent)
			return length;
	}
	return GUEST_CPUS;
}

int main(int argc, char **argv)
{
	const char *comm = argc > 2 ? argv[2] : "";
	static struct tally tally;
	char *line = NULL;
	size_t room = 0;
	FILE *file;

	if (argc < 2) {
		fprintf(stderr, "cache-scans: give the trace to read\n");
		return 2;
	}
	file = fopen(argv[1], "re");
	if (!file) {
		fprintf(stderr, "cache-scans: cannot read %s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	while (getline(&line, &room, file) > 0) {
		if (!read_event(line, comm, &tally)) {
			fprintf(stderr, "cache-scans: not understood: %s", line);
			return 2;
		}
	}
	fclose(file);
	free(line);
	if (!tally.scans) {
		printf("%s scans 0\n", comm);
		return 0;
	}
	printf("%s scans %lu median %u p99 %u most %u ns %.0f preferring %lu\n", comm, tally.scans,
	       percentile(&tally, 50), percentile(&tally, 99), percentile(&tally, 100),
	       tally.ns / (double)tally.scans, tally.preferring);
	return 0;
}
