// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The machine file except its topology, and the C interface.
 *
 * Why machine_free() may delete its argument: a struct machine leaves this file only as the base of
 * an OwnedMachine.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <new>
#include <set>

#include "loader.hh"

namespace schedshard
{

static const Names top_keys = { "schema",    "name",	 "title",      "kind",
				"clock_ghz", "topology", "latency_ns", "op_cycles",
				"protocol",  "source",	 "tier" };

static bool snake_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool Loader::identity(const toml::table &root)
{
	static const char name_right[] = "a string of a-z, 0-9 and -, at most 64 characters";
	static const char title_right[] = "a line of text in quotes, at most 200 characters";
	static const char kind_right[] = R"("measured", "estimate" or "hypothetical")";
	const toml::node *clock;
	std::string_view value;
	u32 schema;

	if (!count(root, "", "schema", one, &schema) || !text(root, "", "name", name_right, &value))
		return false;
	if (!matches(value, name_char, 64))
		return fail(*root.get("name"), std::string("name must be ") + name_right);
	result->name_text = value;
	if (!text(root, "", "title", title_right, &value))
		return false;
	if (!matches(
		    value, [](char c) { return (unsigned char)c >= ' ' && c != 0x7f; }, 200))
		return fail(*root.get("title"), std::string("title must be ") + title_right);
	result->title_text = value;
	if (!text(root, "", "kind", kind_right, &value))
		return false;
	if (value == "measured")
		result->kind = MACHINE_MEASURED;
	else if (value == "estimate")
		result->kind = MACHINE_ESTIMATE;
	else if (value == "hypothetical")
		result->kind = MACHINE_HYPOTHETICAL;
	else
		return fail(*root.get("kind"), std::string("kind must be ") + kind_right);
	clock = required(root, "", "clock_ghz", clock_range.right);
	return clock && uncertain(*clock, "clock_ghz", clock_range, false, &result->clock_ghz);
}

/* A key of [latency_ns]. */
struct LatencyKey {
	std::string_view key;
	double machine_latency::*member;
	bool needed;
	const char *because; /* why the topology needs it */
};

/* The keys of [latency_ns], and which of them the topology of @m needs. */
static std::array<LatencyKey, 7> latency_keys(const OwnedMachine &m)
{
	/*
	 * pairs that show which levels have several elements below one element of the level above
	 */
	std::set<std::pair<s32, s32>> node_llc, package_llc, package_node;

	for (const shard_cpu &cpu : m.cpus) {
		if (!cpu.possible)
			continue;
		node_llc.emplace(cpu.node, cpu.llc);
		package_llc.emplace(cpu.package, cpu.llc);
		package_node.emplace(cpu.package, cpu.node);
	}
	/*
	 * Some two CPUs of a package differ in both node and LLC exactly when the package has
	 * several of each. If no pair differed in both, all CPUs would share a node, or all would
	 * share an LLC.
	 */
	auto several = [](const std::set<std::pair<s32, s32>> &pairs, s32 first) {
		return std::distance(pairs.lower_bound({ first, 0 }),
				     pairs.lower_bound({ first + 1, 0 })) > 1;
	};
	bool package_pair = false;

	for (s32 package = 0; package < (s32)m.nr_packages; package++)
		package_pair |= several(package_llc, package) && several(package_node, package);

	return { {
		{ "smt", &machine_latency::smt, m.max_threads > 1, "cores have several threads" },
		{ "llc", &machine_latency::llc, m.nr_cores > m.nr_llcs, "LLCs have several cores" },
		{ "node", &machine_latency::node, node_llc.size() > m.nr_nodes,
		  "nodes have several LLCs" },
		{ "package", &machine_latency::package, package_pair,
		  "packages have several nodes" },
		{ "remote", &machine_latency::remote, m.nr_packages > 1,
		  "there are several packages" },
		{ "home_remote", &machine_latency::home_remote, false, "" },
		{ "memory", &machine_latency::memory, true, "every machine has memory" },
	} };
}

bool Loader::latencies(const toml::table &root)
{
	const toml::table *table = subtable(root, "latency_ns", true);
	const auto entry = latency_keys(*result);
	machine_latency &lat = result->latency_ns;
	Names known;

	for (auto &e : entry)
		known.push_back(e.key);
	if (!table || !known_keys(*table, "latency_ns", known))
		return false;
	for (auto &e : entry) {
		const toml::node *node = table->get(e.key);

		if (!node && e.needed)
			return fail(*table, dotted("latency_ns", e.key) + " is missing, but " +
						    e.because + ": it must be " +
						    positive_ns.right);
		if (!node)
			continue;
		if (!uncertain(*node, dotted("latency_ns", e.key), positive_ns, false,
			       &(lat.*e.member)))
			return false;
	}
	if (!lat.home_remote)
		lat.home_remote = lat.remote;
	return true;
}

bool Loader::operations(const toml::table &root)
{
	static const struct {
		std::string_view key;
		double machine_ops::*member;
	} entry[] = {
		{ "load_hit", &machine_ops::load_hit },	  { "store", &machine_ops::store },
		{ "locked", &machine_ops::locked },	  { "fence", &machine_ops::fence },
		{ "timestamp", &machine_ops::timestamp },
	};
	const toml::table *table = subtable(root, "op_cycles", true);
	Names known = { "store_buffer" };
	const toml::node *buffer;
	double depth;

	for (auto &e : entry)
		known.push_back(e.key);
	if (!table || !known_keys(*table, "op_cycles", known))
		return false;
	for (auto &e : entry) {
		const toml::node *node = required(*table, "op_cycles", e.key, cycles.right);

		if (!node || !uncertain(*node, dotted("op_cycles", e.key), cycles, false,
					&(result->op_cycles.*e.member)))
			return false;
	}
	buffer = required(*table, "op_cycles", "store_buffer", entries.right);
	if (!buffer || !uncertain(*buffer, "op_cycles.store_buffer", entries, true, &depth))
		return false;
	result->op_cycles.store_buffer = (u32)depth;
	return true;
}

bool Loader::protocol(const toml::table &root)
{
	const toml::table *table;

	if (!root.contains("protocol"))
		return true;
	table = subtable(root, "protocol", true);
	if (!table)
		return false;
	/* the table is sorted by key; machine_protocol() relies on that */
	for (auto &&[key, value] : *table) {
		std::string name = dotted("protocol", shown(key.str()));
		double constant_value;

		if (!matches(key.str(), snake_char, 60))
			return fail(key.source().begin.line,
				    name + " is not a key: it must be a-z, 0-9 and _, at most 60");
		if (!uncertain(value, name, constant, false, &constant_value))
			return false;
		result->params.push_back({ result->keep(std::string(key.str())), constant_value });
	}
	result->nr_protocol = (u32)result->params.size();
	result->protocol = result->params.data();
	return true;
}

/* Does a [source] entry cover a number: by its name or by a table above it? */
static bool covers(std::string_view entry, std::string_view name)
{
	return name.substr(0, entry.size()) == entry &&
	       (name.size() == entry.size() || name[entry.size()] == '.');
}

bool Loader::sources(const toml::table &root)
{
	const toml::table *table = subtable(root, "source", true);
	std::set<std::string_view> used;

	if (!table)
		return false;
	for (auto &&[name, line] : numbers) {
		bool found = false;

		for (auto &&[key, value] : *table) {
			if (covers(key.str(), name)) {
				used.insert(key.str());
				found = true;
			}
		}
		if (!found)
			return fail(line,
				    name + " has no source: [source] must have an entry for it, "
					   "or for a table above it");
	}
	for (auto &&[key, value] : *table) {
		std::string name = "source.\"" + std::string(shown(key.str())) + "\"";

		if (!value.is_string() || value.as_string()->get().empty())
			return fail(key.source().begin.line,
				    name + " must be a non-empty string that says where the figure "
					   "is from (write a key that contains dots in quotes)");
		if (!used.count(key.str()))
			return fail(key.source().begin.line,
				    name + " does not name a number in this file: keys are like "
					   "\"clock_ghz\", \"latency_ns\" or \"latency_ns.llc\"");
	}
	return true;
}

bool Loader::load(std::string_view text)
{
	auto foreign = std::find_if(text.begin(), text.end(), [](char c) { return c & 0x80; });

	/*
	 * toml++ 3.3 marks the path for U+00A1 to U+0499 outside quotes as unreachable, so the
	 * compiler may do anything there; no machine file needs such characters
	 */
	if (foreign != text.end())
		return fail((toml::source_index)std::count(text.begin(), foreign, '\n') + 1,
			    "has a character that is not ASCII: a machine file must be ASCII");

	toml::parse_result parsed = toml::parse(text);
	const toml::table *topology;

	if (!parsed)
		return fail(parsed.error().source().begin.line,
			    "is not valid TOML: " + std::string(parsed.error().description()));

	const toml::table &root = parsed.table();

	if (!known_keys(root, "", top_keys) || !identity(root))
		return false;
	topology = subtable(root, "topology", true);
	if (!topology || !(topology->contains("llc") ? irregular(*topology) : regular(*topology)))
		return false;
	finish();
	if (!latencies(root) || !tiers(root) || !operations(root) || !protocol(root) ||
	    !sources(root))
		return false;
	std::sort(result->ranges.begin(), result->ranges.end(),
		  [](const machine_range &a, const machine_range &b) {
			  return std::string_view(a.key) < b.key;
		  });
	result->nr_ranges = (u32)result->ranges.size();
	result->range = result->ranges.data();
	return true;
}

} // namespace schedshard

extern "C" int machine_parse(struct machine **machine, const char *text, size_t len,
			     const char *name, struct shard_err *err)
{
	try {
		schedshard::Loader loader(name, err);

		if (!loader.load(std::string_view(text, len)))
			return -EINVAL;
		*machine = loader.take();
		return 0;
	} catch (const std::bad_alloc &) {
		return shard_err_set(err, -ENOMEM, "%s: out of memory", name);
	} catch (const schedshard::ParserBug &) {
		return shard_err_set(err, -EINVAL, "%s: is not valid TOML", name);
	}
}

extern "C" int machine_load(struct machine **machine, const char *path, struct shard_err *err)
{
	/* the longest sensible file lists 8,192 CPUs with their cores and L2s */
	const size_t max = 1 << 20;
	char *text = nullptr;
	size_t len = 0;
	int ret = shard_read_file(path, max, &text, &len, err);

	if (!ret)
		ret = machine_parse(machine, text, len, path, err);
	free(text);
	return ret;
}

extern "C" void machine_free(struct machine *machine)
{
	delete static_cast<schedshard::OwnedMachine *>(machine);
}

extern "C" double machine_protocol(const struct machine *machine, const char *key, double absent)
{
	const machine_param *end = machine->protocol + machine->nr_protocol;
	const machine_param *at = std::lower_bound(
		machine->protocol, end, std::string_view(key),
		[](const machine_param &p, std::string_view wanted) { return p.key < wanted; });

	return at != end && std::string_view(key) == at->key ? at->value : absent;
}
