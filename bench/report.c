// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The result as JSON: the host, and a row for every variant of every bout. A missing measurement is
 * null, so all rows have all keys.
 */
#include "bench.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct bench_report {
	json_t *root;
	json_t *rows;
};

/* The processor's name as the kernel reports it, or null. */
static json_t *cpu_model(void)
{
	static const char key[] = "model name";
	json_t *model = NULL;
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && !model && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (strncmp(line, key, sizeof(key) - 1) || !value)
			continue;
		line[strcspn(line, "\n")] = '\0';
		model = json_string(value + 1 + strspn(value + 1, " "));
	}
	if (f)
		fclose(f);
	return model ? model : json_null();
}

static json_t *host(const struct bench_pair *pair)
{
	struct utsname uts;
	json_t *contended = json_null();

	if (pair->cpu[1] >= 0)
		contended = json_pack("[i, i]", pair->cpu[0], pair->cpu[1]);
	if (uname(&uts))
		return NULL;
	return json_pack("{s:o, s:s, s:s, s:I, s:o, s:s}", "cpu", cpu_model(), "arch", uts.machine,
			 "kernel", uts.release, "online_cpus",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "contended_cpus", contended,
			 "compiler", __VERSION__);
}

struct bench_report *bench_report_new(const struct bench_pair *pair)
{
	struct bench_report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->rows = json_array();
	report->root = json_pack("{s:o, s:O}", "host", host(pair), "rows", report->rows);
	if (!report->root) {
		bench_report_free(report);
		return NULL;
	}
	return report;
}

/* Six digits are more than any clock resolves; more would only make runs differ more often. */
static json_t *number(bool known, double value)
{
	char text[32];

	if (!known)
		return json_null();
	snprintf(text, sizeof(text), "%.6g", value);
	return json_real(strtod(text, NULL));
}

int bench_report_add(struct bench_report *report, const struct bench_bout *bout)
{
	const struct bench_entry *first = &bout->entry[0];

	for (u32 i = 0; i < bout->nr; i++) {
		const struct bench_entry *e = &bout->entry[i];
		const struct bench_time *t = &e->time;
		json_t *row = json_pack(
			"{s:s, s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			"group", bout->group, "op", bout->op, "variant", e->variant, "reference",
			first->variant, "plan", bout->plan, "density", bout->density, "ns",
			number(e->timed, t->ns), "ratio", number(e->timed, t->ratio), "ratio_low",
			number(e->timed, t->low), "ratio_high", number(e->timed, t->high),
			"instructions", number(e->counted, e->instructions), "instructions_ratio",
			number(e->counted && first->counted, e->instructions / first->instructions),
			"bytes", number(e->bytes > 0, e->bytes));

		if (!row || json_array_append_new(report->rows, row))
			return -ENOMEM;
	}
	return 0;
}

int bench_report_print(struct bench_report *report)
{
	size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(6);

	if (json_dumpf(report->root, stdout, flags) || putchar('\n') == EOF || fflush(stdout))
		return -EIO;
	return 0;
}

void bench_report_free(struct bench_report *report)
{
	if (!report)
		return;
	json_decref(report->rows);
	json_decref(report->root);
	free(report);
}
