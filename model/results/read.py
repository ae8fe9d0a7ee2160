# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads saved results. A damaged file raises UserError, whose one line says what is wrong."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import ValidationError

from common.errors import UserError
from common.formats import C2C, LIVE, RUN, VALIDATE
from common.output import read_json
from common.paths import begins, typed
from model.results.run import Result, run_of

_MAKERS = {
    RUN: "run EXPERIMENT --out FILE",
    C2C: "record --out FILE",
    LIVE: "bench primitives --out FILE",
    VALIDATE: "machine validate --out FILE",
}
_MISSING = re.compile(r"Object missing required field `(\w+)`")
Made = TypeVar("Made")


def load_data(path: Path, *wanted: str) -> dict[str, Any]:
    """Return the JSON of a result of a wanted format; UserError names commands that make one."""
    data = read_json(path, "result")
    kind = data.get("format") if isinstance(data, dict) else None
    if kind not in wanted:
        ways = " or ".join(f"'{typed(_MAKERS[w])}'" for w in wanted)
        raise UserError(f"{path} is not a result of the right kind: {ways} makes one")
    return dict(data)


def checked(data: Any, source: str, make: Callable[[Any], Made]) -> Made:
    """Return ``make(data)``. If data is damaged, raise UserError, which names ``source``."""
    try:
        return make(data)
    except (ValidationError, UnicodeEncodeError) as error:
        message = _MISSING.sub(r"'\1' is missing", str(error))
        raise UserError(f"{source} is damaged: {message}") from error


def load_run(path: Path, *wanted: str) -> Result:
    """Return a file's result of `run`, or of the ``wanted`` formats, which have the same form."""
    return checked(load_data(path, *(wanted or (RUN,))), str(path), run_of)


def is_parquet(path: Path) -> bool:
    """Whether a file begins like a Parquet file. Only reading it shows whether it is whole."""
    return begins(path, b"PAR1")
