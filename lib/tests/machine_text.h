/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* machine_text.h - machine files that are right, in parts, for the tests of the loader to edit. */
#ifndef MACHINE_TEXT_H
#define MACHINE_TEXT_H

#include <string.h>
#include <schedshard/machine.h>
#include "test.h"

#define TOP \
	"schema = 1\nname = \"m\"\ntitle = \"a machine\"\nkind = \"estimate\"\nclock_ghz = 2.5\n"
#define REGULAR                                                                                   \
	"[topology]\npackages = 2\nnodes_per_package = 2\nllcs_per_node = 2\ncores_per_llc = 4\n" \
	"threads_per_core = 2\ncores_per_l2 = 2\nnumbering = \"threads-last\"\n"
#define LATENCY \
	"[latency_ns]\nsmt = 5\nllc = 20.5\nnode = 80\npackage = 90\nremote = 200\nmemory = 99\n"
#define OPS                                                                                  \
	"[op_cycles]\nload_hit = 4\nstore = 1\nlocked = 20\nfence = 21\nstore_buffer = 56\n" \
	"timestamp = 30\n"
#define PROTOCOL "[protocol]\nfar_burst = 3\nhop_fraction = 0.25\nz = 0\n"
#define SOURCE                                                                                   \
	"[source]\nclock_ghz = \"a\"\ntopology = \"b\"\nlatency_ns = \"c\"\nop_cycles = \"d\"\n" \
	"protocol = \"e\"\n"
#define SOURCE_FEW \
	"[source]\nclock_ghz = \"a\"\ntopology = \"b\"\nlatency_ns = \"c\"\nop_cycles = \"d\"\n"
#define WHOLE TOP REGULAR LATENCY OPS PROTOCOL SOURCE

#define IRREGULAR                                                                             \
	"[topology]\n"                                                                        \
	"[[topology.llc]]\npackage = 0\nnode = 0\ncpus = \"0-3,8-11\"\n"                      \
	"cores = [\"0,8\", \"1,9\", \"2,10\", \"3,11\"]\nl2 = [\"0-1,8-9\", \"2-3,10-11\"]\n" \
	"[[topology.llc]]\npackage = 1\nnode = 1\ncpus = \"4,6\"\n"
#define UNEVEN TOP IRREGULAR LATENCY OPS PROTOCOL SOURCE

/* 4 packages of 4 nodes of 4 LLCs of 8 cores, and a tier at every level, in any order. */
#define MANY_LEVELS                                                                               \
	"[topology]\npackages = 4\nnodes_per_package = 4\nllcs_per_node = 4\ncores_per_llc = 8\n" \
	"threads_per_core = 2\ncores_per_l2 = 2\nnumbering = \"threads-adjacent\"\n"
#define TIERS                                                                                \
	"[[tier]]\nname = \"board\"\npackages = 2\nns = 150\n"                               \
	"[[tier]]\nname = \"cluster\"\ncores = 4\nns = 15\n"                                 \
	"[[tier]]\nname = \"l2\"\ncores = 2\nns = 12.5\n"                                    \
	"[[tier]]\nname = \"half\"\nnodes = 2\nns = { value = 85, low = 82.5, high = 86 }\n" \
	"[[tier]]\nname = \"quadrant-2\"\nllcs = 2\nns = 70\n"
#define TIERED \
	TOP MANY_LEVELS LATENCY TIERS OPS PROTOCOL SOURCE "tier = \"f\"\n\"tier.board\" = \"g\"\n"

/* @text with @from replaced by @to: "" deletes. */
static inline char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *edited = malloc(strlen(text) + strlen(to) + 1);

	if (!at || !edited)
		test_fail(__FILE__, __LINE__, "\"%s\" is not in the text", from);
	sprintf(edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return edited;
}

#endif
