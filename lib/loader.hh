/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * loader.hh - the reader of machine files, for its four source files: loader.cc (keys, types,
 * ranges), machine_topology.cc ([topology]), machine_tiers.cc ([[tier]]), machine.cc (the rest).
 *
 * Why no exception escapes and no memory leaks: toml++ is compiled without exceptions and returns
 * its errors. The one C entry point catches the containers' bad_alloc. One object holds everything,
 * and its destructor frees it.
 *
 * Why an accepted file is complete: the loader has tables of known keys. Each key is required or
 * has a rule for its absence, and any other key is an error. So a misspelt key cannot leave a
 * default in place. The required latencies follow from the topology's records, which the loader
 * therefore builds first.
 */
#ifndef SCHEDSHARD_LOADER_HH
#define SCHEDSHARD_LOADER_HH

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedshard
{
/* Thrown when a file breaks an assumption of toml++. */
struct ParserBug {
};

/*
 * toml++ 3.3 asserts conditions that a file can violate ("[ =" ends the process). Without
 * assertions it relies on them, which is worse. So its assertions throw, and the one C entry point
 * catches. One assertion does not throw: the parser checks that condition again, and reports it
 * with the line.
 */
constexpr void toml_assert(bool holds, std::string_view what)
{
	if (!holds && what != "is_bare_key_character(*cp) || is_string_delimiter(*cp)")
		throw ParserBug();
}
} // namespace schedshard

/* toml++ as source, its non-template part compiled into loader.cc alone */
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr)      schedshard::toml_assert(static_cast<bool>(expr), #expr)
#define TOML_HEADER_ONLY       0
#define TOML_EXCEPTIONS	       0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "cpulist.h"
#include "machine.h"

namespace schedshard
{

/* A machine and everything that its pointers point to. */
struct OwnedMachine : machine {
	std::vector<shard_cpu> cpus;
	std::vector<machine_param> params;
	std::vector<machine_tier> tiers;
	std::vector<machine_range> ranges;
	std::vector<std::vector<u32>> groups; /* of the tiers */
	std::list<std::string> texts;	      /* a list, because its strings never move */
	std::string name_text, title_text;

	const char *keep(std::string text)
	{
		return texts.emplace_back(std::move(text)).c_str();
	}
};

using Names = std::vector<std::string_view>;

/* The range of values of a number. */
struct Range {
	double min, max;
	bool above;	   /* the number must be above min */
	const char *right; /* a valid example, for the message */
};

inline constexpr Range positive_ns = { 0, 1e6, true,
				       "a number above 0 (nanoseconds, at most 1e6)" };
inline constexpr Range cycles = { 0, 1e6, false, "a number of core cycles, 0 to 1e6" };
inline constexpr Range tier_count = { 2, SHARD_LIB_MAX_CPUS, false,
				      "a whole number from 2 to 8192" };
inline constexpr Range positive_count = { 1, SHARD_LIB_MAX_CPUS, false,
					  "a whole number from 1 to 8192" };
inline constexpr Range any_index = { 0, SHARD_LIB_MAX_CPUS - 1, false,
				     "a whole number from 0 to 8191" };
inline constexpr Range clock_range = { 0.05, 20, false, "the clock in GHz, 0.05 to 20" };
inline constexpr Range one = { 1, 1, false, "1, the version of the format" };
inline constexpr Range entries = { 1, 4096, false, "a whole number of entries, 1 to 4096" };
inline constexpr Range constant = { 0, 1e9, false, "a number from 0 to 1e9" };

/* Is @c allowed in a name: a-z, 0-9 and -? */
inline bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* "table.key", or "key" for the file's top level. */
std::string dotted(std::string_view table, std::string_view key);

/* Is @text 1 to @max characters, all of them @good? */
bool matches(std::string_view text, bool (*good)(char), size_t max);

/* The part of a file's text that fits in a message. */
inline std::string_view shown(std::string_view text)
{
	return text.substr(0, 60);
}

/*
 * Reads one file. Every member function that fails describes the error and returns false; its
 * caller returns false as well.
 */
class Loader
{
      public:
	Loader(const char *path, shard_err *error)
	    : file(path), err(error), result(std::make_unique<OwnedMachine>())
	{
	}

	bool load(std::string_view text);
	machine *take()
	{
		return result.release();
	}

      private:
	const char *file;
	shard_err *err;
	std::unique_ptr<OwnedMachine> result;
	/* every number that needs a source, with its line */
	std::vector<std::pair<std::string, toml::source_index>> numbers;

	bool fail(toml::source_index line, const std::string &what);
	bool fail(const toml::node &at, const std::string &what)
	{
		return fail(at.source().begin.line, what);
	}

	bool known_keys(const toml::table &table, std::string_view path, const Names &known);
	const toml::node *required(const toml::table &table, std::string_view path,
				   std::string_view key, const char *right);
	const toml::table *subtable(const toml::table &root, std::string_view key, bool needed);
	bool number(const toml::node &node, const std::string &name, const Range &range, bool whole,
		    double *out);
	bool uncertain(const toml::node &node, const std::string &name, const Range &range,
		       bool whole, double *out);
	bool count(const toml::table &table, std::string_view path, std::string_view key,
		   const Range &range, u32 *out);
	bool text(const toml::table &table, std::string_view path, std::string_view key,
		  const char *right, std::string_view *out);
	bool identity(const toml::table &root);
	bool regular(const toml::table &topology);
	bool irregular(const toml::table &topology);
	bool contained(const toml::node &at);
	bool llc(const toml::table &table, s32 nr, u32 *cores, u32 *l2s);
	bool cpu_set(const toml::node &node, const std::string &name, cpulist *set);
	bool groups(const toml::table &table, std::string_view key, const cpulist &llc_cpus,
		    s32 shard_cpu::*member, u32 *next);
	bool numbering(const toml::table &topology);
	bool tiers(const toml::table &root);
	bool tier(const toml::table &table);
	bool tier_unit(const toml::table &table, const std::string &name, machine_tier *tier);
	bool tier_fits(const toml::node &at, const std::string &name, const machine_tier &tier);
	u32 tier_groups(machine_tier *tier, s32 shard_cpu::*parent);
	bool latencies(const toml::table &root);
	bool operations(const toml::table &root);
	bool protocol(const toml::table &root);
	bool sources(const toml::table &root);
	void finish();
};

} // namespace schedshard

#endif
