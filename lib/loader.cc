// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Keys, types and ranges of a machine file.
 *
 * Why every number is inside its range: number() returns a value only after two comparisons, which
 * fail for a NaN. count() converts it to an integer after that, so no conversion is out of range.
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>

#define TOML_IMPLEMENTATION
#include "loader.hh"

namespace schedshard
{

/* The number of edits (insert, delete, replace) that turn @a into @b. */
static size_t edit_distance(std::string_view a, std::string_view b)
{
	std::vector<size_t> row(b.size() + 1);

	for (size_t j = 0; j < row.size(); j++)
		row[j] = j;
	for (size_t i = 0; i < a.size(); i++) {
		size_t diagonal = std::exchange(row[0], i + 1);

		for (size_t j = 0; j < b.size(); j++) {
			size_t replace = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = std::min({ replace, diagonal + 1, row[j] + 1 });
		}
	}
	return row[b.size()];
}

static std::string_view nearest(std::string_view key, const Names &known)
{
	return *std::min_element(known.begin(), known.end(), [&](auto a, auto b) {
		return edit_distance(shown(key), a) < edit_distance(shown(key), b);
	});
}

bool matches(std::string_view text, bool (*good)(char), size_t max)
{
	return !text.empty() && text.size() <= max && std::all_of(text.begin(), text.end(), good);
}

std::string dotted(std::string_view table, std::string_view key)
{
	return table.empty() ? std::string(key) : std::string(table) + "." + std::string(key);
}

bool Loader::fail(toml::source_index line, const std::string &what)
{
	shard_err_set(err, -EINVAL, "%s:%u: %s", file, (unsigned int)line, what.c_str());
	return false;
}

bool Loader::known_keys(const toml::table &table, std::string_view path, const Names &known)
{
	for (auto &&[key, value] : table) {
		if (std::find(known.begin(), known.end(), key.str()) == known.end())
			return fail(key.source().begin.line,
				    dotted(path, shown(key.str())) +
					    " is not a known key, did you mean " +
					    dotted(path, nearest(key.str(), known)) + "?");
	}
	return true;
}

const toml::node *Loader::required(const toml::table &table, std::string_view path,
				   std::string_view key, const char *right)
{
	const toml::node *node = table.get(key);

	if (!node)
		fail(table, dotted(path, key) + " is missing, it must be " + right);
	return node;
}

const toml::table *Loader::subtable(const toml::table &root, std::string_view key, bool needed)
{
	const toml::node *node = root.get(key);

	if (!node) {
		if (needed)
			fail(root, "table [" + std::string(key) + "] is missing");
		return nullptr;
	}
	if (!node->is_table()) {
		fail(*node, std::string(key) + " must be a table: [" + std::string(key) + "]");
		return nullptr;
	}
	return node->as_table();
}

bool Loader::number(const toml::node &node, const std::string &name, const Range &range, bool whole,
		    double *out)
{
	if (whole ? !node.is_integer() : !node.is_number())
		return fail(node, name + " has the wrong type, it must be " + range.right);

	double value = node.is_integer() ? (double)node.as_integer()->get()
					 : node.as_floating_point()->get();

	/* written so that a NaN fails the check */
	if (!(range.above ? value > range.min : value >= range.min) || !(value <= range.max)) {
		char given[40];

		snprintf(given, sizeof(given), "%g", value);
		return fail(node, name + " is " + given + ", it must be " + range.right);
	}
	*out = value;
	return true;
}

/*
 * Read a number of the machine: a plain number, or a table with the range in which the true number
 * may lie. Both forms need a source.
 */
bool Loader::uncertain(const toml::node &node, const std::string &name, const Range &range,
		       bool whole, double *out)
{
	static const Names parts = { "value", "low", "high" };
	static const char right[] = "{ value = .., low = .., high = .. }";
	const toml::table *table = node.as_table();
	const toml::node *at[3];
	double part[3];

	numbers.emplace_back(name, node.source().begin.line);
	if (!table)
		return number(node, name, range, whole, out);
	if (!known_keys(*table, name, parts))
		return false;
	for (u32 i = 0; i < 3; i++) {
		const std::string key = dotted(name, parts[i]);

		at[i] = table->get(parts[i]);
		if (!at[i])
			return fail(node, key + " is missing, an uncertain number is " + right);
		if (!number(*at[i], key, range, whole, &part[i]))
			return false;
	}
	if (part[1] > part[0])
		return fail(*at[1], name + ".low must be at most " + name + ".value");
	if (part[2] < part[0])
		return fail(*at[2], name + ".high must be at least " + name + ".value");
	*out = part[0];
	result->ranges.push_back({ result->keep(name), part[1], part[2] });
	return true;
}

bool Loader::count(const toml::table &table, std::string_view path, std::string_view key,
		   const Range &range, u32 *out)
{
	const toml::node *node = required(table, path, key, range.right);
	double value;

	if (!node || !number(*node, dotted(path, key), range, true, &value))
		return false;
	*out = (u32)value;
	return true;
}

bool Loader::text(const toml::table &table, std::string_view path, std::string_view key,
		  const char *right, std::string_view *out)
{
	const toml::node *node = required(table, path, key, right);

	if (!node)
		return false;
	if (!node->is_string())
		return fail(*node, dotted(path, key) + " must be " + right);
	*out = node->as_string()->get();
	return true;
}

} // namespace schedshard
