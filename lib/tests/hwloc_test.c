// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Topology through hwloc. hwloc makes machines from descriptions and writes them as XML; the
 * library reads the XML, and the test compares it with the description. On this machine hwloc and
 * the kernel's files must agree.
 */
#include <errno.h>
#include <hwloc.h>
#include <string.h>
#include <unistd.h>
#include <schedshard/schedshard.h>
#include "test.h"
#include "topo_hwloc.h"

/* hwloc 2.9 forgets an object when an XML file ends in the middle of one. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libhwloc\n";
}

static char *synthetic_xml(const char *description)
{
	hwloc_topology_t hwloc;
	char *xml, *copy;
	int len;

	CHECK(!hwloc_topology_init(&hwloc));
	CHECK(!hwloc_topology_set_synthetic(hwloc, description));
	CHECK(!hwloc_topology_load(hwloc));
	CHECK(!hwloc_topology_export_xmlbuffer(hwloc, &xml, &len, 0));
	copy = strdup(xml);
	CHECK(copy);
	hwloc_free_xmlbuffer(hwloc, xml);
	hwloc_topology_destroy(hwloc);
	return copy;
}

static struct shard_topo *parse(const char *xml)
{
	struct shard_err err = { "" };
	struct shard_topo *topo;

	if (shard_topo_from_xml_text(&topo, xml, strlen(xml), "xml", &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	return topo;
}

/* Returns the number of different ids at @member. */
static u32 count(const struct shard_topo *topo, size_t member)
{
	bool seen[4096] = { false };
	u32 nr = 0;

	for (u32 i = 0; i < topo->nr_cpus; i++) {
		s32 id = *(const s32 *)((const char *)&topo->cpu[i] + member);

		CHECK(id < 4096);
		if (id >= 0 && !seen[id]) {
			seen[id] = true;
			nr++;
		}
	}
	return nr;
}

static void synthetic(void)
{
	static const struct {
		const char *description;
		u32 cpus, packages, nodes, llcs, l2s, cores;
		s32 last_thread;
	} machines[] = {
		{ "pack:2 numa:2 l3:3 l2:4 core:1 pu:2", 96, 2, 4, 12, 48, 48, 1 },
		{ "pack:1 l3:1 l2:8 core:1 pu:1", 8, 1, 1, 1, 8, 8, 0 },
		/* an LLC that spans nodes, and one that is an L2 */
		{ "pack:2 l3:1 numa:2 l2:2 core:2 pu:1", 16, 2, 4, 2, 8, 16, 0 },
		{ "pack:2 l2:4 core:2 pu:1", 16, 2, 1, 8, 8, 16, 0 },
		/* no caches */
		{ "pack:4 core:2 pu:2", 16, 4, 1, 0, 0, 8, 1 },
		{ "numa:4 pu:2", 8, 0, 4, 0, 0, 0, -1 },
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		char *xml = synthetic_xml(machines[i].description);
		struct shard_topo *topo = parse(xml);
		struct shard_plan *plan;

		test_state.shape = machines[i].description;
		CHECK_EQ(topo->nr_cpus, machines[i].cpus);
		CHECK_EQ(count(topo, offsetof(struct shard_cpu, package)), machines[i].packages);
		CHECK_EQ(count(topo, offsetof(struct shard_cpu, node)), machines[i].nodes);
		CHECK_EQ(count(topo, offsetof(struct shard_cpu, llc)), machines[i].llcs);
		CHECK_EQ(count(topo, offsetof(struct shard_cpu, l2)), machines[i].l2s);
		CHECK_EQ(count(topo, offsetof(struct shard_cpu, core)), machines[i].cores);
		if (machines[i].last_thread >= 0)
			CHECK_EQ(topo->cpu[topo->nr_cpus - 1].thread, machines[i].last_thread);
		CHECK_EQ(shard_plan_build(&plan, topo, NULL), SHARD_PLAN_OK);
		shard_plan_free(plan);
		shard_topo_free(topo);
		free(xml);
	}
	test_state.shape = NULL;
}

/* A CPU that is offline appears only in the complete set. */
static void offline_cpu(void)
{
	char *xml = synthetic_xml("pack:1 l3:2 l2:2 core:1 pu:1");
	char *set = strstr(xml, "complete_cpuset=\"0x0000000f\"");
	struct shard_topo *topo;

	CHECK(set);
	/* Inside a longer string. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(set, "complete_cpuset=\"0x0000001f\"", 28);
	topo = parse(xml);
	CHECK_EQ(topo->nr_cpus, 5);
	CHECK(topo->cpu[4].possible);
	CHECK_EQ(topo->cpu[3].llc, 1);
	CHECK_EQ(topo->cpu[4].llc, 2);
	shard_topo_free(topo);
	free(xml);
}

static void check_refused(const char *xml, const char *said)
{
	struct shard_err err = { "" };
	struct shard_topo *topo = NULL;

	test_state.shape = said;
	CHECK_EQ(shard_topo_from_xml_text(&topo, xml, strlen(xml), "xml", &err), -EINVAL);
	CHECK(!topo);
	if (!strstr(err.text, said))
		test_fail(__FILE__, __LINE__, "said \"%s\", must say \"%s\"", err.text, said);
	test_state.shape = NULL;
}

/* @text with @from replaced by @to. */
static char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *edited = malloc(strlen(text) + strlen(to) + 1);

	CHECK(at && edited);
	sprintf(edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return edited;
}

static void refused(void)
{
	static const char pu[] = "<object type=\"PU\" os_index=\"2\" cpuset=\"0x00000004\"";
	char *xml = synthetic_xml("pack:1 l3:2 l2:2 core:1 pu:1"), *edited;

	check_refused("", "lstopo");
	check_refused("hello", "lstopo");
	check_refused("<?xml version=\"1.0\"?><a></a>", "lstopo");
	edited = edit(xml, pu, "<object type=\"PU\" os_index=\"1\" cpuset=\"0x00000004\"");
	check_refused(edited, "PU 1 appears twice");
	free(edited);
	edited = edit(xml, pu, "<object type=\"PU\" os_index=\"9999\" cpuset=\"0x00000004\"");
	check_refused(edited, "all of them below 8192");
	free(edited);
	xml[strlen(xml) / 2] = '\0';
	check_refused(xml, "lstopo");
	free(xml);
}

static void files(void)
{
	char *xml = synthetic_xml("pack:2 l3:2 core:4 pu:2"), path[] = "/tmp/schedshard-xml-XXXXXX";
	struct shard_err err = { "" };
	struct shard_topo *topo;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, xml, strlen(xml)), strlen(xml));
	close(fd);
	CHECK_EQ(shard_topo_from_hwloc_xml(&topo, path, &err), 0);
	CHECK_EQ(topo->nr_cpus, 32);
	shard_topo_free(topo);
	unlink(path);
	CHECK_EQ(shard_topo_from_hwloc_xml(&topo, path, &err), -ENOENT);
	CHECK(strstr(err.text, path));
	free(xml);
}

/* hwloc and the reader of sysfs see the same caches here. */
static void this_machine(void)
{
	struct shard_topo *a, *b;
	struct shard_err err = { "" };

	if (shard_topo_from_hwloc(&a, &err) || shard_topo_from_sysfs(&b, "/", &err))
		test_fail(__FILE__, __LINE__, "%s", err.text);
	for (u32 nr = 0; nr < a->nr_cpus && nr < b->nr_cpus; nr++) {
		if (!a->cpu[nr].possible || !b->cpu[nr].possible)
			continue;
		CHECK_EQ(a->cpu[nr].llc, b->cpu[nr].llc);
		CHECK_EQ(a->cpu[nr].core, b->cpu[nr].core);
		CHECK_EQ(a->cpu[nr].thread, b->cpu[nr].thread);
	}
	shard_topo_free(a);
	shard_topo_free(b);
}

int main(void)
{
	/* hwloc explains broken input on standard error */
	setenv("HWLOC_HIDE_ERRORS", "2", 1);
	RUN(synthetic);
	RUN(offline_cpu);
	RUN(refused);
	RUN(files);
	RUN(this_machine);
	return test_done();
}
