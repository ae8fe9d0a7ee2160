// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The [[tier]] tables of a machine file.
 *
 * Two CPUs in one group of a tier also share every level above it, because a group contains units
 * of one parent only, and the levels of the topology are nested. For two given CPUs there is one
 * smallest group, because each group of a larger tier consists of whole groups of a smaller tier of
 * that unit.
 */
#include <algorithm>
#include <map>
#include <set>

#include "loader.hh"

namespace schedshard
{

static const Names tier_keys = { "name", "cores", "llcs", "nodes", "packages", "ns" };
static const Names unit_keys = { "cores", "llcs", "nodes", "packages" };

/* Does any LLC span several nodes (sub-NUMA clusters of one cache)? */
static bool llc_spans_nodes(const std::vector<shard_cpu> &cpus)
{
	std::map<s32, s32> node_of;

	return std::any_of(cpus.begin(), cpus.end(), [&](const shard_cpu &cpu) {
		return cpu.possible &&
		       node_of.try_emplace(cpu.llc, cpu.node).first->second != cpu.node;
	});
}

/* Groups units by their rank inside @parent; returns the units of the largest parent. */
u32 Loader::tier_groups(machine_tier *tier, s32 shard_cpu::*parent)
{
	static s32 shard_cpu::*const unit_of[] = { &shard_cpu::core, &shard_cpu::llc,
						   &shard_cpu::node, &shard_cpu::package };
	const u32 nr_units[] = { result->nr_cores, result->nr_llcs, result->nr_nodes,
				 result->nr_packages };
	std::map<s32, std::set<s32>> units;
	u32 next = 0, most = 0;

	for (const shard_cpu &cpu : result->cpus) {
		if (cpu.possible)
			units[parent ? cpu.*parent : 0].insert(cpu.*unit_of[tier->unit]);
	}

	std::vector<u32> &group = result->groups.emplace_back(nr_units[tier->unit]);

	for (auto &&[key, children] : units) {
		u32 rank = 0;

		for (s32 unit : children)
			group[unit] = next + rank++ / tier->count;
		next += (rank + tier->count - 1) / tier->count;
		most = std::max(most, rank);
	}
	tier->group = group.data();
	return most;
}

/* Reads which unit a tier joins, and how many units per group. */
bool Loader::tier_unit(const toml::table &table, const std::string &name, machine_tier *tier)
{
	static const char right[] = "exactly one of cores, llcs, nodes and packages";
	std::string_view given;

	for (std::string_view key : unit_keys) {
		if (!table.contains(key))
			continue;
		if (!given.empty())
			return fail(*table.get(key), name + " has both " + std::string(given) +
							     " and " + std::string(key) +
							     ", it must have " + right);
		given = key;
	}
	if (given.empty())
		return fail(table, name + " joins nothing, it must have " + right);
	tier->unit = (machine_unit)(std::find(unit_keys.begin(), unit_keys.end(), given) -
				    unit_keys.begin());
	return count(table, name, given, tier_count, &tier->count);
}

/* The conflict between two tiers; empty if there is none. */
static std::string conflict(const std::string &name, const machine_tier &tier,
			    const machine_tier &other)
{
	const std::string with = dotted("tier", other.name), unit(unit_keys[tier.unit]);

	if (with == name)
		return name + " appears twice, each tier must have its own name";
	if (other.unit != tier.unit)
		return "";
	if (other.count == tier.count)
		return name + " joins as many " + unit + " as " + with + ", remove one of them";
	if (std::max(other.count, tier.count) % std::min(other.count, tier.count))
		return name + " joins " + std::to_string(tier.count) + " " + unit + " and " + with +
		       " " + std::to_string(other.count) + ", one must be a multiple of the other";
	return "";
}

/* Does a tier fit the tiers before it in the file? */
bool Loader::tier_fits(const toml::node &at, const std::string &name, const machine_tier &tier)
{
	for (const machine_tier &other : result->tiers) {
		const std::string wrong = conflict(name, tier, other);

		if (!wrong.empty())
			return fail(at, wrong);
	}
	return true;
}

bool Loader::tier(const toml::table &table)
{
	static const char name_right[] = "a string of a-z, 0-9 and -, at most 64 characters";
	static const struct {
		const char *name;
		s32 shard_cpu::*member;
	} parents[] = {
		{ "LLC", &shard_cpu::llc },
		{ "node", &shard_cpu::node },
		{ "package", &shard_cpu::package },
		{ "machine", nullptr },
	};
	const toml::node *ns;
	std::string_view value;
	machine_tier made = {};
	u32 most;

	if (!known_keys(table, "tier", tier_keys) ||
	    !text(table, "tier", "name", name_right, &value))
		return false;
	if (!matches(value, name_char, 64))
		return fail(*table.get("name"), std::string("tier.name must be ") + name_right);

	const std::string name = dotted("tier", value);

	if (!tier_unit(table, name, &made) || !tier_fits(table, name, made))
		return false;

	const std::string unit(unit_keys[made.unit]);

	const auto &parent = parents[made.unit == MACHINE_UNIT_LLCS && llc_spans_nodes(result->cpus)
					     ? MACHINE_UNIT_NODES
					     : made.unit];

	most = tier_groups(&made, parent.member);
	if (made.count >= most)
		return fail(*table.get(unit),
			    dotted(name, unit) + " is " + std::to_string(made.count) +
				    ", it must be less than the " + unit + " of the largest " +
				    parent.name + ", " + std::to_string(most));
	ns = required(table, name, "ns", positive_ns.right);
	if (!ns || !uncertain(*ns, name, positive_ns, false, &made.ns))
		return false;
	made.name = result->keep(std::string(value));
	result->tiers.push_back(made);
	return true;
}

bool Loader::tiers(const toml::table &root)
{
	static const char right[] = "tier must be tables: [[tier]]";
	const toml::node *list = root.get("tier");

	if (!list)
		return true;
	if (!list->is_array())
		return fail(*list, right);
	for (auto &&element : *list->as_array()) {
		if (!element.is_table())
			return fail(element, right);
		if (!tier(*element.as_table()))
			return false;
	}
	std::sort(result->tiers.begin(), result->tiers.end(),
		  [](const machine_tier &a, const machine_tier &b) {
			  return std::pair(a.unit, a.count) < std::pair(b.unit, b.count);
		  });
	result->nr_tiers = (u32)result->tiers.size();
	result->tier = result->tiers.data();
	return true;
}

} // namespace schedshard
