// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests what the reader of the flat form of machine files makes of one, and what it refuses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "machine.h"
#include "test.h"

/* Two packages of two LLCs of two cores, the first of them with two threads; tiers of LLCs. */
#define FACTS                                                                                 \
	"schedshard-machine 1\nname m\ntitle a machine\nclock_ghz 2.5\nlatency_ns smt 5.0\n"  \
	"latency_ns llc 20.5\nlatency_ns node 80.0\nlatency_ns remote 200.0\n"                \
	"latency_ns home_remote 210.0\nlatency_ns memory 99.0\nop_cycles store_buffer 56.0\n" \
	"op_cycles fence 21.0\nprotocol far_burst 3.0\nprotocol z 0.0\n"
#define CPUS                                                                           \
	"cpu 0 0 0 0 0 0 0\ncpu 1 0 0 0 0 1 0\ncpu 2 0 0 1 1 2 0\ncpu 4 1 1 2 2 3 0\n" \
	"cpu 5 1 1 3 3 4 0\ncpu 7 0 0 0 0 0 1\n"
#define TIER  "tier pair llcs 2 60.25 0 0 1 1\n"
#define WHOLE FACTS CPUS TIER

static int load(struct machine **machine, const char *text, size_t len, struct shard_err *err)
{
	char path[] = "/tmp/schedshard-machine-XXXXXX";
	int fd = mkstemp(path), ret;

	CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len && !close(fd));
	ret = machine_load(machine, path, err);
	CHECK(!unlink(path));
	return ret;
}

static void whole(void)
{
	struct shard_err err = { "" };
	struct machine *m = NULL;

	if (load(&m, WHOLE, strlen(WHOLE), &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	CHECK(!strcmp(m->name, "m") && !strcmp(m->title, "a machine"));
	CHECK(m->clock_ghz == 2.5 && m->latency_ns.home_remote == 210);
	CHECK(m->op_cycles.fence == 21 && m->op_cycles.store_buffer == 56);
	CHECK_EQ(m->topo.nr_cpus, 8);
	CHECK_EQ(m->nr_cpus, 6);
	CHECK_EQ(m->nr_cores, 5);
	CHECK_EQ(m->nr_llcs, 4);
	CHECK_EQ(m->nr_nodes, 2);
	CHECK_EQ(m->nr_packages, 2);
	CHECK(m->topo.cpu[7].possible && !m->topo.cpu[3].possible && !m->topo.cpu[6].possible);
	CHECK_EQ(m->topo.cpu[7].thread, 1);
	CHECK(machine_protocol(m, "far_burst", 9) == 3 && machine_protocol(m, "z", 9) == 0);
	CHECK(machine_protocol(m, "y", 9) == 9 && machine_protocol(m, "", 9) == 9);
	machine_free(m);
}

static void distances(void)
{
	static const struct {
		u32 a, b;
		enum machine_distance distance;
		double ns;
		const char *class;
	} pairs[] = {
		{ 5, 5, MACHINE_SAME_CPU, 0, "cpu" },
		{ 0, 7, MACHINE_SAME_CORE, 5, "smt" },
		{ 0, 1, MACHINE_SAME_LLC, 20.5, "llc" },
		{ 0, 2, MACHINE_SAME_NODE, 60.25, "pair" },
		{ 0, 4, MACHINE_OTHER_PACKAGE, 200, "remote" },
	};
	struct machine *m = NULL;

	CHECK(!load(&m, WHOLE, strlen(WHOLE), NULL));
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		for (int turn = 0; turn < 2; turn++) {
			u32 a = turn ? pairs[i].b : pairs[i].a, b = turn ? pairs[i].a : pairs[i].b;

			CHECK_EQ(machine_distance(m, a, b), pairs[i].distance);
			CHECK(machine_pair_ns(m, a, b) == pairs[i].ns);
			CHECK(!strcmp(machine_pair_class(m, a, b), pairs[i].class));
		}
	}
	CHECK_EQ(machine_tier_group(m, 0, &m->topo.cpu[5]), 1);
	machine_free(m);
}

static void check_refused(const char *text, size_t len, const char *said)
{
	struct shard_err err = { "" };
	struct machine *m = NULL;

	CHECK_EQ(load(&m, text, len, &err), -EINVAL);
	if (m || !strstr(err.text, said) || strchr(err.text, '\n'))
		test_fail(__FILE__, __LINE__, "said \"%s\", must say \"%s\"", err.text, said);
	CHECK_EQ(load(&m, text, len, NULL), -EINVAL);
}

static void refusals(void)
{
	static const char *const lines[] = {
		"",
		"colour red",
		"clock_ghz",
		"clock_ghz fast",
		"clock_ghz nan",
		"clock_ghz -1",
		"clock_ghz 2.5 3",
		"latency_ns far 3",
		"op_cycles fence",
		"protocol z",
		"cpu 8 0 0 0 0 0",
		"cpu 8 0 0 0 0 0 0 0",
		"cpu 8 -1 0 0 0 0 0",
		"cpu 0 0 0 0 0 0 0",
		"cpu 8192 0 0 0 0 0 0",
		"cpu 8 0 0 9000 0 0 0",
		"tier pair boards 2 60 0 0",
		"tier pair llcs 2 60 0 0 1",
		"tier pair llcs 2 60 0 0 1 1 2",
	};
	static const char late[] = WHOLE "cpu 8 0 0 0 0 0 0\n";

	check_refused("", 0, "flat form");
	check_refused("schema = 1\n", 11, "flat form");
	check_refused(late, strlen(late), ":22: is no line");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[1024];
		int len = snprintf(text, sizeof(text), "%s%s\n", FACTS CPUS, lines[i]);

		test_state.shape = lines[i];
		check_refused(text, (size_t)len, ":21: is no line");
	}
	test_state.shape = NULL;
}

/* No part of a file leads the reader out of its memory; most of them are refused. */
static void parts(void)
{
	u32 accepted = 0;

	for (size_t len = 0; len < strlen(WHOLE); len++) {
		struct machine *m = NULL;

		accepted += !load(&m, WHOLE, len, NULL);
		machine_free(m);
	}
	CHECK(accepted < 20);
}

static void files(void)
{
	struct shard_err err = { "" };
	struct machine *m = NULL;

	CHECK_EQ(machine_load(&m, "/nonexistent", &err), -ENOENT);
	CHECK(strstr(err.text, "/nonexistent"));
	CHECK_EQ(machine_load(&m, "/", &err), -EINVAL);
	CHECK(!m);
	machine_free(NULL);
}

int main(void)
{
	RUN(whole);
	RUN(distances);
	RUN(refusals);
	RUN(parts);
	RUN(files);
	return test_done();
}
