# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads and checks saved results, such as those of `run --out` and `bench --out`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schedshard.common.errors import UserError
from schedshard.common.output import read_json
from schedshard.common.paths import begins, typed

RUN = "schedshard/run/2"
BENCH = "schedshard/bench/1"
TOPO = "schedshard/topo/1"
C2C = "schedshard/c2c/1"
LIVE = "schedshard/live/1"
VALIDATE = "schedshard/validate/1"

_NEEDS: dict[str, tuple[tuple[str, type], ...]] = {
    RUN: (
        ("experiment", str),
        ("machine", dict),
        ("variants", list),
        ("simulator", dict),
        ("provenance", dict),
    ),
    BENCH: (("rows", list), ("host", dict), ("provenance", dict)),
    TOPO: (("cpus", list), ("plan", dict)),
    C2C: (("variants", list), ("machine", dict), ("provenance", dict)),
    LIVE: (
        ("experiment", str),
        ("machine", dict),
        ("variants", list),
        ("host", dict),
        ("provenance", dict),
    ),
    VALIDATE: (("measured", list), ("host", dict), ("machine_file", str)),
}


def load_result(path: Path, wanted: tuple[str, ...] = (RUN,)) -> dict[str, Any]:
    """Return a saved result of a wanted format. Otherwise the UserError says what the file is."""
    data = read_json(path, "result")
    kind = data.get("format") if isinstance(data, dict) else None
    if kind not in wanted:
        makers = {
            RUN: "run EXPERIMENT --out FILE",
            BENCH: "bench --out FILE",
            TOPO: "topo --out FILE",
            C2C: "kernel c2c --out FILE",
            LIVE: "bench primitives --out FILE",
            VALIDATE: "validate --out FILE",
        }
        ways = " or ".join(f"'{typed(makers[w])}'" for w in wanted if w in makers)
        raise UserError(f"{path} is not a result to read here: {ways} makes one")
    for key, kind_of in _NEEDS[kind]:
        if not isinstance(data.get(key), kind_of):
            raise UserError(f"{path} is damaged: '{key}' is missing or no {kind_of.__name__}")
    if kind in (RUN, C2C, LIVE):
        for index, variant in enumerate(data["variants"]):
            if not isinstance(variant, dict) or not isinstance(variant.get("name"), str):
                raise UserError(f"{path} is damaged: variants[{index}] has no name")
    return dict(data)


def is_parquet(path: Path) -> bool:
    """Whether a file begins like a Parquet file. It may still be incomplete."""
    return begins(path, b"PAR1")


def is_curve(result: dict[str, Any]) -> bool:
    """Whether a result is a run over numbers of threads."""
    return result.get("sweep") == "threads"


def has_points(result: Mapping[str, Any]) -> bool:
    """Whether the variants of a result have points, by number of threads or by pair of CPUs."""
    return result.get("sweep") is not None


def is_pairs(result: Mapping[str, Any]) -> bool:
    """Whether a result is a run over pairs of CPUs."""
    return result.get("sweep") == "pairs"
