# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fuzz target: any bytes give a machine file or one line of error.

    python model/tests/fuzz/fuzz_csv.py -runs=20000 NEW_CORPUS model/tests/fuzz/csv

The target goes on to the text of a machine file, so that shapes get odd tables too. Tables
have few CPUs: with more, numpy is slow, and numpy is not under test.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import atheris  # type: ignore[import-untyped]

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

with atheris.instrument_imports(include=["model.machines"]):
    from common.errors import UserError
    from model.machines.making.classes import weigh
    from model.machines.making.document import (
        Facts,
        add_usual_cycles,
        add_usual_latencies,
        machine_toml,
    )
    from model.machines.making.importer import add_latencies
    from model.machines.making.latencycsv import parse_latency_csv
    from model.machines.making.shapes import given_shape, shapes
    from model.machines.numbers import number_nodes, range_of, value_of

FEW_CPUS = 24


def test_one_input(data: bytes) -> None:
    """Read, place, write; only a UserError of one line may result."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    said = None
    try:
        table = parse_latency_csv(text, "fuzz.csv")
    except UserError as error:
        said = str(error)
    if said is not None:
        assert said.isprintable(), repr(said)
        return
    if len(table.cpus) > FEW_CPUS:
        return
    pairs = table.pairs()
    best = shapes(table.cpus, *pairs)
    topology = best[0].topology if best else given_shape(f"1x1x{len(table.cpus)}x1", table).topology
    assert topology.cpus == table.cpus
    evidence = weigh(*pairs, topology, topology)
    facts = Facts("fuzz", "fuzz", "measured", 2.0, topology, {}, {})
    add_latencies(facts, evidence, "fuzz")
    add_usual_latencies(facts)
    add_usual_cycles(facts, "fuzz")
    machine = tomllib.loads(machine_toml(facts))
    assert machine["name"] == "fuzz"
    for key, node in number_nodes(machine):
        limits = range_of(node, key)
        assert limits is None or limits.low <= value_of(node, key) <= limits.high, key


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
