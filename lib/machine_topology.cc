// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The [topology] table: one record per CPU number.
 *
 * The loader checks the counts of a regular machine and then expands them. It checks an irregular
 * machine while it fills the records. A CPU gets its LLC, core and L2 at most once (a second time
 * is an error). A core or an L2 belongs to the LLC whose table lists it, so neither can span two
 * LLCs. contained() checks that no node is in two packages. So the result is always a tree.
 */
#include <algorithm>
#include <map>
#include <set>

#include "loader.hh"
#include "machine_shape.h"

namespace schedshard
{

static const Names regular_keys = { "packages",		"nodes_per_package", "llcs_per_node",
				    "llcs_per_package", "cores_per_llc",     "threads_per_core",
				    "cores_per_l2",	"numbering" };
static const Names llc_keys = { "package", "node", "cpus", "cores", "l2" };

bool Loader::numbering(const toml::table &topology)
{
	static const char right[] = R"("threads-last" or "threads-adjacent")";
	std::string_view value;

	if (!text(topology, "topology", "numbering", right, &value))
		return false;
	if (value != "threads-last" && value != "threads-adjacent")
		return fail(*topology.get("numbering"),
			    std::string("topology.numbering must be ") + right);
	return true;
}

bool Loader::regular(const toml::table &topology)
{
	machine_shape shape = {};
	u32 per_node = 0, package_cores, nr;
	bool has_node = topology.contains("llcs_per_node");

	if (!known_keys(topology, "topology", regular_keys))
		return false;
	if (has_node && topology.contains("llcs_per_package"))
		return fail(*topology.get("llcs_per_package"),
			    "topology.llcs_per_package contradicts topology.llcs_per_node, "
			    "remove one of them");
	if (!count(topology, "topology", "packages", positive_count, &shape.packages) ||
	    !count(topology, "topology", "nodes_per_package", positive_count,
		   &shape.nodes_per_package) ||
	    !(topology.contains("llcs_per_package")
		      ? count(topology, "topology", "llcs_per_package", positive_count,
			      &shape.llcs_per_package)
		      : count(topology, "topology", "llcs_per_node", positive_count, &per_node)) ||
	    !count(topology, "topology", "cores_per_llc", positive_count, &shape.cores_per_llc) ||
	    !count(topology, "topology", "threads_per_core", positive_count,
		   &shape.threads_per_core) ||
	    !count(topology, "topology", "cores_per_l2", positive_count, &shape.cores_per_l2) ||
	    !numbering(topology))
		return false;
	if (has_node)
		shape.llcs_per_package = per_node * shape.nodes_per_package;
	shape.threads_adjacent =
		topology.get("numbering")->as_string()->get() == "threads-adjacent";
	/* machine_shape_cpus() needs each factor within the limit; this product may exceed it */
	nr = shape.llcs_per_package > SHARD_LIB_MAX_CPUS ? 0 : machine_shape_cpus(&shape);
	if (!nr)
		return fail(topology, "[topology] describes more than the 8192 CPUs that are "
				      "possible");
	package_cores = shape.llcs_per_package * shape.cores_per_llc;
	if (package_cores % shape.nodes_per_package)
		return fail(*topology.get("nodes_per_package"),
			    "topology.nodes_per_package must divide the " +
				    std::to_string(package_cores) + " cores of a package");
	if (shape.cores_per_llc % shape.cores_per_l2 ||
	    package_cores / shape.nodes_per_package % shape.cores_per_l2)
		return fail(*topology.get("cores_per_l2"),
			    "topology.cores_per_l2 must divide the cores of an LLC and of a node");
	result->cpus.resize(nr);
	machine_shape_expand(&shape, result->cpus.data());
	for (auto &&[key, value] : topology) {
		if (value.is_number())
			numbers.emplace_back(dotted("topology", key.str()),
					     value.source().begin.line);
	}
	return true;
}

/*
 * Read the groups of an LLC's CPUs (its cores or its L2 clusters): each lies inside the LLC, no CPU
 * is in two, and all CPUs are covered. Without the key the member keeps its value.
 */
bool Loader::groups(const toml::table &table, std::string_view key, const cpulist &llc_cpus,
		    s32 shard_cpu::*member, u32 *next)
{
	const std::string name = dotted("topology.llc", key);
	const toml::node *node = table.get(key);
	auto &cpus = result->cpus;
	cpulist group;
	u32 cpu;

	if (!node)
		return true;
	if (!node->is_array())
		return fail(*node, name + R"( must be a list such as ["0,4", "1,5"])");
	for (auto &&element : *node->as_array()) {
		if (!cpu_set(element, name, &group))
			return false;
		cpulist_for_each(cpu, &group)
		{
			if (!cpulist_test(&llc_cpus, cpu))
				return fail(element, name + ": CPU " + std::to_string(cpu) +
							     " is not in this LLC's cpus");
			if (cpus[cpu].*member >= 0)
				return fail(element,
					    name + ": CPU " + std::to_string(cpu) +
						    " is in two groups, it must be in one");
			cpus[cpu].*member = (s32)*next;
		}
		(*next)++;
	}
	cpulist_for_each(cpu, &llc_cpus)
	{
		if (cpus[cpu].*member < 0)
			return fail(*node, name + ": CPU " + std::to_string(cpu) +
						   " of this LLC is in none of the groups");
	}
	return true;
}

bool Loader::cpu_set(const toml::node &node, const std::string &name, cpulist *set)
{
	const char *why;

	if (!node.is_string())
		return fail(node, name + R"( must be CPU numbers in quotes, such as "0-3,8")");
	const std::string &list = node.as_string()->get();

	why = shard_cpulist_parse(set, list.data(), list.size());
	if (why)
		return fail(node, name + ": \"" + std::string(shown(list)) + "\" " + why);
	if (!shard_cpulist_weight(set))
		return fail(node, name + " is empty, it must name at least one CPU");
	return true;
}

/* One [[topology.llc]] table; fills the records of its CPUs. */
bool Loader::llc(const toml::table &table, s32 nr, u32 *cores, u32 *l2s)
{
	const toml::node *list = required(table, "topology.llc", "cpus", "a list such as \"0-7\"");
	auto &cpus = result->cpus;
	u32 package, node, cpu;
	cpulist set;

	if (!list || !cpu_set(*list, "topology.llc.cpus", &set) ||
	    !known_keys(table, "topology.llc", llc_keys) ||
	    !count(table, "topology.llc", "package", any_index, &package) ||
	    !count(table, "topology.llc", "node", any_index, &node))
		return false;
	cpulist_for_each(cpu, &set)
	{
		if (cpu >= cpus.size())
			cpus.resize(cpu + 1, shard_cpu{ -1, -1, -1, -1, -1, -1, false });
		if (cpus[cpu].llc >= 0)
			return fail(*list, "topology.llc.cpus: CPU " + std::to_string(cpu) +
						   " is in two LLCs, it must be in one");
		cpus[cpu] = { (s32)package, (s32)node, nr, -1, -1, -1, true };
	}
	if (!groups(table, "cores", set, &shard_cpu::core, cores) ||
	    !groups(table, "l2", set, &shard_cpu::l2, l2s))
		return false;
	/* the defaults: a CPU is its own core, a core has its own L2 */
	std::map<s32, s32> l2_of;

	cpulist_for_each(cpu, &set)
	{
		if (cpus[cpu].core < 0)
			cpus[cpu].core = (s32)(*cores)++;
		auto [at, added] = l2_of.try_emplace(cpus[cpu].core, cpus[cpu].l2);

		if (added && at->second < 0)
			at->second = (s32)(*l2s)++;
		if (cpus[cpu].l2 < 0)
			cpus[cpu].l2 = at->second;
		if (cpus[cpu].l2 != at->second)
			return fail(*table.get("l2"),
				    "topology.llc.l2: CPU " + std::to_string(cpu) +
					    " and its SMT sibling must be in the same L2");
	}
	return true;
}

/* Read a machine that lists its LLCs one by one, with their CPU numbers. */
bool Loader::irregular(const toml::table &topology)
{
	static const char right[] = "topology.llc must be tables: [[topology.llc]]";
	const toml::node *list = topology.get("llc");
	u32 cores = 0, l2s = 0;
	s32 nr = 0;

	if (!known_keys(topology, "topology", { "llc" }))
		return false;
	if (!list->is_array())
		return fail(*list, right);
	for (auto &&element : *list->as_array()) {
		if (!element.is_table())
			return fail(element, right);
		if (!llc(*element.as_table(), nr++, &cores, &l2s))
			return false;
	}
	if (!nr)
		return fail(*list,
			    "topology.llc: the machine has no LLC, it must have at least one");
	numbers.emplace_back("topology.llc", list->source().begin.line);
	return contained(*list);
}

/* Checks that numbers of nodes and packages have no holes, and that no node is in two packages. */
bool Loader::contained(const toml::node &at)
{
	std::map<s32, s32> package_of;
	std::set<s32> packages;
	s32 next = 0;

	for (const shard_cpu &cpu : result->cpus) {
		if (!cpu.possible)
			continue;
		packages.insert(cpu.package);
		if (package_of.try_emplace(cpu.node, cpu.package).first->second != cpu.package)
			return fail(at, "topology.llc: node " + std::to_string(cpu.node) +
						" is in two packages, it must be in one");
	}
	for (auto &&[node, package] : package_of) {
		if (node != next++)
			return fail(at, "topology.llc: no LLC is in node " +
						std::to_string(next - 1) +
						", nodes must be numbered from 0 without holes");
	}
	next = 0;
	for (s32 package : packages) {
		if (package != next++)
			return fail(at, "topology.llc: no LLC is in package " +
						std::to_string(next - 1) +
						", packages must be numbered from 0 without holes");
	}
	return true;
}

/* Everything that follows from the records: thread ranks, and the count of each element. */
void Loader::finish()
{
	std::set<s32> packages, nodes, llcs;
	std::map<s32, s32> threads;

	for (shard_cpu &cpu : result->cpus) {
		if (!cpu.possible)
			continue;
		cpu.thread = threads[cpu.core]++;
		packages.insert(cpu.package);
		nodes.insert(cpu.node);
		llcs.insert(cpu.llc);
		result->nr_cpus++;
		result->max_threads = std::max(result->max_threads, (u32)cpu.thread + 1);
	}
	result->nr_packages = (u32)packages.size();
	result->nr_nodes = (u32)nodes.size();
	result->nr_llcs = (u32)llcs.size();
	result->nr_cores = (u32)threads.size();
	result->topo = { (u32)result->cpus.size(), result->cpus.data() };
	result->name = result->name_text.c_str();
	result->title = result->title_text.c_str();
}

} // namespace schedshard
