# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests what a machine file's flat form contains, and that each rule of the format is checked."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from common.errors import UserError
from model.machines.flat import flat_text
from model.machines.places import Place, Places, places
from model.machines.presets import Machine

TOP = """schema = 1
name = "m"
title = "a machine"
kind = "estimate"
clock_ghz = 2.5
"""
REGULAR = """[topology]
packages = 2
nodes_per_package = 2
llcs_per_node = 2
cores_per_llc = 4
threads_per_core = 2
cores_per_l2 = 2
numbering = "threads-last"
"""
LATENCY = """[latency_ns]
smt = 5
llc = 20.5
node = 80
package = 90
remote = 200
memory = 99
"""
OPS = """[op_cycles]
load_hit = 4
store = 1
locked = 20
fence = 21
store_buffer = 56
timestamp = 30
"""
PROTOCOL = """[protocol]
far_burst = 3
hop_fraction = 0.25
z = 0
"""
SOURCE = """[source]
clock_ghz = "a"
topology = "b"
latency_ns = "c"
op_cycles = "d"
protocol = "e"
"""
WHOLE = TOP + REGULAR + LATENCY + OPS + PROTOCOL + SOURCE
IRREGULAR = """[topology]
[[topology.llc]]
package = 0
node = 0
cpus = "0-3,8-11"
cores = ["0,8", "1,9", "2,10", "3,11"]
l2 = ["0-1,8-9", "2-3,10-11"]
[[topology.llc]]
package = 1
node = 1
cpus = "4,6"
"""
UNEVEN = TOP + IRREGULAR + LATENCY + OPS + PROTOCOL + SOURCE
# 4 packages of 4 nodes of 4 LLCs of 8 cores, and a tier at every level, in any order.
MANY_LEVELS = """[topology]
packages = 4
nodes_per_package = 4
llcs_per_node = 4
cores_per_llc = 8
threads_per_core = 2
cores_per_l2 = 2
numbering = "threads-adjacent"
"""
TIERS = """[[tier]]
name = "board"
packages = 2
ns = 150
[[tier]]
name = "cluster"
cores = 4
ns = 15
[[tier]]
name = "l2"
cores = 2
ns = 12.5
[[tier]]
name = "half"
nodes = 2
ns = { value = 85, low = 82.5, high = 86 }
[[tier]]
name = "quadrant-2"
llcs = 2
ns = 70
"""
TIERED = (
    TOP + MANY_LEVELS + LATENCY + TIERS + OPS + PROTOCOL + SOURCE
    + 'tier = "f"\n"tier.board" = "g"\n'
)  # fmt: skip


def lines_of(text: str) -> list[str]:
    return flat_text(tomllib.loads(text), "file").splitlines()


def places_of(text: str) -> Places:
    return places(tomllib.loads(text)["topology"])


def test_a_regular_machine() -> None:
    lines = lines_of(WHOLE)
    assert lines[:4] == ["schedshard-machine 1", "name m", "title a machine", "clock_ghz 2.5"]
    assert {"latency_ns llc 20.5", "latency_ns home_remote 200.0", "protocol z 0.0"} < set(lines)
    assert "op_cycles store_buffer 56.0" in lines
    assert lines[-1] == "cpu 63 1 3 7 15 31 1"
    place_of = places_of(WHOLE)
    assert place_of[0] == Place(0, 0, 0, 0, 0, 0)
    assert place_of[32] == Place(0, 0, 0, 0, 0, 1)
    adjacent = places_of(WHOLE.replace("threads-last", "threads-adjacent"))
    assert adjacent[1] == Place(0, 0, 0, 0, 0, 1)


def test_a_cache_over_two_nodes() -> None:
    """Sub-NUMA clusters: an LLC over two nodes."""
    place_of = places_of(WHOLE.replace("llcs_per_node = 2", "llcs_per_package = 1"))
    assert (place_of[0].llc, place_of[0].node) == (0, 0)
    assert (place_of[3].llc, place_of[3].node) == (0, 1)


def test_an_irregular_machine() -> None:
    place_of = places_of(UNEVEN)
    assert list(place_of) == [0, 1, 2, 3, 4, 6, 8, 9, 10, 11]
    assert place_of[8] == place_of[0]._replace(thread=1)
    assert place_of[9].l2 == place_of[0].l2 != place_of[2].l2
    # The file gives neither cores nor L2s for these CPUs: each CPU has its own.
    assert place_of[4] == Place(1, 1, 1, 2, 4, 0)
    assert place_of[6] == Place(1, 1, 1, 3, 5, 0)


def test_tiers_are_sorted_and_have_their_groups() -> None:
    tiers = [line.split() for line in lines_of(TIERED) if line.startswith("tier")]
    assert [tier[1:5] for tier in tiers] == [
        ["l2", "cores", "2", "12.5"],
        ["cluster", "cores", "4", "15.0"],
        ["quadrant-2", "llcs", "2", "70.0"],
        ["half", "nodes", "2", "85.0"],
        ["board", "packages", "2", "150.0"],
    ]
    units = (512, 512, 64, 16, 4)
    for tier, count in zip(tiers, units, strict=True):
        joined = int(tier[3])
        assert tier[5:] == [str(unit // joined) for unit in range(count)]


def test_groups_of_a_tier_do_not_cross_caches() -> None:
    few = (
        '[topology]\n[[topology.llc]]\npackage = 0\nnode = 0\ncpus = "0-4"\n'
        '[[topology.llc]]\npackage = 0\nnode = 0\ncpus = "8-10"\n'
        '[[tier]]\nname = "l2"\ncores = 2\nns = 10\n'
    )
    text = TOP + few + LATENCY + OPS + SOURCE.replace("protocol", '"tier.l2"')
    assert lines_of(text)[-1] == "tier l2 cores 2 10.0 0 0 1 1 2 3 3 4"


def test_a_tier_of_caches_that_span_nodes_lies_in_a_package() -> None:
    lines = lines_of(TIERED.replace("llcs_per_node = 4", "llcs_per_package = 6"))
    (tier,) = (line.split() for line in lines if line.startswith("tier quadrant-2"))
    assert tier[5:] == [str(llc // 2) for llc in range(24)]


def test_latencies_of_absent_distances_may_be_absent() -> None:
    text = WHOLE.replace("packages = 2", "packages = 1").replace("remote = 200\n", "")
    assert not any("remote" in line for line in lines_of(text))


def test_the_file_of_a_machine_has_this_text() -> None:
    machine = Machine("m", Path("m.toml"), tomllib.loads(WHOLE))
    assert machine.flat.read_text(encoding="utf-8") == machine.flat_text
    assert machine.flat == machine.flat
    assert machine.cpus[63] == {
        "cpu": 63, "package": 1, "node": 3, "llc": 7, "l2": 15, "core": 31, "thread": 1,
    }  # fmt: skip


RULES = [
    (WHOLE, "schema = 1", "schema = 2", "schema is 2, it must be 1"),
    (WHOLE, "schema = 1", 'schema = "1"', "schema has the wrong type"),
    (WHOLE, "schema = 1\n", "", "schema is missing"),
    (WHOLE, '"m"', '"M x"', "name is 'M x', it must be"),
    (WHOLE, '"a machine"', '""', "title must be"),
    (WHOLE, '"a machine"', '"a\\nb"', "title must be"),
    (WHOLE, '"estimate"', '"guess"', "kind is 'guess', it must be"),
    (WHOLE, "clock_ghz = 2.5", "clock_ghz = 2500", "clock_ghz is 2500"),
    (WHOLE, "clock_ghz = 2.5", "clock_gzh = 2.5",
     "clock_gzh is not a known key, did you mean clock_ghz?"),
    (WHOLE, "packages = 2\n", "packages = 0\n", "topology.packages is 0"),
    (WHOLE, "packages = 2\n", "packages = 9000\n", "from 1 to 8192"),
    (WHOLE, "packages = 2\n", "", "topology.packages is missing"),
    (WHOLE, "packages = 2\n", "packages = 2\nnr_packages = 2\n",
     "topology.nr_packages is not a known key, did you mean topology.packages?"),
    (WHOLE, "llcs_per_node = 2", "llcs_per_node = 0", "topology.llcs_per_node is 0"),
    (WHOLE, "llcs_per_node = 2", "llcs_per_node = 2\nllcs_per_package = 1", "contradicts"),
    (WHOLE, "cores_per_llc = 4", "cores_per_llc = 600", "more than the 8192 CPUs"),
    (WHOLE, "nodes_per_package = 2\nllcs_per_node = 2",
     "nodes_per_package = 8000\nllcs_per_node = 8000", "more than the 8192 CPUs"),
    (WHOLE, "cores_per_l2 = 2", "cores_per_l2 = 3", "topology.cores_per_l2 must divide"),
    (WHOLE, "nodes_per_package = 2\nllcs_per_node = 2",
     "nodes_per_package = 3\nllcs_per_package = 2", "must divide the 8 cores"),
    (WHOLE, "threads-last", "random", "topology.numbering must be"),
    (WHOLE, REGULAR, "topology = 3\n", "topology must be a table"),
    (WHOLE, REGULAR, "", "table [topology] is missing"),
    (WHOLE, "smt = 5", "smt = 0", "it must be a number above 0"),
    (WHOLE, "smt = 5", "smt = nan", "latency_ns.smt is nan"),
    (WHOLE, "smt = 5\n", "", "latency_ns.smt is missing, but cores have several"),
    (WHOLE, "llc = 20.5\n", "", "latency_ns.llc is missing"),
    (WHOLE, "far_burst = 3", "FarBurst = 3", "protocol.FarBurst is not a key"),
    (WHOLE, 'protocol = "e"\n', "", "protocol.far_burst has no source"),
    (WHOLE, 'protocol = "e"', '"protocol.z" = "e"', "protocol.far_burst has no source"),
    (WHOLE, 'latency_ns = "c"', 'latency = "c"', "latency_ns.smt has no source"),
    (WHOLE, 'latency_ns = "c"', 'latency_ns = ""', "must be a non-empty string"),
    (WHOLE, 'latency_ns = "c"', 'latency_ns.smt = "c"', "must be a non-empty string"),
    (WHOLE, 'protocol = "e"', 'protocol = "e"\nprotocol_ = "f"', "does not name a"),
    (WHOLE, SOURCE, "", "table [source] is missing"),
    (WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 21, high = 22 }",
     "latency_ns.llc.low must be at most latency_ns.llc.value"),
    (WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 20, high = 20.4 }",
     "latency_ns.llc.high must be at least latency_ns.llc.value"),
    (WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 20 }",
     "latency_ns.llc.high is missing, it must be in an uncertain number: { value = "),
    (WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 0, high = 22 }",
     "latency_ns.llc.low is 0, it must be a number above 0"),
    (WHOLE, "llc = 20.5", "llc = { value = 20.5, low = nan, high = 22 }",
     "latency_ns.llc.low is nan"),
    (WHOLE, "llc = 20.5", "llc = { value = 20.5, low = 20, hihg = 22 }",
     "latency_ns.llc.hihg is not a known key, did you mean latency_ns.llc.high?"),
    (WHOLE, "store_buffer = 56", "store_buffer = { value = 56, low = 40.5, high = 60 }",
     "op_cycles.store_buffer.low has the wrong type"),
    (WHOLE, "packages = 2\n", "packages = { value = 2, low = 2, high = 2 }\n",
     "topology.packages has the wrong type"),
    (WHOLE, OPS, "tier = 3\n"+OPS, "latency_ns.tier is not a known key"),
    (WHOLE, "schema", "tier = 3\nschema", "tier must be tables: [[tier]]"),
    (TIERED, '"board"', '"Board"', "tier.name is 'Board', it must be a string of a-z"),
    (TIERED, 'name = "board"', 'nam = "board"', "did you mean tier.name?"),
    (TIERED, 'name = "board"\n', "", "tier.name is missing"),
    (TIERED, '"board"', '"l2"', "tier.l2 appears twice"),
    (TIERED, "packages = 2\nns = 150", "ns = 150",
     "tier.board must have exactly one of cores, llcs"),
    (TIERED, "packages = 2\nns = 150", "packages = 2\nnodes = 3\nns = 150",
     "tier.board must have exactly one of cores, llcs"),
    (TIERED, "packages = 2\nns = 150", "packages = 2\n", "tier.board.ns is missing"),
    (TIERED, "ns = 150", "ns = 0", "tier.board is 0, it must be a number above 0"),
    (TIERED, "ns = 150", "ns = { value = 150, low = 160, high = 170 }",
     "tier.board.low must be at most tier.board.value"),
    (TIERED, "packages = 2\nns", "packages = 1\nns",
     "tier.board.packages is 1, it must be a whole number from 2"),
    (TIERED, "packages = 2\nns", "packages = 4\nns",
     "tier.board.packages is 4, it must be less than the packages of the largest machine, 4"),
    (TIERED, "nodes = 2", "nodes = 4", "less than the nodes of the largest package, 4"),
    (TIERED, "llcs = 2", "llcs = 5", "less than the llcs of the largest node, 4"),
    (TIERED, "cores = 4\nns", "cores = 8\nns", "less than the cores of the largest LLC, 8"),
    (TIERED, "cores = 4\nns", "cores = 2\nns",
     "tier.l2 joins as many cores as tier.cluster, remove one of them"),
    (TIERED, "cores = 4\nns", "cores = 5\nns",
     "tier.l2 joins 2 cores and tier.cluster 5, one must be a multiple of the other"),
    (TIERED, 'tier = "f"\n', "", "tier.cluster has no source"),
    (TIERED, 'tier.board" =', 'tier.bord" =', 'source."tier.bord" does not name'),
    (UNEVEN, OPS, '[[tier]]\nname = "p"\ncores = 4\nns = 7\n'+OPS,
     "less than the cores of the largest LLC, 4"),
    (UNEVEN, OPS, '[[tier]]\nname = "p"\npackages = 2\nns = 7\n'+OPS,
     "tier.p.packages is 2, it must be less than"),
    (UNEVEN, 'cpus = "4,6"', 'cpus = "3,6"', "CPU 3 is in two LLCs"),
    (UNEVEN, 'cpus = "4,6"', 'cpus = ""', "is not a list"),
    (UNEVEN, 'cpus = "4,6"', 'cpus = "4,8192"', "below 8192"),
    (UNEVEN, 'cpus = "4,6"', "cpus = 4", "must be CPU numbers in quotes"),
    (UNEVEN, 'cpus = "4,6"', 'cpu = "4,6"', "topology.llc.cpus is missing"),
    (UNEVEN, 'cpus = "4,6"', 'cpus = "4,6"\nllc = 3', "topology.llc.llc is not a known key"),
    (UNEVEN, '"0,8", ', "", "CPU 0 of this LLC is in none"),
    (UNEVEN, '"0,8"', '"0,9"', "CPU 9 is in two groups"),
    (UNEVEN, '"0,8"', '"0,4"', "CPU 4 is not in this LLC"),
    (UNEVEN, '"0,8"', "0", "must be CPU numbers in quotes"),
    (UNEVEN, '["0,8", "1,9", "2,10", "3,11"]', "4", "must be a list"),
    (UNEVEN, '["0-1,8-9", "2-3,10-11"]', '["0-1,8,10", "2-3,9,11"]', "CPU 9 and its SMT sibling"),
    (UNEVEN, "package = 1\nnode = 1", "package = 1\nnode = 0", "node 0 is in two packages"),
    (UNEVEN, "package = 1\nnode = 1", "package = 1\nnode = 2", "no LLC is in node 1"),
    (UNEVEN, "package = 1\nnode = 1", "package = 2\nnode = 1", "no LLC is in package 1"),
    (UNEVEN, "package = 1\nnode = 1", "package = -1\nnode = 1", "topology.llc.package is -1"),
    (UNEVEN, "[topology]\n", "[topology]\npackages = 2\n", "topology.packages is not a known key"),
    (UNEVEN, IRREGULAR, "[topology]\nllc = []\n", "no LLC, it must have at least one"),
    (UNEVEN, IRREGULAR, "[topology]\nllc = 5\n", "[[topology.llc]]"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "old", "new", "words"), RULES)
def test_each_rule_is_checked(whole: str, old: str, new: str, words: str) -> None:
    assert old in whole
    data = tomllib.loads(whole.replace(old, new, 1))
    with pytest.raises(UserError) as raised:
        flat_text(data, "file")
    message = str(raised.value)
    assert message.startswith("file: ")
    assert words in message


def test_a_message_is_short_and_printable() -> None:
    for key in ("k" * 5000, "a\7\nb"):
        with pytest.raises(UserError) as raised:
            flat_text({key: 1}, "file")
        assert len(str(raised.value)) < 300
        assert str(raised.value).isprintable()
