# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read saved results: a damaged file ends in one line that says what is wrong, and where."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import ValidationError, convert

from schedshard.common.errors import UserError
from schedshard.common.formats import BENCH, C2C, LIVE, RUN, TOPO, VALIDATE
from schedshard.common.output import read_json
from schedshard.common.paths import begins, typed
from schedshard.results.bench import Bench, Validate
from schedshard.results.c2c import recording_of
from schedshard.results.run import Result, run_of

_MAKERS = {
    RUN: "run EXPERIMENT --out FILE",
    BENCH: "bench --out FILE",
    TOPO: "topo --out FILE",
    C2C: "kernel c2c --out FILE",
    LIVE: "bench primitives --out FILE",
    VALIDATE: "validate --out FILE",
}
_MISSING = re.compile(r"Object missing required field `(\w+)`")
Made = TypeVar("Made")


def load_data(path: Path, *wanted: str) -> dict[str, Any]:
    """The JSON of a result of one of the wanted formats; otherwise say what the file is."""
    data = read_json(path, "result")
    kind = data.get("format") if isinstance(data, dict) else None
    if kind not in wanted:
        ways = " or ".join(f"'{typed(_MAKERS[w])}'" for w in wanted)
        raise UserError(f"{path} is not a result to read here: {ways} makes one")
    return dict(data)


def checked(data: dict[str, Any], source: str, make: Callable[[dict[str, Any]], Made]) -> Made:
    """What a file holds; ``source`` names it where it is damaged."""
    try:
        return make(data)
    except ValidationError as error:
        said = _MISSING.sub(r"'\1' is missing", str(error))
        raise UserError(f"{source} is damaged: {said}") from error


def load_run(path: Path, *wanted: str) -> Result:
    """A result of `run`, or of one of the formats."""
    return checked(load_data(path, *(wanted or (RUN,))), str(path), run_of)


def load_recording(path: Path) -> dict[str, Any]:
    """A recording of a program, as it was saved; only what is compared is checked."""
    return checked(load_data(path, C2C), str(path), recording_of)


def bench_of(data: dict[str, Any]) -> Bench:
    """A result of `bench`."""
    return convert(data, Bench)


def validate_of(data: dict[str, Any]) -> Validate:
    """A result of `validate`."""
    return convert(data, Validate)


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet files do; whether it is whole shows when it is read."""
    return begins(path, b"PAR1")
